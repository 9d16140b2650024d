"""Plans with the same result on every member: each instance may evaluate them for itself, instead of receiving the rows
from one.

Every member can read all tables of such a plan, and its rows are deterministic.
"""

from __future__ import annotations

from typing import Final

from engine.plan_ir.expr import AggregateCall, Node
from engine.plan_ir.logical import Aggregator, CteReader, DistinctOn, Limit, Window, With
from engine.plan_ir.rewrite import expressions, walk_all
from engine.plan_ir.volatility import is_volatile
from engine.planner.distribute.assembly import Assembly
from engine.planner.optimizer.input_size import input_bytes
from engine.planner.optimizer.relax_orderings import LISTENS
from wire.types import pg_types as t

_FLOATS: Final = frozenset((t.FLOAT4, t.FLOAT8))


def is_same_everywhere(plan: Node, assembly: Assembly) -> bool:
    """Whether every member that evaluates the plan finds the same rows."""
    defined = {cte.id for node in walk_all(plan) if isinstance(node, With) for cte in node.ctes}
    return not assembly.is_pinned(plan) and all(_is_certain(node, defined) for node in walk_all(plan))


def _is_certain(node: Node, defined: set[int]) -> bool:
    """Whether the node's rows follow from its inputs' rows: not if it chooses among peers, returns a list in input
    order, or adds floats.
    """
    if any(is_volatile(expr) for expr in expressions(node)):
        return False
    match node:
        case Limit():
            return node.count is None and node.offset is None
        case DistinctOn() | Window():
            return False
        case Aggregator():
            return not any(call.function.name in LISTENS or _is_rounded(call) for call in node.aggregates)
        case CteReader():
            return node.cte in defined
        case _:
            return True


def _is_rounded(call: AggregateCall) -> bool:
    """Whether an aggregate's last digits depend on the order of its rows, which differs from thread to thread."""
    return call.type.pg in _FLOATS and call.function.name not in ("min", "max")


def is_read_whole(plan: Node, assembly: Assembly) -> bool:
    """Whether every instance of the other side reads this side of a join for itself: it is the same everywhere, and
    small.
    """
    setting = assembly.setting
    return input_bytes(plan, setting.parameters) <= setting.mirror_limit and is_same_everywhere(plan, assembly)
