"""Tests of column bounds, applied to many files at a time with Arrow's kernels.

`engine.planner.optimizer.column_bounds` tests the bounds of one file. This module computes the same test as a mask over
the files of a log: true where the file may have a row that passes. A table of a million files is pruned in tens of
milliseconds. The rules are that module's, and a property test compares the two: a file without known bounds stays in.

In a column that the table is partitioned by, each file has one value: the test runs once for each distinct value, not
for each file.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.planner.optimizer.column_bounds import (
    AllOf,
    AnyOf,
    ColumnBounds,
    Comparison,
    ListTest,
    NullTest,
    PrefixTest,
    RangeOverlap,
    Test,
    are_of,
)
from wire.dataclass import dataclass
from wire.types import pg_types as t

#: Times in a log may have been truncated to milliseconds.
_CUT: Final = pa.scalar(dt.timedelta(milliseconds=1), pa.duration("us"))


@dataclass(frozen=True, slots=True)
class FileBounds:
    """The bounds of a column, a value for each file, null where it is not known. least, greatest: None where the log has none."""

    rows: pa.Array
    nulls: pa.Array
    least: pa.Array | None
    greatest: pa.Array | None


@dataclass(frozen=True, slots=True)
class FileValues:
    """The values of a column that has one value in each file. numbers: for each file the index into `values`."""

    numbers: pa.Array
    values: tuple[ColumnBounds | None, ...]


#: Tests of a column's least and greatest value.
_RangeTest = Comparison | ListTest | PrefixTest | RangeOverlap


class LoggedFiles(Protocol):
    """The files of a log."""

    @property
    def count(self) -> int: ...

    def bounds(self, name: str) -> FileBounds | FileValues | None:
        """Return the bounds of a column; None where nothing is known of it."""


def mask_of(test: Test, files: LoggedFiles) -> pa.Array | None:
    """Return a mask of the files that may have a row that passes the test; None: all of them."""
    match test:
        case AllOf(tests=tests):
            known = [mask for mask in (mask_of(part, files) for part in tests) if mask is not None]
            return reduce(pc.and_, known) if known else None
        case AnyOf(tests=()):
            return pa.repeat(pa.scalar(False), files.count)
        case AnyOf(tests=tests):
            masks = [mask_of(part, files) for part in tests]
            known = [mask for mask in masks if mask is not None]
            return reduce(pc.or_, known) if len(known) == len(masks) else None
        case NullTest() | Comparison() | ListTest() | PrefixTest() | RangeOverlap():
            return _of_column(test, files.bounds(test.name))
        case _:
            return None


def _of_column(test: NullTest | _RangeTest, bounds: FileBounds | FileValues | None) -> pa.Array | None:
    match bounds:
        case FileValues(numbers=numbers, values=values):
            passing = [test(lambda _, value=value: value) for value in values]  # type: ignore[misc]
            return pa.array(passing, pa.bool_()).take(numbers)
        case FileBounds():
            if not pa.types.is_integer(bounds.nulls.type):
                # For a column of structs the log counts the nulls of each field.
                bounds = replace(bounds, nulls=pa.nulls(len(bounds.nulls), pa.int64()))
            mask = _of_nulls(test, bounds) if isinstance(test, NullTest) else _of_range(test, bounds)
            # A file whose number of rows is not known stays in.
            return None if mask is None else pc.or_(mask, pc.is_null(bounds.rows))
        case _:
            return None


def _of_nulls(test: NullTest, bounds: FileBounds) -> pa.Array:
    found = pc.greater(bounds.nulls, 0) if test.wanted else pc.less(bounds.nulls, bounds.rows)
    return pc.fill_null(found, True)


def _of_range(test: _RangeTest, bounds: FileBounds) -> pa.Array | None:
    least, greatest = _comparable(bounds.least, test.column.pg), _comparable(bounds.greatest, test.column.pg)
    # A column with nothing but nulls has no bounds.
    has_values = pc.fill_null(pc.less(bounds.nulls, bounds.rows), True)
    within = None
    if least is not None and greatest is not None:
        try:
            within = _within(test, least, greatest)
        except (pa.ArrowException, OverflowError, UnicodeError):
            within = None
    if within is None:
        return None if isinstance(test, RangeOverlap) else has_values
    known = pc.and_(pc.is_valid(least), pc.is_valid(greatest))
    passes = pc.or_(pc.fill_null(within, True), pc.invert(known))
    return passes if isinstance(test, RangeOverlap) else pc.and_(passes, has_values)


def _within(test: _RangeTest, least: pa.Array, greatest: pa.Array) -> pa.Array | None:
    match test:
        case Comparison(operator=operator, value=value):
            latest = pc.add(greatest, _CUT) if isinstance(value, dt.datetime) else greatest
            return _MAY_MATCH[operator](least, latest, _scalar(value, least))
        case ListTest(values=values, negated=negated):
            latest = pc.add(greatest, _CUT) if isinstance(values[0], dt.datetime) else greatest
            return _in_list(least, latest, values, negated=negated)
        case PrefixTest(prefix=prefix):
            size, text = len(prefix), _scalar(prefix, least)
            first, last = (pc.utf8_slice_codeunits(end, 0, size) for end in (least, greatest))
            return pc.and_(pc.less_equal(first, text), pc.greater_equal(last, text))
        case RangeOverlap(between=(low, high)):
            if not are_of((low, high), test.column) or isinstance(low, dt.datetime):
                return None
            return pc.and_(
                pc.less_equal(least, _scalar(high, least)), pc.greater_equal(greatest, _scalar(low, greatest))
            )


def _in_list(least: pa.Array, greatest: pa.Array, values: tuple[Any, ...], *, negated: bool) -> pa.Array:
    """Test `IN` for all files at once: find in the sorted list the first value that is not below the least one of a
    file. A file whose bounds are null may get any result here, since the caller leaves it in.
    """
    some = _scalar(values[0], least)
    low, high = (pc.fill_null(end, some).to_numpy(zero_copy_only=False) for end in (least, greatest))
    listed = pa.array(values, least.type).to_numpy(zero_copy_only=False)
    first = np.searchsorted(listed, low)
    nearest = listed[np.minimum(first, len(listed) - 1)]
    if negated:
        return pa.array(~((low == nearest) & (low == high)), pa.bool_())
    return pa.array((first < len(listed)) & (nearest <= high), pa.bool_())


def _comparable(ends: pa.Array | None, pg: t.PgType) -> pa.Array | None:
    """Return the bounds of a column if they are of the type that its values have; None if they are of another."""
    if ends is None:
        return None
    found = ends.type
    match pg:
        case t.INT2 | t.INT4 | t.INT8 if pa.types.is_signed_integer(found):
            return ends.cast(pa.int64())
        case t.TEXT | t.VARCHAR if pa.types.is_string(found) or pa.types.is_large_string(found):
            return ends
        case t.TEXT | t.VARCHAR if pa.types.is_string_view(found):
            return ends.cast(pa.large_string())
        case t.DATE if pa.types.is_date32(found):
            return ends
        case t.TIMESTAMP | t.TIMESTAMPTZ if pa.types.is_timestamp(found):
            return ends.cast(pa.timestamp("us", found.tz)) if (found.tz is None) == (pg is t.TIMESTAMP) else None
        case _:
            return None


def _scalar(value: Any, like: pa.Array) -> pa.Scalar:
    return pa.scalar(value, like.type)


#: The tests of `column operator value`, as in `column_bounds`, on the least values, the greatest values, and the value.
_MAY_MATCH: Final[dict[str, Callable[[pa.Array, pa.Array, pa.Scalar], pa.Array]]] = {
    "=": lambda least, greatest, value: pc.and_(pc.less_equal(least, value), pc.greater_equal(greatest, value)),
    "<>": lambda least, greatest, value: pc.invert(pc.and_(pc.equal(least, value), pc.equal(greatest, value))),
    "<": lambda least, _greatest, value: pc.less(least, value),
    "<=": lambda least, _greatest, value: pc.less_equal(least, value),
    ">": lambda _least, greatest, value: pc.greater(greatest, value),
    ">=": lambda _least, greatest, value: pc.greater_equal(greatest, value),
}
