"""psycopg 3, values of every type: what it gives for the member is what it gives for PostgreSQL, and back again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from client_values import VALUES, expressions, quoted
from psycopg.types.json import Json, Jsonb
from support.member_process import MemberProcess
from support.postgres_server import PostgresServer

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def both(member: MemberProcess, postgres: PostgresServer) -> Iterator[tuple[Connection, Connection]]:
    """(the member, PostgreSQL)"""
    with member.connect() as ours, psycopg.connect(postgres.dsn, autocommit=True) as theirs:
        yield ours, theirs


def described(cursor: psycopg.Cursor[Any]) -> list[tuple[Any, ...]]:
    columns = cursor.description or ()
    return [(c.name, c.type_code, c.display_size, c.internal_size, c.precision, c.scale) for c in columns]


def read(connection: Connection, query: str, parameters: Any = None, binary: bool = False) -> tuple[Any, Any]:
    cursor = connection.execute(query.encode(), parameters, binary=binary)
    rows = cursor.fetchall()
    return described(cursor), [[(type(value), value) for value in row] for row in rows]


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_results(both: tuple[Connection, Connection], binary: bool, engine: str) -> None:
    ours, theirs = both
    ours.execute("select set_config('sluice.engine', %s, false)", (engine,))
    query = "select " + ", ".join(expression for _, expression in expressions())
    (our_columns, our_rows), (columns, rows) = (read(c, query, binary=binary) for c in (ours, theirs))
    assert our_columns == columns
    assert our_rows == rows


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize("name", VALUES)
def test_parameters(both: tuple[Connection, Connection], name: str, binary: bool) -> None:
    """Values that PostgreSQL gave go to both servers as parameters, and come back in both formats."""
    ours, theirs = both
    literals = [value for value in VALUES[name] if not value.startswith("{{")]
    found = theirs.execute(("select " + ", ".join(f"{quoted(v)}::{name}" for v in literals)).encode()).fetchone()
    values = [adapted(value, name) for value in found or ()]
    query = "select " + ", ".join(f"{'%b' if binary else '%t'}::{name}" for _ in values)
    for result in (False, True):
        assert read(ours, query, values, result) == read(theirs, query, values, result)


def adapted(value: Any, name: str) -> Any:
    """What psycopg must be given to send `value` as JSON; everything else it sends by itself."""
    if not name.startswith("json") or name == "jsonpath":
        return value
    wrapper = Jsonb if name.startswith("jsonb") else Json
    if name.endswith("[]"):
        return [None if element is None else wrapper(element) for element in value]
    return wrapper(value)


def test_arrays_of_two_dimensions_as_parameters(both: tuple[Connection, Connection]) -> None:
    for values, name in (([[1, 2], [3, 4]], "int2[]"), ([["a", "b"], ["c", "d"]], "text[]")):
        query = f"select %b::{name}, %t::{name}"
        assert read(both[0], query, (values, values)) == read(both[1], query, (values, values))


def test_arrays_of_two_dimensions_are_not_fitted_into_a_length(both: tuple[Connection, Connection]) -> None:
    for name in ("char(3)[]", "varchar(3)[]"):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="casts of arrays of several dimensions"):
            both[0].execute(f"select %s::{name}", ([["a", "b"], ["c", "d"]],))


@pytest.mark.parametrize(
    "query",
    [
        "select %s, %s",
        "select %s || 'x', %s = 'a'",
        "select coalesce(%s, 'x'), nullif(%s, 'x')",
        "select concat(%s::text, %s::text)",
    ],
)
def test_strings_without_a_type(both: tuple[Connection, Connection], query: str) -> None:
    """psycopg sends strings with type unknown; context says what they are."""
    assert read(both[0], query, ("a", "b")) == read(both[1], query, ("a", "b"))
