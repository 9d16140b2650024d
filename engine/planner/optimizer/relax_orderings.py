"""Stage three of ordering: removes the sorts whose order nobody needs, starting from FINAL.

The pass goes from consumers to producers (reverse topological order). Each node says whether its output depends on the
order of its input's rows. It does not in a hash aggregation (unless an aggregate depends on order: array_agg,
string_agg and the like), a join, a set operation, another sort, or a window that states its own order. A LIMIT with a
count or an offset needs its own order, whoever consumes it. A LIMIT without either only states a subquery's ORDER BY;
if its sort is removed, so is the LIMIT.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from engine.plan_ir.expr import AggregateCall, Column, Expr, Node, Subquery, SubqueryKind, references_to
from engine.plan_ir.logical import (
    Aggregator,
    Evaluator,
    FunctionScan,
    Limit,
    ProjectSet,
    Root,
    Sort,
    TableReader,
    Values,
    Window,
    With,
)
from engine.plan_ir.rewrite import map_expressions, map_inputs, rewrite_expr

#: Aggregates whose result depends on the order of their input.
LISTENS: Final = frozenset(
    {"array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg", "xmlagg"}
)


def relax_orderings(plan: Node) -> Node:
    return _relax(plan, True)


def _relax(node: Node, needed: bool) -> Node:
    """Return `node` without the sorts that do not affect its output. `needed`: whether its consumer depends on its
    order.
    """
    node = map_expressions(node, lambda expr: rewrite_expr(expr, _in_subquery))
    if isinstance(node, Sort) and not needed:
        return _relax(node.input, False)
    if isinstance(node, Limit) and node.count is None and node.offset is None and not needed:
        return _only(node.columns, _relax(node.input, False))
    if isinstance(node, With):
        ctes = tuple(
            replace(c, plan=_relax(c.plan, True), step=_relax(c.step, True) if c.step else None) for c in node.ctes
        )
        return replace(node, ctes=ctes, body=_relax(node.body, needed))
    below = _needs_input_order(node, needed)
    return map_inputs(node, lambda child: _relax(child, below))


def _only(columns: tuple[Column, ...], node: Node) -> Node:
    """Return `node` with these of its columns: a Limit hides those that were there for ORDER BY alone."""
    if columns == node.columns:
        return node
    return Evaluator(columns, node, references_to(columns))


def _needs_input_order(node: Node, needed: bool) -> bool:
    match node:
        case Root():
            return True
        case Limit():
            return needed or node.count is not None or node.offset is not None
        case Evaluator() | ProjectSet() | TableReader() | Values() | FunctionScan():
            return needed
        case Aggregator():
            return any(_listens(call) for call in node.aggregates)
        case Window():
            return any(not call.order_by for call in node.calls)
        case _:
            return False


def _listens(call: AggregateCall) -> bool:
    return call.function.name in LISTENS and not call.order_by


def _in_subquery(expr: Expr) -> Expr:
    if not isinstance(expr, Subquery):
        return expr
    return replace(expr, plan=_relax(expr.plan, expr.kind is SubqueryKind.ARRAY))
