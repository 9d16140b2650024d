"""Parameters of megabytes: values arrive unchanged wherever a statement uses them, and other clients are answered
meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from support.local_member import LocalMember, local_member

LENGTH = 1 << 20
#: Python's lists as PostgreSQL's arrays.
_BRACES = str.maketrans("[]", "{}", " ")
TEXT = ('it\'s a \\ "long" text; $1 %s é ' * (LENGTH // 20))[:LENGTH]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("long")) as running:
        yield running


@pytest.fixture
def connection(local: LocalMember) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with local.connect() as made:
        yield made


@pytest.mark.table
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    ("expression", "value"),
    [("{}::text", TEXT), ("{}::bytea", TEXT.encode()), ("{}::text || 'x'", TEXT), ("upper({}::text)", TEXT)],
    ids=["text", "bytea", "appended", "upper"],
)
def test_given_back(
    connection: psycopg.Connection[tuple[Any, ...]], expression: str, value: str | bytes, binary: bool
) -> None:
    placeholder = "%b" if binary else "%t"
    [(found,)] = connection.execute(f"select {expression.format(placeholder)}".encode(), (value,)).fetchall()
    wanted = {"{}::text || 'x'": TEXT + "x", "upper({}::text)": TEXT.upper()}.get(expression, value)
    assert found == wanted


def test_written_compared_and_searched(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    connection.execute("create table long (a text, b jsonb)")
    try:
        connection.execute("insert into long values (%s, %s)", (TEXT, Jsonb({"k": TEXT})))
        found = connection.execute(
            "select a = %s, strpos(a, %s), b->>'k' = %s from long", (TEXT, TEXT[9:], TEXT)
        ).fetchall()
        assert found == [(True, 10, True)]
        assert connection.execute("select count(*) from long where a = any(%s)", ([TEXT, "x"],)).fetchone() == (1,)
        connection.execute("update long set a = %s", (TEXT + "y",))
        assert connection.execute("select length(a) from long").fetchone() == (LENGTH + 1,)
    finally:
        connection.execute("drop table long")


def test_a_long_string_of_a_simple_query(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    text = "y" * LENGTH
    assert connection.execute(f"select length('{text}'), '{text}' = repeat('y', {LENGTH})".encode()).fetchall() == [
        (LENGTH, True)
    ]


def test_others_are_answered_while_a_long_value_is_read(local: LocalMember) -> None:
    """An array of 200,000 numbers, and what is none, is read on another thread than the one that serves all clients."""
    over, answers = threading.Event(), 0

    def ask() -> None:
        nonlocal answers
        with local.connect() as neighbour:
            while not over.is_set():
                neighbour.execute("select 1")
                answers += 1

    text = "{" + "7," * 200_000 + "x}"
    asking = threading.Thread(target=ask)
    with local.connect() as connection:
        asking.start()
        try:
            with pytest.raises(psycopg.errors.InvalidTextRepresentation):
                connection.execute("select %s::int4[]", (text,))
        finally:
            over.set()
            asking.join()
    assert answers > 5


@pytest.mark.table
@pytest.mark.parametrize("binary", [False, True])
def test_long_arrays_of_numbers(connection: psycopg.Connection[tuple[Any, ...]], binary: bool) -> None:
    count, form = 200_000, "%b" if binary else "%t"
    whole, holes = list(range(count)), [None if x % 1000 == 7 else x for x in range(-5, count)]
    nested, floats = [[x, -x] for x in range(5000)], [x / 8 for x in range(5000)]

    def one(query: str, value: list[Any]) -> Any:
        [(found,)] = connection.execute(query.replace("%", form).encode(), (value,)).fetchall()
        return found

    assert one("select cardinality(%::int[])", whole) == count
    assert one("select sum(x) from unnest(%::int[]) x", whole) == sum(whole)
    assert one("select count(x) from unnest(%::bigint[]) x", holes) == sum(x is not None for x in holes)
    assert one("select %::int[]", holes) == holes
    assert connection.execute("select %t::int[]", (str(nested).translate(_BRACES),)).fetchall() == [(nested,)]
    assert one("select %::float8[]", floats) == floats
