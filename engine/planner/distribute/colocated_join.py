"""Co-located joins and groups: tables are dealt out by the values of a key, so that equal values are on one member and
no row moves.

Where footers allow it (`engine.planner.distribute.splits_by_key`), neither the join of lines with their orders nor a
sum for each order sends a row anywhere. CockroachDB's planner gets the same from ranges that one node holds; others
call it a co-located or a bucketed join. Here nothing has to be declared.

The splits of a flow are made before it is known what the flow will be joined with, so the join makes them anew. As long
as no row of the flow has moved, and nothing in it depends on which rows share an instance, the plan stays the same and
only the splits change. So only nodes that take each row by itself may stand above a reader: evaluators, and joins with
sides that every instance has whole. Aggregators may, if the same key already keeps their groups whole. A plan in one
place stays there, since it may have been put there because it must not run in several. Null keys have no place, so a
column that an outer join pads cannot be the key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engine.catalog.model.objects import Table
from engine.plan_ir.expr import Column, ColumnRef, Node
from engine.plan_ir.logical import Aggregator, Evaluator, Join, TableReader
from engine.plan_ir.physical import Instance, KeyRange, Split
from engine.plan_ir.rewrite import expressions, rewrite_plan, walk_all
from engine.plan_ir.volatility import is_volatile
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.equalities import equalities
from engine.planner.distribute.flow import Flow
from engine.planner.distribute.splits_by_key import Keyed, KeyedReading, readings_by_key

_PASS_LEFT: Final = ("inner", "cross", "left")
_PASS_RIGHT: Final = ("inner", "cross", "right")


def joined_side_by_side(node: Join, left: Flow, right: Flow, assembly: Assembly) -> tuple[Flow, Flow] | None:
    """Return both sides with matching rows in one instance; None if their files do not allow it."""
    for pair in equalities(node):
        if not isinstance(pair.left, ColumnRef) or not isinstance(pair.right, ColumnRef):
            continue
        at_left, at_right = (
            _keyed_readers(left, pair.left.column, assembly),
            _keyed_readers(right, pair.right.column, assembly),
        )
        if at_left is None or at_right is None:
            continue
        readings = readings_of([*at_left, *at_right], assembly)
        if readings is not None:
            count = len(at_left)
            return (
                _dealt(left, pair.left.column, at_left, readings[:count]),
                _dealt(right, pair.right.column, at_right, readings[count:]),
            )
    return None


def grouped_side_by_side(flow: Flow, keys: Sequence[Column], assembly: Assembly) -> Flow | None:
    """Return the flow with rows that agree in one of `keys` in one instance, on at least as many members as before;
    None if its files do not allow it.
    """
    for key in keys:
        tables = _keyed_readers(flow, key, assembly)
        readings = None if tables is None else readings_of(tables, assembly)
        if tables is not None and readings is not None:
            dealt = _dealt(flow, key, tables, readings)
            if len(dealt.instances) >= len(flow.instances):
                return dealt
    return None


def find_keyed_reader(node: Node, column: Column, *, grouped: bool = False) -> Keyed | None:
    """Find the reader that a column comes from, through nodes that take each row by itself. grouped: aggregators may be
    on the way.
    """
    match node:
        case TableReader(table=Table() as table) if column in node.columns:
            return Keyed(node, table, column)
        case Evaluator() if column in node.columns and not any(map(is_volatile, expressions(node))):
            passed = node.emit[node.columns.index(column)]
            return (
                find_keyed_reader(node.input, passed.column, grouped=grouped) if isinstance(passed, ColumnRef) else None
            )
        case Join(lateral=False):
            if node.kind in _PASS_LEFT and column in node.left.columns:
                return find_keyed_reader(node.left, column, grouped=grouped)
            if node.kind in _PASS_RIGHT and column in node.right.columns:
                return find_keyed_reader(node.right, column, grouped=grouped)
        case Aggregator(grouping_sets=None, group=group) if grouped and column in node.columns[: len(group)]:
            return find_keyed_reader(node.input, group[node.columns.index(column)], grouped=grouped)
    return None


def _keyed_readers(flow: Flow, column: Column, assembly: Assembly) -> tuple[Keyed, ...] | None:
    """Return the flow's readers that read splits, each with its counterpart of a column of the flow; None if these
    cannot be dealt out by it.
    """
    if flow.is_single or flow.order or flow.limit is not None or not all(map(assembly.is_mirrored, flow.inputs)):
        return None
    found = find_keyed_reader(flow.node, column, grouped=bool(flow.by_range))
    if found is None or not found.reader.reader:
        return None
    readers = [part for part in walk_all(flow.node) if isinstance(part, TableReader) and part.reader]
    if not flow.by_range:
        return (found,) if len(readers) == 1 else None
    if found.column not in flow.by_range:
        return None
    columns = [(reader, column) for reader in readers for column in flow.by_range if column in reader.columns]
    return tuple(Keyed(reader, reader.table, column) for reader, column in columns if isinstance(reader.table, Table))


def readings_of(tables: Sequence[Keyed], assembly: Assembly) -> tuple[KeyedReading, ...] | None:
    """Return the tables' readings by their keys (`splits_by_key`); None if their files do not allow it."""
    setting = assembly.setting
    ranges = setting.engine == "local"
    return readings_by_key(tables, setting.members, setting.pinned, setting.parameters, ranges=ranges)


def _dealt(flow: Flow, key: Column, tables: Sequence[Keyed], readings: Sequence[KeyedReading]) -> Flow:
    """Deal out the files of the flow's readers anew, by a column of the flow."""
    splits: dict[str, dict[int, tuple[Split, ...]]] = {}
    within: dict[str, dict[int, KeyRange]] = {}
    keys: dict[int, Column | None] = {}
    for table, reading in zip(tables, readings, strict=True):
        keys[table.reader.reader] = table.column if reading.within else None
        for member, mine in reading.splits.items():
            splits.setdefault(member, {})[table.reader.reader] = mine
            if reading.within:
                within.setdefault(member, {})[table.reader.reader] = reading.within[member]

    def set_range_key(node: Node) -> Node:
        if not (isinstance(node, TableReader) and node.reader in keys):
            return node
        return replace(node, ranged=False, key=keys[node.reader])

    instances = tuple(Instance(member, splits[member], within.get(member, {})) for member in sorted(splits))
    by_range = tuple(table.column for table in tables)
    node = rewrite_plan(flow.node, set_range_key)
    return replace(flow, node=node, instances=instances, parted=(frozenset({key.id}),), by_range=by_range)
