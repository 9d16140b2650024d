"""The binder against PostgreSQL 15: each line of `statements/queries.sql` has the same description or the same error.

A description has the columns' names, types, type modifiers and origins, and the parameters' types, as Describe returns
them before execution. An error has SQLSTATE, message, detail, hint and position. `-- own` behind a line says that only
the SQLSTATE is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.pq import DiagnosticField, ExecStatus
from support.binding_ground import TABLES, VIEWS, TestCatalog, bind
from support.postgres_server import PostgresServer

from wire.errors import SqlError

pytestmark = pytest.mark.postgres
QUERIES = (Path(__file__).parent / "statements" / "queries.sql").read_text().splitlines()
FIELDS = (
    DiagnosticField.SQLSTATE,
    DiagnosticField.MESSAGE_PRIMARY,
    DiagnosticField.MESSAGE_DETAIL,
    DiagnosticField.MESSAGE_HINT,
    DiagnosticField.STATEMENT_POSITION,
)
Answer = tuple[Any, ...]


@pytest.fixture(scope="module")
def catalog() -> TestCatalog:
    return TestCatalog()


@pytest.fixture(scope="module")
def connection(postgres: PostgresServer) -> Iterator[psycopg.Connection]:
    with postgres.database("binding") as database, database.connect() as connection:
        for ddl in TABLES:
            connection.execute(f"create table {ddl}".encode())
        for name, definition in VIEWS:
            connection.execute(f"create view {name} as {definition}".encode())
        yield connection


def theirs(connection: psycopg.Connection, sql: str) -> Answer:
    result = connection.pgconn.prepare(b"", sql.encode())
    if result.status == ExecStatus.FATAL_ERROR:
        return tuple((result.error_field(f) or b"").decode() for f in FIELDS)
    told = connection.pgconn.describe_prepared(b"")
    columns = tuple(
        ((told.fname(i) or b"").decode(), told.ftype(i), told.fmod(i), told.ftablecol(i)) for i in range(told.nfields)
    )
    return columns, tuple(told.param_type(i) for i in range(told.nparams))


def ours(catalog: TestCatalog, sql: str) -> Answer:
    try:
        bound = bind(sql, catalog)
    except SqlError as error:
        position = str(error.position) if error.position else ""
        return error.sqlstate, error.message, error.detail or "", error.hint or "", position
    columns = tuple((c.name, c.type.pg.oid, c.type.typmod, c.attribute) for c in bound.columns)
    return columns, tuple(p.oid for p in bound.parameters)


@pytest.mark.parametrize("line", [q for q in QUERIES if q.strip() and not q.startswith("--")])
def test_described_or_refused_alike(connection: psycopg.Connection, catalog: TestCatalog, line: str) -> None:
    sql, _, remark = line.partition("  -- ")
    want, got = theirs(connection, sql), ours(catalog, sql)
    if remark == "own":
        want, got = want[:1], got[:1]
    assert got == want
