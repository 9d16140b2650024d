"""FINAL: the root fragment, one instance on the initiator, which feeds the portal.

If everything is on the initiator already, FINAL tops that fragment. If not, the root only merges the streams that
arrive and counts the rows of a LIMIT. It then has no statement, so it passes the first row on as soon as it arrives,
and stops the producers when the last has arrived.
"""

from __future__ import annotations

from dataclasses import replace

from engine.plan_ir.logical import Limit, Root
from engine.plan_ir.physical import Ordered, Sequential, SingleRouter, StagedChange, Synchronizer, Unsynchronized
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.flow import Flow
from engine.planner.distribute.mutations import collect_intents, may_mutate
from engine.planner.distribute.orderings import constant_count


def root(node: Root, assembly: Assembly, change: StagedChange | None = None) -> Flow:
    """Return the root's flow. change: the change to make with the rows; the instances that make them write them if they
    may. Streams of rows without columns are not passed on: they have a column, which is not of the result.
    """
    below = assembly.unfinished_flow(node.input)
    if change is not None and may_mutate(below, change, assembly):
        return collect_intents(below, change, assembly)
    if assembly.is_here(below) or not node.columns or not _may_pass_on(below, assembly):
        below = assembly.gather(below)
        return replace(below, node=replace(node, input=below.node))
    order = below.order
    merged: Synchronizer = Ordered(order) if order else Unsynchronized()
    if below.in_turn:
        merged = Sequential()
    moved = assembly.exchange(below, SingleRouter(), assembly.here(), node.columns, merged)
    passed = moved.node
    if below.limit is not None:
        passed = Limit(node.columns, passed, below.limit.count, below.limit.offset, below.limit.requirement)
    return replace(moved, node=Root(node.columns, passed, node.requirement))


def _may_pass_on(flow: Flow, assembly: Assembly) -> bool:
    """Whether the streams need only be merged and counted: Spark's tasks give no keys to merge by."""
    if flow.order and assembly.engine(flow) == "spark":
        return False
    if flow.limit is None:
        return True
    known = all(e is None or constant_count(e, assembly) is not None for e in (flow.limit.count, flow.limit.offset))
    return known and not flow.limit.with_ties
