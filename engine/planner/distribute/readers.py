"""TABLE READER: one instance on every member that reads a split of the table.

A table whose files (or row groups) are all excluded by the filter has no split: the initiator reads it, as no rows. The
initiator also reads a table with a single split, which no other member would read sooner.

Where the files' ranges of a column do not overlap, the instances can follow one another by it (`in_order`). Plans that
read a table in turn, or that send rows to the instances that have their keys, use that.
"""

from __future__ import annotations

from dataclasses import replace

from engine.catalog.model.objects import SystemTable, Table
from engine.plan_ir.expr import Column, ColumnRef, Node
from engine.plan_ir.logical import Aggregator, Evaluator, OrderKey, TableReader
from engine.plan_ir.physical import Instance
from engine.plan_ir.rewrite import map_inputs
from engine.planner.distribute.assembly import Assembly, is_carriable
from engine.planner.distribute.flow import Flow
from engine.planner.distribute.splits import Reading, plan_reading, reading_in_order
from engine.planner.distribute.undistributable import may_be_spread
from wire.dataclass import dataclass


def table_reader(node: TableReader, assembly: Assembly) -> Flow:
    setting = assembly.setting
    table = node.table
    if isinstance(table, SystemTable):
        return Flow(node, assembly.here())
    ranges = setting.engine == "local"
    found = plan_reading(node, table, setting.members, setting.pinned, setting.parameters, ranges=ranges)
    if not found.splits:
        return Flow(replace(node, table=replace(table, files=())), assembly.here())
    if len(found.splits) == 1 and setting.initiator in setting.members and not assembly.is_pinned(node):
        found = replace(found, splits={setting.initiator: next(iter(found.splits.values()))})
    return _over(node, found, assembly)


@dataclass(frozen=True, slots=True)
class InOrder:
    """A table's flow in which each instance's values of a column precede the next one's. bounds: as in
    `splits.Reading`.
    """

    flow: Flow
    bounds: tuple[object, ...]


def in_order(node: Node, key: OrderKey, assembly: Assembly, *, grouped: bool = False) -> InOrder | None:
    """Return the flow of a table's reader below evaluators that pass its column on as the key, in the order of that
    key; None for any other plan, or if the files do not allow it.

    grouped: aggregators that group by the column may be on the way, since no two instances share a value of it.
    """
    if not may_be_spread(node, assembly):
        return None
    if isinstance(node, TableReader):
        return _reader_in_order(node, key, assembly)
    passed = _passed_on(node, key, grouped=grouped)
    if passed is None or not all(map(is_carriable, node.columns)):
        return None
    [child] = node.inputs()
    below = in_order(child, replace(key, column=passed), assembly, grouped=grouped)
    if below is None:
        return None
    return replace(below, flow=replace(below.flow, node=map_inputs(node, lambda _: below.flow.node)))


def _passed_on(node: Node, key: OrderKey, *, grouped: bool) -> Column | None:
    """Return the input's column that a node passes on as the key, if it takes each row by itself, or each of its
    groups.
    """
    if key.column not in node.columns:
        return None
    place = node.columns.index(key.column)
    match node:
        case Evaluator():
            passed = node.emit[place]
            return passed.column if isinstance(passed, ColumnRef) else None
        case Aggregator(grouping_sets=None, filter=None) if grouped and place < len(node.group):
            return node.group[place]
        case _:
            return None


def _reader_in_order(node: TableReader, key: OrderKey, assembly: Assembly) -> InOrder | None:
    setting = assembly.setting
    if not isinstance(node.table, Table) or key.column not in node.columns:
        return None
    by = (key.column, key.descending)
    found = reading_in_order(node, node.table, by, setting.members, setting.pinned, setting.parameters)
    return None if found is None or len(found.splits) < 2 else InOrder(_over(node, found, assembly), found.bounds)


def _over(node: TableReader, found: Reading, assembly: Assembly) -> Flow:
    """Return the reader's flow over these splits."""
    number = assembly.reader()
    instances = tuple(Instance(member, {number: splits}) for member, splits in found.splits.items())
    return Flow(replace(node, reader=number, ranged=found.ranged), instances, size=found.size)
