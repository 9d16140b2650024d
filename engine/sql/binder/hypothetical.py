"""Hypothetical-set aggregates, rank(...) WITHIN GROUP (ORDER BY ...) and its kin: the rank that a row would have in a
group.

The rank of such a row is the number of rows that sort before it, plus one. Each of the four functions is therefore
bound as counts with a filter, and needs nothing from either engine beyond counting.

Source: PostgreSQL 15, parse_func.c (ParseFuncOrColumn), orderedsetaggs.c (hypothetical_rank_common and its callers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from engine.common import sql_type as st
from engine.plan_ir.expr import AggregateCall, And, Case, ColumnRef, Expr, Or, OrderItem
from engine.sql.binder import literals
from engine.sql.binder.operators_syntax import comparison, distinct, is_null
from wire.errors import FeatureNotSupported, UndefinedFunction
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.expressions import ExpressionBinder

NAMES: Final = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})


def bind(
    binder: ExpressionBinder,
    name: str,
    given: Sequence[Expr],
    order: Sequence[OrderItem],
    filter_: Expr | None,
    at: int,
) -> Expr:
    """Bind a hypothetical-set aggregate. given: the hypothetical row, a value for each of `order`. filter_: the
    condition of FILTER.
    """
    if len(given) != len(order):
        raise UndefinedFunction(
            f"function {name}({', '.join(e.type.pg.sql_name for e in (*given, *(o.expr for o in order)))}) does not exist",
            hint=f"To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments"
            f" (here {len(given)}) must match the number of ordering columns (here {len(order)}).",
            position=at + 1 if at >= 0 else None,
        )
    if any(isinstance(part, ColumnRef) for expr in given for part in expr.walk()):
        raise FeatureNotSupported(f"not supported: {name} of a row made of columns")
    place = _Place(binder, given, order, filter_, at)
    if name == "rank":
        return place.plus_one(place.count(place.before()))
    if name == "dense_rank":
        return place.plus_one(place.different_before())
    if name == "percent_rank":
        return place.share(place.count(place.before()), place.count(None))
    return place.share(place.plus_one(place.count(place.before(ties=True))), place.plus_one(place.count(None)))


class _Place:
    """The counts from which the results are computed."""

    def __init__(
        self,
        binder: ExpressionBinder,
        given: Sequence[Expr],
        order: Sequence[OrderItem],
        filter_: Expr | None,
        at: int,
    ) -> None:
        self._binder, self._filter, self._at = binder, filter_, at
        pairs = [binder.unify([item.expr, value], "WITHIN GROUP")[1] for item, value in zip(order, given, strict=True)]
        self._order = [replace(item, expr=pair[0]) for item, pair in zip(order, pairs, strict=True)]
        self._given = [pair[1] for pair in pairs]

    def before(self, *, ties: bool = False) -> Expr:
        """Return the condition that a row sorts before the hypothetical one; with `ties`, before or equal to it."""
        found: list[Expr] = []
        same: list[Expr] = []
        for item, value in zip(self._order, self._given, strict=True):
            found.append(_all([*same, self._precedes(item, value)]))
            same.append(distinct(self._binder, item.expr, value, True, self._at))
        return _any([*found, _all(same)] if ties else found)

    def _precedes(self, item: OrderItem, value: Expr) -> Expr:
        sorts = comparison(self._binder, ">" if item.descending else "<", item.expr, value, self._at)
        null, other = (item.expr, value) if item.nulls_first else (value, item.expr)
        return _any([sorts, _all([is_null(null, False, self._at), is_null(other, True, self._at)])])

    def count(self, test: Expr | None) -> Expr:
        """Return the number of rows, or of rows for which the test is true."""
        return self._aggregate((), test, False)

    def _aggregate(self, args: tuple[Expr, ...], test: Expr | None, different: bool) -> AggregateCall:
        row = next(row for row in self._binder.functions.functions("count") if len(row.args) == len(args))
        tests = [part for part in (self._filter, test) if part is not None]
        condition = _all(tests) if tests else None
        return AggregateCall(st.of(t.INT8), row, args, different, (), condition, position=self._at)

    def different_before(self) -> Expr:
        """Return the number of different values that sort before the hypothetical one; null counts as a value."""
        if len(self._order) > 1:
            raise FeatureNotSupported("not supported: dense_rank of rows with several columns")
        item, before = self._order[0], self.before()
        self._binder.require_equality(item.expr)
        values = self._aggregate((item.expr,), before, True)
        nulls = self.count(_all([before, is_null(item.expr, False, self._at)]))
        zero, one = (literals.constant(t.INT8, number, self._at) for number in (0, 1))
        there = comparison(self._binder, ">", nulls, zero, self._at)
        return self._binder.operator("+", [values, Case(st.of(t.INT8), ((there, one),), zero)], self._at)

    def plus_one(self, count: Expr) -> Expr:
        return self._binder.operator("+", [count, literals.constant(t.INT8, 1, self._at)], self._at)

    def share(self, part: Expr, whole: Expr) -> Expr:
        """Return one count divided by another; 0 if the latter is 0."""
        parts = [self._binder.coerce(count, st.of(t.FLOAT8), "explicit") for count in (part, whole)]
        none = comparison(self._binder, "=", whole, literals.constant(t.INT8, 0, self._at), self._at)
        zero = literals.constant(t.FLOAT8, 0.0, self._at)
        return Case(st.of(t.FLOAT8), ((none, zero),), self._binder.operator("/", parts, self._at))


def _all(tests: Sequence[Expr]) -> Expr:
    return And(st.of(t.BOOL), tuple(tests)) if len(tests) > 1 else tests[0]


def _any(tests: Sequence[Expr]) -> Expr:
    return Or(st.of(t.BOOL), tuple(tests)) if len(tests) > 1 else tests[0]
