"""Set-returning functions in a select list: PROJECT SET nodes under the expressions that use their values.

The node returns as many rows as the longest set has. Calls that are nested in each other's arguments get a node each,
the innermost first (nodeProjectSet.c; parse_func.c: check_srf_call_placement).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.plan_ir.expr import Call, Case, Coalesce, Column, Expr, Node
from engine.plan_ir.logical import ProjectSet
from engine.sql.binder.blocks import emit_column, pass_through, refer
from engine.sql.binder.levels import is_set_returning, replace_parts
from engine.sql.parser.lexical.positions import cursor
from wire.errors import FeatureNotSupported

if TYPE_CHECKING:
    from engine.sql.binder.scope import BindContext


def expand_sets(context: BindContext, node: Node, exprs: Sequence[Expr]) -> tuple[Node, list[Expr]]:
    """Run the set-returning calls of `exprs` over `node`. Returns the plan, and the expressions with columns in place
    of the calls.
    """
    current = list(exprs)
    while calls := [call for expr in current for call in _innermost(expr)]:
        node, current = _one_step(context, node, current, calls)
    return node, current


def has_sets(expr: Expr) -> bool:
    return any(is_set_returning(part) for part in expr.walk())


def check_placement(expr: Expr) -> None:
    """Raise for a set-returning call inside CASE or COALESCE, which may not evaluate it."""
    for part in expr.walk():
        if isinstance(part, Case | Coalesce):
            for child in part.children():
                for inner in child.walk():
                    if is_set_returning(inner):
                        name = "CASE" if isinstance(part, Case) else "COALESCE"
                        raise FeatureNotSupported(
                            f"set-returning functions are not allowed in {name}",
                            hint="You might be able to move the set-returning function into a LATERAL FROM item.",
                            position=cursor(inner.position),
                        )


def _innermost(expr: Expr) -> list[Call]:
    """Return the set-returning calls without others in their arguments."""
    return [
        part
        for part in expr.walk()
        if isinstance(part, Call) and is_set_returning(part) and not any(has_sets(arg) for arg in part.args)
    ]


def _one_step(context: BindContext, node: Node, exprs: list[Expr], calls: list[Call]) -> tuple[Node, list[Expr]]:
    """Add one PROJECT SET. Calls are distinguished by identity: two that look alike may return different rows, and one
    whose fields are selected with `.*` occurs in several places.
    """
    calls = list({id(call): call for call in calls}.values())
    columns: dict[int, Column] = {id(call): emit_column(context, call.function.name, call) for call in calls}
    plan = ProjectSet((*node.columns, *columns.values()), node, (*pass_through(node.columns), *calls))

    def put(part: Expr, _depth: int) -> Expr | None:
        column = columns.get(id(part))
        return refer(column) if column is not None else None

    return plan, [replace_parts(expr, put) for expr in exprs]
