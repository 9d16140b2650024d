"""The column data that a plan would read, in bytes: the remaining parts of its files after pruning by their statistics.

Parquet footers say each column chunk's size and its least and greatest value. A row group that a reader's filter
excludes does not count, nor do columns that are not read. CSV and JSON files count whole. The figure chooses between
engines; the engines prune by themselves when they read, so an estimate that is too large costs time and never rows.
`engine.planner.distribute.splits` deals out the same remaining row groups to the instances of a reader.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from engine.catalog.model import partitions
from engine.catalog.model.objects import SystemTable, Table
from engine.common.sql_type import SqlType
from engine.common.weighted_lru_cache import CacheFigures
from engine.lakes import stores
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import TableReader
from engine.plan_ir.rewrite import walk_all
from engine.planner.optimizer import footers
from engine.planner.optimizer.column_bounds import ColumnBounds, Test, Told, native, reader_test
from engine.planner.optimizer.footers import RowGroup, UnknownFooterError, row_groups
from wire.dataclass import dataclass
from wire.errors import SqlError

#: The assumed size of a file that this member cannot see; the member that reads it reports errors.
UNSEEN_BYTES: Final = 64 << 20


def cache_figures() -> Mapping[str, CacheFigures]:
    """Return the hit rates and sizes of the caches of footers and of file sizes, by name."""
    sizes = stored_bytes.cache_info()
    return {
        "footers": footers.cache_figures(),
        "file_sizes": CacheFigures(sizes.hits, sizes.misses, sizes.currsize),
    }


def input_bytes(plan: Node, parameters: Mapping[int, Any]) -> int:
    """Return the bytes of column data (as stored, compressed) that the plan's readers would read. `parameters`:
    canonical values by number.
    """
    return sum(reader_bytes(node, parameters) for node in walk_all(plan) if isinstance(node, TableReader))


def reader_bytes(reader: TableReader, parameters: Mapping[int, Any]) -> int:
    """Estimate the bytes that one reader reads, as `input_bytes` does."""
    table = reader.table
    if isinstance(table, SystemTable):
        return 0
    test = reader_test(reader, parameters)
    if table.format != "parquet":
        return sum(_file_bytes(file, table, test) for file in table.files)
    known = known_groups(table, test)
    read = sum(group.size(reader.names) for group in known.groups)
    return round(read * known.scale) + known.unseen * UNSEEN_BYTES


def _file_bytes(file: str, table: Table, test: Test | None) -> int:
    try:
        return stored_bytes(file, table.version) if may_pass(file, table, test) else 0
    except OSError:
        return UNSEEN_BYTES


@dataclass(frozen=True, slots=True)
class KnownGroups:
    """The row groups of a table that are to be read, as far as footers are known. known, unknown: among the files to
    read, the number with known footers and the number without. unseen: the number of files that cannot be read here.
    """

    groups: list[RowGroup]
    known: int
    unknown: int
    unseen: int

    @property
    def scale(self) -> float:
        """The estimated ratio of all row groups to the known ones, judging by the files with known footers."""
        return (self.known + self.unknown) / max(self.known, 1)


def known_groups(table: Table, test: Test | None) -> KnownGroups:
    """Find the row groups of a Parquet table that may have a row that passes the test. May block on footers."""
    found = _find_groups(table, test)
    if found.known or not found.unknown:
        return found
    footers.read_footers(table)
    found = _find_groups(table, test)
    return found if found.known else KnownGroups([], 0, 0, found.unknown + found.unseen)


def _find_groups(table: Table, test: Test | None) -> KnownGroups:
    groups: list[RowGroup] = []
    known = unknown = unseen = 0
    for file in table.files:
        if not may_pass(file, table, test):
            continue
        try:
            groups += groups_to_read(file, table, test)
            known += 1
        except UnknownFooterError:
            unknown += 1
        except OSError:
            unseen += 1
    return KnownGroups(groups, known, unknown, unseen)


@lru_cache(maxsize=1 << 17)
def stored_bytes(file: str, version: int) -> int:
    """Return a file's size, from a cache: a plan needs it several times, and the next plan again. Raises OSError.

    version: the table's, which changes with its files; it keys the cache only.
    """
    del version
    return stores.size(file) if stores.is_remote(file) else os.path.getsize(file)


def groups_to_read(file: str, table: Table, test: Test | None) -> tuple[RowGroup, ...]:
    """Return the row groups of a table's Parquet file that may have a row that passes the test. Raises OSError as
    `row_groups`.
    """
    if not may_pass(file, table, test):
        return ()
    groups = row_groups(file, table)
    if test is None:
        return groups
    folders = folder_facts(file, table)
    return tuple(group for group in groups if test(_either(folders, group.facts)))


def _either(first: Told, second: Told) -> Told:
    return lambda name: first(name) or second(name)


def may_pass(file: str, table: Table, test: Test | None) -> bool:
    """Whether the values in the names of a file's folders allow a row that passes."""
    return test is None or not table.partition_by or test(folder_facts(file, table))


def folder_facts(file: str, table: Table) -> Told:
    """Return the bounds of columns from the names of a file's folders: one value, or null, for all of its rows."""
    types = partitions.types(table) if table.partition_by else {}

    def folder_bounds(name: str) -> ColumnBounds | None:
        typ = types.get(name)
        return None if typ is None else _folder_facts(partitions.raw_value(file, name), typ, bool(table.lake))

    return folder_bounds


def _folder_facts(raw: str | None, typ: SqlType, empty_is_null: bool) -> ColumnBounds | None:
    try:
        canonical = None if raw is None else partitions.value(raw, typ, empty_is_null=empty_is_null)
    except SqlError:
        # The reader reports a value that is invalid or missing.
        return None
    if canonical is None:
        return None if raw is None else ColumnBounds(1, 1)
    value = native(canonical, typ.pg)
    return ColumnBounds(1, 0, None if value is None else (value, value))
