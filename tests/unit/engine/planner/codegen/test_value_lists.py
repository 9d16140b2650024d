"""Long IN lists and VALUES become literals by column for DuckDB, and mean the same as short ones."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import pytest
from sqlglot import exp
from support.binding_ground import TestCatalog, bind
from support.local_member import LocalMember, local_member

from engine.plan_ir.expr import Const, InList
from engine.plan_ir.rewrite import expressions, size, walk_all
from engine.planner.codegen import Bindings, compile_plan, value_lists
from engine.planner.planner import optimise

_NUMBERS = ", ".join(map(str, range(-600, 600)))
_WORDS = ", ".join(f"'w{number}'" for number in range(1200)) + r", 'it''s', 'a\b', 'a\"b', 'ü', '', '[1]', 'NULL'"


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("lists")) as running:
        with running.connect() as connection:
            connection.execute("create table v (n int, b bigint, w text, c varchar(9))")
            connection.execute(
                r"""insert into v values (1, 1, 'w7', 'w7'), (5000, -7, 'it''s', 'it''s'), (null, null, null, null),
                (-600, 9000000000, 'a\b', 'a\b'), (600, 3, 'a\"b', 'x'), (2, 2, 'ü', 'ü'), (3, 3, '', ''),
                (4, 4, '[1]', 'w1200'), (5, 5, 'NULL', 'NULL'), (6, 6, 'w', 'w1')"""
            )
        yield running


@pytest.mark.table
@pytest.mark.parametrize("column", ["n", "b", "w", "c"])
@pytest.mark.parametrize(
    "form", ["{} in ({})", "{} not in ({})", "n > 1 and ({} in ({}) or n = 600)", "not ({} in ({}))"]
)
def test_a_long_list_means_what_its_values_do(member: LocalMember, column: str, form: str) -> None:
    """The values as rows of a table of their own say the same, by another way."""
    values = _NUMBERS if column in "nb" else _WORDS
    rows = "), (".join(values.split(", "))
    with member.connect() as connection:
        found = _rows(connection, f"select * from v where {form.format(column, values)} order by n")
        test = f"select x from (values ({rows})) l (x)"
        assert found == _rows(connection, f"select * from v where {form.format(column, test)} order by n")
    assert found


@pytest.mark.table
@pytest.mark.parametrize("null", ["null", "null::int"])
@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("n in ({})", [1, 2, 3, 4, 5, 6, -600]),
        ("n not in ({})", []),
        ("not (n in ({}))", []),
        ("n in ({}) is null", [None, 600, 5000]),
        ("n not in ({}) or n = 600", [600]),
        ("coalesce(n in ({}), true)", [None, 1, 2, 3, 4, 5, 6, -600, 600, 5000]),
        ("case when n in ({}) then n < 3 else n = 600 end", [1, 2, 600, -600]),
        ("n = any (array[{}])", [1, 2, 3, 4, 5, 6, -600]),
        ("n <> all (array[{}])", []),
    ],
)
def test_a_long_list_with_a_null(member: LocalMember, form: str, expected: list[int | None], null: str) -> None:
    values = _NUMBERS.replace("7,", f"7, {null},", 1)
    with member.connect() as connection:
        found = _rows(connection, f"select n from v where {form.format(values)}")
    assert {row[0] for row in found} == set(expected)


def test_a_long_list_is_one_value_of_a_plan() -> None:
    """A walk over the plan does not meet its constants; the size of the plan counts them."""
    plan = bind(f"select 1 from orders where o_custkey in ({_NUMBERS})", TestCatalog()).plan
    parts = [part for node in walk_all(plan) for expr in expressions(node) for part in expr.walk()]
    assert len(parts) < 10
    [found] = [part for part in parts if isinstance(part, InList)]
    assert [item.value for item in found.items if isinstance(item, Const)] == list(range(-600, 600))
    assert size(plan) > 1200
    again = bind(f"select 1 from orders where o_custkey in ({_NUMBERS})", TestCatalog()).plan
    [same] = [
        part
        for node in walk_all(again)
        for expr in expressions(node)
        for part in expr.walk()
        if isinstance(part, InList)
    ]
    assert (same.items, hash(same.items)) == (found.items, hash(found.items))
    assert same.items[1:] != found.items


def test_a_null_in_the_list_is_kept(member: LocalMember) -> None:
    with member.connect() as connection:
        assert _rows(connection, f"select n from v where n not in ({_NUMBERS}, null)") == []
        assert _rows(connection, f"select n from v where n in (null, {_NUMBERS}) and n > 5") == [(6,)]


@pytest.mark.parametrize(("column", "values"), [("o_custkey", _NUMBERS), ("o_comment", _WORDS)])
def test_a_long_list_is_one_literal(column: str, values: str) -> None:
    plan = optimise(bind(f"select 1 from orders where {column} in ({values})", TestCatalog()).plan)
    statement = compile_plan(plan, "local", Bindings({}, {}, "UTC")).statement
    assert sum(1 for _ in statement.find_all(exp.Literal)) < 10


_PARAMETERS: Final = [f"${number}::bigint" for number in range(1, 1201)]


@pytest.mark.parametrize("form", ["in ({})", "not in ({})", "= any (array[{}])"])
def test_a_long_list_of_parameters_is_one_literal(form: str) -> None:
    values = {number: None if number == 7 else number for number in range(1, 1201)}
    written = f"select 1 from orders where o_custkey {form.format(', '.join(_PARAMETERS))}"
    plan = optimise(bind(written, TestCatalog()).plan)
    statement = compile_plan(plan, "local", Bindings(values, {}, "UTC")).statement
    assert sum(1 for _ in statement.find_all(exp.Literal)) < 10


def test_many_rows_of_parameters_are_a_literal_a_column() -> None:
    kept = [f"(${number}::int, ${number + 1}::text)" for number in range(1, 2401, 2)]
    values = {number: str(number) if number % 2 == 0 else number for number in range(1, 2401)}
    plan = optimise(bind(f"select * from (values {', '.join(kept)}) v", TestCatalog()).plan)
    statement = compile_plan(plan, "local", Bindings(values, {}, "UTC")).statement
    assert sum(1 for _ in statement.find_all(exp.Literal)) < 10


def test_long_lists_of_parameters_mean_what_constants_do(member: LocalMember) -> None:
    given = [*map(str, range(-600, 600)), None]
    places = ", ".join(["%s"] * len(given))
    pairs = [(number, f"it's {number}") for number in given]
    with member.connect() as connection:
        for test in ("n in ({})", "n not in ({})", "not (n in ({}))"):
            sql = f"select n from v where {test} order by n"
            expected = _rows(connection, sql.format(f"{_NUMBERS}, null"))
            assert connection.execute(sql.format(places).encode(), given).fetchall() == expected
        connection.execute("create table given (n int, t text)")
        rows = ", ".join(["(%s, %s)"] * len(pairs))
        connection.execute(f"insert into given values {rows}".encode(), [cell for pair in pairs for cell in pair])
        found = _rows(connection, "select n, t from given order by n nulls last")
        assert found == [(None if n is None else int(n), text) for n, text in pairs]


def _rows(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = connection.execute(statement.encode()).fetchall()
    return found


_ROWS: Final = [
    (number, number * 10**10, f'it\'s "{number}" \\', Decimal(number) / 4, number / 3, None if number % 3 else "x")
    for number in range(-75, 75)
]


def _written(row: tuple[Any, ...]) -> str:
    number, large, text, exact, inexact, word = row
    quoted = "'" + text.replace("'", "''") + "'"
    return f"({number}, {large}, {quoted}, {exact}, {inexact!r}::float8, {'null' if word is None else repr(word)})"


def test_many_rows_of_constants_are_what_was_written(member: LocalMember, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_lists, "_LONG", len(_ROWS))
    values = ", ".join(map(_written, _ROWS))
    with member.connect() as connection:
        found = _rows(connection, f"select * from (values {values}) v (n, l, t, e, f, w)")
        assert found == _ROWS
        connection.execute("create table i (n int, l bigint, t text, e numeric(12, 2), f float8, w varchar(3))")
        connection.execute(f"insert into i values {values}".encode())
        assert _rows(connection, "select * from i order by n") == _ROWS


def test_many_rows_are_a_literal_a_column() -> None:
    values = ", ".join(f"({number}, 'a{number}')" for number in range(1200))
    plan = optimise(bind(f"select * from (values {values}) v", TestCatalog()).plan)
    statement = compile_plan(plan, "local", Bindings({}, {}, "UTC")).statement
    assert sum(1 for _ in statement.find_all(exp.Literal)) < 10


@pytest.mark.parametrize("odd", ["1 + 1", "'infinity'::float8", "date '2001-01-01'"])
def test_rows_that_are_not_plain_constants_are_written_out(member: LocalMember, odd: str) -> None:
    values = ", ".join(["(1)"] * 1200) if odd == "1 + 1" else ", ".join([f"({odd})"] * 1200)
    with member.connect() as connection:
        statement = f"select count(*), count(distinct x) from (values {values}, ({odd})) v (x)"
        assert _rows(connection, statement) == [(1201, 2 if odd == "1 + 1" else 1)]
