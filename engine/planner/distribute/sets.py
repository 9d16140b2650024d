"""SET OPERATION: UNION ALL runs where its inputs are; the others hash rows by all columns, so that equal rows meet.

The instances of a UNION ALL are those of both inputs; where only one of them has splits, the other's reader reads
nothing. An input that is in one place is first dealt out to the other's members: its result (one row of an aggregate,
say) must not be computed by each of them.
"""

from __future__ import annotations

from dataclasses import replace

from engine.plan_ir.expr import Column, Node
from engine.plan_ir.logical import Evaluator, SetOperation
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.flow import Flow, same_places, together
from engine.planner.distribute.hashing import hash_class, hash_partition


def set_operation(node: SetOperation, assembly: Assembly) -> Flow:
    left, right = assembly.flow(node.left), assembly.flow(node.right)
    if left.is_single and same_places((left, right)):
        return _combine_in_place(node, left, right)
    if node.kind == "union" and node.all:
        return _union_all(node, left, right, assembly)
    members = _members(left, right, assembly)
    if len(members) == 1 or not node.columns or not all(hash_class(c.type.pg) for c in node.columns):
        return _combine_in_place(node, assembly.gather(left), assembly.gather(right))
    left = hash_partition(left, node.left.columns, members, assembly)
    right = hash_partition(right, node.right.columns, members, assembly)
    return replace(_combine_in_place(node, left, right), parted=tuple(frozenset({c.id}) for c in node.columns))


def _union_all(node: SetOperation, left: Flow, right: Flow, assembly: Assembly) -> Flow:
    spread = [flow for flow in (left, right) if not flow.is_single]
    if not spread:
        return _combine_in_place(node, assembly.gather(left), assembly.gather(right))
    dealt = [flow if not flow.is_single else _dealt(flow, spread[0].members, assembly) for flow in (left, right)]
    if any(flow.is_single for flow in dealt):
        return _combine_in_place(node, assembly.gather(left), assembly.gather(right))
    return _combine_in_place(node, *dealt)


def _dealt(flow: Flow, members: tuple[str, ...], assembly: Assembly) -> Flow:
    """Deal out a flow that is in one place over several members; return it as it is if it has no column to hash by."""
    keys: tuple[Column, ...] = tuple(c for c in flow.node.columns if hash_class(c.type.pg) is not None)
    return hash_partition(flow, keys, members, assembly) if keys else flow


def _members(left: Flow, right: Flow, assembly: Assembly) -> tuple[str, ...]:
    there = {*left.members, *right.members}
    known = [member for member in assembly.setting.members if member in there]
    return (*known, *sorted(there - set(known)))


def _combine_in_place(node: SetOperation, left: Flow, right: Flow) -> Flow:
    instances, inputs = together([left, right])
    combined = replace(node, left=_operand(left.node, node), right=_operand(right.node, node))
    return Flow(combined, instances, inputs, size=left.size + right.size)


def _operand(side: Node, node: SetOperation) -> Node:
    """Return a side without the column that rows without columns have where they have crossed an edge."""
    return side if node.columns or not side.columns else Evaluator((), side, ())
