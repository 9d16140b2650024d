"""From a logical node to its flow: which file knows what about which operator.

Every operator first asks whether its own expressions may be evaluated in several places (`whole.may_be_spread`); if not, it
runs on the initiator over what its inputs send there. Then its own rule applies.
"""

from __future__ import annotations

from engine.plan.distribute import aggregates, evaluators, joins, orderings, readers, sets, whole, windows
from engine.plan.distribute.assembly import Assembly
from engine.plan.distribute.flow import Flow
from engine.plan.logical import (
    Aggregator,
    DistinctOn,
    Evaluator,
    Join,
    Limit,
    Node,
    ProjectSet,
    SetOperation,
    Sort,
    TableReader,
    Window,
)


def plan(node: Node, assembly: Assembly) -> Flow:
    """The flow of a logical node. Raises NotDistributable."""
    if not whole.may_be_spread(node, assembly):
        return whole.on_initiator(node, assembly)
    match node:
        case TableReader():
            return readers.table_reader(node, assembly)
        case Evaluator() | ProjectSet():
            return evaluators.evaluator(node, assembly)
        case Join():
            return joins.join(node, assembly)
        case Aggregator():
            return aggregates.aggregator(node, assembly)
        case SetOperation():
            return sets.set_operation(node, assembly)
        case DistinctOn():
            return windows.distinct_on(node, assembly)
        case Window():
            return windows.window(node, assembly)
        case Sort():
            return orderings.sort(node, assembly)
        case Limit():
            return orderings.limit(node, assembly)
        case _:
            return whole.on_initiator(node, assembly)
