"""Copies of trees: they equal sqlglot's own copy, node by node, and share nothing with the original."""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from engine.sql.trees.copies import copy_tree
from engine.sql.trees.engine_dialects import DIALECTS

_TEXTS = (
    "t0.c1",
    "select a, b + 1, f(c, 'x', g(d)) filter (where a > 1) over (partition by b order by c desc) /* why */ from t as u (x, y)",
    "with r as (select * from t where b in (1, 2) union all select 1) select case when a then 1.5::decimal(10, 2) end from r",
    "select list_transform([1, 2], lambda x: x + 1), {'a': 1, 'b': [$p]}, s.f['k'] from read_parquet(['/a', '/b'], x = true)",
)


def _told(tree: exp.Expr) -> list[tuple[Any, ...]]:
    """Return for each node its class, its place and its attributes."""
    return [
        (
            type(node), node.arg_key, node.index, type(node.parent), node.comments, node._type, node._meta,
            {key: value for key, value in node.args.items() if not isinstance(value, (exp.Expr, list))}, list(node.args),
        )
        for node in tree.walk()
    ]  # fmt: skip


@pytest.mark.parametrize("text", _TEXTS)
def test_a_copy_is_that_of_sqlglot(text: str) -> None:
    tree = sqlglot.parse_one(text, dialect=DIALECTS["local"])
    for seen in list(tree.find_all(exp.Literal, exp.Column)):
        seen.meta["seen"] = True
    before = _told(tree)
    copy = copy_tree(tree)
    assert _told(copy) == _told(tree.copy())
    assert copy == tree  # by their hashes, which are made for this
    assert copy_tree(tree)._hash is None
    assert not {id(node) for node in copy.walk()} & {id(node) for node in tree.walk()}
    for node in list[exp.Expr](copy.walk()):
        if isinstance(node, exp.Identifier):
            node.set("this", "changed")
        node.meta["changed"] = True
        if node.args.get("expressions"):
            node.append("expressions", exp.Null())
    assert _told(tree) == before


def test_a_copy_of_a_part_is_a_root() -> None:
    tree = sqlglot.parse_one("select f(a, 1), /* why */ 'b' from t", dialect=DIALECTS["local"])
    part = copy_tree(tree.expressions[0])
    assert (part.parent, part.arg_key, part.index) == (None, None, None)
    assert part == tree.expressions[0]
