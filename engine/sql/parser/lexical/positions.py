"""Positions of nodes in a statement's text, as errors report them. For an error in a whole expression or query,
PostgreSQL points at its first token (exprLocation).
"""

from __future__ import annotations

from sqlglot import exp


def position(node: exp.Expression | None) -> int:
    """Return the 0-based offset of a node's token in the statement's text, or -1.

    The token is the one that PostgreSQL points at: an operator's symbol, a function's name, a column's first
    identifier, the `::` of a cast, the opening parenthesis of a subquery.
    """
    if node is None:
        return -1
    start = node.meta.get("start", -1)
    return start if isinstance(start, int) else -1


def cursor(offset: int) -> int | None:
    """Convert an offset to an error's position (1-based), or None if it is not known."""
    return offset + 1 if offset >= 0 else None


def leftmost(node: exp.Expression) -> int:
    """Return the offset of an expression's first token, or -1."""
    starts = [position(part) for part in node.find_all(exp.Expression)]
    return min((start for start in starts if start >= 0), default=-1)


def mark_collated(typ: exp.DataType, offset: int) -> None:
    """Record that COLLATE follows a type, and where."""
    typ.meta["collated"] = offset


def collated_at(typ: exp.DataType) -> int | None:
    """Return the offset of the COLLATE that follows a type, or None."""
    offset = typ.meta.get("collated")
    return offset if isinstance(offset, int) else None


def branch_position(tree: exp.Expression) -> int:
    """Return the offset of the first output expression of a set operation's branch, or -1."""
    while isinstance(tree, exp.SetOperation):
        tree = tree.this
    item = tree.expressions[0] if tree.expressions else tree
    return leftmost(item.expressions[0] if isinstance(tree, exp.Values) else item)
