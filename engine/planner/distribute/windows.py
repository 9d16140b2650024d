"""WINDOW and DISTINCT ON: rows of one partition meet in one instance.

Calls over different partitions share an instance as long as they have a partition column in common: rows that agree in
all columns of a partition agree in that one. A call without a stated order sees the order of its input, so then all
rows go to one place, in order. Rows need not meet if nobody reads the results of the calls, nor for numbers that each
instance may assign by itself.
"""

from __future__ import annotations

from dataclasses import replace

from engine.plan_ir.expr import Column, ColumnRef, WindowCall
from engine.plan_ir.logical import DistinctOn, Window
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.flow import Flow
from engine.planner.distribute.repartition import meet
from engine.planner.optimizer.ordering import asks_for_order


def window(node: Window, assembly: Assembly) -> Flow:
    below = assembly.for_output(assembly.flow(node.input), node)
    listens = asks_for_order(node.input) and any(not call.order_by for call in node.calls)
    if not set(node.columns[len(node.input.columns) :]) <= {assembly.arrival}:
        below = assembly.gather(below) if listens else meet(below, _common_keys(node.calls), assembly)
    return replace(below, node=replace(node, input=below.node), order=())


def _common_keys(calls: tuple[WindowCall, ...]) -> tuple[Column, ...]:
    """Return the columns by which all calls partition their rows."""
    first, *others = ([e.column for e in call.partition_by if isinstance(e, ColumnRef)] for call in calls)
    return tuple(column for column in first if all(column in other for other in others))


def distinct_on(node: DistinctOn, assembly: Assembly) -> Flow:
    below = meet(assembly.flow(node.input), node.keys, assembly)
    return replace(below, node=replace(node, input=below.node), order=())
