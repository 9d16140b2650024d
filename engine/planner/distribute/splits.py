"""Splits, which the instances of a table reader read: a table's files, or row ranges of them, dealt out to members.

A split is a file, or whole row groups of one where a table has fewer files than there are members. Row groups that the
reader's filter excludes by their statistics are in no split, and a member without a split has no instance.

**Files** are assigned to members by rendezvous hashing: each member has a score for each file, and the highest wins. So
the choice needs no state, all members agree on it, and a member that joins takes its share from the others and moves
nothing between them, which keeps their caches warm. Shares are bounded by size. A member takes the files that chose it
while at least half of the next file fits below the average of all bytes, so that with as many files as members each
gets one. The remaining files choose again among the members that have room, and finally among all that are below the
average. As long as files are left, some member is below the average, so the assignment ends, and no member has more
than the average and one file. Pinned files stay where they are.

**Ranges**: a reader has one range for all its files, so an instance has a range of one file. Members are dealt to files
by size, and each file is cut into as many runs of row groups of about the same size.

**In order**: where the files' ranges of a column do not overlap, runs of them can be dealt out so that each instance's
values precede the next one's (the RFC's inter-stream ordering). Then a LIMIT over that order reads one instance after
the other, and a row that is to be joined by that column has one instance to go to.

Considered and rejected: a ring with virtual nodes (it balances worse, and needs hundreds of points a member to come
near); rendezvous without a bound (the greatest share of ten files on four members is often twice the average).
"""

from __future__ import annotations

import datetime as dt
import heapq
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.catalog.model.objects import Table
from engine.plan_ir.expr import Column
from engine.plan_ir.logical import TableReader
from engine.plan_ir.physical import Split
from engine.planner.codegen.files import ROW_NUMBER
from engine.planner.optimizer.column_bounds import reader_test
from engine.planner.optimizer.footers import RowGroup, UnknownFooterError
from engine.planner.optimizer.input_size import UNSEEN_BYTES, groups_to_read, may_pass, stored_bytes
from wire.dataclass import dataclass
from wire.types import pg_types as t

#: Scores computed at a time: as many as fit a processor's cache.
_SCORES: Final = 1 << 16
#: The types that sort as the values in statistics do, with the Python types of those values.
_ORDERED: Final[Mapping[t.PgType, type]] = {
    **dict.fromkeys((t.INT2, t.INT4, t.INT8), int),
    **dict.fromkeys((t.TEXT, t.VARCHAR), str),
    t.DATE: dt.date,
    t.TIMESTAMP: dt.datetime,
}
Hashes = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Reading:
    """The splits of a table, and their properties.

    splits: by member, in the order of its files. ranged: whether they are ranges of rows. size: bytes of the columns
    that are read. bounds: of a reading in order, the first value (canonical) of each member's split but the first; no
    member has a value beyond its own bounds.
    """

    splits: Mapping[str, tuple[Split, ...]]
    ranged: bool = False
    size: int = 0
    bounds: tuple[Any, ...] = ()


class ReadFile(NamedTuple):
    """A file of which something is read: all of it (no groups are known, or none is left out), or these row groups."""

    name: str
    size: int
    groups: tuple[RowGroup, ...] = ()
    sizes: tuple[int, ...] = ()


def plan_reading(
    reader: TableReader,
    table: Table,
    members: Sequence[str],
    pinned: Mapping[str, str],
    parameters: Mapping[int, Any],
    *,
    ranges: bool = True,
) -> Reading:
    """Deal out the splits of a table's reader to members. pinned: the member of each file that only one can read.

    parameters: canonical values by number, for the filter. ranges: whether files may be cut.
    """
    files = tuple(files_to_read(reader, table, parameters))
    size = sum(file.size for file in files)
    if ranges and _may_be_ranged(table, files, members, pinned):
        return Reading(_ranges(files, members, table.path), ranged=True, size=size)
    splits = assign([Split(file.name, file.size) for file in files], members, pinned)
    return Reading(splits, size=size)


def files_to_read(reader: TableReader, table: Table, parameters: Mapping[int, Any]) -> Iterator[ReadFile]:
    """Yield the table's files, except those that have nothing left to read."""
    test = reader_test(reader, parameters)
    for name in table.files:
        try:
            if table.format != "parquet":
                if may_pass(name, table, test):
                    yield ReadFile(name, stored_bytes(name, table.version))
            elif groups := groups_to_read(name, table, test):
                sizes = tuple(group.size(reader.names) for group in groups)
                yield ReadFile(name, sum(sizes), groups, sizes)
        except UnknownFooterError:
            yield ReadFile(name, _whole_size(name, table))
        except OSError:
            yield ReadFile(name, UNSEEN_BYTES)


def _whole_size(file: str, table: Table) -> int:
    try:
        return stored_bytes(file, table.version)
    except OSError:
        return UNSEEN_BYTES


# -- whole files -----------------------------------------------------------------------------------------------------


def assign(splits: Sequence[Split], members: Sequence[str], pinned: Mapping[str, str]) -> dict[str, tuple[Split, ...]]:
    """Assign whole files to members; see the module's docstring. Members without any are left out."""
    owners = [pinned.get(split.file) for split in splits]
    free = [index for index, owner in enumerate(owners) if owner is None]
    chosen = _choose([splits[index] for index in free], members) if free else []
    for index, member in zip(free, chosen, strict=True):
        owners[index] = members[member]
    dealt: dict[str, list[Split]] = {}
    for split, owner in zip(splits, owners, strict=True):
        assert owner is not None
        dealt.setdefault(owner, []).append(split)
    return {member: tuple(dealt[member]) for member in sorted(dealt)}


def _choose(splits: Sequence[Split], members: Sequence[str]) -> list[int]:
    """Return the member's index for each split, in rounds: the splits that are left choose among the members with room."""
    sizes = np.array([max(split.size, 1) for split in splits], np.float64)
    files, names = _hashes(split.file for split in splits), _hashes(members)
    average = sizes.sum() / len(members)
    load = np.zeros(len(members))
    owner = np.full(len(splits), -1, np.int64)
    left = np.argsort(-sizes, kind="stable")
    while len(left):
        open_ = np.flatnonzero(load + sizes[left].min() / 2 <= average * (1 + 1e-9))
        if not len(open_):
            open_ = np.flatnonzero(load < average * (1 - 1e-9))
        choice = open_[_highest(files[left], names[open_])]
        taken = _within(choice, sizes[left], average - load)
        owner[left[taken]] = choice[taken]
        np.add.at(load, choice[taken], sizes[left[taken]])
        left = left[~taken]
    return [int(index) for index in owner]


def _within(choice: NDArray[np.int64], sizes: NDArray[np.float64], room: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the splits that their members take: the first in any case, then others while there is room for half of each."""
    order = np.argsort(choice, kind="stable")
    sorted_choice, sorted_sizes = choice[order], sizes[order]
    before = np.cumsum(sorted_sizes) - sorted_sizes
    first = np.concatenate(([True], sorted_choice[1:] != sorted_choice[:-1]))
    before -= np.repeat(before[first], np.diff(np.append(np.flatnonzero(first), len(order))))
    taken = np.empty(len(order), np.bool_)
    taken[order] = first | (before + sorted_sizes / 2 <= room[sorted_choice])
    return taken


def _hashes(texts: Iterable[str]) -> Hashes:
    return _mix(np.array([zlib.crc32(text.encode()) for text in texts], np.uint32))


def _mix(values: Hashes) -> Hashes:
    """Apply MurmurHash3's finalizer."""
    values = values ^ (values >> np.uint32(16))
    values *= np.uint32(0x85EBCA6B)
    values ^= values >> np.uint32(13)
    values *= np.uint32(0xC2B2AE35)
    return values ^ (values >> np.uint32(16))


def _highest(files: Hashes, members: Hashes) -> NDArray[np.int64]:
    """Return for each file the index of the member whose score for it is highest."""
    rows = max(1, _SCORES // len(members))
    best = np.empty(len(files), np.int64)
    for start in range(0, len(files), rows):
        scores = files[start : start + rows, None] ^ members[None, :]
        scores *= np.uint32(0x9E3779B1)
        scores ^= scores >> np.uint32(15)
        scores *= np.uint32(0x85EBCA77)
        best[start : start + rows] = scores.argmax(axis=1)
    return best


# -- ranges of rows --------------------------------------------------------------------------------------------------


def _may_be_ranged(table: Table, files: Sequence[ReadFile], members: Sequence[str], pinned: Mapping[str, str]) -> bool:
    few = 0 < len(files) < len(members) and any(len(file.groups) > 1 for file in files)
    reachable = all(file.groups and file.name not in pinned for file in files)
    return few and reachable and all(column.name.lower() != ROW_NUMBER for column in table.columns)


def _ranges(files: Sequence[ReadFile], members: Sequence[str], seed: str) -> dict[str, tuple[Split, ...]]:
    """Give each member a range of one file, as far as there are row groups."""
    ranges = [
        split for file, parts in zip(files, _shares(files, len(members)), strict=True) for split in _cut(file, parts)
    ]
    ranked = sorted(members, key=lambda member: zlib.crc32(f"{member}|{seed}".encode()))
    return {member: (split,) for member, split in zip(ranked, ranges, strict=False)}


def _shares(files: Sequence[ReadFile], members: int) -> list[int]:
    """Return how many members each file gets: one, and the remaining members one by one to the file with most bytes a
    member.
    """
    shares = [1] * len(files)
    heap = [(-float(file.size), index) for index, file in enumerate(files) if len(file.groups) > 1]
    heapq.heapify(heap)
    for _ in range(members - len(files)):
        if not heap:
            break
        _, index = heapq.heappop(heap)
        shares[index] += 1
        if shares[index] < len(files[index].groups):
            heapq.heappush(heap, (-files[index].size / shares[index], index))
    return shares


def _cut(file: ReadFile, parts: int) -> Iterator[Split]:
    """Cut a file's row groups into `parts` runs of about the same size."""
    for start, end in runs(file.sizes, parts):
        yield Split(file.name, sum(file.sizes[start:end]), file.groups[start].first, file.groups[end - 1].end)


def runs(sizes: Sequence[int], parts: int) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of `parts` runs of about the same size, none of them empty."""
    total, start, done = sum(sizes), 0, 0
    for part in range(1, parts + 1):
        last = len(sizes) - (parts - part)
        end, size = start + 1, sizes[start]
        while end < last and (part == parts or (done + size) * parts < total * part):
            size += sizes[end]
            end += 1
        yield start, end
        start, done = end, done + size


# -- in order --------------------------------------------------------------------------------------------------------


def reading_in_order(
    reader: TableReader,
    table: Table,
    key: tuple[Column, bool],
    members: Sequence[str],
    pinned: Mapping[str, str],
    parameters: Mapping[int, Any],
) -> Reading | None:
    """Deal out whole files as `plan_reading`, with each instance's values of a column before the next one's; None if
    the files do not allow it. key: the column, and whether its order is descending.
    """
    column, descending = key
    name = reader.names[reader.columns.index(column)]
    values = ordered_values(column, table)
    if values is None:
        return None
    files = tuple(files_to_read(reader, table, parameters))
    ranges = [range_of(file, name, values) for file in files]
    known = sorted(((r, file) for r, file in zip(ranges, files, strict=True) if r is not None), key=lambda k: k[0])
    if len(known) < len(files) or len(files) < 2 or any(a[0][1] >= b[0][0] for a, b in pairwise(known)):
        return None
    ordered = [file for _, file in known][:: -1 if descending else 1]
    splits = _dealt_in_order(ordered, members, pinned)
    if splits is None:
        return None
    first = {file.name: _canonical(r[1 if descending else 0]) for r, file in known}
    _, *later = splits.values()
    return Reading(splits, size=sum(file.size for file in files), bounds=tuple(first[s[0].file] for s in later))


def ordered_values(column: Column, table: Table) -> type | None:
    """Return the Python type of a column's values in statistics, if these sort as the column's values do."""
    return _ORDERED.get(column.type.pg) if column.type.typmod == -1 and table.format == "parquet" else None


def range_of(file: ReadFile, name: str, values: type) -> tuple[Any, Any] | None:
    """Return the least and greatest value of a column that has no null; None if that is not known."""
    ranges = [group.columns[name][1] for group in file.groups if group.nulls.get(name) == 0 and name in group.columns]
    found = [r for r in ranges if r is not None and type(r[0]) is values]
    if not file.groups or len(found) < len(file.groups):
        return None
    return min(low for low, _ in found), max(high for _, high in found)


def _canonical(value: Any) -> Any:
    """Convert a value of Parquet's statistics to a canonical one (`engine.plan_ir.expr`)."""
    if isinstance(value, dt.datetime):
        return (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    if isinstance(value, dt.date):
        return (value - dt.date(1970, 1, 1)).days
    return value


def _dealt_in_order(
    files: Sequence[ReadFile], members: Sequence[str], pinned: Mapping[str, str]
) -> dict[str, tuple[Split, ...]] | None:
    """Assign runs of files to members; None if a pinned file would have to be in two runs."""
    owners = [pinned.get(file.name) for file in files]
    if not any(owners):
        cuts = runs([max(file.size, 1) for file in files], min(len(files), len(members)))
        owners = [members[number] for number, (start, end) in enumerate(cuts) for _ in range(start, end)]
    dealt = {owner: tuple(Split(f.name, f.size) for f in run) for owner, run in _by_owner(owners, files)}
    changes = 1 + sum(a != b for a, b in pairwise(owners))
    return dealt if len(dealt) == changes and "" not in dealt else None


def _by_owner(owners: Sequence[str | None], files: Sequence[ReadFile]) -> Iterator[tuple[str, list[ReadFile]]]:
    for owner, run in groupby(zip(owners, files, strict=True), key=lambda pair: pair[0]):
        yield owner or "", [file for _, file in run]
