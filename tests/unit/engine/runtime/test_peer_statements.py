"""Statements that a member runs for other members: it accepts those that the compiler makes, and refuses those of an attacker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlglot import exp
from support.binding_ground import TestCatalog, bind

from benchmarks.tpch_queries import queries
from engine.catalog.model.objects import Table
from engine.contracts.query_id import EngineName
from engine.executors.local import executor as _executor  # noqa: F401  (registers its functions)
from engine.executors.local import fragment_functions as of_duckdb
from engine.executors.local import udf
from engine.executors.spark import fragment_functions as of_spark
from engine.planner.codegen import Bindings, compile_plan, to_sql
from engine.planner.planner import optimise
from engine.runtime.peer_statements import PART, PeerStatements
from engine.sql.functions.registry import registry
from engine.sql.trees.dialects import snippet
from wire.errors import InsufficientPrivilege

ENGINES: tuple[EngineName, ...] = ("local", "spark")
INPUTS = frozenset(("edge_1",))

LOCAL_HOSTILE = (
    "COPY (SELECT content FROM read_text('/etc/passwd')) TO '/tmp/taken'",
    "COPY edge_1 TO '/tmp/taken'",
    "SELECT content FROM read_text('/etc/passwd')",
    "SELECT content FROM read_blob('/etc/passwd')",
    "SELECT * FROM glob('/home/*')",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_parquet(['/srv/*.parquet'])",
    "SELECT * FROM read_parquet(['/srv/' || 'a.parquet'])",
    "SELECT * FROM read_parquet([(SELECT content FROM read_text('/etc/passwd'))])",
    "SELECT * FROM read_parquet('/srv/a.parquet')",
    "SELECT * FROM read_csv($r1, columns = {'a': 'VARCHAR'}, rejects_table = 'x', store_rejects = TRUE)",
    "SELECT * FROM read_csv($r1, auto_detect := TRUE)",
    "SELECT * FROM read_csv($r1 || 'x')",
    "SELECT * FROM read_csv($r1, columns = (SELECT * FROM read_text('/etc/passwd')))",
    "SELECT * FROM read_parquet($other)",
    "SELECT * FROM read_json_objects($r1)",
    "SELECT * FROM '/srv/a.parquet'",
    'SELECT * FROM "/srv/a.csv"',
    "SELECT * FROM edge_2",
    "SELECT * FROM main.edge_1",
    "SELECT * FROM memory.main.edge_1",
    "SELECT * FROM (WITH \"/srv/a.parquet\" AS (SELECT 1) SELECT 1), '/srv/a.parquet'",
    "WITH a AS (SELECT * FROM \"/srv/a.parquet\"), \"/srv/a.parquet\" AS (SELECT 1) SELECT * FROM a",
    "WITH \"/srv/a.parquet\" AS (SELECT * FROM \"/srv/a.parquet\") SELECT * FROM \"/srv/a.parquet\"",
    "SELECT (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT * FROM edge_1 WHERE x IN (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT 1 ORDER BY (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT 1 LIMIT (SELECT length(content) FROM read_text('/etc/passwd'))",
    "SELECT list_transform([1], lambda x: (SELECT content FROM read_text('/etc/passwd')))",
    "SELECT getenv('HOME')",
    "SELECT current_setting('temp_directory')",
    "SELECT current_setting('Time' || 'Zone')",
    "SELECT getvariable('sluice_' || 'cursor')",
    "SELECT getvariable('x')",
    "SELECT nextval('s')",
    "SELECT query('SELECT 1')",
    "SELECT * FROM query('SELECT * FROM ''/etc/passwd''')",
    "SELECT * FROM query_table('edge_1')",
    "SELECT * FROM json_execute_serialized_sql('{}')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM pragma_database_list()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM sqlite_master",
    "SELECT write_log('x')",
    "SELECT system.main.getenv('HOME')",
    "FROM edge_1 SELECT x; DROP TABLE edge_1",
    "SELECT 1; SELECT 2",
    "",
    "SHOW TABLES",
    "DESCRIBE edge_1",
    "SUMMARIZE edge_1",
    "EXPLAIN ANALYZE SELECT 1",
    "PIVOT edge_1 ON x USING sum(y)",
    "PRAGMA version",
    "SET TimeZone = 'UTC'",
    "SET VARIABLE x = 1",
    "ATTACH '/tmp/x.db'",
    "INSTALL httpfs",
    "LOAD '/tmp/x.duckdb_extension'",
    "CREATE TABLE x AS SELECT 1",
    "INSERT INTO edge_1 SELECT 1",
    "DELETE FROM edge_1",
    "WITH x AS (DELETE FROM edge_1 RETURNING *) SELECT * FROM x",
    "EXPORT DATABASE '/tmp/x'",
    "CALL pragma_version()",
    "EXECUTE plan_1",
    "PREPARE x AS SELECT 1",
    "CHECKPOINT",
    "SELECT " + "(" * 4000 + "1" + ")" * 4000,
)  # fmt: skip

SPARK_HOSTILE = (
    "SELECT JAVA_METHOD('java.lang.Runtime', 'getRuntime')",
    "SELECT JAVA_METHOD('java.lang.Thread', 'sleep', CAST(1 AS BIGINT))",
    "SELECT REFLECT('java.lang.System', 'getenv', 'HOME')",
    "SELECT TRY_REFLECT('java.lang.System', 'getenv', 'HOME')",
    "SELECT * FROM parquet.`/srv/a.parquet` AS t1",
    "SELECT * FROM text.`/etc/passwd`",
    "SELECT * FROM spark_catalog.default.t",
    "SELECT * FROM other",
    "SELECT * FROM READ_FILES('/etc/passwd')",
    "SELECT * FROM (WITH x AS (SELECT 1 AS a) SELECT a FROM x) AS t1 CROSS JOIN x",
    "WITH x AS (SELECT * FROM y), y AS (SELECT 1 AS a) SELECT * FROM x",
    "SELECT TRANSFORM(a) USING 'sh' AS (b) FROM sluice_1_0",
    "SELECT INPUT_FILE_NAME()",
    "SELECT CURRENT_USER()",
    "SELECT 1 AS `${env:HOME}`",
    "SELECT '${env:HOME}'",
    "SELECT 1; SELECT 2",
    "INSERT INTO sluice_1_0 SELECT 1",
    "CREATE TABLE x AS SELECT 1",
    "ADD JAR '/tmp/x.jar'",
    "SET x = 1",
    "SHOW TABLES",
    "CACHE TABLE sluice_1_0",
    "FROM sluice_1_0 SELECT *",
    "SELECT /*+ BROADCAST(x) */ 1",
    "",
)  # fmt: skip


@pytest.fixture(scope="module")
def statements() -> PeerStatements:
    return PeerStatements()


@pytest.mark.parametrize("text", LOCAL_HOSTILE, ids=lambda text: text[:60])
def test_duckdb_runs_nothing_that_the_compiler_does_not_make(statements: PeerStatements, text: str) -> None:
    with pytest.raises(InsufficientPrivilege, match="a member may not have another run this statement"):
        statements.require("m1:1", "local", text, INPUTS)


@pytest.mark.parametrize("text", SPARK_HOSTILE, ids=lambda text: text[:60])
def test_spark_runs_nothing_that_the_compiler_does_not_make(statements: PeerStatements, text: str) -> None:
    with pytest.raises(InsufficientPrivilege, match="a member may not have another run this statement"):
        statements.require("m1:1", "spark", text, frozenset(("sluice_1_0",)))


def test_a_refusal_is_logged_each_time(statements: PeerStatements, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        with pytest.raises(InsufficientPrivilege):
            statements.require("m7:9", "local", "SELECT getenv('HOME')", INPUTS)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    for message in told:
        assert message.startswith("query m7:9: refused to run a statement for another member: ")
        assert message.endswith('it has the function "getenv"')


@pytest.mark.parametrize(
    ("engine", "text", "relations"),
    [
        ("local", "SELECT CAST(HASH(c1) % 3 AS INTEGER) AS bucket FROM part", PART),
        ("local", "SELECT t1.c1 FROM edge_1 AS t1 ORDER BY t1.c1 NULLS LAST LIMIT 3", INPUTS),
        ("local", "SELECT t1.a FROM READ_PARQUET($r1, hive_partitioning = FALSE, can_have_nan = TRUE) AS t1", INPUTS),
        ("local", "SELECT * FROM READ_CSV($r2, columns = {'a': 'VARCHAR'}, header = TRUE, delim = '|')", INPUTS),
        ("local", "WITH RECURSIVE w1(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM w1) SELECT * FROM w1", INPUTS),
        ("local", "SELECT CURRENT_SETTING('TimeZone')", INPUTS),
        ("spark", "SELECT t1.`a` AS c1 FROM sluice_1_0 AS t1", frozenset(("sluice_1_0",))),
        (
            "spark",
            "SELECT t1.c1 AS c2, COUNT(*) AS c3 FROM x AS t1 GROUP BY GROUPING SETS ((t1.c1), ())",
            frozenset("x"),
        ),
    ],
)
def test_what_the_compiler_makes_passes(
    statements: PeerStatements, engine: EngineName, text: str, relations: frozenset[str]
) -> None:
    statements.require("m1:1", engine, text, relations)


@pytest.mark.parametrize("name", queries())
def test_queries_of_tpch_pass_and_the_files_that_they_name_are_told(statements: PeerStatements, name: str) -> None:
    compiled = {
        engine: compile_plan(optimise(bind(queries()[name], TestCatalog()).plan), engine, Bindings())
        for engine in ENGINES
    }
    read = {table.files[0] for table in compiled["local"].tables if isinstance(table, Table)}
    assert set(statements.require("m1:1", "local", to_sql(compiled["local"].statement, "local"), frozenset())) == read
    tree = compiled["spark"].statement
    tables = {node.name for node in tree.find_all(exp.Table) if node.name.startswith("sluice_")}
    assert statements.require("m1:1", "spark", to_sql(tree, "spark"), frozenset(tables)) == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_long_lists_of_constants_pass(statements: PeerStatements, engine: EngineName) -> None:
    numbers = ", ".join(map(str, range(2000)))
    rows = ", ".join(f"({number}, 'w{number}', {number}.5)" for number in range(2000))
    query = f"select * from (values {rows}) as v (n, w, d) where n in ({numbers})"
    tree = compile_plan(optimise(bind(query, TestCatalog()).plan), engine, Bindings()).statement
    assert statements.require("m1:1", engine, to_sql(tree, engine), frozenset()) == ()


def _called(engine: EngineName) -> Iterator[str]:
    """The functions that the table's templates name, but for those that a callable builds."""
    for row in registry().rows:
        template = row.local if engine == "local" else row.spark
        if isinstance(template, str):
            yield from (call.name.lower() for call in snippet(template, engine).find_all(exp.Anonymous))


def test_the_functions_of_all_templates_are_known() -> None:
    assert set(_called("local")) <= of_duckdb.FUNCTIONS | set(udf.FUNCTIONS) | {"current_setting"}
    assert set(_called("spark")) <= of_spark.FUNCTIONS


def test_no_function_that_is_known_reads_files_or_settings() -> None:
    """The functions of the pinned releases of DuckDB and Spark that access more than their arguments are not allowed."""
    of_files = {
        "read_text",
        "read_blob",
        "glob",
        "sniff_csv",
        "parquet_metadata",
        "query",
        "query_table",
        "getenv",
        "read_csv",
    }
    of_state = {
        "getvariable",
        "current_setting",
        "set_config",
        "nextval",
        "currval",
        "setseed",
        "write_log",
        "duckdb_settings",
    }
    assert not of_duckdb.FUNCTIONS & (of_files | of_state)
    assert not of_duckdb.TABLE_FUNCTIONS & (of_files | of_state)
    assert not of_spark.FUNCTIONS & {
        "java_method",
        "reflect",
        "try_reflect",
        "input_file_name",
        "read_files",
        "current_user",
    }
