"""UNION, INTERSECT and EXCEPT: the branches' columns are coerced to common types, pair by pair (analyze.c:
transformSetOperationTree).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from sqlglot import exp

from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Column, Expr, Node
from engine.plan_ir.logical import Evaluator, Limit, Ordering, OrderKey, SetOperation, Values
from engine.sql.binder import row_locks, sorting
from engine.sql.binder.blocks import Bound, pass_through, project
from engine.sql.binder.scope import Rows, Scope, Source, SourceColumn
from engine.sql.parser.lexical.positions import branch_position, cursor
from wire.errors import SqlSyntaxError
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder

_SORTED: Final = frozenset(
    (t.BOOL, t.INT2, t.INT4, t.INT8, t.FLOAT4, t.FLOAT8, t.NUMERIC, t.TEXT, t.VARCHAR, t.NAME, t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ)
)  # fmt: skip
_KINDS: Final[dict[type[exp.Expression], Literal["union", "intersect", "except"]]] = {
    exp.Union: "union",
    exp.Intersect: "intersect",
    exp.Except: "except",
}


def bind(binder: QueryBinder, tree: exp.SetOperation, scope: Scope) -> Bound:
    """Bind a set operation with its ORDER BY and LIMIT, which may name output columns only."""
    left = binder.bind(tree.this, scope, settle=False)
    right = binder.bind(tree.expression, scope, settle=False)
    plan = combine(binder, tree, left, right)
    source = Source("", tuple(SourceColumn(n, e) for n, e in zip(left.names, pass_through(plan.columns), strict=True)))
    bound = sorting.ordered_set_operation(binder, tree, scope, plan, left.names, source, _union_order(plan))
    return replace(bound, rows=Rows(refused="UNION/INTERSECT/EXCEPT"))


def combine(binder: QueryBinder, tree: exp.SetOperation, left: Bound, right: Bound) -> SetOperation:
    """Return the operation over two bound branches."""
    for part in (tree, tree.this, tree.expression):
        row_locks.refuse(part, "is not allowed with UNION/INTERSECT/EXCEPT")
    kind = _KINDS[type(tree)]
    every = not tree.args["distinct"]
    sides = (outputs(left), outputs(right))
    if len(sides[0]) != len(sides[1]):
        raise SqlSyntaxError(
            f"each {kind.upper()} query must have the same number of columns",
            position=cursor(branch_position(tree.expression)),
        )
    unified = [binder.expressions.unify(list(pair), kind.upper()) for pair in zip(*sides, strict=True)]
    types = [typ for typ, _ in unified]
    left_node = cast_branch(binder, left, [exprs[0] for _, exprs in unified])
    right_node = cast_branch(binder, right, [exprs[1] for _, exprs in unified])
    if not every:
        for expr, before in zip(pass_through(left_node.columns), sides[0], strict=True):
            binder.expressions.require_equality(replace(expr, position=before.position))
    columns = tuple(binder.context.new_column(n, typ) for n, typ in zip(left.names, types, strict=True))
    return SetOperation(columns, kind, every, left_node, right_node)


def _union_order(plan: SetOperation) -> Ordering:
    """Return the order of the rows of SELECT 2 UNION SELECT 1: PostgreSQL sorts few rows to find duplicates.

    SQL does not guarantee this order, but clients expect it. Types that not every engine sorts get no order.
    """
    if plan.kind != "union" or plan.all or not _is_few(plan):
        return ()
    return tuple(map(OrderKey, plan.columns)) if all(c.type.pg in _SORTED for c in plan.columns) else ()


def _is_few(node: Node) -> bool:
    """Whether the node is a union of single rows that are written out, each in a SELECT of its own."""
    match node:
        case SetOperation(kind="union", left=left, right=right):
            return _is_few(left) and _is_few(right)
        case Limit(input=below, count=None, offset=None) | Evaluator(input=below, filter=None):
            return _is_few(below)
        case Values(rows=rows):
            return len(rows) == 1
        case _:
            return False


def outputs(branch: Bound) -> tuple[Expr, ...]:
    """Return a branch's columns as expressions: those that a plain SELECT emits, so that literals can still take a
    type.
    """
    if isinstance(branch.plan, Evaluator) and not branch.requirement:
        return branch.plan.emit
    return pass_through(branch.columns)


def cast_branch(binder: QueryBinder, branch: Bound, exprs: Sequence[Expr]) -> Node:
    """Return the branch with `exprs` (its outputs, coerced) as its columns."""
    if all(after is before for after, before in zip(exprs, outputs(branch), strict=True)):
        return branch.subquery_plan()
    if isinstance(branch.plan, Evaluator) and not branch.requirement:
        columns = tuple(_new_column(binder, c.name, e.type) for c, e in zip(branch.columns, exprs, strict=True))
        return replace(branch.plan, columns=columns, emit=tuple(exprs))
    return project(binder.context, branch.subquery_plan(), exprs, branch.names)


def _new_column(binder: QueryBinder, name: str, typ: SqlType) -> Column:
    return binder.context.new_column(name, typ)
