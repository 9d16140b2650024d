"""Where PostgreSQL points when the fault is a whole expression or query: at its first token (exprLocation)."""

from __future__ import annotations

from sqlglot import exp

from engine.sql.binder.scope import position


def leftmost(node: exp.Expression) -> int:
    """The offset of an expression's first token, or -1."""
    starts = [position(part) for part in node.find_all(exp.Expression)]
    return min((start for start in starts if start >= 0), default=-1)


def branch_position(tree: exp.Expression) -> int:
    """The offset of the first output expression of a set operation's branch, or -1."""
    while isinstance(tree, exp.SetOperation):
        tree = tree.this
    item = tree.expressions[0] if tree.expressions else tree
    return leftmost(item.expressions[0] if isinstance(tree, exp.Values) else item)
