"""The parser against PostgreSQL 15: each line of `statements/grammar.sql` is accepted by both, or refused by both with the
same SQLSTATE, message and position. `\\n` in a line is a line break. Errors of PostgreSQL's later analysis count as accepted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.pq import DiagnosticField, ExecStatus
from support.postgres_server import PostgresServer

from engine.sql.parser.parse import parse
from wire.errors import SqlError

pytestmark = pytest.mark.postgres
STATEMENTS = (Path(__file__).parent / "statements" / "grammar.sql").read_text().splitlines()
GRAMMAR_ERRORS = ("42601", "22025", "42P20", "42P11", "42602", "42622")
Verdict = tuple[str, str, int] | None


@pytest.fixture(scope="module")
def connection(postgres: PostgresServer) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.dsn) as connection:
        yield connection


def theirs(connection: psycopg.Connection, sql: str) -> Verdict:
    result = connection.pgconn.prepare(b"", sql.encode())
    connection.rollback()
    if result.status != ExecStatus.FATAL_ERROR:
        return None
    state, message, position = (
        (result.error_field(f) or b"").decode()
        for f in (DiagnosticField.SQLSTATE, DiagnosticField.MESSAGE_PRIMARY, DiagnosticField.STATEMENT_POSITION)
    )
    return (state, message, int(position or 0)) if state in GRAMMAR_ERRORS else None


def ours(sql: str) -> Verdict:
    try:
        parse(sql)
    except SqlError as error:
        return error.sqlstate, error.message, error.position or 0
    return None


@pytest.mark.parametrize("line", [s for s in STATEMENTS if s.strip()])
def test_same_verdict(connection: psycopg.Connection, line: str) -> None:
    sql = line.replace("\\n", "\n") if "E'" not in line else line
    assert ours(sql) == theirs(connection, sql)
