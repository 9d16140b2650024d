"""A hash index of expressions, so that an equal expression is found without comparing with all others."""

from __future__ import annotations

from collections import defaultdict

from engine.plan_ir.expr import Expr
from engine.sql.binder.same_exprs import comparable


class KnownExprs:
    """A map from expressions to the numbers under which they were added. Array constants have no hash: expressions
    that contain one are compared with each other, all others are found by their hash first.
    """

    def __init__(self) -> None:
        self._by_hash: defaultdict[int | None, list[tuple[Expr, int]]] = defaultdict(list)

    def add(self, expr: Expr, number: int) -> None:
        expr = comparable(expr)
        self._by_hash[hash_of(expr)].append((expr, number))

    def find(self, expr: Expr) -> int | None:
        """Return the number of the first expression that equals `expr`; None if there is none."""
        expr = comparable(expr)
        return next((number for known, number in self._by_hash.get(hash_of(expr), ()) if known == expr), None)


def hash_of(expr: Expr) -> int | None:
    """Return the hash of an expression; None if it has none."""
    try:
        return hash(expr)
    except TypeError:
        return None
