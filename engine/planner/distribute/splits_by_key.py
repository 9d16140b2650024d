"""Splits of tables by the values of a shared key: rows with equal keys are on one member, whichever table they belong
to.

Data loaded by order number, or day by day, lies in files and row groups that each have a narrow range of that key, and
footers record the range. Such tables can be joined by that key, and one of them grouped by it, without moving a row.
There are two ways to deal them out:

**In groups**, where the files' ranges fall into groups that do not overlap, in all tables together: a member that has all
files of a group has all rows of its values. Pinned files stay where they are, if all pinned files of a group are on one
member.

**In ranges**, where every member can read the files: the key space is cut, at the beginnings of row groups of the largest
table, into as many ranges of about the same size as there are members. Each member reads the files that reach into its
range, and of those only the rows that lie in it: a filter, by which the engine skips most row groups. Row groups that
lie across a cut are read twice. So tables need not be cut at the same keys, nor be in order altogether, as long as the
repeated reads stay within `_MOST_READ`.

The values of a partition column are in the names of folders, one for each file, so that files of one value are a group:
a join or a sum by the partition columns of tables moves nothing, whoever wrote the files and in whichever order. Files
whose value is null are a group, too: null matches nothing, and groups with itself.

Elsewhere a column with nulls cannot be the key, since a null is in no range.

Rejected: an exchange by range of the rows beyond the common cuts. It would move few rows, and yet wait for all of them.
"""

from __future__ import annotations

import datetime as dt
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from engine.catalog.model.objects import Table
from engine.plan_ir.expr import Column
from engine.plan_ir.logical import TableReader
from engine.plan_ir.physical import KeyRange, Split
from engine.planner.distribute.splits import ReadFile, assign, files_to_read, ordered_values, range_of, runs
from engine.planner.optimizer.input_size import folder_facts
from wire.types import pg_types as t

#: All members together read at most this many times the bytes of all tables.
_MOST_READ: Final = 1.25
#: A member has at most this many times its share; with whole groups the limit is lower as long as ranges are possible.
_MOST_UNEVEN: Final = 2.0
_GROUPS_UNEVEN: Final = 1.25
#: The types whose values, read from the name of a folder, are equal if and only if they are equal in SQL, with their
#: Python types.
_FOLDERS: Final[Mapping[t.PgType, type]] = {
    **dict.fromkeys((t.INT2, t.INT4, t.INT8), int),
    **dict.fromkeys((t.TEXT, t.VARCHAR), str),
    t.BOOL: bool,
    t.DATE: dt.date,
    t.TIMESTAMP: dt.datetime,
}


class Keyed(NamedTuple):
    """A table's reader, and the column of it by which rows are kept together."""

    reader: TableReader
    table: Table
    column: Column


class KeyedReading(NamedTuple):
    """The parts of a table that are read: splits by member, and the key range of each member if files are not read
    whole.
    """

    splits: Mapping[str, tuple[Split, ...]]
    within: Mapping[str, KeyRange]


class _Part(NamedTuple):
    """A file or row group of the table with this number, with the least and greatest value of its key."""

    low: Any
    high: Any
    table: int
    file: str
    size: int


def readings_by_key(
    tables: Sequence[Keyed],
    members: Sequence[str],
    pinned: Mapping[str, str],
    parameters: Mapping[int, Any],
    *,
    ranges: bool = True,
) -> tuple[KeyedReading, ...] | None:
    """Return a reading of each of the tables, see the module's docstring; None if the files do not allow it.

    pinned: the member of each file that only one can read. parameters: canonical values by number, for the readers'
    filters. ranges: whether instances may share files.
    """
    values = {_values(keyed) for keyed in tables}
    if len(values) != 1 or values == {None}:
        return None
    [kind] = values
    assert kind is not None
    parts = _Parts([], [], [])
    for number, keyed in enumerate(tables):
        if not _add_parts(parts, keyed, number, kind, parameters):
            return None
    groups = [*_apart(sorted(parts.files)), *([parts.null] if parts.null else [])]
    if not groups:
        return None
    held = sum(part.file in pinned for group in groups for part in group)
    if held:
        whole = held == sum(map(len, groups))
        return _in_groups(groups, len(tables), members, pinned, None if whole else _MOST_UNEVEN)
    ranges = ranges and not parts.null and not all(map(_is_partition, tables))
    return (
        _in_groups(groups, len(tables), members, pinned, _GROUPS_UNEVEN)
        or (_in_ranges(parts.row_groups, tables, members) if ranges else None)
        or _in_groups(groups, len(tables), members, pinned, _MOST_UNEVEN)
    )


class _Parts(NamedTuple):
    """The ranges of a key in tables: those of files and of row groups, and files whose folder says that it is null."""

    files: list[_Part]
    row_groups: list[_Part]
    null: list[_Part]


def _name(keyed: Keyed) -> str:
    return keyed.reader.names[keyed.reader.columns.index(keyed.column)]


def _is_partition(keyed: Keyed) -> bool:
    return _name(keyed) in keyed.table.partition_by


def _values(keyed: Keyed) -> type | None:
    """Return the type of the key's values in files or folders; None if equal values may be represented differently."""
    return _FOLDERS.get(keyed.column.type.pg) if _is_partition(keyed) else ordered_values(keyed.column, keyed.table)


def _add_parts(parts: _Parts, keyed: Keyed, number: int, kind: type, parameters: Mapping[int, Any]) -> bool:
    """Add the files and row groups of a table. Returns False if a key range is not known."""
    name = _name(keyed)
    for file in files_to_read(keyed.reader, keyed.table, parameters):
        if not _is_partition(keyed):
            between = range_of(file, name, kind)
            if between is None:
                return False
            parts.row_groups.extend(_groups_of(file, name, number))
        else:
            facts = folder_facts(file.name, keyed.table)(name)
            if facts is not None and facts.only_nulls:
                parts.null.append(_Part(None, None, number, file.name, file.size))
                continue
            between = None if facts is None else facts.range
            if between is None or type(between[0]) is not kind:
                return False
            parts.row_groups.append(_Part(*between, number, file.name, file.size))
        parts.files.append(_Part(*between, number, file.name, file.size))
    return True


def _groups_of(file: ReadFile, name: str, number: int) -> Iterator[_Part]:
    for group, size in zip(file.groups, file.sizes, strict=True):
        between = group.columns[name][1]
        assert between is not None
        yield _Part(*between, number, file.name, size)


# -- in groups -------------------------------------------------------------------------------------------------------


def _in_groups(
    groups: Sequence[Sequence[_Part]],
    tables: int,
    members: Sequence[str],
    pinned: Mapping[str, str],
    uneven: float | None,
) -> tuple[KeyedReading, ...] | None:
    """Deal out groups of files; None if the shares would be too uneven, or a group is pinned to several members.

    groups: files that are to be on one member. uneven: how many times its share a member may have; None: no limit,
    since no file can be read elsewhere.
    """
    owners = [{pinned[part.file] for part in group if part.file in pinned} for group in groups]
    if any(len(owner) > 1 for owner in owners):
        return None
    units = [Split(group[0].file, sum(part.size for part in group)) for group in groups]
    held = {unit.file: next(iter(owner)) for unit, owner in zip(units, owners, strict=True) if owner}
    dealt = assign(units, members, held)
    if uneven is not None and not _is_even([sum(u.size for u in mine) for mine in dealt.values()], members, uneven):
        return None
    owner_of = {unit.file: member for member, mine in dealt.items() for unit in mine}
    splits: list[dict[str, list[Split]]] = [{} for _ in range(tables)]
    for group in groups:
        for part in group:
            splits[part.table].setdefault(owner_of[group[0].file], []).append(Split(part.file, part.size))
    return tuple(KeyedReading({m: tuple(mine) for m, mine in by.items()}, {}) for by in splits)


def _apart(parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    """Yield runs of files such that no two runs have a value in common. parts: in the order of their least values."""
    run: list[_Part] = []
    highest: Any = None
    for part in parts:
        if run and part.low > highest:
            yield run
            run = []
        highest = max(highest, part.high) if run else part.high
        run.append(part)
    if run:
        yield run


# -- in ranges -------------------------------------------------------------------------------------------------------


def _in_ranges(
    groups: Sequence[_Part], tables: Sequence[Keyed], members: Sequence[str]
) -> tuple[KeyedReading, ...] | None:
    sizes = [sum(max(part.size, 1) for part in groups if part.table == number) for number in range(len(tables))]
    lead = sizes.index(max(sizes))
    cuts = _cuts([part for part in groups if part.table == lead], len(members))
    loads = [0] * (len(cuts) + 1)
    read: list[list[dict[str, int]]] = [[{} for _ in loads] for _ in tables]
    for part in groups:
        for number in range(bisect_right(cuts, part.low), bisect_right(cuts, part.high) + 1):
            loads[number] += max(part.size, 1)
            files = read[part.table][number]
            files[part.file] = files.get(part.file, 0) + part.size
    if sum(loads) > _MOST_READ * sum(sizes) or not _is_even(loads, members, _MOST_UNEVEN):
        return None
    seed = tables[lead].table.path
    ranked = sorted(members, key=lambda member: zlib.crc32(f"{member}|{seed}".encode()))
    limits = [None, *map(str, cuts), None]
    within = {m: KeyRange(*limits[n : n + 2]) for n, m in enumerate(ranked[: len(loads)])}
    return tuple(
        KeyedReading(
            {m: tuple(Split(*file) for file in files.items()) for m, files in zip(ranked, by, strict=False) if files},
            within,
        )
        for by in read
    )


def _cuts(lead: Sequence[_Part], members: int) -> list[Any]:
    """Return the values at which ranges of about the same size begin, except the first."""
    ordered = sorted(lead)
    starts = [start for start, _ in runs([max(part.size, 1) for part in ordered], min(len(ordered), members))]
    return sorted({ordered[start].low for start in starts} - {ordered[0].low})


def _is_even(loads: Sequence[int], members: Sequence[str], uneven: float) -> bool:
    return len(loads) > 1 and max(loads) * len(members) <= uneven * max(sum(loads), 1)
