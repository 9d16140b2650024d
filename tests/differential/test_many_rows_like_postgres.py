"""INSERT of many rows of parameters, which are bound column by column, against PostgreSQL 15: what is stored, and what
is refused.

Rows are bound column by column from a thousand on. Here twenty are enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest
from support.member_beside_postgres import Connection, member_beside_postgres
from support.postgres_server import PostgresServer

from engine.sql.binder import parameter_lists

pytestmark = pytest.mark.postgres

_ROWS: Final = 24
_TABLE: Final = """create table taken (
    k serial, s smallint, i int, b bigint, n numeric(8, 2), f float8, t text, v varchar(5), c char(3), o bool, d date,
    m timestamp, z timestamptz, j jsonb, x uuid, y bytea, w int default 7, r real,
    e text default 'none', g int generated always as (i + 1) stored
)"""
_NONE: Final[list[Any]] = [None, None]
_VALUES: Final[dict[str, list[Any]]] = {
    "small numbers": list(range(_ROWS)),
    "numbers": [1, 40_000, -7, None, 2_000_000_000, 5, *range(_ROWS)],
    "large numbers": [1, 5_000_000_000, *_NONE, *range(_ROWS)],
    "numerics": [Decimal("1.5"), Decimal("2.345"), None, Decimal(-7), *map(Decimal, range(_ROWS))],
    "large numerics": [Decimal("1.5"), Decimal("1234567890123.4567"), *map(Decimal, range(_ROWS))],
    "floats": [1.5, -0.25, None, *map(float, range(_ROWS))],
    "texts": ["a", "", None, "it's", "ü", *map(str, range(_ROWS))],
    "digits": list(map(str, range(_ROWS))),
    "long texts": ["a", "bcdefgh", *map(str, range(_ROWS))],
    "booleans": [True, False, None] * _ROWS,
    "dates": [date(2001, 1, 1), None, date(1900, 12, 31)] * _ROWS,
    "times": [datetime(2001, 1, 1, 12), None, datetime(2024, 2, 29, 1, 2, 3, 456)] * _ROWS,
    "times with zone": [datetime(2001, 1, 1, 12, tzinfo=UTC), None] * _ROWS,
    "mixed": [1, "2", None, 70_000, "x", *range(_ROWS)],
    "uuids": [UUID(int=number) for number in range(_ROWS)],
    "bytes": [bytes([number]) for number in range(_ROWS)],
    "documents": [f'{{"a": {number}}}' for number in range(_ROWS)],
    "nothing": [None] * _ROWS,
}
_COLUMNS: Final = "sibnftvcodmzjxywr"


@pytest.fixture(scope="module")
def both(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, Connection]]:
    with member_beside_postgres(tmp_path_factory.mktemp("rows"), postgres, ("set timezone = 'UTC'",)) as connections:
        yield connections


@pytest.fixture(autouse=True)
def _fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameter_lists, "MANY", _ROWS // 2)


def _outcome(connection: Connection, statement: str, given: list[Any], shown: str) -> object:
    connection.execute(b"drop table if exists taken")
    connection.execute(_TABLE.encode())
    try:
        cursor = psycopg.RawCursor(connection).execute(statement.encode(), given)
        returned = sorted(map(str, cursor.fetchall())) if cursor.description else cursor.statusmessage
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary, error.diag.statement_position
    return returned, connection.execute(f"select {shown} from taken order by k".encode()).fetchall()


def _assert_same(both: tuple[Connection, Connection], statement: str, given: list[Any], shown: str) -> None:
    ours, theirs = (_outcome(connection, statement, given, shown) for connection in both)
    assert ours == theirs


def _rows(form: str, count: int, width: int) -> str:
    """So many rows of that form, whose parameters, named from 0, are numbered on."""
    return ", ".join(form.format(*(f"${row * width + at + 1}" for at in range(width))) for row in range(count))


@pytest.mark.table
@pytest.mark.parametrize("values", _VALUES)
@pytest.mark.parametrize("column", _COLUMNS)
def test_a_column_of_parameters(both: tuple[Connection, Connection], column: str, values: str) -> None:
    given = _VALUES[values]
    statement = f"insert into taken ({column}) values {_rows('({})', len(given), 1)}"
    _assert_same(both, statement, given, f"k, {column}::text, w, e, g")


_NUMBERS: Final = list(range(1, 2 * _ROWS + 1))
_FORMS: Final = {
    "columns": ("insert into taken (i, b) values {}", "({}, {})"),
    "defaults": ("insert into taken (i, w) values {}, (1, default)", "({}, {})"),
    "constants": ("insert into taken (i, t, b) values {}", "({}, 'same', {})"),
    "nulls": ("insert into taken (i, t, b) values {}", "({}, null, {})"),
    "calls": ("insert into taken (i, t, b) values {}", "({}, lower('X'), {})"),
    "sums": ("insert into taken (i, b) values {}", "({}, {} + 1)"),
    "returning": ("insert into taken (i, b) values {} returning k, i + b, g", "({}, {})"),
    "casts": ("insert into taken (i, b) values {}", "({}::int, {}::int)"),
    "too many": ("insert into taken (i) values {}", "({}, {})"),
    "too few": ("insert into taken (i, b, t) values {}", "({}, {})"),
    "no column": ("insert into taken (i, nosuch) values {}", "({}, {})"),
    "another length": ("insert into taken (i, b) values {}, (1)", "({}, {})"),
    "generated": ("insert into taken (i, g) values {}", "({}, {})"),
    "no list": ("insert into taken values {}", "({}, {})"),
    "a type at the end": ("insert into taken (i, b) values {}, (1, true)", "({}, {})"),
    "conflict": ("insert into taken (i, b) values {} on conflict do nothing", "({}, {})"),
    "query": ("insert into taken (i, b) select * from (values {}) v order by 1", "({}::int, {}::int)"),
}


@pytest.mark.parametrize("form", _FORMS)
def test_rows_of_parameters(both: tuple[Connection, Connection], form: str) -> None:
    statement, row = _FORMS[form]
    written = statement.format(_rows(row, _ROWS, 2))
    _assert_same(both, written, _NUMBERS, "k, i, b, t, w, e, g")


@pytest.mark.parametrize("first", ["i, t", "t, i", "t, v", "i, b"])
def test_a_parameter_in_two_columns(both: tuple[Connection, Connection], first: str) -> None:
    rows = ", ".join(f"(${number}, ${number + 1})" for number in range(1, _ROWS))
    _assert_same(both, f"insert into taken ({first}) values {rows}", list(map(str, range(_ROWS))), "k, i, t, v, b")


def test_a_row_beyond_the_column(both: tuple[Connection, Connection]) -> None:
    """A value that the narrower column refuses, whichever of the rows it is in."""
    for at in (0, 11, 23):
        given = [70_000 if number == at else number for number in range(_ROWS)]
        _assert_same(both, f"insert into taken (s) values {_rows('({})', _ROWS, 1)}", given, "k, s")


def test_rows_beyond_one_execution(both: tuple[Connection, Connection]) -> None:
    """Several executions of the same statement, prepared."""
    statement = f"insert into taken (i, t) values {_rows('({}, {})', _ROWS, 2)}".encode()
    found = []
    for connection in both:
        connection.execute(b"drop table if exists taken")
        connection.execute(_TABLE.encode())
        for times in range(3):
            given = [cell for row in range(_ROWS) for cell in (row + times, f"t{row}")]
            psycopg.RawCursor(connection).execute(statement, given, prepare=True)
        found.append(connection.execute(b"select k, i, t, w from taken order by k").fetchall())
    assert found[0] == found[1]
