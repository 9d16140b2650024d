"""A query on the Spark of another member: all of it is one fragment there, and its rows come here.

Members may share one Spark application: one of them has the driver, and the others name it (`spark.member`) or compute
which one it is (`engine.contracts.spark_host`). Spark partitions its own work, so such a plan is not taken apart: the
plan below FINAL moves to the member that has the driver, whose tasks send to the initiator. Tasks give no keys to merge
by, so ordered rows are sorted again where they arrive.
"""

from __future__ import annotations

from dataclasses import replace

from engine.plan_ir.expr import Column, Node
from engine.plan_ir.logical import Limit, Ordering, Root, Sort
from engine.plan_ir.physical import Instance, PhysicalPlan, SingleRouter, StagedChange
from engine.planner.distribute.assembly import Assembly, NotDistributable, Setting
from engine.planner.distribute.flow import Flow
from engine.planner.distribute.mutations import collect_intents, may_mutate
from engine.planner.optimizer.ordering import asks_for_order, ordering_of
from engine.sql.binder.literals import dimensions_of


def distribute_to_host(
    plan: Root, setting: Setting, host: str, reason: str, change: StagedChange | None = None
) -> PhysicalPlan | None:
    """Return the plan with everything below FINAL on the host's Spark; None for a plan whose order cannot be restored
    here, or whose columns may have arrays of more dimensions than their types say.

    Arrays and rows cross as Arrow's lists and structs. The edge's schema is made from the types of the plan, whose
    dimensions are those of Spark's values, apart from the values of parameters.

    change: the plan's rows are to be written, by the host's tasks where they can.
    """
    below = _with_sort_keys(plan.input)
    order = ordering_of(below)
    if not order and asks_for_order(below):
        return None
    if not {key.column for key in order} <= set(below.columns):
        return None
    flow = Flow(below, (Instance(host),))
    is_known = not any(dimensions_of(value) > 1 for value in setting.parameters.values())
    assembly = Assembly(replace(setting, crosses_nested=is_known), lambda _node, _assembly: flow, plan)
    try:
        if change is not None and may_mutate(flow, change, assembly):
            top = collect_intents(replace(flow, node=plan.input), change, assembly)
        else:
            top = _gather_here(plan, flow, order, assembly)
    except NotDistributable:
        return None
    fragments, edges = assembly.finish(top)
    return PhysicalPlan(setting.initiator, fragments, edges, reason)


def _gather_here(plan: Root, flow: Flow, order: Ordering, assembly: Assembly) -> Flow:
    moved = assembly.exchange(flow, SingleRouter(), assembly.here())
    node = Sort(plan.input.columns, moved.node, order) if order else moved.node
    return replace(moved, node=replace(plan, input=node))


def _with_sort_keys(node: Node) -> Node:
    """Add the sort keys that the initiator sorts by to the plan's columns."""
    keys = tuple(key.column for key in ordering_of(node))
    return _add_columns(node, keys) if keys else node


def _add_columns(node: Node, keys: tuple[Column, ...]) -> Node:
    columns = tuple(dict.fromkeys((*node.columns, *keys)))
    match node:
        case Sort() if set(keys) <= set(node.input.columns):
            return replace(node, columns=columns)
        case Limit():
            return replace(node, columns=columns, input=_add_columns(node.input, keys))
        case _:
            return node
