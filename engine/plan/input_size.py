"""How much column data a plan would read: what is left of its files after pruning by their statistics.

Parquet footers say each column chunk's size and its least and greatest value. A row group that a reader's filter excludes
does not count, columns that are not read do not count. CSV and JSON files count whole. The figure chooses between engines;
the engines prune by themselves when they read, so an estimate that is too large costs time and never rows. What is left is
also what `engine.plan.splits` hands out to the instances of a reader.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from engine.catalog import partitions
from engine.catalog.objects import SystemTable, Table
from engine.plan.conjuncts import conjuncts
from engine.plan.logical import Node, TableReader
from engine.plan.rewrite import walk_all
from engine.sql.expr import Call, Column, ColumnRef, Const, Expr, ParamRef
from engine.sql.types import SqlType
from wire import types as t

_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
#: For `column operator value`: whether a chunk with this least and greatest value may hold a match.
_MAY_MATCH: Final[dict[str, Callable[[Any, Any, Any], bool]]] = {
    "=": lambda low, high, value: bool(low <= value <= high),
    "<": lambda low, _high, value: bool(low < value),
    "<=": lambda low, _high, value: bool(low <= value),
    ">": lambda _low, high, value: bool(high > value),
    ">=": lambda _low, high, value: bool(high >= value),
}

#: What a file is taken to hold that this member does not see: whoever reads it says what is wrong with it.
UNSEEN_BYTES: Final = 64 << 20

Range = tuple[Any, Any]
#: (file's column, operator, value)
Test = tuple[str, str, Any]


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows `first` .. `end` - 1 of a Parquet file. columns: bytes, and least and greatest value, by top-level column.
    full: the columns that have no null."""

    first: int
    end: int
    columns: Mapping[str, tuple[int, Range | None]]
    full: frozenset[str] = frozenset()

    def size(self, names: tuple[str, ...]) -> int:
        """Bytes of these columns."""
        return sum(self.columns[name][0] for name in names if name in self.columns)


def input_bytes(plan: Node, parameters: Mapping[int, Any]) -> int:
    """Bytes of column data (as stored, compressed) that the plan's readers would read. `parameters`: canonical values by number."""
    return sum(reader_bytes(node, parameters) for node in walk_all(plan) if isinstance(node, TableReader))


def reader_bytes(reader: TableReader, parameters: Mapping[int, Any]) -> int:
    """As `input_bytes`, of one reader."""
    table = reader.table
    if isinstance(table, SystemTable):
        return 0
    tests = filter_tests(reader, parameters)
    return sum(_file_bytes(file, reader, table, tests) for file in table.files)


def _file_bytes(file: str, reader: TableReader, table: Table, tests: Sequence[Test]) -> int:
    try:
        if table.format != "parquet":
            return stored_bytes(file, table.version) if folders_admit(file, table, tests) else 0
        return sum(group.size(reader.names) for group in groups_to_read(file, table, tests))
    except OSError:
        return UNSEEN_BYTES


@lru_cache(maxsize=1 << 17)
def stored_bytes(file: str, version: int) -> int:
    """A file's size. Asked of a table's files several times for a plan, and kept for the next. Raises OSError.

    version: the table's, which changes with its files; it keys the cache only.
    """
    del version
    return os.path.getsize(file)


def groups_to_read(file: str, table: Table, tests: Sequence[Test]) -> tuple[RowGroup, ...]:
    """The row groups of a table's Parquet file that may have a row for which all `tests` hold. Raises OSError."""
    if not folders_admit(file, table, tests):
        return ()
    # A stored table's file is what it was when it was named: it need not be opened again for each version of the table.
    version = table.version if table.storage is None else 0
    return tuple(group for group in _row_groups(file, version) if all(_may_match(group, *test) for test in tests))


def folders_admit(file: str, table: Table, tests: Sequence[Test]) -> bool:
    """Whether the values that a file's folders say leave it a row for which all `tests` hold."""
    if not table.partition_by or not tests:
        return True
    types = partitions.types(table)
    return all(_folder_admits(file, name, types[name], test) for name, *test in tests if name in types)


def _folder_admits(file: str, name: str, typ: SqlType, test: Sequence[Any]) -> bool:
    raw = partitions.raw_value(file, name)
    known = None if raw is None else partitions.value(raw, typ)
    if known is None or typ.pg is t.BPCHAR:
        # A comparison with null holds for no row; what is not there is for the reader to say.
        return raw is None or known is not None
    operator, value = test
    known = comparable(known, typ.pg)
    try:
        return known is None or _MAY_MATCH[operator](known, known, value)
    except TypeError:
        return True


def _may_match(group: RowGroup, name: str, operator: str, value: Any) -> bool:
    known = group.columns.get(name)
    if known is None or known[1] is None:
        return True
    low, high = known[1]
    try:
        return _MAY_MATCH[operator](low, high, value)
    except TypeError:
        return True


def filter_tests(reader: TableReader, parameters: Mapping[int, Any]) -> tuple[Test, ...]:
    """The conjuncts of the reader's filter that compare a column with a constant."""
    return tuple(_tests(reader, parameters))


def _tests(reader: TableReader, parameters: Mapping[int, Any]) -> Iterator[Test]:
    names = {column.id: name for column, name in zip(reader.columns, reader.names, strict=True)}
    for conjunct in conjuncts(reader.filter):
        found = comparison(conjunct, parameters)
        if found is not None and found[0].id in names:
            yield names[found[0].id], *found[1:]


def comparison(part: Expr, parameters: Mapping[int, Any]) -> tuple[Column, str, Any] | None:
    """(column, operator, value as statistics have it) of a condition that compares a column with a constant."""
    if not isinstance(part, Call) or part.function.name not in _FLIPPED or len(part.args) != 2:
        return None
    left, right = part.args
    operator = part.function.name
    if isinstance(right, ColumnRef):
        left, right, operator = right, left, _FLIPPED[operator]
    if not isinstance(left, ColumnRef) or not isinstance(right, (Const, ParamRef)):
        return None
    value = right.value if isinstance(right, Const) else parameters[right.index]
    return None if value is None else (left.column, operator, comparable(value, right.type.pg))


def comparable(value: Any, pg: t.PgType) -> Any:
    """A canonical value as Parquet's statistics give theirs, as far as they compare."""
    if pg is t.DATE:
        return pa.scalar(value, pa.date32()).as_py() if abs(value) < 700_000 else None
    if pg is t.TIMESTAMP:
        return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=value) if abs(value) < 1 << 55 else None
    return value


@lru_cache(maxsize=1 << 14)
def _row_groups(file: str, version: int) -> tuple[RowGroup, ...]:
    """Sizes and ranges of a Parquet file's top-level columns, by row group. `version` keys the cache only."""
    del version
    metadata = pq.read_metadata(file)
    groups = []
    first = 0
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        groups.append(RowGroup(first, first + group.num_rows, _columns(group), _full(group)))
        first += group.num_rows
    return tuple(groups)


def _columns(group: Any) -> dict[str, tuple[int, Range | None]]:
    sizes: dict[str, tuple[int, Range | None]] = {}
    for index in range(group.num_columns):
        chunk = group.column(index)
        name = chunk.path_in_schema.partition(".")[0]
        before = sizes.get(name, (0, None))[0]
        sizes[name] = (before + chunk.total_compressed_size, _range(chunk))
    return sizes


def _full(group: Any) -> frozenset[str]:
    chunks = [group.column(index) for index in range(group.num_columns)]
    return frozenset(c.path_in_schema for c in chunks if c.statistics is not None and c.statistics.null_count == 0)


def _range(chunk: Any) -> Range | None:
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max:
        return None
    try:
        low, high = statistics.min, statistics.max
    except OverflowError:  # infinity, and what else Python's dates cannot say
        return None
    comparable = isinstance(low, (int, float, str, Decimal, dt.date)) and not isinstance(low, bool)
    return (low, high) if comparable else None
