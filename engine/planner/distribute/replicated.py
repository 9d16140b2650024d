"""Plans with the same result on every member: each instance may evaluate them for itself, instead of receiving the rows
from one.

Every member can read all tables of such a plan, and its rows are deterministic.
"""

from __future__ import annotations

from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Aggregator, CteReader, DistinctOn, Limit, Window, With
from engine.plan_ir.rewrite import expressions, walk_all
from engine.plan_ir.volatility import is_volatile
from engine.planner.distribute.assembly import Assembly
from engine.planner.optimizer.input_size import input_bytes
from engine.planner.optimizer.relax_orderings import LISTENS


def is_same_everywhere(plan: Node, assembly: Assembly) -> bool:
    """Whether every member that evaluates the plan finds the same rows."""
    defined = {cte.id for node in walk_all(plan) if isinstance(node, With) for cte in node.ctes}
    return not assembly.is_pinned(plan) and all(_is_certain(node, defined) for node in walk_all(plan))


def _is_certain(node: Node, defined: set[int]) -> bool:
    """Whether the node's rows follow from its inputs' rows: not if it chooses among peers, or returns a list in input
    order.
    """
    if any(is_volatile(expr) for expr in expressions(node)):
        return False
    match node:
        case Limit():
            return node.count is None and node.offset is None
        case DistinctOn() | Window():
            return False
        case Aggregator():
            return not any(call.function.name in LISTENS for call in node.aggregates)
        case CteReader():
            return node.cte in defined
        case _:
            return True


def is_read_whole(plan: Node, assembly: Assembly) -> bool:
    """Whether every instance of the other side reads this side of a join for itself: it is the same everywhere, and
    small.
    """
    setting = assembly.setting
    return input_bytes(plan, setting.parameters) <= setting.mirror_limit and is_same_everywhere(plan, assembly)
