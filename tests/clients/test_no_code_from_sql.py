"""No SQL text can run code of an engine or another program, or name a file's path except in FROM for roles that may
read the server's files (`test_files_in_from`). The engines' own functions for this are not in the function table,
relations are looked up in the catalog only, and settings are the session's.

Each attempt is refused when it is bound, whichever engine was requested, also inside of objects that are stored or run
later.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member

#: By both engines, and PostgreSQL: what runs code, reads files by their paths or looks into the process.
_EXPRESSIONS = (
    "reflect('java.lang.System', 'getProperty', 'user.home')",
    "java_method('java.lang.Runtime', 'getRuntime')",
    "try_reflect('java.lang.System', 'exit', 1)",
    "raise_error('x')",
    "input_file_name()",
    "getenv('HOME')",
    "getvariable('x')",
    "pg_read_file('/etc/passwd')",
    "pg_read_binary_file('/etc/passwd')",
    "lo_import('/etc/passwd')",
    "query_to_xml('select 1', true, true, '')",
)
_RELATIONS = (
    "read_text('/etc/passwd')",
    "read_csv('/etc/passwd')",
    "read_csv_auto('/etc/passwd')",
    "read_parquet('/etc/passwd')",
    "read_json('/etc/passwd')",
    "read_blob('/etc/*')",
    "parquet_scan('/etc/passwd')",
    "glob('/*')",
    "query('select 1')",
    "query_table('pg_class')",
    "duckdb_settings()",
    "duckdb_secrets()",
    "pragma_database_list()",
    "pg_ls_dir('/')",
    "pg_logdir_ls()",
    '"/etc/passwd"',
    '"/etc/passwd.csv"',
    'csv."/etc/passwd"',
    'text."/etc/passwd"',
    'parquet."file:///etc/passwd"',
    'delta."/tmp"',
    'binaryFile."/etc/passwd"',
    'spark_catalog."default".t',
    "`/etc/passwd`",
)
_STATEMENTS = (
    "install httpfs",
    "load httpfs",
    "attach '/tmp/x.db' as x",
    "pragma database_list",
    "export database '/tmp/x'",
    "import database '/tmp/x'",
    "add jar '/tmp/x.jar'",
    "create function f() returns int language sql as 'select 1'",
    "create temporary function f as 'org.example.F'",
    "create temporary macro f(a) as a + 1",
    "create secret s (type s3)",
    "do $$ begin end $$",
    "do language plpython3u $$ import os $$",
    "copy t from program 'id'",
    "copy t to program 'id'",
    "create extension plpython3u",
    "create language plpython3u",
    "select transform(id) using 'cat' as (x) from t",
    "from t select *",
)
#: No such function, relation, schema, type or thing here; not supported; not SQL.
_REFUSED = ("42883", "42P01", "3F000", "42704", "0A000", "42601", "42703")


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(Path(tmp_path_factory.mktemp("closed"))) as running:
        with running.connect() as connection:
            connection.execute("create table t (id int)")
        yield running


@pytest.fixture(params=["local", "spark", "auto"])
def connection(closed: LocalMember, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[Any]]:
    with closed.connect() as opened:
        opened.execute(f"set sluice.engine = {request.param}")
        yield opened


def _told(connection: psycopg.Connection[Any], statement: str) -> str | None:
    """The SQLSTATE of its error."""
    try:
        connection.execute(statement.encode())
    except psycopg.Error as error:
        return error.sqlstate
    return None


def _queries() -> Iterator[str]:
    yield from (f"select {expression}" for expression in _EXPRESSIONS)
    yield from (f"select {expression} from t" for expression in _EXPRESSIONS)
    yield from (f"select * from {relation}" for relation in _RELATIONS)


def test_functions_and_paths(connection: psycopg.Connection[Any]) -> None:
    answered = {query: _told(connection, query) for query in _queries()}
    assert {query: state for query, state in answered.items() if state not in _REFUSED} == {}


@pytest.mark.parametrize(
    "form",
    [
        "create view v as {}",
        "create table made as {}",
        "create materialized view m as {}",
        "copy ({}) to stdout",
        "prepare p as {}",
        "declare c cursor with hold for {}",
        "explain analyze {}",
        "with w as ({}) select count(*) from w",
        "select exists ({})",
        "insert into t {}",
    ],
)
def test_inside_of_other_statements(closed: LocalMember, form: str) -> None:
    with closed.connect() as connection:
        answered = {query: _told(connection, form.format(query)) for query in _queries()}
        assert {query: state for query, state in answered.items() if state not in _REFUSED} == {}


def test_kept_expressions(closed: LocalMember) -> None:
    with closed.connect() as connection:
        for expression in _EXPRESSIONS:
            for form in (
                "a text default ({})",
                "a text generated always as ({}) stored",
                "a text check (({}) is null)",
            ):
                told = _told(connection, f"create table kept ({form.format(expression)})")
                assert told in _REFUSED, (form, expression, told)


def test_statements(connection: psycopg.Connection[Any]) -> None:
    answered = {statement: _told(connection, statement) for statement in _STATEMENTS}
    assert {statement: state for statement, state in answered.items() if state not in _REFUSED} == {}


@pytest.mark.parametrize("name", ["spark.sql.warehouse.dir", "spark.driver.extraClassPath", "enable_external_access"])
def test_settings_of_engines(closed: LocalMember, name: str) -> None:
    """A name with a dot is anybody's, as in PostgreSQL, and nobody reads it; one without has to be PostgreSQL's."""
    with closed.connect() as connection:
        told = _told(connection, f"set {name} = 'x'")
        assert told == (None if "." in name else "42704")
        with closed.connect() as other:
            assert other.execute("select current_setting(%s, true)", [name]).fetchone() == (None,)
