"""Nodes that are not distributed, since their expressions must be evaluated in one place, and plans inside of
expressions.

An uncorrelated subquery in an expression that reads more than a little is distributed like a query of its own, and its
rows are mirrored to every instance of the node that contains it. Any other subquery, and a lateral join's right side,
is evaluated whole by every instance, if each would find the same: every member can read all of its tables, and its rows
are deterministic. Where that is not so, the node runs on the initiator. There, rows that its subqueries need from other
members' own files are sent, and all else is read in place. An uncorrelated part that aggregates is distributed too,
since its few rows are cheaper than its input. Common table expressions that are used more than once are such parts,
with their body on the initiator.

Considered and rejected: correlated subqueries as semi and anti joins, hashed like others. The engines find these joins
by themselves inside of one fragment; here it would be a rewrite of its own, with its own rules for nulls.
"""

from __future__ import annotations

from dataclasses import replace

from engine.plan_ir.expr import Expr, Node, Subquery
from engine.plan_ir.free_columns import free_columns
from engine.plan_ir.logical import Aggregator, CteReader, Join, TableReader, With
from engine.plan_ir.rewrite import expressions, map_expressions, map_inputs, rewrite_expr, subplans, walk_all
from engine.plan_ir.volatility import is_volatile
from engine.planner.distribute.assembly import Assembly, is_carriable
from engine.planner.distribute.flow import Flow, together
from engine.planner.distribute.join_order import order_joins
from engine.planner.distribute.replicated import is_same_everywhere
from engine.planner.optimizer.input_size import input_bytes


def may_be_spread(node: Node, assembly: Assembly) -> bool:
    """Whether several instances may each evaluate the node's own expressions, and get the same results."""
    if any(is_volatile(expr) for expr in expressions(node)):
        return False
    inner = list(subplans(node))
    if isinstance(node, Join) and node.lateral:
        inner.append(node.right)
    return all(is_same_everywhere(plan, assembly) for plan in inner)


def with_results_sent(node: Node, assembly: Assembly) -> tuple[Node, tuple[Flow, ...]]:
    """Return the node with subqueries that read rows sent to it, and the flows that bring these rows."""
    arriving: list[Flow] = []

    def sent(expr: Expr) -> Expr:
        if not isinstance(expr, Subquery) or not _is_worth_sending(expr.plan, assembly):
            return expr
        flow = assembly.flow(order_joins(expr.plan, assembly))
        moved = assembly.in_order(flow, lambda below: assembly.mirror(below, assembly.here()))
        arriving.append(moved)
        return replace(expr, plan=moved.node)

    return map_expressions(node, lambda expr: rewrite_expr(expr, sent)), tuple(arriving)


def _is_worth_sending(plan: Node, assembly: Assembly) -> bool:
    if not _stands_for_itself(plan) or not all(map(is_carriable, plan.columns)):
        return False
    if not any(isinstance(part, TableReader) for part in walk_all(plan)):
        return False
    cheap = input_bytes(plan, assembly.setting.parameters) <= assembly.setting.mirror_limit
    return not (cheap and is_same_everywhere(plan, assembly))


def on_initiator(node: Node, assembly: Assembly) -> Flow:
    """Run the node on the initiator: its inputs are sent there, its subqueries evaluated there."""
    local = _Localised(assembly)
    if isinstance(node, With):
        return local.flow(local.node(node))
    right = node.right if isinstance(node, Join) and node.lateral else None
    rebuilt = map_inputs(node, lambda child: local.node(child) if child is right else local.gather(child))
    rebuilt = map_expressions(rebuilt, local.expression)
    return local.flow(rebuilt)


class _Localised:
    """A part of the plan that moves to the initiator, with the flows that come together there."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._flows: list[Flow] = []

    def flow(self, node: Node) -> Flow:
        """Return the part's flow, once `node` contains all of the part."""
        here = Flow(node, self._assembly.here())
        instances, inputs = together([here, *self._flows])
        return Flow(node, instances, inputs, size=sum(flow.size for flow in self._flows))

    def gather(self, node: Node) -> Node:
        """Distribute an uncorrelated node, and send its rows here."""
        flow = self._assembly.gather(self._assembly.flow(node))
        self._flows.append(flow)
        return flow.node

    def node(self, node: Node) -> Node:
        """Return a node that is evaluated here, with those parts replaced whose rows must or should be sent instead of
        read here.
        """
        if self._should_be_sent(node):
            return self.gather(node)
        return map_expressions(map_inputs(node, self.node), self.expression)

    def expression(self, expr: Expr) -> Expr:
        def in_subquery(part: Expr) -> Expr:
            if not isinstance(part, Subquery):
                return part
            return replace(part, plan=self.node(order_joins(part.plan, self._assembly)))

        return rewrite_expr(expr, in_subquery)

    def _should_be_sent(self, node: Node) -> bool:
        pinned = self._assembly.is_pinned(node)
        if isinstance(node, TableReader):
            return pinned
        if isinstance(node, Join) and node.kind == "cross":
            return False
        wanted = pinned or (isinstance(node, Aggregator) and any(isinstance(n, TableReader) for n in walk_all(node)))
        return wanted and not isinstance(node, With) and _stands_for_itself(node)


def _stands_for_itself(node: Node) -> bool:
    defined = {cte.id for part in walk_all(node) if isinstance(part, With) for cte in part.ctes}
    readers = {part.cte for part in walk_all(node) if isinstance(part, CteReader)}
    return readers <= defined and not free_columns(node)
