"""From a logical node to its flow: which file knows what about which operator.

Every operator first asks whether its own expressions may be evaluated in several places (`whole.may_be_spread`); if not, it
runs on the initiator over what its inputs send there. Then its own rule applies.
"""

from __future__ import annotations

from engine.plan.distribute.aggregates import aggregator
from engine.plan.distribute.assembly import Assembly
from engine.plan.distribute.evaluators import evaluator
from engine.plan.distribute.flow import Flow
from engine.plan.distribute.joins import join
from engine.plan.distribute.orderings import limit, sort
from engine.plan.distribute.readers import table_reader
from engine.plan.distribute.sets import set_operation
from engine.plan.distribute.whole import may_be_spread, on_initiator
from engine.plan.distribute.windows import distinct_on, window
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
    if not may_be_spread(node, assembly):
        return on_initiator(node, assembly)
    match node:
        case TableReader():
            return table_reader(node, assembly)
        case Evaluator() | ProjectSet():
            return evaluator(node, assembly)
        case Join():
            return join(node, assembly)
        case Aggregator():
            return aggregator(node, assembly)
        case SetOperation():
            return set_operation(node, assembly)
        case DistinctOn():
            return distinct_on(node, assembly)
        case Window():
            return window(node, assembly)
        case Sort():
            return sort(node, assembly)
        case Limit():
            return limit(node, assembly)
        case _:
            return on_initiator(node, assembly)
