"""Parquet footers for planning: rows, sizes, and the least and greatest values of columns, by row group.

A plan reads all footers of a table of up to `_AT_ONCE` files. Of a larger table it reads that many unknown footers,
spread over the table, so that the cost of planning does not grow with the number of files; the next plans read further
ones until all are known. Access to a footer that no plan has read raises UnknownFooterError: such a file stays in the
plan, and its size and rows are estimated from the other files.

The cache key of a footer is its file and, where files may be replaced under their names, the file's size and time
(`engine.lakes.file_stamps`). So a file that comes, goes or changes costs one footer and not those of the whole table.

Rejected: reading the footers in the background, after the plan that wanted them: plans would depend on how far that has
come.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import field
from decimal import Decimal
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from engine.catalog.model.objects import Table
from engine.common.interrupts import check_for_interrupts
from engine.common.weighted_lru_cache import CacheFigures, WeightedLruCache
from engine.lakes import stores
from engine.lakes.file_columns import is_flat, top_level
from engine.lakes.file_stamps import FileStamp, stamps_of
from engine.planner.optimizer.column_bounds import ColumnBounds, Range
from wire.dataclass import dataclass

T = TypeVar("T")
#: The unit of times that are rounded, up or down, to microseconds as they are read.
_NANOSECONDS: Final = "nanoseconds"
#: Limits of the footer cache: footers, and columns of row groups in all of them, at some 300 bytes each.
_FOOTERS_MOST: Final = 1 << 14
_FOOTERS_ROOM: Final = 1 << 19
#: Footers that one plan reads of one table, at some 0.06 ms each; and of a table with too many files for the cache.
_AT_ONCE: Final = 512
_SAMPLE: Final = 64
#: A store answers many requests at a time, each after some ten milliseconds.
_REQUESTS: Final = 16


class UnknownFooterError(OSError):
    """A footer that no plan has read yet, of a table with too many files to read it now."""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows `first` .. `end` - 1 of a Parquet file.

    columns: bytes, and least and greatest value, by top-level column. nulls: how many each column has, where that is
    known. sorted_by: the columns by which the rows ascend, nulls last, as the writer declares.
    """

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
        """Return the bytes of these columns."""
        return sum(self.columns[name][0] for name in names if name in self.columns)


#: A file, and the stamp that distinguishes it from later files of that name; None if names are never reused.
_Key = tuple[str, FileStamp | None]
_FOOTERS: Final[WeightedLruCache[_Key, tuple[RowGroup, ...]]] = WeightedLruCache(
    _FOOTERS_MOST, _FOOTERS_ROOM, lambda _, groups: sum(1 + len(group.columns) for group in groups)
)


def cache_figures() -> CacheFigures:
    """Return the hit rate and size of the footer cache."""
    return _FOOTERS.figures()


def row_groups(file: str, table: Table) -> tuple[RowGroup, ...]:
    """Return the row groups of a table's Parquet file. Raises OSError; UnknownFooterError if the table has many files
    and this footer has not been read.
    """
    [key] = _keys(table, (file,))
    if len(table.files) <= _AT_ONCE:
        return _FOOTERS.get(key, lambda: _read_row_groups(file))
    known = _FOOTERS.find(key)
    if known is None:
        raise UnknownFooterError(f'the footer of "{file}" has not been read')
    return known


def known_footers(table: Table) -> Iterator[tuple[str, FileStamp | None, tuple[RowGroup, ...] | None]]:
    """Yield each file of a table, its stamp if it may be replaced under its name, and its row groups; None if they are
    not known. Reads no file.
    """
    for key in _keys(table, table.files):
        yield *key, _FOOTERS.find(key)


def read_footers(table: Table) -> None:
    """Read unknown footers of a table, once for a plan: all of a small table, some of a large one. May block. A file
    that cannot be read is skipped: the error is raised to the caller that needs its footer.
    """
    if table.format != "parquet" or (len(table.files) <= _AT_ONCE and not stores.is_remote(table.path)):
        # Callers read the footers of small local tables one by one.
        return
    wanted = _spread_evenly(_find_unknown(table), _AT_ONCE if _may_complete(table) else _SAMPLE)
    if stores.is_remote(table.path):
        with ThreadPoolExecutor(_REQUESTS, "footers") as threads:
            list(threads.map(_read_quietly, wanted))
        return
    for key in wanted:
        check_for_interrupts()
        _read_quietly(key)


def awaits_footers(table: Table) -> bool:
    """Whether a later plan will know more of the table's files."""
    return (
        len(table.files) > _AT_ONCE
        and table.format == "parquet"
        and _may_complete(table)
        and bool(_find_unknown(table))
    )


def _may_complete(table: Table) -> bool:
    return len(table.files) <= _FOOTERS_MOST // 2


def _find_unknown(table: Table) -> Sequence[_Key]:
    """Return the files of a table whose footers are not known; of a table with very many files, those in a sample."""
    files = table.files if _may_complete(table) else _spread_evenly(table.files, _SAMPLE)
    return _FOOTERS.find_missing(_keys(table, files))


def _keys(table: Table, files: Sequence[str]) -> Sequence[_Key]:
    # A file that a log names never changes.
    if table.has_log:
        return [(file, None) for file in files]
    stamps = stamps_of(table)
    return [(file, stamps(file)) for file in files]


def _spread_evenly(items: Sequence[T], most: int) -> Sequence[T]:
    """Return at most `most` of these items, evenly spread, the first and the last among them."""
    if len(items) <= most:
        return items
    return [items[at * (len(items) - 1) // (most - 1)] for at in range(most)]


def _read_quietly(key: _Key) -> None:
    with suppress(OSError):
        _FOOTERS.get(key, lambda: _read_row_groups(key[0]))


def _read_row_groups(file: str) -> tuple[RowGroup, ...]:
    where, system = stores.resolve_path(file)
    try:
        if system is None:
            # With a file that is open pyarrow does not look for its file system, which takes as long as reading the footer.
            with pa.OSFile(where) as opened:
                metadata = pq.read_metadata(opened)
        else:
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
