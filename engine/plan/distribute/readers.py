"""TABLE READER: one instance on every member that reads a split of the table.

A table whose files (or row groups) are all excluded by the filter has no instance: it is read, as no rows, on the initiator. So
is one with a single split, which nobody would read sooner.
"""

from __future__ import annotations

from dataclasses import replace

from engine.catalog.objects import SystemTable, Table
from engine.plan.distribute.assembly import Assembly
from engine.plan.distribute.flow import Flow
from engine.plan.logical import OrderKey, TableReader
from engine.plan.physical import Instance
from engine.plan.splits import Reading, reading, reading_in_order


def table_reader(node: TableReader, assembly: Assembly) -> Flow:
    setting = assembly.setting
    table = node.table
    if isinstance(table, SystemTable):
        return Flow(node, assembly.here())
    ranges = setting.engine == "local"
    found = reading(node, table, setting.members, setting.pinned, setting.parameters, ranges=ranges)
    if not found.splits:
        return Flow(replace(node, table=replace(table, files=())), assembly.here())
    if len(found.splits) == 1 and setting.initiator in setting.members and not assembly.is_pinned(node):
        found = replace(found, splits={setting.initiator: next(iter(found.splits.values()))})
    return _over(node, found, assembly)


def reader_in_order(node: TableReader, key: OrderKey, assembly: Assembly) -> Flow | None:
    """The reader with instances whose values of a column precede the next one's; None where the files do not allow it."""
    setting = assembly.setting
    if not isinstance(node.table, Table) or key.column not in node.columns:
        return None
    by = (key.column, key.descending)
    found = reading_in_order(node, node.table, by, setting.members, setting.pinned, setting.parameters)
    return None if found is None or len(found.splits) < 2 else _over(node, found, assembly)


def _over(node: TableReader, found: Reading, assembly: Assembly) -> Flow:
    """The reader's flow over these splits."""
    number = assembly.reader()
    instances = tuple(Instance(member, {number: splits}) for member, splits in found.splits.items())
    return Flow(replace(node, reader=number, ranged=found.ranged), instances, size=found.size)
