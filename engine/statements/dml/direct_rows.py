"""Builds the rows of an INSERT ... VALUES of parameters and constants without an engine.

The result that an engine would compute for such a row is known as soon as its parameters are: each cell is a value of
its column, or becomes one by a cast that either keeps the value or fails. So the values of one execution, or of many
executions of the same statement, are put into Arrow columns unchanged. If a cast would change or refuse one of them, no
row is built here, and the statement runs as all others do, so that rounding and error messages are implemented once.

The plan depends neither on the table's rows nor on the number of a parameter's digits; it is kept as long as the
definitions do not change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.common.sql_type import SqlType
from engine.plan_ir.columnar_rows import ColumnarRows
from engine.plan_ir.expr import Call, ColumnRef, Const, Constants, ContextRef, Expr, Parameters, ParamRef
from engine.plan_ir.logical import Evaluator, Mutate, Values
from engine.plan_ir.rewrite import rewrite_expr
from wire.dataclass import dataclass
from wire.types import pg_types as t
from wire.types.carriers import carrier

_INTEGERS: Final = frozenset((t.INT2, t.INT4, t.INT8))
_TEXTS: Final = frozenset((t.TEXT, t.VARCHAR))
#: Types whose values Arrow accepts unchanged.
_PLAIN: Final = frozenset(
    (
        *_INTEGERS, *_TEXTS, t.BOOL, t.FLOAT8, t.NUMERIC, t.BPCHAR, t.JSON, t.JSONB, t.UUID, t.BYTEA, t.DATE, t.TIMESTAMP,
        t.TIMESTAMPTZ,
    )
)  # fmt: skip
#: The casts that either keep a value unchanged or refuse it, from type to types. Integers are cast to numeric by way of
#: an unconstrained numeric.
_KEEPING: Final[Mapping[t.PgType, frozenset[t.PgType]]] = {
    **dict.fromkeys(_INTEGERS, _INTEGERS | {t.NUMERIC, t.FLOAT8}),
    t.NUMERIC: frozenset((t.NUMERIC,)),
    t.TEXT: _TEXTS,
    t.VARCHAR: _TEXTS,
    t.BPCHAR: frozenset((t.BPCHAR,)),
}
_LENGTH_OFFSET: Final = 4
Take = Callable[[int, int], npt.NDArray[np.int64]]
#: Returns whether a column takes a value unchanged, so that Arrow need not be asked.
Fits = Callable[[Any], bool]
#: The types whose carriers hold integers, and their least and greatest values; other types whose values need no look by
#: Arrow, and Python's types for them.
_INTEGER_BOUNDS: Final = {
    typ: (-(1 << bits - 1), (1 << bits - 1) - 1)
    for typ, bits in ((t.INT2, 16), (t.INT4, 32), (t.INT8, 64), (t.TIMESTAMP, 64), (t.TIMESTAMPTZ, 64))
}
_UNBOUNDED: Final = {t.BOOL: bool, t.FLOAT8: float}


class _ChangedByCastError(Exception):
    """A cast to the column's type would change or refuse a value."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """A column of the rows. parameters: a parameter for each row, by number from 0; otherwise a constant, the name of a
    value of the session, or the OID of a sequence provides the value of all rows.
    """

    type: SqlType
    parameters: Sequence[int] = ()
    constant: Any = None
    context: str | None = None
    sequence: int | None = None

    def value(self, arguments: Sequence[Any], context: Callable[[str], Any]) -> Any:
        """Return the value of a single row."""
        if self.parameters:
            return arguments[self.parameters[0]]
        return self.constant if self.context is None else context(self.context)


@dataclass(frozen=True, slots=True)
class DirectRows:
    """The maker of an INSERT's rows. cells: of the VALUES rows. emitted: for each column of the MUTATE's input, the
    number of its cell. rows: the number of VALUES rows. value_cells: for each column of the table's files, its cell and the
    values that it takes; empty if a row cannot be kept as values.
    """

    cells: tuple[_Cell, ...]
    emitted: tuple[int, ...]
    rows: int = 1
    value_cells: tuple[tuple[_Cell, Fits], ...] = ()

    @property
    def takes_numbers(self) -> bool:
        """Whether it takes values from sequences, which may block."""
        return any(cell.sequence is not None for cell in self.cells)

    def row(self, arguments: Sequence[Any], context: Callable[[str], Any]) -> Sequence[Any] | None:
        """Return the row of one execution as a value for each column of the table's files, which takes it unchanged;
        None if the row must be made by `batch`. context: as for `batch`.
        """
        row: list[Any] = []
        for cell, fits in self.value_cells:
            value = cell.value(arguments, context)
            if not fits(value):
                return None
            row.append(value)
        return row or None

    def batch(self, rows: Sequence[Sequence[Any]], context: Callable[[str], Any], take: Take) -> pa.RecordBatch | None:
        """Make the MUTATE's input for several executions, each with the arguments in one of `rows`; None if only an
        engine can make it. context: returns a value of the session. take: takes values from a sequence. Raises
        SqlError.
        """
        arrays: list[pa.Array] = []
        made = len(rows) * self.rows
        try:
            for cell in self.cells:
                if cell.parameters:
                    arrays.append(_column([row[at] for row in rows for at in cell.parameters], cell.type))
                elif cell.sequence is not None:
                    arrays.append(None)
                else:
                    value = cell.constant if cell.context is None else context(cell.context)
                    arrays.append(_column([value] * made, cell.type))
        except (_ChangedByCastError, pa.ArrowException, OverflowError):
            return None
        for at, cell in enumerate(self.cells):
            if cell.sequence is not None:
                numbers = pa.array(take(cell.sequence, made), pa.int64())
                try:
                    arrays[at] = numbers.cast(carrier(cell.type.pg))
                except pa.ArrowInvalid:
                    return None
        names = [f"c{at}" for at in range(len(self.emitted))]
        return pa.RecordBatch.from_arrays([arrays[at] for at in self.emitted], names=names)


def direct_rows(plan: Mutate) -> DirectRows | None:
    """Return the maker of an INSERT's rows; None if they need an engine: rows of a query, expressions, CHECK
    constraints, generated columns, ON CONFLICT.
    """
    top = plan.input
    if plan.kind != "insert" or plan.checks or plan.filled or plan.requirement or plan.numbered or plan.parts:
        return None
    if plan.dropped or plan.changed or plan.twice or plan.again or plan.fresh or plan.forbidden or plan.whole:
        return None
    if not isinstance(top, Evaluator) or top.filter is not None:
        return None
    below = top.input
    if isinstance(below, Values) and len(below.rows) == 1:
        cells = [_cell(expr, column.type) for expr, column in zip(below.rows[0], below.columns, strict=True)]
        rows = 1
    elif isinstance(below, Evaluator) and below.filter is None and isinstance(below.input, Values):
        cells, rows = _columns(below, below.input), len(below.input.rows)
    else:
        return None
    index = {column.id: at for at, column in enumerate(below.columns)}
    emitted = [index.get(expr.column.id) if isinstance(expr, ColumnRef) else None for expr in top.emit]
    known = tuple(cell for cell in cells if cell is not None)
    places = tuple(at for at in emitted if at is not None)
    complete = len(known) == len(cells) and len(places) == len(emitted)
    return DirectRows(known, places, rows, _value_cells(plan, known, places) if rows == 1 else ()) if complete else None


def _value_cells(plan: Mutate, cells: Sequence[_Cell], emitted: Sequence[int]) -> tuple[tuple[_Cell, Fits], ...]:
    """Return `DirectRows.value_cells`."""
    if plan.columns or plan.rows != plan.input.columns:
        return ()
    taken = [cells[at] for at in emitted]
    fitting = [_fits(cell, column.nullable) for cell, column in zip(taken, plan.table.written_columns, strict=True)]
    made = tuple((cell, fits) for cell, fits in zip(taken, fitting, strict=True) if fits is not None)
    return made if len(made) == len(taken) else ()


def _fits(cell: _Cell, nullable: bool) -> Fits | None:
    """Return which values the cell's column takes unchanged, or NULL; None if only Arrow can tell."""
    typ = cell.type
    if cell.sequence is not None:
        return None
    if (bounds := _INTEGER_BOUNDS.get(typ.pg)) is not None:
        least, greatest = bounds
        return lambda value: nullable if value is None else type(value) is int and least <= value <= greatest
    if typ.pg in _TEXTS:
        most = sys.maxsize if typ.typmod == -1 else typ.typmod - _LENGTH_OFFSET
        return lambda value: nullable if value is None else type(value) is str and len(value) <= most
    if (python := _UNBOUNDED.get(typ.pg)) is not None:
        return lambda value: nullable if value is None else type(value) is python
    return None


def _columns(casts: Evaluator, values: Values) -> list[_Cell | None]:
    """Return the columns of many rows, each with the casts to its column's type."""
    if not isinstance(values.rows, ColumnarRows):
        return [None]
    below = {column.id: cells for column, cells in zip(values.columns, values.rows.columns, strict=True)}
    made = [_column_cell(expr, c.type, below) for c, expr in zip(casts.columns, casts.emit, strict=True)]
    taken = [cell.sequence for cell in made if cell is not None and cell.sequence is not None]
    # Several columns with values of one sequence take them alternately, row by row.
    return made if len(set(taken)) == len(taken) else [None]


def _column_cell(expr: Expr, typ: SqlType, below: Mapping[int, Sequence[Expr]]) -> _Cell | None:
    leaf = expr
    while isinstance(leaf, Call) and len(leaf.args) == 1:
        leaf = leaf.args[0]
    cells = below.get(leaf.column.id, ()) if isinstance(leaf, ColumnRef) else ()
    if not cells:
        return None

    def under_casts(cell: Expr) -> Expr:
        return cell if leaf is expr else rewrite_expr(expr, lambda part: cell if isinstance(part, ColumnRef) else part)

    first = _cell(under_casts(cells[0]), typ)
    if first is None:
        return None
    if isinstance(cells, Parameters):
        return replace(first, parameters=[index - 1 for index in cells.indexes])
    if isinstance(cells, Constants):
        return first if cells.values == (cells.values[0],) * len(cells) else None
    if all(cell is cells[0] for cell in cells):
        return first
    each = [_cell(under_casts(cell), typ) for cell in cells]
    parameters = [cell.parameters[0] for cell in each if cell is not None and cell.parameters]
    return replace(first, parameters=parameters) if len(parameters) == len(cells) else None


def _cell(expr: Expr, typ: SqlType) -> _Cell | None:
    if typ.pg not in _PLAIN or _has_odd_scale(typ):
        return None
    if isinstance(expr, ContextRef):
        return _Cell(typ, context=expr.name) if expr.name == "now" and expr.type.pg is typ.pg else None
    if (sequence := _sequence(expr, typ)) is not None:
        return _Cell(typ, sequence=sequence)
    if isinstance(expr, Call) and (expr.type.pg is not typ.pg or expr.type.typmod != typ.typmod):
        return None
    leaf = _kept_by_casts(expr)
    if leaf is None or (leaf.type.pg is not typ.pg and typ.pg not in _KEEPING.get(leaf.type.pg, ())):
        return None
    if isinstance(leaf, ParamRef):
        return _Cell(typ, parameters=(leaf.index - 1,))
    return _Cell(typ, constant=leaf.value) if isinstance(leaf, Const) else None


def _has_odd_scale(typ: SqlType) -> bool:
    """Return whether a type is a numeric(p, s) with s greater than p, or negative."""
    if typ.pg is not t.NUMERIC or typ.typmod == -1:
        return False
    precision, scale = t.numeric_precision_scale(typ.typmod)
    return not 0 <= scale <= precision <= 38


def _kept_by_casts(expr: Expr) -> Expr | None:
    """Return the argument of a cast, or of an integer's cast by way of numeric; None for other expressions."""
    if not isinstance(expr, Call):
        return expr
    inner = _argument(expr)
    if isinstance(inner, Call) and inner.type.pg is t.NUMERIC and inner.type.typmod == -1:
        inner = _argument(inner)
    return None if inner is None or isinstance(inner, Call) else inner


def _argument(expr: Call) -> Expr | None:
    return expr.args[0] if expr.function.kind == "cast" and len(expr.args) == 1 else None


def _sequence(expr: Expr, typ: SqlType) -> int | None:
    """Return the OID of the sequence whose next value an integer column gets; None if it gets none."""
    inner = _argument(expr) if isinstance(expr, Call) and expr.function.kind == "cast" else expr
    if typ.pg not in _INTEGERS or not isinstance(inner, Call) or inner.function.name != "nextval":
        return None
    (sequence,) = inner.args
    return int(sequence.value) if isinstance(sequence, Const) and sequence.value is not None else None


def _column(values: list[Any], typ: SqlType) -> pa.Array:
    """Return the values in the column's carrier. Raises an error if one of them is not a value of the column."""
    if typ.pg in _TEXTS or typ.pg is t.BPCHAR:
        return pa.array(_within_length(values, typ), pa.utf8())
    if typ.pg is t.NUMERIC:
        return _numerics(values, typ)
    return pa.array(values, carrier(typ.pg))


def _within_length(values: list[Any], typ: SqlType) -> list[Any]:
    if typ.typmod == -1:
        return values
    length = typ.typmod - _LENGTH_OFFSET
    if any(value is not None and len(value) > length for value in values):
        raise _ChangedByCastError
    if typ.pg is not t.BPCHAR:
        return values
    return [None if value is None else value.ljust(length) for value in values]


def _numerics(values: list[Any], typ: SqlType) -> pa.Array:
    if any(isinstance(value, Decimal) and not value.is_finite() for value in values):
        raise _ChangedByCastError
    array = pa.array(values, carrier(typ.pg, typ.scale))
    # Fails if a value has more digits than the column.
    array.cast(pa.decimal128(typ.precision, typ.scale))
    return array
