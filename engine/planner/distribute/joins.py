"""JOIN: one side is brought to the other, or both to where their keys meet.

In the order of preference:

1. **read whole**: a small side whose tables every member can read, and that is deterministic, stays as it is in every
   instance of the other side. It is read once for each instance, which costs less than an exchange's round trip;
2. **co-located**: the files of both sides are dealt out such that matching rows are already on one member (`colocated_join`);
3. **by lookup**: each of a few rows goes to the one instance of a large table that has its key (`lookups`);
4. **mirrored**: another small side (pinned, or a result) is sent to every instance of the other;
5. **hashed**: both sides go where their equality keys meet; a side that is hashed so already does not move;
6. **mirrored** again, whatever its size, where there is no equality: comparing all with all costs more than sending does;
7. **gathered**: everything goes to the initiator.

The side that is sent everywhere must not be one whose rows an outer join keeps when nothing matches: each instance
would keep them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engine.catalog.model.objects import Table
from engine.plan_ir.expr import ColumnRef, Expr, Node
from engine.plan_ir.logical import Join, TableReader
from engine.plan_ir.rewrite import walk_all
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.colocated_join import joined_side_by_side
from engine.planner.distribute.equalities import Equality, equalities, with_keys
from engine.planner.distribute.flow import Equals, Flow, together
from engine.planner.distribute.hashing import hash_partition
from engine.planner.distribute.lookups import by_lookup
from engine.planner.distribute.replicated import is_read_whole

#: The assumed bytes of a value that moves.
_VALUE_BYTES: Final = 16
#: The kinds for which a side may be present in every instance of the other.
_LEFT_EVERYWHERE: Final = ("inner", "cross", "right")
_RIGHT_EVERYWHERE: Final = ("inner", "cross", "left")


def join(node: Join, assembly: Assembly) -> Flow:
    if node.lateral:
        left = assembly.flow(node.left)
        return replace(left, node=replace(node, left=left.node), order=())
    left, right = assembly.flow(node.left), assembly.flow(node.right)
    if left.is_single and left.members == right.members:
        return _join_fragments(node, left, right)
    return (
        _with_one_read_whole(node, left, right, assembly)
        or _side_by_side(node, left, right, assembly)
        or _with_lookups(node, left, right, assembly)
        or _with_one_mirrored(node, left, right, assembly)
        or _hash_join(node, left, right, assembly)
        or _with_one_mirrored(node, left, right, assembly, limited=False)
        or _join_fragments(node, assembly.gather(left), assembly.gather(right))
    )


def _with_one_read_whole(node: Join, left: Flow, right: Flow, assembly: Assembly) -> Flow | None:
    sides = []
    if node.kind in _RIGHT_EVERYWHERE and is_read_whole(node.right, assembly):
        sides.append((right.size, _join_fragments(node, left, replace(right, node=node.right), onto=left)))
    if node.kind in _LEFT_EVERYWHERE and is_read_whole(node.left, assembly):
        sides.append((left.size, _join_fragments(node, replace(left, node=node.left), right, onto=right)))
    return min(sides, key=lambda side: side[0])[1] if sides else None


def _side_by_side(node: Join, left: Flow, right: Flow, assembly: Assembly) -> Flow | None:
    sides = joined_side_by_side(node, left, right, assembly)
    if sides is None:
        return None
    left, right = sides
    joined = _join_fragments(node, left, right)
    [[at_left], [at_right]] = left.parted or (), right.parted or ()
    kept = {"inner": at_left | at_right, "left": at_left, "right": at_right}.get(node.kind)
    return joined if kept is None else replace(joined, parted=(kept,), by_range=(*left.by_range, *right.by_range))


def _with_lookups(node: Join, left: Flow, right: Flow, assembly: Assembly) -> Flow | None:
    sides = by_lookup(node, left, right, assembly)
    return None if sides is None else _join_fragments(node, *sides)


def _with_one_mirrored(node: Join, left: Flow, right: Flow, assembly: Assembly, *, limited: bool = True) -> Flow | None:
    """Mirror the smaller side, if the join's kind permits it. limited: only if it is within the setting's limit."""
    at_left, at_right = _sent(node.left, left, assembly), _sent(node.right, right, assembly)
    most = assembly.setting.mirror_limit if limited else max(at_left, at_right)
    may_left = node.kind in _LEFT_EVERYWHERE and at_left <= most
    may_right = node.kind in _RIGHT_EVERYWHERE and at_right <= most
    if may_right and not (may_left and at_left < at_right):
        return _join_fragments(node, left, assembly.mirror(right, left.instances), onto=left, also=True)
    if may_left:
        return _join_fragments(node, assembly.mirror(left, right.instances), right, onto=right, also=True)
    return None


def _sent(node: Node, flow: Flow, assembly: Assembly) -> int:
    """Estimate the bytes that would move: as many as are read, unless ANALYZE gives the number of rows that come out.
    An estimate from footers is not enough, since a side that is sent to all members must not exceed it.
    """
    tables = [part.table for part in walk_all(node) if isinstance(part, TableReader)]
    if not tables or not all(isinstance(table, Table) and table.statistics is not None for table in tables):
        return flow.size
    return min(flow.size, int(assembly.rows(node).rows) * len(node.columns) * _VALUE_BYTES)


def _hash_join(node: Join, left: Flow, right: Flow, assembly: Assembly) -> Flow | None:
    pairs = list(equalities(node))
    if not pairs:
        return None
    at_left, at_right = _places(left, [p.left for p in pairs]), _places(right, [p.right for p in pairs])
    used = [pairs[i] for i in at_left or at_right or range(len(pairs))]
    if at_left is None and at_right is None:
        members = _members(left, right, assembly)
        left = _hash_by_keys(left, [pair.left for pair in used], members, assembly)
        right = _hash_by_keys(right, [pair.right for pair in used], members, assembly)
    elif at_left is None or (at_right is not None and at_left != at_right and left.size < right.size):
        used = [pairs[i] for i in at_right or ()]
        left = _hash_by_keys(left, [pair.left for pair in used], right.members, assembly)
    elif at_left != at_right or left.members != right.members:
        right = _hash_by_keys(right, [pair.right for pair in used], left.members, assembly)
    return replace(_join_fragments(node, left, right), parted=_join_partitioning(node, used))


def _places(flow: Flow, keys: Sequence[Expr]) -> tuple[int, ...] | None:
    """Return the positions of the keys by which the flow is hashed already, in that order; None if it is not."""
    if flow.parted is None or flow.by_range or flow.is_single:
        return None
    places = []
    for equals in flow.parted:
        place = next((i for i, k in enumerate(keys) if isinstance(k, ColumnRef) and k.column.id in equals), None)
        if place is None:
            return None
        places.append(place)
    return tuple(places)


def _members(left: Flow, right: Flow, assembly: Assembly) -> tuple[str, ...]:
    """Return the members that both sides go to: those over which one of them is spread."""
    spread = {m for flow in (left, right) if not flow.is_single for m in flow.members}
    spread = spread or {*left.members, *right.members}
    known = [member for member in assembly.setting.members if member in spread]
    return (*known, *sorted(spread - set(known)))


def _hash_by_keys(flow: Flow, keys: Sequence[Expr], members: Sequence[str], assembly: Assembly) -> Flow:
    """Hash the flow by these keys."""
    keyed, columns = with_keys(flow, keys, assembly)
    return hash_partition(keyed, columns, members, assembly, carried=flow.node.columns)


def _join_fragments(node: Join, left: Flow, right: Flow, *, onto: Flow | None = None, also: bool = False) -> Flow:
    """Join both sides in one fragment. `onto`: the side that stays, if the other comes to it (`also`: over an edge)."""
    instances, inputs = together([left, right])
    if onto is not None:
        instances = onto.instances
        inputs = (*left.inputs, *right.inputs) if also else onto.inputs
    joined = replace(node, left=left.node, right=right.node)
    size = left.size + right.size
    if onto is None:
        return Flow(joined, instances, inputs, size=size)
    return Flow(joined, instances, inputs, onto.parted, onto.by_range, size=size)


def _join_partitioning(node: Join, pairs: Sequence[Equality]) -> tuple[Equals, ...] | None:
    """Return the columns by which the rows of a hashed join are partitioned: those that an outer join does not fill
    with nulls.
    """
    sides = {"inner": (True, True), "left": (True, False), "right": (False, True)}.get(node.kind)
    if sides is None:
        return None
    parted = []
    for pair in pairs:
        ends: list[tuple[bool, Expr]] = list(zip(sides, (pair.left, pair.right), strict=True))
        parted.append(frozenset(e.column.id for kept, e in ends if kept and isinstance(e, ColumnRef)))
    return tuple(parted) if all(parted) else None
