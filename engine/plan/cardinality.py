"""How many rows a plan's inputs and their joins have, roughly: from Parquet footers, for the order of joins between fragments.

A footer says how many rows a row group has and the least and greatest value of each column. A column of integers or dates has at
most as many distinct values as its range is wide, which is what tells a key (as many as rows) from a code (few). The join of two
inputs by an equality has the product of their rows over the larger number of distinct values (Selinger et al., "Access path
selection in a relational database management system"). Filters that statistics do not decide are guessed at, as there.

What is not known (other formats, files that this member does not see, results of other operators) is taken to have a row for each
`_ROW_BYTES`, all of them distinct. A wrong guess costs time and never rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.catalog.objects import Table
from engine.plan.conjuncts import conjuncts
from engine.plan.input_size import RowGroup, filter_tests, groups_to_read, input_bytes
from engine.plan.logical import Aggregator, Evaluator, Node, TableReader
from engine.sql.expr import Call, ColumnRef, Expr, InList

_ROW_BYTES: Final = 32
#: Of the rows that a condition is asked of, how many it keeps.
_RANGE_KEEPS: Final = 0.3
_EQUALITY_KEEPS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Estimate:
    """rows: about how many. distinct: of each column, by id, at most how many values."""

    rows: float
    distinct: Mapping[int, float]

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
            return _evaluator(node, estimate(node.input, parameters))
        case Aggregator() if not node.group:
            return _unknown(node, 1)
        case _:
            return _unknown(node, input_bytes(node, parameters) / _ROW_BYTES)


def joined(left: Estimate, right: Estimate, condition: tuple[Expr, ...]) -> Estimate:
    """The rows of an inner join with these conjuncts."""
    distinct = {**left.distinct, **right.distinct}
    rows = left.rows * right.rows
    for part in condition:
        sides = _equal_columns(part)
        rows *= 1 / max(distinct.get(column, 1) for column in sides) if sides else _RANGE_KEEPS
    return Estimate(max(rows, 1), distinct)


def _unknown(node: Node, rows: float) -> Estimate:
    rows = max(rows, 1)
    return Estimate(rows, {column.id: rows for column in node.columns})


def _evaluator(node: Evaluator, below: Estimate) -> Estimate:
    rows = max(below.rows * _kept(node.filter, below.distinct), 1)
    pairs = zip(node.columns, node.emit, strict=True)
    distinct = {c.id: below.distinct.get(e.column.id, rows) if isinstance(e, ColumnRef) else rows for c, e in pairs}
    return Estimate(rows, {column: min(values, rows) for column, values in distinct.items()})


def _reader(node: TableReader, table: Table, parameters: Mapping[int, Any]) -> Estimate:
    groups: list[RowGroup] = []
    tests = filter_tests(node, parameters)
    try:
        for file in table.files:
            groups += groups_to_read(file, table, tests)
    except OSError:
        return _unknown(node, input_bytes(node, parameters) / _ROW_BYTES)
    rows = float(max(sum(group.end - group.first for group in groups), 1))
    distinct = {c.id: _values(groups, n, rows) for c, n in zip(node.columns, node.names, strict=True)}
    kept = max(rows * _kept(node.filter, distinct), 1)
    return Estimate(kept, {column: min(values, kept) for column, values in distinct.items()})


def _values(groups: list[RowGroup], name: str, rows: float) -> float:
    """At most how many values a column has in these row groups."""
    ranges = [known[1] for group in groups if (known := group.columns.get(name)) is not None]
    lows, highs = [r[0] for r in ranges if r is not None], [r[1] for r in ranges if r is not None]
    if not lows or len(lows) < len(groups):
        return rows
    low, high = min(lows), max(highs)
    if isinstance(low, int) and isinstance(high, int):
        return float(min(rows, high - low + 1))
    if isinstance(low, dt.date) and isinstance(high, dt.date) and not isinstance(low, dt.datetime):
        return float(min(rows, (high - low).days + 1))
    return 1.0 if low == high else rows


def _kept(condition: Expr | None, distinct: Mapping[int, float]) -> float:
    """The part of the rows for which a filter is true."""
    kept = 1.0
    for part in conjuncts(condition):
        column = _compared(part)
        if column is None:
            kept *= _RANGE_KEEPS
        else:
            kept *= min(_EQUALITY_KEEPS, 1 / distinct.get(column, 1))
    return kept


def _compared(part: Expr) -> int | None:
    """The column of an equality with a constant, or of IN."""
    if isinstance(part, InList) and isinstance(part.arg, ColumnRef):
        return part.arg.column.id
    if isinstance(part, Call) and part.function.name == "=":
        return next((arg.column.id for arg in part.args if isinstance(arg, ColumnRef)), None)
    return None


def _equal_columns(part: Expr) -> tuple[int, int] | None:
    if isinstance(part, Call) and part.function.name == "=" and len(part.args) == 2:
        a, b = part.args
        if isinstance(a, ColumnRef) and isinstance(b, ColumnRef):
            return a.column.id, b.column.id
    return None
