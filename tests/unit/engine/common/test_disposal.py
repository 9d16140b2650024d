"""Large values are taken apart, except for parts that others refer to (`engine.common.disposal`)."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import pytest
from sqlglot import exp

from engine.common.disposal import frames_of, take_apart
from engine.sql.parser.nodes.statements import Query
from engine.sql.parser.parse import parse

pytestmark = pytest.mark.usefixtures("without_collector")

_STATEMENTS = [
    "select " + ", ".join(f"a + {i} as c{i}" for i in range(200)) + " from t",
    "select count(*) from t where a in (" + ", ".join(map(str, range(500))) + ")",
    "insert into t values " + ", ".join(f"({i}, 'a{i}')" for i in range(200)),
    "update t set a = case a " + " ".join(f"when {i} then {i}" for i in range(100)) + " end where a > 1",
    "select 1; select 2; with c as (select 1 as a) select * from c, lateral (select a) s group by cube (1)",
]


def _nodes() -> int:
    return sum(isinstance(thing, exp.Expression) for thing in gc.get_objects())


@pytest.mark.parametrize("sql", _STATEMENTS)
def test_trees_are_freed_without_a_collection(sql: str) -> None:
    before = _nodes()
    left: list[Any] = list(parse(sql))
    assert _nodes() > before
    take_apart(left)
    assert left == []
    assert _nodes() == before


def test_what_another_refers_to_stays_whole() -> None:
    [query] = parse("select a, b + 1 from t")
    assert isinstance(query, Query)
    whole = query.tree.sql()
    left: list[Any] = [query]
    take_apart(left)
    assert query.tree.sql() == whole
    kept = query.tree
    left = [query]
    del query
    take_apart(left)
    assert kept.sql() == whole
    assert all(part.parent is not None for part in kept.walk() if part is not kept)


def test_a_part_that_another_refers_to_stays_whole() -> None:
    [query] = parse("select a, b + 1 from t")
    assert isinstance(query, Query)
    total = query.tree.expressions[1]
    left: list[Any] = [query]
    del query
    take_apart(left)
    assert total.sql() == "b + 1"
    assert total.this.parent is total


def test_a_query_ends_with_its_tree() -> None:
    before = _nodes()
    [query] = parse("select a, b + 1 from t")
    assert _nodes() > before
    del query
    assert _nodes() == before


def test_the_tree_of_a_query_outlives_it_with_another_owner() -> None:
    [query] = parse("select a, b + 1 from t")
    assert isinstance(query, Query)
    whole, tree = query.tree.sql(), query.tree
    other = replace(query, text="")
    del query
    assert tree.sql() == whole
    del tree
    assert other.tree.sql() == whole
    assert all(part.parent is not None for part in other.tree.walk() if part is not other.tree)


def test_a_long_tree_is_left_to_the_reference_that_ends_later() -> None:
    [query] = parse("select a, b + 1 from t")
    assert isinstance(query, Query)
    whole, kept = query.tree.sql(), [query.tree]
    del query
    assert kept[0].sql() == whole


def test_what_a_failed_work_had_made_is_freed_with_its_frames() -> None:
    before = _nodes()

    def fail() -> None:
        made = parse(_STATEMENTS[0])
        raise ValueError(len(made))

    error: BaseException | None = None
    try:
        fail()
    except ValueError as failure:
        error = failure
    assert error is not None
    assert _nodes() > before
    take_apart(frames_of(error))
    assert error.__traceback__ is None
    assert _nodes() == before
