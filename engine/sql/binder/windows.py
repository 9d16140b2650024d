"""Window functions: extracted from a level's expressions into a WINDOW node (parse_agg.c, parse_clause.c:
transformWindowDefinitions).
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.plan_ir.expr import Call, Column, Expr, Node, WindowCall
from engine.plan_ir.logical import Window
from engine.sql.binder.blocks import refer
from engine.sql.binder.known_exprs import KnownExprs
from engine.sql.binder.levels import check_no_sets, check_no_windows, replace_parts
from engine.sql.binder.scope import BindContext, Scope
from engine.sql.parser.lexical.positions import cursor
from wire.errors import FeatureNotSupported


def add_windows(context: BindContext, node: Node, exprs: Sequence[Expr], _scope: Scope) -> tuple[Node, list[Expr]]:
    """Add to `node` a column for each window call of `exprs`. Returns the plan and the expressions over it."""
    calls: list[WindowCall] = []
    known = KnownExprs()
    columns: list[Column] = []

    def take(part: Expr, depth: int) -> Expr | None:
        if depth or not isinstance(part, WindowCall):
            return None
        before = known.find(part)
        if before is not None and not _is_volatile(part):
            return refer(columns[before])
        _check(part)
        known.add(part, len(calls))
        calls.append(part)
        columns.append(context.new_column(part.call.function.name, part.type))
        return refer(columns[-1])

    above = [replace_parts(expr, take) for expr in exprs]
    if not calls:
        return node, above
    return Window((*node.columns, *columns), node, tuple(calls)), above


def _check(window: WindowCall) -> None:
    for expr in (*window.partition_by, *(item.expr for item in window.order_by)):
        check_no_windows(expr, "window definitions")
        check_no_sets(expr, "window definitions")
    for arg in window.call.children():
        for part in arg.walk():
            if isinstance(part, Call) and part.function.returns_set:
                raise FeatureNotSupported(
                    "window function calls cannot contain set-returning function calls",
                    hint="You might be able to move the set-returning function into a LATERAL FROM item.",
                    position=cursor(part.position),
                )


def _is_volatile(window: WindowCall) -> bool:
    return any(isinstance(part, Call) and part.function.volatility == "volatile" for part in window.walk())
