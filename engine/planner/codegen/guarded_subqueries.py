"""Correlated subqueries that PostgreSQL evaluates for some rows only: behind CASE WHEN, and after operands of AND, OR
and COALESCE.

DuckDB computes a subquery as a join below the expression, for all rows, so that `CASE WHEN z <> 0 THEN (SELECT 10 / z)
END` divides by zero. Therefore such a subquery sees null in place of each outer column on rows for which its value is
not needed: functions of null raise no error, and the result of the subquery is ignored there.

Three kinds are left unchanged: subqueries whose functions of outer columns raise no error, uncorrelated subqueries
(they are computed once, whether needed or not), and subqueries behind conditions that contain a subquery or a volatile
function themselves, since the pass repeats the conditions inside the subquery. Neighbour: `short_circuit`, the same for
AND and OR without subqueries. Source: PostgreSQL 15, execExprInterp.c (EEOP_JUMP_*).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from engine.common import sql_type as st
from engine.plan_ir.expr import (
    And,
    Call,
    Case,
    Coalesce,
    Column,
    ColumnRef,
    Const,
    Expr,
    IsNull,
    Node,
    Not,
    Or,
    Subquery,
)
from engine.plan_ir.free_columns import free_columns, references
from engine.plan_ir.logical import Evaluator
from engine.plan_ir.predicates import has_subquery
from engine.plan_ir.rewrite import expressions, map_expressions, rewrite_expr, rewrite_plan, walk_all
from engine.planner.codegen.short_circuit import is_repeatable, is_safe_operator, may_raise
from wire.types import pg_types as t

_BOOL: Final = st.of(t.BOOL)
#: At most this many conditions are written into a subquery: the first ones of a longer list.
_CONDITIONS_MAX: Final = 8


def guard_subqueries(plan: Node) -> Node:
    """Return `plan` with null in place of outer columns where a subquery's value is not needed."""
    return rewrite_plan(plan, lambda node: map_expressions(node, lambda expr: rewrite_expr(expr, _guard_operands)))


def _guard_operands(expr: Expr) -> Expr:
    if not isinstance(expr, Case | And | Or | Coalesce) or not has_subquery(expr):
        return expr
    if isinstance(expr, Case):
        return _guard_case(expr)
    stops = _stops_before(_decisions(expr))
    return replace(expr, args=tuple(map(_guard, expr.args, stops)))


def _stops_before(conditions: Iterable[Expr]) -> list[tuple[Expr, ...]]:
    """Return for each condition those before it that are written into subqueries, and a last entry with those for what
    follows them all.
    """
    before: list[tuple[Expr, ...]] = [()]
    for condition in conditions:
        stops = before[-1]
        kept = len(stops) < _CONDITIONS_MAX and is_repeatable(condition)
        before.append((*stops, condition) if kept else stops)
    return before


def _decisions(expr: And | Or | Coalesce) -> Iterator[Expr]:
    """Yield for each operand but the last the condition under which the operands after it are not needed."""
    for arg in expr.args[:-1]:
        if isinstance(expr, And):
            yield Not(arg.type, arg)
        elif isinstance(expr, Or):
            yield arg
        else:
            yield IsNull(_BOOL, arg, negated=True, whole=True)


def _guard_case(expr: Case) -> Case:
    *before, last = _stops_before(test for test, _ in expr.whens)
    whens = tuple(
        (_guard(test, stops), _guard(value, stops, only=test))
        for stops, (test, value) in zip(before, expr.whens, strict=True)
    )
    default = None if expr.default is None else _guard(expr.default, last)
    return replace(expr, whens=whens, default=default)


def _guard(expr: Expr, stops: Sequence[Expr], only: Expr | None = None) -> Expr:
    """Return `expr` with its subqueries guarded: they are needed where none of `stops` is true and, if given, `only`
    is.
    """
    only = only if only is not None and is_repeatable(only) else None
    if not stops and only is None:
        return expr

    def where_wanted(value: Expr) -> Expr:
        unwanted = tuple((stop, Const(value.type, None)) for stop in stops)
        return Case(value.type, (*unwanted, (only, value)), None) if only else Case(value.type, unwanted, value)

    def guard_subquery(part: Expr) -> Expr:
        if not isinstance(part, Subquery):
            return part
        tests = tuple(where_wanted(test) if may_raise(test) else test for test in part.tests)
        return replace(part, tests=tests, plan=_mask_outer_columns(part.plan, where_wanted))

    return rewrite_expr(expr, guard_subquery)


def _mask_outer_columns(plan: Node, where_wanted: Callable[[Expr], Expr]) -> Node:
    """Return a subquery's plan with its outer columns wrapped by `where_wanted`, if it may raise an error because of
    them.
    """
    outer = free_columns(plan)
    if not outer or not _may_raise_over(plan, outer):
        return plan

    def mask(part: Expr) -> Expr:
        return where_wanted(part) if isinstance(part, ColumnRef) and part.column in outer else part

    return rewrite_plan(plan, lambda node: map_expressions(node, lambda expr: rewrite_expr(expr, mask)))


def _may_raise_over(plan: Node, outer: frozenset[Column]) -> bool:
    """Return whether a function that may raise an error takes an outer column, or an expression of one. Errors of
    others do not depend on the outer row, and DuckDB joins by plain columns faster.
    """
    taken = set(outer)
    for node in reversed(list(walk_all(plan))):
        if isinstance(node, Evaluator):
            pairs = zip(node.columns, node.emit, strict=True)
            taken.update(column for column, expr in pairs if not taken.isdisjoint(references(expr)))
    calls = (
        part for node in walk_all(plan) for expr in expressions(node) for part in expr.walk() if isinstance(part, Call)
    )
    return any(not is_safe_operator(call.function) and not taken.isdisjoint(references(call)) for call in calls)
