"""Subqueries in expressions: scalar, EXISTS, IN, ANY, ALL, ARRAY. A correlated subquery stays nested SQL.

`x op ANY (query)` is true if a row makes `x op row` true, else null if a row makes it null, else false; ALL is the same
with true and false exchanged. Written as two EXISTS, it needs no equality and no ordering support of the engine; where
null counts as false, as in WHERE, the second EXISTS is not needed.
"""

from __future__ import annotations

from typing import TypeGuard

from sqlglot import exp

from engine.common.sql_type import of
from engine.plan_ir.expr import Call, ColumnRef, Expr, Node, Subquery, SubqueryKind
from engine.plan_ir.logical import Limit
from engine.planner.codegen.calls import apply
from engine.planner.codegen.many_subqueries import note_subquery
from engine.planner.codegen.scope import Scope
from engine.sql.functions.comparison_keys import equality_key
from engine.sql.functions.dimensions import accumulate_arrays
from engine.sql.trees.build import (
    QueryTree,
    call,
    case,
    cast,
    column,
    conjunction,
    equals,
    integer,
    is_null,
    negate,
    operand,
    table_alias,
    with_alias,
)
from engine.sql.trees.storage_types import storage_type
from wire.types import pg_types as t


def render(expr: Subquery, scope: Scope) -> exp.Expression:
    """Compile the subquery's value."""
    note_subquery(expr, scope.compilation)
    match expr.kind:
        case SubqueryKind.SCALAR:
            return _in_parentheses(scope.compilation.query(expr.plan, scope))
        case SubqueryKind.EXISTS:
            return exp.Exists(this=scope.compilation.query(expr.plan, scope))
        case SubqueryKind.ARRAY:
            return _array(expr, scope)
        case SubqueryKind.IN:
            if is_membership(expr) and scope.engine == "local":
                return membership(expr, scope)
            return _quantified_comparison(expr, scope)


def condition(expr: Subquery, scope: Scope) -> exp.Expression:
    """Compile a tree that is true exactly when the subquery's value is true."""
    if is_membership(expr):
        note_subquery(expr, scope.compilation)
        return membership(expr, scope)
    if expr.kind is SubqueryKind.IN and expr.quantifier == "any":
        note_subquery(expr, scope.compilation)
        return _some_row(expr, scope, outcome=None)
    return render(expr, scope)


def is_membership(expr: Expr) -> TypeGuard[Subquery]:
    """Whether it is a plain IN."""
    return isinstance(expr, Subquery) and expr.kind is SubqueryKind.IN and expr.operator is None


def _in_parentheses(query: QueryTree) -> exp.Expression:
    return exp.Subquery(this=query)


def membership(expr: Subquery, scope: Scope) -> exp.Expression:
    """Compile (tests) IN (query). DuckDB's result is null where SQL's is; Spark's is false then, except in NOT IN as a
    conjunct of WHERE, which Spark plans with regard to nulls.
    """
    engine = scope.engine
    tests = [equality_key(scope.compilation.render(test, scope), test.type, engine) for test in expr.tests]
    query = scope.compilation.query(expr.plan, scope)
    keys = [equality_key(_at(c.label), c.type, engine) for c in expr.plan.columns]
    if not all(isinstance(key, exp.Column) for key in keys):
        query = _select_from(query, scope, keys)
    left = operand(tests[0]) if len(tests) == 1 else exp.Tuple(expressions=tests)
    return exp.In(this=left, query=_in_parentheses(query))


#: The alias inside `_select_from`, filled in there.
_HERE = "here"


def _at(label: str) -> exp.Expression:
    return column(label, _HERE)


def _select_from(query: QueryTree, scope: Scope, emit: list[exp.Expression]) -> exp.Select:
    """Return SELECT emit FROM (query); columns in `emit` are written with `_at`."""
    alias = scope.compilation.alias()
    for tree in emit:
        for reference in tree.find_all(exp.Column):
            if reference.table == _HERE:
                reference.set("table", exp.to_identifier(alias))
    select = exp.Select(expressions=[with_alias(tree, f"k{i}") for i, tree in enumerate(emit)])
    return select.from_(exp.Subquery(this=query, alias=table_alias(alias)), copy=False)


def _quantified_comparison(expr: Subquery, scope: Scope) -> exp.Expression:
    """Compile a quantified comparison. ANY: found, else unknown, else not; ALL: refuted, else unknown, else not
    refuted.
    """
    wanted = expr.quantifier == "any"
    return case(
        [
            (_some_row(expr, scope, outcome=None if wanted else False), exp.Boolean(this=wanted)),
            (
                _some_row(expr, scope, outcome="null"),
                cast(exp.Null(), storage_type(of(t.BOOL), scope.engine)),
            ),
        ],
        exp.Boolean(this=not wanted),
    )


def _some_row(expr: Subquery, scope: Scope, outcome: bool | str | None) -> exp.Expression:
    """Return EXISTS a row whose comparison is true (`outcome` None), false (False) or null ("null")."""
    compilation = scope.compilation
    query = compilation.query(expr.plan, scope)
    alias = compilation.alias()
    inner = Scope(compilation, {c.id: column(c.label, alias) for c in expr.plan.columns}, scope)
    comparison = _comparison(expr, inner)
    if outcome == "null":
        comparison = is_null(comparison)
    elif outcome is False:
        comparison = negate(comparison)
    source = exp.Subquery(this=query, alias=table_alias(alias))
    select = exp.Select(expressions=[with_alias(integer(1), "one")]).from_(source, copy=False)
    return exp.Exists(this=select.where(comparison, copy=False))


def _comparison(expr: Subquery, inner: Scope) -> exp.Expression:
    """Compile `test op column` inside the subquery; equality if no operator is given."""
    boolean = of(t.BOOL)
    parts = []
    for test, target in zip(expr.tests, expr.plan.columns, strict=True):
        bound: tuple[Expr, Expr] = (test, ColumnRef(target.type, target))
        if expr.operator is None:
            keys = [equality_key(inner.compilation.render(side, inner), side.type, inner.engine) for side in bound]
            parts.append(equals(*keys))
            continue
        compared = Call(boolean, expr.operator, bound)
        parts.append(apply(compared, [inner.compilation.render(arg, inner) for arg in bound], inner.engine))
    return conjunction(parts)


def _array(expr: Subquery, scope: Scope) -> exp.Expression:
    """Compile ARRAY(query): the rows in the query's order; no rows give an empty array."""
    storage = storage_type(expr.type, scope.engine)
    if scope.engine == "local":
        listed: exp.Expression = call("ARRAY", scope.compilation.query(expr.plan, scope))
        if expr.type.dimensions > 1:
            listed = accumulate_arrays("local", listed, expr.type.dimensions)
        return cast(listed, storage)
    if expr.type.dimensions > 1:
        raise scope.compilation.unsupported_error("ARRAY of a subquery of arrays")
    if _has_order(expr.plan):
        raise scope.compilation.unsupported_error("ARRAY of an ordered subquery")
    label = expr.plan.columns[0].label
    wrapped = call("COLLECT_LIST", call("NAMED_STRUCT", exp.Literal.string("v"), _at(label)))
    field = exp.Lambda(this=exp.Dot(this=exp.to_identifier("s"), expression=exp.to_identifier("v")),
                       expressions=[exp.to_identifier("s")])  # fmt: skip
    values = call("TRANSFORM", wrapped, field)
    return _in_parentheses(_select_from(scope.compilation.query(expr.plan, scope), scope, [cast(values, storage)]))


def _has_order(plan: Node) -> bool:
    return any(isinstance(node, Limit) and node.requirement for node in plan.walk())
