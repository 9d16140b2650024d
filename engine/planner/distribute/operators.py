"""From a logical node to its flow: the dispatch to the file of each operator.

Subqueries in a node's own expressions come first, since their rows may be sent to it. Then every operator is checked
for whether its expressions may be evaluated in several places (`undistributable.may_be_spread`); if not, it runs on the
initiator over the rows that its inputs send there. Otherwise its own rule applies.
"""

from __future__ import annotations

from dataclasses import replace

from engine.plan_ir.expr import Node, references_to
from engine.plan_ir.logical import (
    Aggregator,
    DistinctOn,
    Evaluator,
    Join,
    Limit,
    ProjectSet,
    SetOperation,
    Sort,
    TableReader,
    Window,
)
from engine.plan_ir.rewrite import subplans
from engine.planner.distribute.aggregates import aggregator
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.evaluators import evaluator
from engine.planner.distribute.flow import Flow
from engine.planner.distribute.joins import join
from engine.planner.distribute.orderings import limit, sort
from engine.planner.distribute.readers import table_reader
from engine.planner.distribute.sets import set_operation
from engine.planner.distribute.undistributable import may_be_spread, on_initiator, with_results_sent
from engine.planner.distribute.windows import distinct_on, window


def plan(node: Node, assembly: Assembly) -> Flow:
    """Return the flow of a logical node. Raises NotDistributable."""
    if isinstance(node, Aggregator) and node.filter is not None and any(subplans(node)):
        node = _with_having_apart(node)
    if not isinstance(node, (Evaluator, Join)):
        return _plan(node, assembly)
    node, arriving = with_results_sent(node, assembly)
    flow = _plan(node, assembly)
    inputs = (*flow.inputs, *(edge for other in arriving for edge in other.inputs))
    return replace(flow, inputs=inputs, size=flow.size + sum(other.size for other in arriving))


def _with_having_apart(node: Aggregator) -> Evaluator:
    """Move HAVING above the groups, so that its subqueries are treated as those of any filter."""
    groups = replace(node, filter=None)
    return Evaluator(node.columns, groups, references_to(node.columns), node.filter)


def _plan(node: Node, assembly: Assembly) -> Flow:
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
