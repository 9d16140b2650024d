"""Foreign tables over folders with Hive-style names: columns from names, types, nulls, escapes, pruning, new files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from support.distributed_ground import MEMBERS, Layout, same
from support.local_member import LocalMember, local_member

from engine.catalog.model.objects import Table, TableColumn
from engine.common import sql_type as st
from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.executors.local.statements import readers_of
from engine.lakes.foreign_files import list_files
from engine.plan_ir.logical import TableReader
from engine.planner.codegen import Bindings, compile_plan, to_sql
from engine.planner.distribute.splits import plan_reading
from wire.types import pg_types as t

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("member")) as running:
        yield running


@pytest.fixture
def connection(member: LocalMember) -> Iterator[Connection]:
    with member.connect() as client:
        yield client


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "a=b" / "lake"  # a folder above the table's means nothing


def put(lake: Path, folder: str, table: pa.Table | str, name: str = "part-0.parquet") -> None:
    (lake / folder).mkdir(parents=True, exist_ok=True)
    if isinstance(table, str):
        (lake / folder / name).write_text(table)
    else:
        pq.write_table(table, lake / folder / name)


def attach(connection: Connection, lake: Path, columns: str = "", **options: str) -> None:
    connection.execute("drop foreign table if exists t")
    told = ", ".join(f"{name} '{value}'" for name, value in {"path": str(lake), **options}.items())
    connection.execute(f"create foreign table t {columns} options ({told})")


def types(connection: Connection) -> list[tuple[Any, ...]]:
    return connection.execute(
        "select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 't'::regclass and attnum > 0"
        " order by attnum"
    ).fetchall()


def rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def test_columns_and_their_types_come_from_the_names(connection: Connection, lake: Path) -> None:
    for year, day, month in ((2023, "2023-12-31", "12"), (2024, "2024-01-01", "01")):
        put(lake, f"year={year}/day={day}/month={month}", pa.table({"x": [year]}))
    attach(connection, lake)
    assert types(connection) == [("x", "bigint"), ("year", "integer"), ("day", "date"), ("month", "text")]
    assert rows(connection, "select * from t order by year") == [
        (2023, 2023, dt.date(2023, 12, 31), "12"),
        (2024, 2024, dt.date(2024, 1, 1), "01"),
    ]
    assert rows(connection, "select x from t where day > '2023-12-31' and month = '01'") == [(2024,)]
    assert rows(connection, "select count(*), max(year) from t where year < 2024") == [(1, 2023)]


ODD = {
    "EU": "EU",
    "a%20b": "a b",
    "a b": "a b",
    "a%2Fb": "a/b",
    "50%25": "50%",
    "60%": "60%",
    "%zz": "%zz",
    "two\nlines": "two\nlines",
    "x=y": "x=y",
    "%C3%BC": "ü",
    "a+b": "a+b",
    "NULL": "NULL",
    "__HIVE_DEFAULT_PARTITION__": None,
    "": "",
}


def test_odd_values(connection: Connection, lake: Path) -> None:
    for number, raw in enumerate(ODD):
        put(lake, f"k={raw}", pa.table({"x": [number]}))
    attach(connection, lake, partitioning="hive")
    assert rows(connection, "select x, k from t order by x") == list(enumerate(ODD.values()))
    for number, value in enumerate(ODD.values()):
        found = rows(connection, f"select x from t where k = '{value}'") if value is not None else []
        assert (number,) in found or value is None
    assert rows(connection, "select x from t where k is null") == [([*ODD.values()].index(None),)]
    assert rows(connection, "select k, count(*) from t where k > 'a' group by k order by k") == [
        ("a b", 2),
        ("a+b", 1),
        ("a/b", 1),
        ("two\nlines", 1),
        ("x=y", 1),
        ("ü", 1),
    ]


@pytest.mark.parametrize("raw", ["%FF", "a%00"])
def test_values_that_are_no_text(connection: Connection, lake: Path, raw: str) -> None:
    put(lake, f"k={raw}", pa.table({"x": [1]}))
    with pytest.raises(psycopg.errors.DataCorrupted):
        attach(connection, lake)


def test_declared_columns(connection: Connection, lake: Path) -> None:
    for number in ("007", "12"):
        put(lake, f"n={number}/m=1", pa.table({"x": [1], "y": [2]}))
    attach(connection, lake, "(n numeric(6,1), y int)", partitioning="hive")
    assert rows(connection, "select y, n::text as s from t order by t.n") == [(2, "7.0"), (2, "12.0")]
    with pytest.raises(psycopg.errors.UndefinedColumn):
        attach(connection, lake, "(n int, z int)")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        attach(connection, lake, "(n interval)")


def test_a_value_that_is_none_of_its_type(connection: Connection, lake: Path) -> None:
    put(lake, "n=1", pa.table({"x": [1]}))
    attach(connection, lake)
    put(lake, "n=2", pa.table({"x": [2]}))
    assert rows(connection, "select n from t order by n") == [(1,), (2,)]
    put(lake, "n=two", pa.table({"x": [2]}))
    with pytest.raises(psycopg.errors.DataCorrupted, match="no value of column") as raised:
        rows(connection, "select n from t")
    assert raised.value.diag.message_detail == 'invalid input syntax for type integer: "two"'
    attach(connection, lake)
    assert types(connection) == [("x", "bigint"), ("n", "text")]


def test_files_that_do_not_lie_in_such_folders(connection: Connection, lake: Path) -> None:
    put(lake, "n=1", pa.table({"x": [1]}))
    put(lake, ".", pa.table({"x": [2]}))
    attach(connection, lake)
    assert types(connection) == [("x", "bigint")]
    with pytest.raises(psycopg.DatabaseError, match="do not lie in folders named key=value"):
        attach(connection, lake, partitioning="hive")
    attach(connection, lake / "n=1")
    assert types(connection) == [("x", "bigint")]


def test_the_folder_counts_where_the_file_has_the_column_too(connection: Connection, lake: Path) -> None:
    put(lake, "n=1", pa.table({"n": pa.array([5], pa.int16()), "x": [1]}))
    attach(connection, lake)
    assert types(connection) == [("n", "smallint"), ("x", "bigint")]
    assert rows(connection, "select * from t where n = 1") == [(1, 1)]
    attach(connection, lake, partitioning="none")
    assert rows(connection, "select * from t") == [(5, 1)]


@pytest.mark.parametrize("declared", ["", "(k text, a int, b text)"])
def test_csv(connection: Connection, lake: Path, declared: str) -> None:
    put(lake, "k=u%20v", "a,b\n1,x\n", "f.csv")
    put(lake, "k=w", "a,b\n2,y\n", "f.csv")
    attach(connection, lake, declared, format="csv", header="true")
    assert rows(connection, "select k, a, b from t order by a") == [("u v", 1, "x"), ("w", 2, "y")]
    assert rows(connection, "select b from t where k = 'w'") == [("y",)]


@pytest.mark.parametrize("declared", ["", "(a int, b text, k text)"])
def test_csv_files_whose_headers_differ(connection: Connection, lake: Path, declared: str) -> None:
    """They are read by the names of their columns, also where a filter leaves one file, or one file is left."""
    put(lake, "k=v", "a,b\n1,x\n", "f.csv")
    put(lake, "k=w", 'B,c,a\n"y, z",0,2\n,1,3\n', "f.csv")
    put(lake, "k=z", "b\nx\n", "f.csv")
    attach(connection, lake, declared, format="csv", header="true")
    assert rows(connection, "select k, a, b from t order by k, a") == [
        ("v", 1, "x"), ("w", 2, "y, z"), ("w", 3, None), ("z", None, "x"),
    ]  # fmt: skip
    assert rows(connection, "select a, b from t where k = 'w' order by a") == [(2, "y, z"), (3, None)]
    assert rows(connection, "select a, count(*) from t where k = 'z' group by a") == [(None, 1)]
    put(lake, "k=z", "b,a\nx,no number\n", "f.csv")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="no number"):
        rows(connection, "select sum(a) from t")
    (lake / "k=w" / "f.csv").unlink()
    (lake / "k=z" / "f.csv").unlink()
    assert rows(connection, "select a, b from t") == [(1, "x")]


def test_csv_files_whose_headers_are_the_same(connection: Connection, tmp_path: Path) -> None:
    """They are read by the places of their columns, which may have other names."""
    for name in ("f", "g"):
        (tmp_path / f"{name}.csv").write_text("a,b\n1,2\n")
    attach(connection, tmp_path, "(b int, c int)", format="csv", header="true")
    assert rows(connection, "select b, c from t") == [(1, 2), (1, 2)]
    (tmp_path / "g.csv").write_text("b,a\n2,1\n")
    with pytest.raises(psycopg.errors.DataCorrupted, match='column "c" of "t" is in none of the headers'):
        rows(connection, "select b from t")
    attach(connection, tmp_path, "(b text, c text)", format="csv", header="false")
    assert rows(connection, "select b, c from t order by b, c") == [("1", "2"), ("2", "1"), ("a", "b"), ("b", "a")]


def test_json(connection: Connection, lake: Path) -> None:
    put(lake, "k=1", '{"a": 1, "b": [1, 2]}\n{"a": 2}\n', "f.json")
    put(lake, "k=2", '{"a": 3, "b": []}\n', "f.json")
    attach(connection, lake, format="json")
    assert types(connection) == [("a", "bigint"), ("b", "bigint[]"), ("k", "integer")]
    assert rows(connection, "select * from t where k = 1 order by a") == [(1, [1, 2], 1), (2, None, 1)]


def test_files_that_a_filter_excludes_are_not_opened(connection: Connection, lake: Path) -> None:
    put(lake, "k=1", pa.table({"x": [1]}))
    attach(connection, lake)
    put(lake, "k=2", "no Parquet at all")
    assert rows(connection, "select x from t where k = 1") == [(1,)]
    assert rows(connection, "select x from t where k < 2 and x > 0") == [(1,)]


def test_a_member_that_starts_again_knows_them(tmp_path: Path, lake: Path) -> None:
    put(lake, "k=v", pa.table({"x": [1]}))
    for _ in range(2):
        with local_member(tmp_path / "again") as running, running.connect() as client:
            client.execute(f"create foreign table if not exists t options (path '{lake}')")
            assert rows(client, "select k from t") == [("v",)]


# -- over members ----------------------------------------------------------------------------------------------------


def _layout(lake: Path) -> Layout:
    for number in range(9):
        put(lake, f"n={number}/k=v%20{number % 2}", pa.table({"x": list(range(number * 10, number * 10 + 10))}))
    types = {"x": t.INT8, "n": t.INT4, "k": t.TEXT}
    files, version = list_files(str(lake), "parquet")
    columns = tuple(TableColumn(name, st.of(typ), i) for i, (name, typ) in enumerate(types.items(), 1))
    table = Table(20_001, "public", "t", columns, "parquet", str(lake), files, version, partition_by=("n", "k"))
    return Layout({"t": table})


@pytest.mark.parametrize(
    "text",
    [
        "select k, n % 3, count(*), sum(x) from t group by 1, 2",
        "select n, x from t where k = 'v 1' and n > 3",
        "select a.x, b.k from t a join t b on a.n = b.n and a.x = b.x where b.n in (1, 2)",
    ],
)
def test_members_read_what_folders_say(text: str, lake: Path, tmp_path: Path) -> None:
    layout = _layout(lake)
    engine = LocalDatabase(EngineConfig(tmp_path / "data"))
    try:
        physical = same(layout, engine, text)
    finally:
        engine.close()
    assert len(physical.fragments) > 1


def test_what_folders_exclude_is_nobodys(lake: Path) -> None:
    layout = _layout(lake)
    plan = layout.plan("select x from t where n >= 6 and k = 'v 1'")
    [reader] = [node for node in plan.walk() if isinstance(node, TableReader)]
    found = plan_reading(reader, layout.tables["t"], MEMBERS, {}, {})
    assert [split.file.split("/")[-3] for splits in found.splits.values() for split in splits] == ["n=7"]


def test_what_folders_say_is_not_computed_of_rows_in_memory(lake: Path) -> None:
    layout = _layout(lake)
    for text, kept in (("select sum(x) from t", True), ("select sum(x) from t where k = 'v 1'", False)):
        statement = to_sql(compile_plan(layout.plan(text), "local", Bindings()).statement, "local")
        assert (readers_of(statement) is not None) == kept


def test_a_folder_of_any_one_format_needs_no_word(connection: Connection, tmp_path: Path) -> None:
    texts = {
        "csv": "x,y\n1,a\n",
        "ndjson": '{"x": 1, "y": "a"}\n',
        "tsv": "x\ty\n1\ta\n",
        "json": '{"x": 1, "y": "a"}\n',
    }
    for ending, text in texts.items():
        lake = tmp_path / f"of_{ending}"
        put(lake, "year=2024", text, f"part-0.{ending}")
        put(lake, "", "", "_SUCCESS")
        put(lake, "", "", ".part-0.parquet.crc")
        attach(connection, lake)
        assert rows(connection, "select * from t") == [(1, "a", 2024)], ending
    lake = tmp_path / "of_csv"
    attach(connection, lake, header="true", delimiter=",")
    assert rows(connection, "select x from t") == [(1,)]
    put(tmp_path / "written.csv", "", pa.table({"x": [1]}))
    attach(connection, tmp_path / "written.csv")
    assert rows(connection, "select x from t") == [(1,)]


def test_a_folder_of_several_formats_is_told_what_it_has(connection: Connection, lake: Path) -> None:
    put(lake, "a", "x\n1\n", "1.csv")
    put(lake, "b", "x\n2\n", "2.csv")
    put(lake, "b", pa.table({"x": [3]}))
    told = "are of several formats: 2 csv files and 1 parquet file"
    with pytest.raises(psycopg.errors.FdwInvalidOptionName, match=told) as caught:
        attach(connection, lake)
    assert "format 'csv'" in (caught.value.diag.message_hint or "")
    attach(connection, lake, format="csv")
    assert rows(connection, "select x from t order by x") == [(1,), (2,)]
    attach(connection, lake, format="parquet")
    assert rows(connection, "select x from t") == [(3,)]


def test_a_folder_of_no_known_format_is_told_what_it_has(connection: Connection, lake: Path) -> None:
    put(lake, "", "x", "1.dat")
    put(lake, "", "x", "2.dat")
    put(lake, "", "x", "README")
    for options, told in (
        ({}, "could not find parquet, csv or json files"),
        ({"format": "json"}, "could not read json files"),
    ):
        with pytest.raises(psycopg.errors.UndefinedFile, match=told) as caught:
            attach(connection, lake, **options)
        assert caught.value.diag.message_detail == "The folder has 2 .dat files and 1 file without an ending."
    put(lake, "of_csv", "x\n1\n", "1.csv")
    with pytest.raises(psycopg.errors.UndefinedFile, match="could not read parquet files") as caught:
        attach(connection, lake / "of_csv", format="parquet")
    assert caught.value.diag.message_detail == "The folder has 1 csv file."
    (lake / "nothing").mkdir()
    with pytest.raises(psycopg.errors.UndefinedFile) as caught:
        attach(connection, lake / "nothing")
    assert caught.value.diag.message_detail == "The folder has no files."


def test_tables_with_a_log_are_not_read_as_their_files(connection: Connection, lake: Path) -> None:
    """Their files have rows that were deleted since."""
    for name in ("one", "two"):
        write_deltalake(lake / "deltas" / name, pa.table({"x": [1]}))
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="as one table, since tables lie in it") as caught:
        attach(connection, lake / "deltas")
    assert f'"{lake}/deltas/one" (Delta)' in (caught.value.diag.message_detail or "")
    put(lake, "iceberg/data", pa.table({"x": [1]}))
    put(lake, "iceberg/metadata", "{}", "00000-0.metadata.json")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="of which the newest version is not known"):
        attach(connection, lake / "iceberg")
    put(lake, "hudi", pa.table({"x": [1]}))
    put(lake, "hudi/.hoodie", "", "hoodie.properties")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="the Hudi table at"):
        attach(connection, lake / "hudi")
    attach(connection, lake / "hudi", format="parquet")
    assert rows(connection, "select count(*) from t") == [(1,)]


def test_options_of_another_format(connection: Connection, lake: Path) -> None:
    put(lake, "", pa.table({"x": [1]}))
    with pytest.raises(psycopg.errors.FdwInvalidOptionName, match='invalid option "header"') as caught:
        attach(connection, lake, header="true")
    assert caught.value.diag.message_hint == "Valid options for format parquet are: path, format, partitioning"


def test_the_tables_of_a_folder(connection: Connection, lake: Path) -> None:
    put(lake, "", "x,y\n1,a\n", "Towns.csv")
    put(lake, "", "x", "README.md")
    put(lake, "", pa.table({"s": [{"a": 1}], "wide": pa.array([1], pa.decimal256(60, 0))}), "nested.parquet")
    put(lake, "by_year/year=2024", pa.table({"x": [1]}))
    put(lake, "mixed", pa.table({"x": [1]}))
    put(lake, "mixed", "x\n1\n", "1.csv")
    (lake / "nothing").mkdir()
    write_deltalake(lake / "deltas" / "orders", pa.table({"x": [1, 2]}))
    DeltaTable(lake / "deltas" / "orders").delete("x = 1")
    connection.execute("drop schema if exists lake cascade; create schema lake")
    told: list[str] = []
    connection.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))

    def import_from(schema: str, above: Path = lake.parent) -> None:
        connection.execute(f"import foreign schema {schema} into lake options (path '{above}')")

    import_from("lake from server files")
    assert [notice.partition(" is left out: ")[0] for notice in told] == [
        '"deltas"', '"mixed"', 'column "wide" of "nested"', '"nothing"'
    ]  # fmt: skip
    named = "select relname from pg_class where relnamespace = 'lake'::regnamespace order by 1"
    assert rows(connection, named) == [("Towns",), ("by_year",), ("nested",)]
    assert rows(connection, 'select * from lake."Towns"') == [(1, "a")]
    assert rows(connection, "select * from lake.by_year") == [(1, 2024)]
    assert rows(connection, "select s from lake.nested") == [({"a": 1},)]
    import_from("deltas limit to (orders, others) from server files", lake)
    assert rows(connection, "select * from lake.orders") == [(2,)]
    wrong = {
        "nowhere from server files": psycopg.errors.UndefinedFile,
        '"lake/deltas/orders" from server files': psycopg.errors.WrongObjectType,
        '"lake/by_year" from server files': psycopg.errors.WrongObjectType,
        "lake limit to (mixed) from server files": psycopg.errors.FdwInvalidOptionName,
        'lake limit to ("Towns") from server files': psycopg.errors.DuplicateTable,
        "lake from server spark": psycopg.errors.FdwInvalidOptionName,
        "lake from server other": psycopg.errors.UndefinedObject,
    }
    for text, error in wrong.items():
        with pytest.raises(error):
            import_from(text)


def test_files_that_lack_columns(connection: Connection, lake: Path) -> None:
    """Columns that were added meanwhile are null in the files of before, whichever file comes first, and types are the table's."""
    put(lake, "d=1", pa.table({"a": pa.array([1], pa.int32()), "b": ["x"]}), "1.parquet")
    put(lake, "d=1", pa.table({"b": ["z"], "a": pa.array([4], pa.int32()), "it's": [1.5], "l": [[1]]}), "3.parquet")
    put(lake, "d=2", pa.table({"a": pa.array([3], pa.int32())}), "2.parquet")
    put(lake, "d=2", pa.table({"nothing": pa.array([], pa.int32())}), "4.parquet")
    attach(connection, lake, '(a int, b text, d int, "it\'s" float8, l bigint[])', partitioning="hive")
    every = [(1, "x", 1, None, None), (3, None, 2, None, None), (4, "z", 1, 1.5, [1])]
    assert connection.execute("select * from t order by a").fetchall() == every
    assert connection.execute("select a from t where b is null").fetchall() == [(3,)]
    assert connection.execute("select b, d from t where a > 2 order by a").fetchall() == [(None, 2), ("z", 1)]
    assert connection.execute("select count(*), count(b) from t").fetchall() == [(3, 2)]


def test_a_file_without_a_byte(connection: Connection, lake: Path) -> None:
    put(lake, "", pa.table({"a": [1]}), "1.parquet")
    (lake / "2.parquet").write_bytes(b"")
    attach(connection, lake)
    connection.execute("set sluice.engine = local")
    with pytest.raises(psycopg.errors.DataCorrupted, match=r"2\.parquet"):
        connection.execute("select * from t")


def test_a_column_that_no_file_has(connection: Connection, lake: Path) -> None:
    put(lake, "", pa.table({"a": [1]}), "1.parquet")
    put(lake, "", pa.table({"b": [1]}), "2.parquet")
    with pytest.raises(psycopg.errors.UndefinedColumn, match=r'"c" does not exist in ".*" and 1 more files'):
        attach(connection, lake, "(a int8, c int)")


def test_a_declared_column_has_no_twin_in_another_case(connection: Connection, lake: Path) -> None:
    """The engines would read the first of them."""
    put(lake, "", pa.table({"A": [1, 2], "a": [3, 4], "b": ["x", "y"]}), "1.parquet")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match=r'columns "A" and "a" of ".*1\.parquet"'):
        attach(connection, lake, "(a int8, b text)")
    attach(connection, lake, "(b text)")
    assert connection.execute("select b from t order by b").fetchall() == [("x",), ("y",)]


def test_files_may_spell_a_column_differently(connection: Connection, lake: Path) -> None:
    put(lake, "", pa.table({"a": [1]}), "1.parquet")
    put(lake, "", pa.table({"A": [2], "b": ["x"]}), "2.parquet")
    attach(connection, lake, "(a int8, b text)")
    connection.execute("set sluice.engine = local")
    assert connection.execute("select a from t order by a").fetchall() == [(1,), (2,)]


def test_a_csv_field_of_another_type_is_named_with_its_place(connection: Connection, lake: Path) -> None:
    put(lake, ".", "a,b\n1,x\nzz,w\n", "t.csv")
    attach(connection, lake / "t.csv", "(a int, b text)", format="csv", header="true")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match='type integer: "zz"') as raised:
        connection.execute("select * from t")
    assert raised.value.diag.context == f'line 3 of file "{lake / "t.csv"}", column a: "zz"'
    attach(connection, lake / "t.csv", "(a text, b date)", format="csv", header="true")
    with pytest.raises(psycopg.errors.InvalidDatetimeFormat, match='type date: "x"'):
        connection.execute("select * from t")


def test_a_csv_file_with_other_columns_is_an_error_of_the_file(connection: Connection, lake: Path) -> None:
    put(lake, ".", "a,b\n1,x\n2,y\n", "t.csv")
    attach(connection, lake / "t.csv", "(a int, b text, c int)", format="csv", header="true")
    with pytest.raises(psycopg.errors.BadCopyFileFormat, match="as CSV with the columns"):
        connection.execute("select * from t")


def test_a_link_without_its_target_is_an_error_that_names_it(connection: Connection, lake: Path) -> None:
    put(lake, "", pa.table({"x": [1]}))
    (lake / "gone.parquet").symlink_to(lake / "nowhere.parquet")
    with pytest.raises(psycopg.errors.UndefinedFile, match=r'gone\.parquet": No such file'):
        attach(connection, lake)


@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_the_columns_of_a_file_whose_name_looks_like_a_pattern_are_found(
    connection: Connection, lake: Path, file_format: str
) -> None:
    text = "x,y\n1,a\n" if file_format == "csv" else '{"x": 1, "y": "a"}\n'
    put(lake, "", text, name=f"a[1]*.{file_format}")
    attach(connection, lake / f"a[1]*.{file_format}", format=file_format)
    assert connection.execute("select x, y from t").fetchall() == [(1, "a")]
