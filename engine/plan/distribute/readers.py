"""TABLE READER: one instance on every member that reads a split of the table.

A table whose files (or row groups) are all excluded by the filter has no instance: it is read, as no rows, on the initiator.
"""

from __future__ import annotations

from dataclasses import replace

from engine.catalog.objects import SystemTable
from engine.plan.distribute.assembly import Assembly
from engine.plan.distribute.flow import Flow
from engine.plan.logical import TableReader
from engine.plan.physical import Instance
from engine.plan.splits import reading


def table_reader(node: TableReader, assembly: Assembly) -> Flow:
    setting = assembly.setting
    table = node.table
    if isinstance(table, SystemTable):
        return Flow(node, assembly.here())
    ranges = setting.engine == "local"
    found = reading(node, table, setting.members, setting.pinned, setting.parameters, ranges=ranges)
    if not found.splits:
        return Flow(replace(node, table=replace(table, files=())), assembly.here())
    number = assembly.reader()
    instances = tuple(Instance(member, {number: splits}) for member, splits in found.splits.items())
    return Flow(replace(node, reader=number, ranged=found.ranged), instances, size=found.size)
