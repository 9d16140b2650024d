"""Aggregates over a whole stored table that its log answers, without opening a file.

The answer of `count(*)`, `count(x)`, `min(x)` and `max(x)` over all rows of a table, without GROUP BY, HAVING, DISTINCT
or FILTER, is a sum or an extreme of the files' statistics. The pass runs when a query is about to be compiled, when the
files are known: those of the pinned version without those that were removed since, and those that commits and the
transaction have added since.

Only exact statistics count. The writer counts the rows of a file. Bounds are exact for integers and dates; those of
texts are cut, those of times rounded, and floats and decimals have been through JSON (`engine.storage.statistics`). If
the log lacks a file's rows, or the nulls or bounds of a column that the query needs, the whole query is left to the
engines: that is so for a file that another writer has added, one that is older than the column, or one with an infinite
date.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from engine.catalog.model.objects import DataFile, Table
from engine.plan_ir.expr import AggregateCall, ColumnRef, Const, Node
from engine.plan_ir.logical import Aggregator, Evaluator, TableReader, Values
from engine.storage import delta
from engine.storage.delta import Version
from wire.dataclass import dataclass
from wire.errors import SqlError
from wire.types import pg_types as t

#: Types whose bounds in the log are exact values of the column.
_EXACT: Final = (t.INT2, t.INT4, t.INT8, t.DATE)
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()


class _UnknownError(Exception):
    """A statistic that the log does not have."""


@dataclass(frozen=True, slots=True)
class _Told:
    """The log's statistics of a column, of all files together. extremes: (least, greatest); None if all values are
    null.
    """

    nulls: int
    extremes: tuple[int, int] | None


class _Added(msgspec.Struct, rename="camel"):
    """Statistics of a file that is in no version yet (`engine.storage.statistics`)."""

    num_records: int
    min_values: dict[str, Any] = {}
    max_values: dict[str, Any] = {}
    null_count: dict[str, Any] = {}


_ADDED: Final = msgspec.json.Decoder(_Added)


def answer_by_log(node: Aggregator) -> Node:
    """Return the row that the aggregator gives if the log has it, else the node. May block when the version was never
    opened before.
    """
    found = _find_reader(node.input)
    grouped = bool(node.group or node.grouping_sets or node.groupings) or node.filter is not None
    if found is None or grouped or not node.aggregates:
        return node
    table, names = found
    try:
        log = _Log(table)
        values = tuple(Const(call.type, _value(call, names, log)) for call in node.aggregates)
    except (_UnknownError, SqlError):
        # The reader reports files that cannot be read.
        return node
    return Values(node.columns, (values,))


def _find_reader(node: Node) -> tuple[Table, Mapping[int, str]] | None:
    """Find the stored table all of whose rows a node returns, also through evaluators that only pass columns on.
    Returns it with the names that files have for its columns, by the columns' ids.
    """
    if isinstance(node, TableReader):
        table, whole = node.table, node.filter is None and node.of_files is None and not node.reader and not node.ranged
        if not isinstance(table, Table) or table.storage is None or not whole:
            return None
        return table, {column.id: name for column, name in zip(node.columns, node.names, strict=True)}
    if not isinstance(node, Evaluator) or node.filter is not None:
        return None
    found = _find_reader(node.input)
    if found is None or not all(isinstance(expr, ColumnRef | Const) for expr in node.emit):
        return None
    emitted = zip(node.columns, node.emit, strict=True)
    passed = ((column.id, expr.column.id) for column, expr in emitted if isinstance(expr, ColumnRef))
    return found[0], {outside: found[1][inside] for outside, inside in passed if inside in found[1]}


def _value(call: AggregateCall, names: Mapping[int, str], log: _Log) -> int | None:
    if call.distinct or call.order_by or call.filter is not None:
        raise _UnknownError
    match call.function.name, call.args:
        case "count", ():
            return log.rows
        case "count", (Const(value=value),) if value is not None:
            return log.rows
        case "count" | "min" | "max", (ColumnRef(column=column),):
            name = names.get(column.id)
            if name is None or column.type.pg not in _EXACT:
                raise _UnknownError
            told = log.column(name)
            if call.function.name == "count":
                return log.rows - told.nulls
            return None if told.extremes is None else told.extremes[call.function.name == "max"]
        case _:
            raise _UnknownError


class _Log:
    """The log's statistics of a stored table's files. Raises _UnknownError, SqlError where the version cannot be read."""

    def __init__(self, table: Table) -> None:
        storage = table.storage
        assert storage is not None, "a stored table"
        self._version = delta.open_version(table.path, storage.version)
        self._present = _present_files(self._version, storage.removed)
        self._added = [_statistics(file) for file in storage.added]
        self._counts = counts = self._of_kept(self._version.actions["num_records"])
        if counts.null_count or len(counts) + len(self._added) != len(table.files):
            raise _UnknownError
        self.rows: int = (pc.sum(counts).as_py() or 0) + sum(file.num_records for file in self._added)

    def column(self, name: str) -> _Told:
        """Return the statistics of a column with exact bounds, by the name that files have for it."""
        nulls, extremes = self._of_version(name)
        for file in self._added:
            own = file.null_count.get(name)
            if own is None:
                raise _UnknownError
            nulls += own
            if own < file.num_records:
                extremes += [_number(file.min_values.get(name)), _number(file.max_values.get(name))]
        return _Told(nulls, (min(extremes), max(extremes)) if extremes else None)

    def _of_version(self, name: str) -> tuple[int, list[int]]:
        """Return the nulls of a column, and its bounds where there are any."""
        if not len(self._counts):
            return 0, []
        nulls, least, greatest = self._field("null_count", name), self._field("min", name), self._field("max", name)
        if nulls.null_count:
            raise _UnknownError
        bounded = pc.less(nulls, self._counts)
        for bounds in (least, greatest):
            if pc.any(pc.and_(bounded, pc.is_null(bounds))).as_py():
                raise _UnknownError
        ends = pc.min(least.filter(bounded)).as_py(), pc.max(greatest.filter(bounded)).as_py()
        return pc.sum(nulls).as_py(), [end for end in ends if end is not None]

    def _field(self, kind: Literal["null_count", "min", "max"], name: str) -> pa.ChunkedArray:
        found = self._version.integers(kind, name)
        if found is None:
            raise _UnknownError
        return self._of_kept(found)

    def _of_kept(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        return values if self._present is None else values.filter(self._present)


def _present_files(version: Version, removed: Sequence[str]) -> pa.Array | None:
    """Return for each file of a version whether it still belongs to the table; None: all do."""
    if not removed:
        return None
    kept = [True] * version.actions.num_rows
    for path in removed:
        number = version.numbers.get(path)
        if number is None:
            raise _UnknownError
        kept[number] = False
    return pa.array(kept, pa.bool_())


def _statistics(file: DataFile) -> _Added:
    try:
        told = _ADDED.decode(file.statistics)
    except msgspec.MsgspecError:
        raise _UnknownError from None
    if told.num_records != file.rows:
        raise _UnknownError
    return told


def _number(bound: Any) -> int:
    """Convert a bound to the column's canonical value: a date is days since 1970."""
    if isinstance(bound, int) and not isinstance(bound, bool):
        return bound
    if isinstance(bound, str):
        try:
            return dt.date.fromisoformat(bound).toordinal() - _EPOCH
        except ValueError:
            raise _UnknownError from None
    raise _UnknownError
