"""IN over many constants or parameters, which a plan stores as one value, against PostgreSQL 15: types, nulls, places,
errors.

A plan stores a list as one value from a thousand constants on. Here a hundred are enough, so that every form can be
tested with every type in little time; one form has a list of each type that reaches the real limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import psycopg
import pytest
from support.member_beside_postgres import Connection, member_beside_postgres, rows_or_error
from support.postgres_server import PostgresServer

from engine.sql.binder import parameter_lists

pytestmark = pytest.mark.postgres

_TABLE: Final = (
    "create table listed (id int, s smallint, i int, b bigint, n numeric(12, 2), f float8, t text, v varchar(9), c char(5), "
    "d date, m timestamp)"
)
_ROWS: Final = """insert into listed values
    (1, 7, 7, 7, 7, 7, '7', '7', '7', '2001-01-08', '2001-01-01 00:00:07'),
    (2, 5000, 5000, 5000000000, 0.5, 0.5, 'it''s', 'ü', 'ü', '1901-01-01', '1901-01-01'),
    (3, null, null, null, null, null, null, null, null, null, null),
    (4, 1199, 1199, 1199, 1199.00, 'nan', '1199 ', '1199', '1199', 'infinity', 'infinity'),
    (5, -1, -1, -1, -1, '-0', '', '', '', '2004-04-13', '2001-01-01 00:19:59')"""


def _of_numbers(written: str) -> list[str]:
    return [written.format(number) for number in range(1200)]


_LISTS: Final = {
    "s": _of_numbers("{}"),
    "i": _of_numbers("{}"),
    "b": [*_of_numbers("{}"), "5000000000"],
    "n": [*_of_numbers("{}.00"), "0.50"],
    "f": [*_of_numbers("{}.5"), "float8 'NaN'"],
    "t": [*_of_numbers("'{}'"), "'it''s'", "''"],
    "v": [*_of_numbers("'{}'"), "'ü'"],
    "c": _of_numbers("'{} '"),
    "d": [*_of_numbers("date '2001-01-01' + {}"), "'infinity'"],
    "m": [f"'2001-01-01 00:{number // 60:02}:{number % 60:02}'" for number in range(1200)],
}
#: As many constants of a list as make it one value here; every eighth of the numbers, 7 and 1199 among them, is more.
_MANY: Final = 100
_EVERY: Final = 8
_FORMS: Final = (
    "select id from listed where {column} in ({values})",
    "select id from listed where {column} not in ({values})",
    "select id, {column} in ({values}) from listed",
    "select id from listed where case when {column} in ({values}) then id < 4 else id > 4 end",
    "select count(*) filter (where {column} in ({values})), bool_or({column} not in ({values})) from listed",
    "select a.id, b.id from listed a left join listed b on a.id = b.id and b.{column} in ({values})",
    "select id from listed where {column} = any (array[{values}])",
    "select id from listed where {column} <> all (array[{values}])",
    "select {column} in ({values}), count(*) from listed group by {column} in ({values})",
)


@pytest.fixture(scope="module")
def both(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, Connection]]:
    with member_beside_postgres(tmp_path_factory.mktemp("lists"), postgres, (_TABLE, _ROWS)) as connections:
        yield connections


def _answer(connection: Connection, statement: str) -> object:
    found = rows_or_error(connection, statement)
    return sorted(map(str, found)) if isinstance(found, list) else found


@pytest.fixture
def _fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameter_lists, "MANY", _MANY)


def _some(column: str) -> list[str]:
    """Values of the column's list: some that rows have, and others."""
    values = _LISTS[column]
    return [*values[7:1200:_EVERY], *values[1198:1199], *values[1200:]]


def _assert_same(both: tuple[Connection, Connection], statement: str) -> None:
    ours, theirs = (_answer(connection, statement) for connection in both)
    assert ours == theirs


@pytest.mark.table
@pytest.mark.usefixtures("_fewer")
@pytest.mark.parametrize("null", [False, True], ids=["", "null"])
@pytest.mark.parametrize("column", _LISTS)
@pytest.mark.parametrize("form", _FORMS)
def test_a_long_list(both: tuple[Connection, Connection], form: str, column: str, *, null: bool) -> None:
    some = _some(column)
    assert len(some) > _MANY
    values = ", ".join([*some[:75], *(["null"] if null else []), *some[75:]])
    _assert_same(both, form.format(column=column, values=values))


@pytest.mark.parametrize("column", _LISTS)
def test_a_list_of_a_thousand_and_more(both: tuple[Connection, Connection], column: str) -> None:
    values = ", ".join([*_LISTS[column][:600], "null", *_LISTS[column][600:]])
    _assert_same(both, f"select id, {column} in ({values}) from listed")


@pytest.mark.usefixtures("_fewer")
@pytest.mark.parametrize("odd", ["'x'", "true", "1.5", "100000000000", "'1'", "b", "array[1]", "(select 1)", "-'a'"])
def test_a_list_with_something_else_in_it(both: tuple[Connection, Connection], odd: str) -> None:
    _assert_same(both, f"select id from listed where i in ({', '.join([*_some('i'), odd])})")


def _given(column: str) -> list[Any]:
    """Values of parameters for the column's list. psycopg gives whole numbers the type of their size, and texts none."""
    numbers = [*range(7, 1200, 8), 1199, None]
    if column in "sib":
        return [*numbers, 70_000, *([5_000_000_000] if column == "b" else [])]
    if column == "n":
        return [None if number is None else Decimal(number) / 2 for number in numbers]
    if column == "f":
        return [None if number is None else number / 2 for number in numbers] + [float("nan")]
    if column in "dm":
        begin = date(2001, 1, 1) if column == "d" else datetime(2001, 1, 1)
        step = timedelta(days=1) if column == "d" else timedelta(seconds=1)
        return [None if number is None else begin + number * step for number in numbers]
    return [None if number is None else str(number) for number in numbers] + ["it's", "ü"]


@pytest.mark.table
@pytest.mark.usefixtures("_fewer")
@pytest.mark.parametrize("mode", ["auto", "force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("column", _LISTS)
@pytest.mark.parametrize("untyped", [False, True], ids=["", "untyped"])
def test_a_list_of_parameters(both: tuple[Connection, Connection], column: str, mode: str, *, untyped: bool) -> None:
    given = [None if value is None else str(value) if untyped else value for value in _given(column)]
    places = ", ".join(f"${number}" for number in range(1, len(given) + 1))
    forms = (
        f"select id from listed where {column} in ({places}) order by id",
        f"select id from listed where {column} not in ({places}) order by id",
        f"select id, {column} in ({places}) from listed order by id",
    )
    for form in forms:
        found = [_asked(connection, mode, form, given) for connection in both]
        assert found[0] == found[1], form


def _asked(connection: Connection, mode: str, query: str, given: list[Any]) -> object:
    connection.execute(f"set plan_cache_mode = {mode}".encode())
    try:
        return psycopg.RawCursor(connection).execute(query.encode(), given).fetchall()
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary, error.diag.statement_position


@pytest.mark.usefixtures("_fewer")
@pytest.mark.parametrize(
    "odd",
    ["$1", "$200", "'x'", "i", "$0", "$201 + 1", "array[$201]", "($201, 1)", "$201::text", "$201::bigint", "$1::text"],
)
def test_a_list_of_parameters_with_something_else(both: tuple[Connection, Connection], odd: str) -> None:
    given = [*range(1, 201), 7]
    places = [f"${number}" for number in range(1, 201)]
    for where in (0, 100, 200):
        listed = ", ".join([*places[:where], odd, *places[where:]])
        query = f"select id from listed where i in ({listed}) order by id"
        ours, theirs = (
            _asked(connection, "auto", query, given if "201" in odd else given[:200]) for connection in both
        )
        assert ours == theirs


@pytest.mark.usefixtures("_fewer")
@pytest.mark.parametrize("mode", ["auto", "force_generic_plan"])
def test_other_values_in_a_list_without_a_table(both: tuple[Connection, Connection], mode: str) -> None:
    """A query of nothing but parameters is not one of constants, whose rows are kept."""
    places = ", ".join(f"${number}::int" for number in range(1, 151))
    query = f"select 7 in ({places}), 7 not in ({', '.join(f'${number}' for number in range(1, 151))})"
    for first in (1, 8, 1, 7, 8):
        given = list(range(first, first + 150))
        ours, theirs = (_asked(connection, mode, query, given) for connection in both)
        assert ours == theirs


def test_explain_shows_the_values_of_a_list(both: tuple[Connection, Connection]) -> None:
    places = ", ".join(f"${number}" for number in range(1, 1201))
    plan = psycopg.RawCursor(both[0]).execute(
        f"explain select id from listed where i in ({places})".encode(), list(range(3000, 4200))
    )
    assert any("3000, 3001" in line for (line,) in plan)
