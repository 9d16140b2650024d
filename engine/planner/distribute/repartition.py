"""Repartitioning: rows with equal keys in one instance, by the way that moves the least if they are not there already."""

from __future__ import annotations

from collections.abc import Sequence

from engine.plan_ir.expr import Column
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.colocated_join import grouped_side_by_side
from engine.planner.distribute.flow import Flow
from engine.planner.distribute.hashing import hash_class, hash_partition


def meet(flow: Flow, keys: Sequence[Column], assembly: Assembly) -> Flow:
    """Bring rows that agree in `keys` into one instance: without moving any if possible, else hashed, or in one place."""
    unmoved = met(flow, keys, assembly)
    if unmoved is not None:
        return unmoved
    usable = tuple(key for key in keys if hash_class(key.type.pg) is not None)
    if not usable:
        return assembly.gather(flow)
    return hash_partition(flow, usable, flow.members, assembly)


def met(flow: Flow, keys: Sequence[Column], assembly: Assembly) -> Flow | None:
    """Return the flow as it is, or with its files dealt out anew, if rows that agree in `keys` are then in one
    instance; None if rows would have to move.
    """
    if flow.has_groups_of(keys):
        return flow
    return grouped_side_by_side(flow, keys, assembly)
