"""Queries in expressions: scalar, EXISTS, ARRAY(...), IN, and comparisons with ANY or ALL of a query's rows.

These are handlers of `engine.sql.binder.expressions`; the scope's query binder plans the queries themselves. A
`Subquery` compares its `tests` with columns of the same types, so where PostgreSQL would cast a column, an EVALUATOR
above the plan casts it.

Source: PostgreSQL 15, parse_expr.c (transformSubLink).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.plan_ir.expr import AggregateCall, ColumnRef, Expr, GroupingCall, Node, Subquery, SubqueryKind, WindowCall
from engine.plan_ir.logical import Evaluator
from engine.sql.binder import literals
from engine.sql.binder.operators_syntax import comparable, forbid_sets, negate, row_comparison
from engine.sql.binder.resolution import Choice
from engine.sql.binder.scope import Scope
from engine.sql.binder.values import bind_row_items
from engine.sql.parser.lexical.positions import cursor, position
from wire.errors import FeatureNotSupported, SqlSyntaxError
from wire.types import pg_types as t

#: Expressions that are computed from several rows.
_OF_ROWS: Final = (AggregateCall, GroupingCall, WindowCall, Subquery)

if TYPE_CHECKING:
    from engine.sql.binder.expressions import ExpressionBinder, Handler


def _query(node: exp.Expression) -> exp.Expression:
    """Return the query without its parentheses."""
    while isinstance(node, exp.Subquery):
        node = node.this
    return node


def bind_scalar(_binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    plan, _names = scope.bind_subquery(_query(node))
    _one_column(plan, position(node))
    return Subquery(plan.columns[0].type, SubqueryKind.SCALAR, plan, position=position(node))


def bind_exists(_binder: ExpressionBinder, node: exp.Expression, scope: Scope) -> Expr:
    plan, _names = scope.bind_subquery(_query(node.this))
    return Subquery(st.of(t.BOOL), SubqueryKind.EXISTS, plan, position=position(node))


def bind_array_query(query: exp.Expression, scope: Scope, at: int) -> Expr:
    """Bind ARRAY(query)."""
    plan, _names = scope.bind_subquery(_query(query))
    _one_column(plan, at)
    typ = plan.columns[0].type
    if not typ.pg.is_array and typ.pg.array == 0:
        raise FeatureNotSupported(f"not supported: an array of {typ}", position=cursor(at))
    return Subquery(st.array_type(typ), SubqueryKind.ARRAY, plan, position=at)


def _one_column(plan: Node, at: int) -> None:
    if len(plan.columns) != 1:
        raise SqlSyntaxError("subquery must return only one column", position=cursor(at))


def bind_quantified_query(
    binder: ExpressionBinder,
    symbol: str,
    left: exp.Expression,
    query: exp.Expression,
    every: bool,
    scope: Scope,
    at: int,
) -> Expr:
    """Bind left symbol ANY|ALL (query); `= ANY` is IN and `<> ALL` is NOT IN."""
    tests, plan = _sides(binder, left, query, scope, at)
    if (symbol, every) in (("=", False), ("<>", True)):
        found = _in(binder, tests, plan, at)
        return negate(found, at) if every else found
    if len(tests) > 1:
        return _quantified_comparison(
            binder, "=", literals.boolean(True), _each_compared(binder, symbol, tests, plan, at), every, at
        )
    return _quantified_comparison(binder, symbol, tests[0], plan, every, at)


def bind_row_query(
    binder: ExpressionBinder, symbol: str, left: exp.Tuple, query: exp.Expression, scope: Scope, at: int
) -> Expr:
    """Bind (a, b) symbol (query), where the query may return one row; null without a row."""
    tests, plan = _sides(binder, left, query, scope, at)
    compared = _each_compared(binder, symbol, tests, plan, at)
    return Subquery(st.of(t.BOOL), SubqueryKind.SCALAR, compared, position=at)


def _sides(
    binder: ExpressionBinder, left: exp.Expression, query: exp.Expression, scope: Scope, at: int
) -> tuple[list[Expr], Node]:
    """Bind both sides of a comparison with a subquery: the expressions before it, and the query with as many columns."""
    tests = _tests(binder, left, scope)
    plan, _names = scope.bind_subquery(_query(query))
    if len(plan.columns) != len(tests):
        many = "many" if len(plan.columns) > len(tests) else "few"
        raise SqlSyntaxError(f"subquery has too {many} columns", position=cursor(at))
    forbid_sets(tests, at)
    return tests, plan


def _each_compared(binder: ExpressionBinder, symbol: str, tests: Sequence[Expr], plan: Node, at: int) -> Node:
    """Return a plan that computes `tests symbol row` for each row. Raises FeatureNotSupported for tests with aggregates or window
    functions, which belong to the outer query and cannot be computed inside of the subquery."""
    compared = row_comparison(binder, symbol, tests, [ColumnRef(c.type, c) for c in plan.columns], at)
    if any(isinstance(part, _OF_ROWS) for test in tests for part in test.walk()):
        raise FeatureNotSupported(f"not supported: a row with an aggregate {symbol} query", position=cursor(at))
    return Evaluator((binder.context.new_column("compared", compared.type),), plan, (compared,))


def _tests(binder: ExpressionBinder, left: exp.Expression, scope: Scope) -> list[Expr]:
    if isinstance(left, exp.Tuple):
        return bind_row_items(binder, left, scope)
    return [binder.bind(left, scope)]


def _in(binder: ExpressionBinder, tests: Sequence[Expr], plan: Node, at: int) -> Expr:
    left: list[Expr] = []
    right: list[Expr] = []
    for test, column in zip(tests, plan.columns, strict=True):
        equal = binder.operator("=", [test, ColumnRef(column.type, column)], at)
        sides = comparable(binder, equal.args)
        if sides is None and len(tests) == 1:
            return _quantified_comparison(binder, "=", test, plan, False, at)
        if sides is None:
            message = f"not supported: row IN (query) with {equal.args[0].type.pg.sql_name}"
            raise FeatureNotSupported(message, position=cursor(at))
        left.append(sides[0])
        right.append(sides[1])
    plan = _project(binder, plan, right)
    return Subquery(st.of(t.BOOL), SubqueryKind.IN, plan, tuple(left), position=at)


def _quantified_comparison(binder: ExpressionBinder, symbol: str, test: Expr, plan: Node, every: bool, at: int) -> Expr:
    (column,) = plan.columns
    choice = binder.choose_operator(symbol, (test.type.pg, column.type.pg), at)
    left, right = _operands(binder, choice, test, ColumnRef(column.type, column))
    plan = _project(binder, plan, [right])
    return Subquery(
        st.of(t.BOOL),
        SubqueryKind.IN,
        plan,
        (left,),
        choice.function,
        "all" if every else "any",
        position=at,
    )


def _operands(binder: ExpressionBinder, choice: Choice, left: Expr, right: Expr) -> tuple[Expr, Expr]:
    coerced = binder.coerce_arguments(choice, [left, right])
    return coerced[0], coerced[1]


def _project(binder: ExpressionBinder, plan: Node, emit: Sequence[Expr]) -> Node:
    """Return the plan with columns that hold `emit`; the plan itself if nothing changes."""
    if all(isinstance(e, ColumnRef) and e.column is c for e, c in zip(emit, plan.columns, strict=True)):
        return plan
    columns = tuple(
        binder.context.new_column(c.name, e.type, c.nullable) for c, e in zip(plan.columns, emit, strict=True)
    )
    return Evaluator(columns, plan, tuple(emit))


HANDLERS: Final[Mapping[type[exp.Expression], Handler]] = {
    exp.Subquery: bind_scalar,
    exp.Exists: bind_exists,
}
