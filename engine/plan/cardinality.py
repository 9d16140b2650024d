"""How many rows a plan's inputs and their joins have, roughly: from Parquet footers, for the order of joins between fragments.

A footer says how many rows a row group has and the least and greatest value of each column. A column of integers or dates has at
most as many distinct values as its range is wide, which is what tells a key (as many as rows) from a code (few). The join of two
inputs by an equality has the product of their rows over the larger number of distinct values (Selinger et al., "Access path
selection in a relational database management system"). By several equalities it is over the product of these numbers, as far as
one of the inputs has that many rows before its filters: a key of two columns has no more values than its table has rows. What
filters keep is `selectivity`'s to guess.

What is not known (other formats, files that this member does not see, results of other operators) is taken to have a row for each
`_ROW_BYTES`, all of them distinct. A wrong guess costs time and never rows.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.catalog.objects import Table
from engine.plan.conjuncts import conjunction
from engine.plan.input_size import RowGroup, groups_to_read, input_bytes
from engine.plan.judgement import Range, reader_test
from engine.plan.logical import Aggregator, Evaluator, Node, TableReader
from engine.plan.selectivity import VALUES_UNKNOWN, Known, bits_as_values, kept
from engine.sql.expr import Call, ColumnRef, Expr

_ROW_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Estimate:
    """rows: about how many. distinct: of each column, by id, at most how many values. unfiltered: the rows without filters."""

    rows: float
    distinct: Mapping[int, float]
    unfiltered: float

    @property
    def size(self) -> float:
        """Bytes, taking all rows to be alike."""
        return self.rows * _ROW_BYTES


def estimate(node: Node, parameters: Mapping[int, Any]) -> Estimate:
    """The rows of a relation that is to be joined. parameters: canonical values by number."""
    match node:
        case TableReader(table=Table() as table) if table.format == "parquet":
            return _reader(node, table, parameters)
        case Evaluator():
            return _evaluator(node, estimate(node.input, parameters), parameters)
        case Aggregator() if not node.group:
            return _unknown(node, 1)
        case _:
            return _unknown(node, input_bytes(node, parameters) / _ROW_BYTES)


def joined(left: Estimate, right: Estimate, condition: tuple[Expr, ...], parameters: Mapping[int, Any]) -> Estimate:
    """The rows of an inner join with these conjuncts."""
    distinct = {**left.distinct, **right.distinct}
    keys = [sides for part in condition if (sides := _equal_columns(part)) is not None]
    values = math.prod(max(distinct.get(column, 1) for column in sides) for sides in keys)
    if len(keys) > 1:
        values = min(values, left.unfiltered, right.unfiltered)
    rows = left.rows * right.rows / max(values, 1)
    for part in condition:
        if _equal_columns(part) is None:
            rows *= kept(part, _known(distinct), parameters)
    return Estimate(max(rows, 1), distinct, max(left.unfiltered, right.unfiltered))


def filtered(below: Estimate, condition: tuple[Expr, ...]) -> Estimate:
    """What conditions leave of which nothing else is known."""
    part = kept(conjunction(condition), _known(below.distinct), {})
    return Estimate(max(below.rows * part, 1), below.distinct, below.unfiltered)


def _unknown(node: Node, rows: float) -> Estimate:
    rows = max(rows, 1)
    return Estimate(rows, {column.id: rows for column in node.columns}, rows)


def _evaluator(node: Evaluator, below: Estimate, parameters: Mapping[int, Any]) -> Estimate:
    rows = max(below.rows * kept(node.filter, _known(below.distinct), parameters), 1)
    pairs = zip(node.columns, node.emit, strict=True)
    distinct = {c.id: below.distinct.get(e.column.id, rows) if isinstance(e, ColumnRef) else rows for c, e in pairs}
    return Estimate(rows, {column: min(values, rows) for column, values in distinct.items()}, below.unfiltered)


def _known(distinct: Mapping[int, float]) -> dict[int, Known]:
    return {column: Known(min(values, VALUES_UNKNOWN)) for column, values in distinct.items()}


def _reader(node: TableReader, table: Table, parameters: Mapping[int, Any]) -> Estimate:
    groups: list[RowGroup] = []
    test = reader_test(node, parameters)
    try:
        for file in table.files:
            groups += groups_to_read(file, table, test)
    except OSError:
        return _unknown(node, input_bytes(node, parameters) / _ROW_BYTES)
    rows = float(max(sum(group.end - group.first for group in groups), 1))
    distinct: dict[int, float] = {}
    known: dict[int, Known] = {}
    for column, name in zip(node.columns, node.names, strict=True):
        between = _range(groups, name)
        width = _width(between)
        distinct[column.id] = min(rows, width or rows)
        typical = min(VALUES_UNKNOWN, bits_as_values(sum(group.size((name,)) for group in groups), rows))
        known[column.id] = Known(min(rows, width or typical), between)
    left = max(rows * kept(node.filter, known, parameters), 1)
    return Estimate(left, {column: min(values, left) for column, values in distinct.items()}, rows)


def _range(groups: list[RowGroup], name: str) -> Range | None:
    """The least and the greatest value of a column in these row groups; None where one of them does not say."""
    ranges = [group.columns[name][1] for group in groups if name in group.columns]
    known = [r for r in ranges if r is not None]
    if not known or len(known) < len(groups):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _width(between: Range | None) -> float | None:
    """At most how many values lie in a range; None where that is no limit."""
    if between is None:
        return None
    low, high = between
    if isinstance(low, int) and isinstance(high, int):
        return float(high - low + 1)
    if isinstance(low, dt.date) and isinstance(high, dt.date) and not isinstance(low, dt.datetime):
        return float((high - low).days + 1)
    return 1.0 if low == high else None


def _equal_columns(part: Expr) -> tuple[int, int] | None:
    if isinstance(part, Call) and part.function.name == "=" and len(part.args) == 2:
        a, b = part.args
        if isinstance(a, ColumnRef) and isinstance(b, ColumnRef):
            return a.column.id, b.column.id
    return None
