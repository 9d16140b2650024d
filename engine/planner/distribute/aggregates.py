"""AGGREGATOR: two stages where the aggregates allow it, so that few rows move.

The first stage groups the rows of each instance. Its results are hashed by the group key to as many instances, or sent
to one instance if there is no group key, and the second stage combines them. FILTER belongs to the first stage, HAVING
to the second. With grouping sets, rows of the first stage also carry the number of their set as a further key.

**DISTINCT**: the first stage also groups by the argument, which removes duplicates. With a group key, the second
stage is the aggregate itself over the remaining rows. Without one, the rows are hashed by the argument, so that no two
instances share a value; there they are grouped once more, and an aggregate without DISTINCT over the rest runs in two
stages.

None of this is needed where the files of a table are laid out so that each instance has groups of its own
(`colocated_join`).

Where the first stage leaves little (few groups, by what footers say of the keys, or little input), the second stage
runs on the initiator: that needs one stream from each instance instead of one between any two, and one fragment less to
wait for.

An aggregator that has no second stage is hashed by its group key as it is, or gathered in one place: without a group
key, if an aggregate depends on the order of its input, or if its result cannot cross an edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engine.common import sql_type as st
from engine.plan_ir.expr import AggregateCall, Column, ColumnRef, Const, Expr, Node, references_to
from engine.plan_ir.logical import Aggregator, Evaluator
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.flow import Equals, Flow
from engine.planner.distribute.hashing import hash_class, hash_partition
from engine.planner.distribute.partials import Stages, stages
from engine.planner.distribute.repartition import meet, met
from engine.planner.optimizer.ordering import asks_for_order
from engine.planner.optimizer.relax_orderings import LISTENS
from wire.dataclass import dataclass
from wire.types import pg_types as t

#: The assumed bytes of a row of aggregates.
_ONE_ROW: Final = 64
#: The largest estimate of groups.
_GROUPS_MAX: Final = 1 << 40
#: GROUPING has a bit for each key, in an int4.
_KEYS_OF_SETS: Final = 31


def aggregator(node: Aggregator, assembly: Assembly) -> Flow:
    below = assembly.for_output(assembly.flow(node.input), node)
    if asks_for_order(node.input) and any(
        call.function.name in LISTENS and not call.order_by for call in node.aggregates
    ):
        below = assembly.gather(below)
    whole = met(below, node.group, assembly) if node.grouping_sets is None and node.group else None
    if whole is not None:
        return _whole(node, whole)
    if below.is_single:
        return _whole(node, below)
    return _in_stages(node, below, assembly) or _at_keys(node, below, assembly)


def _whole(node: Aggregator, below: Flow) -> Flow:
    size = below.size if node.group else _ONE_ROW
    parted = _rename_partitioning(below.parted, node)
    return replace(below, node=replace(node, input=below.node), parted=parted, order=(), size=size)


def _rename_partitioning(parted: tuple[Equals, ...] | None, node: Aggregator) -> tuple[Equals, ...] | None:
    """Translate the partitioning by the group's columns into the output's columns."""
    if parted is None or node.grouping_sets is not None:
        return None
    pairs = list(zip(node.group, node.columns, strict=False))
    renamed = tuple(frozenset(out.id for key, out in pairs if key.id in equals) for equals in parted)
    return renamed if all(renamed) else None


def _at_keys(node: Aggregator, below: Flow, assembly: Assembly) -> Flow:
    if node.grouping_sets is not None or not node.group:
        return _whole(node, assembly.gather(below))
    return _whole(node, meet(below, node.group, assembly))


def _in_stages(node: Aggregator, below: Flow, assembly: Assembly) -> Flow | None:
    calls = tuple(_without_needless_distinct(call) for call in node.aggregates)
    if any(call.distinct for call in calls):
        return _distinct(replace(node, aggregates=calls), below, assembly)
    taken_apart = [stages(call) for call in calls]
    if not all(taken_apart) or not _sets_are_distinct(node):
        return None
    return _two_stages(node, [s for s in taken_apart if s is not None], below, assembly)


def _without_needless_distinct(call: AggregateCall) -> AggregateCall:
    """Drop DISTINCT from aggregates that it does not affect, such as min and max."""
    needless = call.function.name in ("min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or")
    return replace(call, distinct=False) if call.distinct and needless else call


def _sets_are_distinct(node: Aggregator) -> bool:
    """Whether a row of the first stage identifies its grouping set."""
    sets = node.grouping_sets
    return sets is None or (len({frozenset(s) for s in sets}) == len(sets) and len(node.group) <= _KEYS_OF_SETS)


@dataclass(frozen=True, slots=True)
class _First:
    """The first stage of an aggregation.

    keys: its copies of the group key. of: the column that identifies the set (grouping sets only), then GROUPING's
        columns.
    parts: the columns of each aggregate's first calls.
    """

    node: Aggregator
    keys: tuple[Column, ...]
    of: tuple[Column, ...]
    parts: tuple[tuple[Column, ...], ...]


def _first_stage(node: Aggregator, below: Node, calls: Sequence[Sequence[AggregateCall]], assembly: Assembly) -> _First:
    keys = tuple(assembly.column(key.type, key.name) for key in node.group)
    parts = tuple(tuple(assembly.column(call.type, call.function.name) for call in part) for part in calls)
    groupings: tuple[tuple[int, ...], ...] = ()
    if node.grouping_sets is not None:
        groupings = (tuple(range(len(node.group))), *node.groupings)
    of = tuple(assembly.column(st.of(t.INT4), "grouping") for _ in groupings)
    first = Aggregator(
        (*keys, *(column for part in parts for column in part), *of),
        below,
        node.group,
        tuple(call for part in calls for call in part),
        node.grouping_sets,
        groupings,
    )
    return _First(first, keys, of, parts)


def _two_stages(node: Aggregator, taken_apart: Sequence[Stages], below: Flow, assembly: Assembly) -> Flow:
    first = _first_stage(node, below.node, [s.first for s in taken_apart], assembly)
    rows = _ONE_ROW * len(below.instances) * _groups(node, assembly)
    made = replace(below, node=first.node, parted=None, order=(), size=min(below.size, rows) if node.group else rows)
    moved = _dealt(made, (*first.keys, *first.of), below.members, assembly)
    return _second_stage(node, first, taken_apart, moved, assembly)


def _groups(node: Aggregator, assembly: Assembly) -> int:
    """Return an upper bound of the number of groups, counting a null of each key."""
    distinct = assembly.rows(node.input).distinct if node.group else {}
    groups = len(node.grouping_sets or ((),))
    for key in node.group:
        groups = min(groups * (1 + int(min(distinct.get(key.id, _GROUPS_MAX), _GROUPS_MAX))), _GROUPS_MAX)
    return groups


def _dealt(flow: Flow, keys: tuple[Column, ...], members: Sequence[str], assembly: Assembly) -> Flow:
    """Repartition the flow so that rows which agree in `keys` meet; gather it if it is small."""
    if flow.size <= assembly.setting.gather_limit:
        return assembly.gather(flow)
    usable = tuple(key for key in keys if hash_class(key.type.pg) is not None)
    return hash_partition(flow, usable, members, assembly) if usable else assembly.gather(flow)


def _second_stage(
    node: Aggregator, first: _First, taken_apart: Sequence[Stages], moved: Flow, assembly: Assembly
) -> Flow:
    """Combine the partial results, in the columns of `node`, and apply its output filter."""
    group = (*first.keys, *first.of)
    calls = [s.second(part) for s, part in zip(taken_apart, first.parts, strict=True)]
    keys = tuple(assembly.column(key.type, key.name) for key in group)
    results = [tuple(assembly.column(call.type, call.function.name) for call in part) for part in calls]
    second = Aggregator(
        (*keys, *(column for part in results for column in part)),
        moved.node,
        group,
        tuple(call for part in calls for call in part),
    )
    count = len(first.keys)
    groupings = keys[count + 1 :] if first.of else tuple(None for _ in node.groupings)
    emit: tuple[Expr, ...] = (
        *references_to(keys[:count]),
        *(s.final(part) for s, part in zip(taken_apart, results, strict=True)),
        *(_grouping(column) for column in groupings),
    )
    pairs = list(zip(first.keys, node.columns, strict=False))
    parted = moved.parted and tuple(frozenset(out.id for key, out in pairs if key.id in e) for e in moved.parted)
    shaped = Evaluator(node.columns, second, emit)
    flow = replace(moved, node=shaped, parted=parted if parted and all(parted) else None)
    return _add_having(node, flow)


def _grouping(column: Column | None) -> Expr:
    """Return the value of GROUPING(...): without grouping sets every column is grouped by."""
    return ColumnRef(column.type, column) if column is not None else Const(st.of(t.INT4), 0)


def _add_having(node: Aggregator, flow: Flow) -> Flow:
    if node.filter is None:
        return flow
    return replace(flow, node=Evaluator(node.columns, flow.node, references_to(node.columns), node.filter))


# -- DISTINCT --------------------------------------------------------------------------------------------------------


def _distinct(node: Aggregator, below: Flow, assembly: Assembly) -> Flow | None:
    """Plan aggregates over distinct values of one list of arguments, among others that two stages can do; None for all
    others.
    """
    arguments = {call.args for call in node.aggregates if call.distinct}
    odd = any(call.distinct and (call.filter is not None or call.order_by) for call in node.aggregates)
    taken_apart = [stages(call) for call in node.aggregates]
    if node.grouping_sets is not None or len(arguments) != 1 or odd or not all(taken_apart):
        return None
    [args] = arguments
    if not all(hash_class(arg.type.pg) for arg in args):
        return None
    return _deduplicate(node, args, [s for s in taken_apart if s is not None], below, assembly)


def _deduplicate(
    node: Aggregator, args: tuple[Expr, ...], taken_apart: Sequence[Stages], below: Flow, assembly: Assembly
) -> Flow:
    below_node, columns = _with_columns(below.node, args, assembly)
    plain = [s.first if not call.distinct else () for call, s in zip(node.aggregates, taken_apart, strict=True)]
    wider = replace(node, group=(*node.group, *columns), filter=None)
    first = _first_stage(wider, below_node, plain, assembly)
    made = replace(below, node=first.node, parted=None, order=())
    count = len(node.group)
    values = first.keys[count:]
    over = [replace(call, args=references_to(values)) if call.distinct else None for call in node.aggregates]
    keys = replace(first, keys=first.keys[:count])
    if node.group or not all(call.distinct for call in node.aggregates):
        moved = _dealt(made, first.keys[:count], below.members, assembly) if node.group else assembly.gather(made)
        return _second_stage(node, keys, [_once(s, o) for s, o in zip(taken_apart, over, strict=True)], moved, assembly)
    moved = _dealt(made, values, below.members, assembly)
    distinct = tuple(assembly.column(value.type, value.name) for value in values)
    apart = replace(moved, node=Aggregator(distinct, moved.node, values), parted=None)
    again = [stages(replace(call, args=references_to(distinct), distinct=False)) for call in node.aggregates]
    return _two_stages(node, [s for s in again if s is not None], apart, assembly)


def _once(taken_apart: Stages, over: AggregateCall | None) -> Stages:
    """Return the stages of an aggregate over deduplicated rows: for one with DISTINCT, the aggregate itself."""
    if over is None:
        return taken_apart
    return Stages((), lambda _columns: (over,), lambda columns: references_to(columns)[0])


def _with_columns(node: Node, args: tuple[Expr, ...], assembly: Assembly) -> tuple[Node, tuple[Column, ...]]:
    """Return the node with a column for each argument."""
    if all(isinstance(arg, ColumnRef) for arg in args):
        return node, tuple(arg.column for arg in args if isinstance(arg, ColumnRef))
    columns = tuple(assembly.column(arg.type, "value") for arg in args)
    return Evaluator((*node.columns, *columns), node, (*references_to(node.columns), *args)), columns
