"""How much column data a plan would read: what is left of its files after pruning by their statistics.

Parquet footers say each column chunk's size and its least and greatest value. A row group that a reader's filter excludes
does not count, columns that are not read do not count. CSV and JSON files count whole. The figure chooses between engines;
the engines prune by themselves when they read, so an estimate that is too large costs time and never rows. What is left is
also what `engine.planner.distribute.splits` hands out to the instances of a reader.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from engine.catalog.model import partitions
from engine.catalog.model.objects import SystemTable, Table
from engine.common.sql_type import SqlType
from engine.common.weighted_lru_cache import CacheFigures, WeightedLruCache
from engine.lakes import stores
from engine.lakes.file_columns import is_flat, top_level
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import TableReader
from engine.plan_ir.rewrite import walk_all
from engine.planner.optimizer.column_bounds import ColumnBounds, Range, Test, Told, native, reader_test
from wire.dataclass import dataclass
from wire.errors import SqlError

#: Times that are rounded to microseconds as they are read, one way or the other.
_NANOSECONDS: Final = "nanoseconds"
#: What a file is taken to hold that this member does not see: whoever reads it says what is wrong with it.
UNSEEN_BYTES: Final = 64 << 20
#: Footers that are remembered: how many, and how many columns of row groups they have together, at some 300 bytes each.
_FOOTERS_MOST: Final = 1 << 14
_FOOTERS_ROOM: Final = 1 << 19


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows `first` .. `end` - 1 of a Parquet file. columns: bytes, and least and greatest value, by top-level column.
    nulls: how many each column has, where that is known. sorted_by: the columns by which the rows ascend, nulls last, by the
    writer's word."""

    first: int
    end: int
    columns: Mapping[str, tuple[int, Range | None]]
    nulls: Mapping[str, int] = field(default_factory=dict)
    sorted_by: tuple[str, ...] = ()

    def facts(self, name: str) -> ColumnBounds | None:
        """Return the footer's bounds of a column."""
        known = self.columns.get(name)
        return None if known is None else ColumnBounds(self.end - self.first, self.nulls.get(name), known[1])

    def size(self, names: tuple[str, ...]) -> int:
        """Bytes of these columns."""
        return sum(self.columns[name][0] for name in names if name in self.columns)


#: By file and the table's version.
_FOOTERS: Final[WeightedLruCache[tuple[str, int], tuple[RowGroup, ...]]] = WeightedLruCache(
    _FOOTERS_MOST, _FOOTERS_ROOM, lambda _, groups: sum(1 + len(group.columns) for group in groups)
)


def cache_figures() -> Mapping[str, CacheFigures]:
    """How well the caches of footers and of files' sizes serve, by name."""
    sizes = stored_bytes.cache_info()
    return {
        "footers": _FOOTERS.figures(),
        "file_sizes": CacheFigures(sizes.hits, sizes.misses, sizes.currsize),
    }


def input_bytes(plan: Node, parameters: Mapping[int, Any]) -> int:
    """Bytes of column data (as stored, compressed) that the plan's readers would read. `parameters`: canonical values by number."""
    return sum(reader_bytes(node, parameters) for node in walk_all(plan) if isinstance(node, TableReader))


def reader_bytes(reader: TableReader, parameters: Mapping[int, Any]) -> int:
    """Estimate the bytes that one reader reads, as `input_bytes` does."""
    table = reader.table
    if isinstance(table, SystemTable):
        return 0
    test = reader_test(reader, parameters)
    return sum(_file_bytes(file, reader, table, test) for file in table.files)


def _file_bytes(file: str, reader: TableReader, table: Table, test: Test | None) -> int:
    try:
        if table.format != "parquet":
            return stored_bytes(file, table.version) if may_pass(file, table, test) else 0
        return sum(group.size(reader.names) for group in groups_to_read(file, table, test))
    except OSError:
        return UNSEEN_BYTES


@lru_cache(maxsize=1 << 17)
def stored_bytes(file: str, version: int) -> int:
    """A file's size. Asked of a table's files several times for a plan, and kept for the next. Raises OSError.

    version: the table's, which changes with its files; it keys the cache only.
    """
    del version
    return stores.size(file) if stores.is_remote(file) else os.path.getsize(file)


def groups_to_read(file: str, table: Table, test: Test | None) -> tuple[RowGroup, ...]:
    """The row groups of a table's Parquet file that may have a row that passes the test. Raises OSError."""
    if not may_pass(file, table, test):
        return ()
    # A file that a log names is what it was when it was named: it need not be opened again for each version of the table.
    version = table.version if table.storage is None and not table.lake else 0
    groups = _row_groups(file, version)
    if test is None:
        return groups
    folders = folder_facts(file, table)
    return tuple(group for group in groups if test(_either(folders, group.facts)))


def _either(first: Told, second: Told) -> Told:
    return lambda name: first(name) or second(name)


def may_pass(file: str, table: Table, test: Test | None) -> bool:
    """Whether the values that a file's folders say leave it a row that passes."""
    return test is None or not table.partition_by or test(folder_facts(file, table))


def folder_facts(file: str, table: Table) -> Told:
    """Return the bounds of columns by the names of a file's folders: one value, or null, for all of its rows."""
    types = partitions.types(table) if table.partition_by else {}

    def folder_bounds(name: str) -> ColumnBounds | None:
        typ = types.get(name)
        return None if typ is None else _folder_facts(partitions.raw_value(file, name), typ, bool(table.lake))

    return folder_bounds


def _folder_facts(raw: str | None, typ: SqlType, empty_is_null: bool) -> ColumnBounds | None:
    try:
        canonical = None if raw is None else partitions.value(raw, typ, empty_is_null=empty_is_null)
    except SqlError:
        # What is no value of its type, or not there, is for the reader to say.
        return None
    if canonical is None:
        return None if raw is None else ColumnBounds(1, 1)
    value = native(canonical, typ.pg)
    return ColumnBounds(1, 0, None if value is None else (value, value))


def _row_groups(file: str, version: int) -> tuple[RowGroup, ...]:
    """Sizes and ranges of a Parquet file's top-level columns, by row group. `version` keys what is remembered only."""
    return _FOOTERS.get((file, version), lambda: _read_row_groups(file))


def _read_row_groups(file: str) -> tuple[RowGroup, ...]:
    where, system = stores.resolve_path(file)
    try:
        metadata = pq.read_metadata(where, filesystem=system)
    except pa.ArrowInvalid as error:
        raise OSError(str(error)) from error
    groups = []
    first = 0
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        chunks = [(metadata.schema.column(column), group.column(column)) for column in range(group.num_columns)]
        groups.append(
            RowGroup(first, first + group.num_rows, _columns(chunks), dict(_nulls(chunks)), _sorted_by(group, chunks))
        )
        first += group.num_rows
    return tuple(groups)


def _sorted_by(group: Any, chunks: Sequence[_Chunk]) -> tuple[str, ...]:
    names = []
    for key in group.sorting_columns:
        leaf, _ = chunks[key.column_index]
        if key.descending or key.nulls_first or not is_flat(leaf):
            break
        names.append(leaf.name)
    return tuple(names)


#: A leaf of the file's schema, and its chunk in a row group.
_Chunk = tuple[Any, Any]


def _columns(chunks: Iterable[_Chunk]) -> dict[str, tuple[int, Range | None]]:
    columns: dict[str, tuple[int, Range | None]] = {}
    for leaf, chunk in chunks:
        name = top_level(leaf)
        size, between = columns.get(name, (0, None))
        columns[name] = (size + chunk.total_compressed_size, _range(leaf, chunk) if is_flat(leaf) else between)
    return columns


def _nulls(chunks: Iterable[_Chunk]) -> Iterator[tuple[str, int]]:
    for leaf, chunk in chunks:
        if is_flat(leaf) and (statistics := chunk.statistics) is not None and statistics.has_null_count:
            yield leaf.name, statistics.null_count


def _range(leaf: Any, chunk: Any) -> Range | None:
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max or _NANOSECONDS in str(leaf.logical_type):
        return None
    try:
        low, high = statistics.min, statistics.max
    except OverflowError:  # infinity, and what else Python's dates cannot say
        return None
    comparable = isinstance(low, (int, float, str, Decimal, dt.date)) and not isinstance(low, bool)
    return (low, high) if comparable else None
