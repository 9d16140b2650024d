"""psycopg 3 with values of every type: reading and writing them gives the same for the member and for PostgreSQL."""

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


@pytest.mark.table
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
    """Return the object that psycopg needs to send `value` as JSON; it sends all other values without help."""
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


def test_arrays_of_two_dimensions_are_fitted_into_a_length(both: tuple[Connection, Connection]) -> None:
    for name in ("char(3)[]", "varchar(3)[]"):
        query, values = f"select %s::{name}", ([["a", "bcde"], ["c", "d"]],)
        assert read(both[0], query, values) == read(both[1], query, values)


def test_arrays_of_two_dimensions_in_a_table(both: tuple[Connection, Connection]) -> None:
    """Send values as parameters of INSERT, one at a time and many, and by COPY in both formats. Copied out and in they are the
    same."""
    rows = [(1, [[1, 2], [3, 4]], [["a", "b"]]), (2, [], None), (3, None, [["x"], ["y,"]])]
    for connection in both:
        connection.execute("create temp table t (id int, x int[][], s text[][])")
        connection.execute("insert into t values (%s, %s, %s)", rows[0])
        connection.cursor().executemany("insert into t values (%s, %s, %s)", rows[1:])
        for form in ("text", "binary"):
            with connection.cursor().copy(f"copy t to stdout (format {form})") as out:
                data = b"".join(map(bytes, out))
            connection.execute("truncate t")
            with connection.cursor().copy(f"copy t from stdin (format {form})") as into:
                into.write(data)
        for binary in (False, True):
            assert connection.execute("select * from t order by id", binary=binary).fetchall() == rows
        connection.execute("drop table t")


def test_an_array_of_other_dimensions_than_its_column(both: tuple[Connection, Connection]) -> None:
    sluice = both[0]
    sluice.execute("create temp table t (id int, x int[][])")
    for value in ([1, 2], [[[1]]]):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="dimensions in one column"):
            sluice.execute("insert into t values (1, %s)", (value,))
    with pytest.raises(psycopg.errors.FeatureNotSupported), sluice.cursor().copy("copy t from stdin") as into:
        into.write("1\t{1,2}\n")
    assert sluice.execute("select * from t").fetchall() == []
    sluice.execute("drop table t")


def test_columns_are_shown_with_their_dimensions(both: tuple[Connection, Connection]) -> None:
    """pg_dump writes what format_type shows, and what it writes must make the same columns."""
    sluice = both[0]
    declared = [
        "integer[][]",
        "character varying(3)[][][]",
        "numeric(5,2)[][]",
        "text[]",
        "timestamp(3) without time zone[][]",
    ]
    listed = ", ".join(f"c{number} {name}" for number, name in enumerate(declared))
    sluice.execute(f"create temp table t ({listed})")
    shown = sluice.execute(
        "select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 't'::regclass and attnum > 0 order by attnum"
    )
    assert [name for (name,) in shown] == declared
    sluice.execute("drop table t")


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
