"""Tests whether a condition may be true for some row of a set, by statistics of the columns in that set.

All pruning decisions are made here. The caller has bounds of columns for a set of rows, whatever the set: a Parquet
file's row group, a whole file by its entry in Delta's log, a folder by its partition value. A condition is compiled
once into a test of such bounds, and the test is applied to each set. A test may be wrong in one direction only: rows
that cannot match may be read, but rows that match are never skipped.

These rules make a negative answer certain:

- **One order.** Bounds count only if the values in files mean what the column's type means: integers for integers, dates for
  dates, decimals with no more digits behind the point than the column has. character(n) ignores blanks, a real is compared as
  it was rounded, a time of day or a uuid is text in files: these types are never pruned.
- **Bounds may be wide.** Texts may be cut and times rounded: the bounds only need to enclose the values. Text is compared by
  code points, which is the order of UTF-8's bytes and of PostgreSQL's C collation.
- **NaN** is greater than all numbers in PostgreSQL and left out by Parquet: a float's greatest value does not bound its values
  from above. Values that are equal or less are within the range still.
- **Null** does not match a comparison, so rows in which a column has only nulls match none, and no row matches a comparison
  with null.
- **Both directions.** NOT inverts the question: may the condition be false? An inverse operator answers that, and AND and OR
  change places. A condition of which neither is known may be both.

Functions, casts and columns compared with columns are not tested: the reader evaluates them.
"""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeGuard

import pyarrow as pa

from engine.common.sql_type import SqlType
from engine.plan_ir.conjuncts import conjuncts
from engine.plan_ir.expr import (
    And,
    Call,
    Column,
    ColumnRef,
    Const,
    Constants,
    Expr,
    InList,
    IsNull,
    Not,
    Or,
    Parameters,
    ParamRef,
)
from engine.plan_ir.logical import TableReader
from wire.dataclass import dataclass
from wire.types import pg_types as t

Range = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """The known bounds of a column in a set of rows. range: its least and greatest value or values beyond them, in the
    form of `native`; None: not known. nulls: how many rows are null; None: not known.
    """

    rows: int
    nulls: int | None = None
    range: Range | None = None

    @property
    def only_nulls(self) -> bool:
        return self.nulls is not None and self.nulls >= self.rows


#: Returns the ColumnBounds of a file's column by its name; None if there are none.
Told = Callable[[str], ColumnBounds | None]
#: Returns whether rows with these bounds may include a match. It is one of the classes below, which
#: `engine.planner.optimizer.bounds_masks` also applies to many files at a time, or another function.
Test = Callable[[Told], bool]

_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
_INVERSE: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
#: For `column operator value`: whether rows with this least and greatest value may hold a match.
_MAY_MATCH: Final[dict[str, Callable[[Any, Any, Any], bool]]] = {
    "=": lambda low, high, value: bool(low <= value <= high),
    "<>": lambda low, high, value: bool(not low == value == high),
    "<": lambda low, _high, value: bool(low < value),
    "<=": lambda low, _high, value: bool(low <= value),
    ">": lambda _low, high, value: bool(high > value),
    ">=": lambda _low, high, value: bool(high >= value),
}
#: Comparisons that NaN passes; a range of floats does not show whether there is a NaN.
_WITH_NAN: Final = (">", ">=", "<>")
_LIKE: Final = ("%", "_", "\\")

_INTEGERS: Final = (t.INT2, t.INT4, t.INT8)
_TEXTS: Final = (t.TEXT, t.VARCHAR)


@dataclass(frozen=True, slots=True)
class AllOf:
    """Passed if every one of some tests is passed."""

    tests: tuple[Test, ...]

    def __call__(self, told: Told) -> bool:
        return all(test(told) for test in self.tests)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Passed if one of some tests is passed. Without any test no row passes, as in a comparison with null."""

    tests: tuple[Test, ...]

    def __call__(self, told: Told) -> bool:
        return any(test(told) for test in self.tests)


#: No row matches.
NOTHING: Final = AnyOf(())


@dataclass(frozen=True, slots=True)
class NullTest:
    """Tests whether the column is null, or not null, as `wanted` says."""

    name: str
    wanted: bool

    def __call__(self, told: Told) -> bool:
        facts = told(self.name)
        if facts is None or facts.nulls is None:
            return True
        return facts.nulls > 0 if self.wanted else not facts.only_nulls


@dataclass(frozen=True, slots=True)
class Comparison:
    """Tests `column operator value`. column: its type; value: in the form of `native`."""

    name: str
    column: SqlType
    operator: str
    value: Any

    def __call__(self, told: Told) -> bool:
        between = _range_or_verdict(told(self.name), self.column)
        return between if isinstance(between, bool) else _may_match(between, self.operator, self.value)


@dataclass(frozen=True, slots=True)
class ListTest:
    """Tests `column IN (values)`, or NOT IN if `negated`. column: its type; values: sorted, none of them null, in the
    form of `native`.

    It is one test and not a comparison for each value, since drivers send lists of tens of thousands.
    """

    name: str
    column: SqlType
    values: tuple[Any, ...]
    negated: bool

    def __call__(self, told: Told) -> bool:
        between = _range_or_verdict(told(self.name), self.column)
        if isinstance(between, bool):
            return between
        low, high = between
        first = bisect_left(self.values, low)
        nearest = self.values[first] if first < len(self.values) else None
        if self.negated:
            return isinstance(low, float) or not low == nearest == high
        return nearest is not None and bool(nearest <= high)


@dataclass(frozen=True, slots=True)
class PrefixTest:
    """Tests whether the column's text begins with a prefix, which is not empty. column: its type."""

    name: str
    column: SqlType
    prefix: str

    def __call__(self, told: Told) -> bool:
        between = _range_or_verdict(told(self.name), self.column)
        if isinstance(between, bool):
            return between
        size = len(self.prefix)
        return bool(between[0][:size] <= self.prefix <= between[1][:size])


@dataclass(frozen=True, slots=True)
class RangeOverlap:
    """Tests whether the column may have a value of a range. The range comes from the same column in other files of the
    same writer. column: its type; between: the range.
    """

    name: str
    column: SqlType
    between: Range

    def __call__(self, told: Told) -> bool:
        facts = told(self.name)
        if facts is None or facts.range is None:
            return True
        return bool(facts.range[0] <= self.between[1] and self.between[0] <= facts.range[1])


def reader_test(reader: TableReader, parameters: Mapping[int, Any]) -> Test | None:
    """Return the reader's filter as a test of bounds, by the names that its table's files give columns; None if bounds
    cannot decide any of it. parameters: canonical values by number.
    """
    names = {column.id: name for column, name in zip(reader.columns, reader.names, strict=True)}
    tests = tuple(_tests(reader.filter, names, parameters))
    return AllOf(tests) if tests else None


def _tests(condition: Expr | None, names: Mapping[int, str], parameters: Mapping[int, Any]) -> Iterator[Test]:
    for part in conjuncts(condition):
        found = _Judge(names, parameters).test(part, truth=True)
        if found is not None:
            yield found


@dataclass(frozen=True, slots=True)
class _Judge:
    """Compiles conditions into tests. names: of the columns that have bounds, by id."""

    names: Mapping[int, str]
    parameters: Mapping[int, Any]

    def test(self, expr: Expr, *, truth: bool) -> Test | None:
        """Compile a test of whether `expr` may be true, or false, for a row; None where it always may."""
        match expr:
            case Not(arg=arg):
                return self.test(arg, truth=not truth)
            case And(args=args) | Or(args=args):
                return self._of_several(args, truth=truth, every=isinstance(expr, And) == truth)
            case IsNull(arg=ColumnRef(column=column), negated=negated):
                return self._of_nulls(column, wanted=truth != negated)
            case InList(arg=ColumnRef() as arg, items=items):
                return self._of_list(arg, items, truth=truth)
            case Call():
                return self._of_call(expr, truth=truth)
            case _:
                return None

    def _of_several(self, args: tuple[Expr, ...], *, truth: bool, every: bool) -> Test | None:
        """Compile AND or OR. every: all operands must be possible, instead of one of them."""
        tests = [self.test(arg, truth=truth) for arg in args]
        known = tuple(test for test in tests if test is not None)
        return _all_of(known) if every else _any_of(known, tests)

    def _of_nulls(self, column: Column, *, wanted: bool) -> Test | None:
        name = self.names.get(column.id)
        return None if name is None else NullTest(name, wanted)

    def _of_list(self, arg: ColumnRef, items: Sequence[Expr], *, truth: bool) -> Test | None:
        """Compile IN as one of the equalities; NOT IN as none of them, where a null is neither equal to anything nor
        different.
        """
        plain = self._plain_values(arg, items)
        if plain is not None:
            return self._of_plain_values(arg, plain, truth=truth)
        tests = [self._of_comparison(arg, "=" if truth else "<>", item) for item in items]
        if (truth and None in tests) or (not truth and NOTHING in tests):
            return None if truth else NOTHING
        compared = [test for test in tests if isinstance(test, Comparison)]
        if not compared:
            return NOTHING if truth else None
        values = tuple(sorted(test.value for test in compared))
        return ListTest(compared[0].name, compared[0].column, values, negated=not truth)

    def _plain_values(self, arg: ColumnRef, items: Sequence[Expr]) -> Sequence[Any] | None:
        """Return the values of a long list of the column's type that bounds represent unchanged; None for other lists."""
        if not isinstance(items, Constants | Parameters):
            return None
        column = arg.column.type.pg
        if not any(all(pg in kinds for pg in (items.type.pg, arg.type.pg, column)) for kinds in (_INTEGERS, _TEXTS)):
            return None
        if isinstance(items, Constants):
            return items.values
        known = self.parameters
        return [known[index] for index in items.indexes] if all(index in known for index in items.indexes) else None

    def _of_plain_values(self, arg: ColumnRef, values: Sequence[Any], *, truth: bool) -> Test | None:
        """Compile such a list into one test, with the meaning of `_of_list`."""
        name = self.names.get(arg.column.id)
        if name is None:
            return None
        if not truth and None in values:
            return NOTHING
        compared = tuple(sorted(value for value in values if value is not None))
        if not compared:
            return NOTHING if truth else None
        return ListTest(name, arg.column.type, compared, negated=not truth)

    def _of_call(self, call: Call, *, truth: bool) -> Test | None:
        if call.function.kind != "operator" or len(call.args) != 2:
            return None
        left, right = call.args
        operator = call.function.name
        if operator == "~~" and truth and isinstance(left, ColumnRef):
            return self._of_pattern(left.column, right)
        if operator not in _FLIPPED:
            return None
        if isinstance(right, ColumnRef):
            left, right, operator = right, left, _FLIPPED[operator]
        if not isinstance(left, ColumnRef):
            return None
        return self._of_comparison(left, operator if truth else _INVERSE[operator], right)

    def _of_comparison(self, left: ColumnRef, operator: str, right: Expr) -> Test | None:
        name = self.names.get(left.column.id)
        if name is None or not is_known(right, self.parameters):
            return None
        constant = value_of(right, self.parameters)
        if constant is None:
            return NOTHING
        value, column = native(constant, right.type.pg), left.column.type
        if value is None:
            return None
        if not _is_of(value, column.pg) or not _is_of(value, left.type.pg):
            return None
        return Comparison(name, column, operator, value)

    def _of_pattern(self, column: Column, pattern: Expr) -> Test | None:
        """Compile LIKE with a pattern that begins with literal characters."""
        name = self.names.get(column.id)
        if name is None or column.type.pg not in _TEXTS or not is_known(pattern, self.parameters):
            return None
        text = value_of(pattern, self.parameters)
        if text is None:
            return NOTHING
        ends = [at for at in (text.find(mark) for mark in _LIKE) if at >= 0]
        prefix = text[: min(ends)] if ends else text
        return PrefixTest(name, column.type, prefix) if prefix else None


def _all_of(known: tuple[Test, ...]) -> Test | None:
    return AllOf(known) if known else None


def _any_of(known: tuple[Test, ...], tests: Sequence[Test | None]) -> Test | None:
    """Return a test of several alternatives; None unless all of them are known."""
    return None if len(known) < len(tests) else AnyOf(known)


def _range_or_verdict(facts: ColumnBounds | None, column: SqlType) -> Range | bool:
    """Return the range to which a test is applied, or its verdict if there are no values, or nothing is known of them."""
    if facts is not None and facts.only_nulls:
        return False
    between = None if facts is None else facts.range
    return True if between is None or not are_of(between, column) else between


def _may_match(between: Range, operator: str, value: Any) -> bool:
    if isinstance(between[0], float) and operator in _WITH_NAN:
        return True
    return _MAY_MATCH[operator](*between, value)


def are_of(between: Range, typ: SqlType) -> bool:
    """Whether both ends have the Python type that `native` gives values of this type, so that their order is that of
    the values.
    """
    return all(_is_of(value, typ.pg) and (typ.pg is not t.NUMERIC or _digits(value) <= typ.scale) for value in between)


def _is_of(value: Any, pg: t.PgType) -> bool:
    match value:
        case bool():
            return False
        case int():
            return pg in _INTEGERS
        case str():
            return pg in _TEXTS
        case dt.datetime():
            return pg is (t.TIMESTAMP if value.tzinfo is None else t.TIMESTAMPTZ)
        case dt.date():
            return pg is t.DATE
        case Decimal():
            return pg is t.NUMERIC and value.is_finite()
        case float():
            return pg is t.FLOAT8 and not math.isnan(value)
        case _:
            return False


def _digits(value: Decimal) -> int:
    """Return the digits behind the point. A file's decimal with more of them than the column has is rounded as it is
    read.
    """
    exponent = value.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


# -- constants -------------------------------------------------------------------------------------------------------


def is_known(expr: Expr, parameters: Mapping[int, Any]) -> TypeGuard[Const | ParamRef]:
    """Whether an expression is a constant, or a parameter that has a value."""
    return isinstance(expr, Const) or (isinstance(expr, ParamRef) and expr.index in parameters)


def value_of(constant: Const | ParamRef, parameters: Mapping[int, Any]) -> Any:
    """Return the canonical value; None is null."""
    return constant.value if isinstance(constant, Const) else parameters[constant.index]


def comparison(part: Expr, parameters: Mapping[int, Any]) -> tuple[Column, str, Any] | None:
    """Return (column, operator, value in the form of `native`) of a condition that compares a column with a non-null
    constant.
    """
    if not isinstance(part, Call) or part.function.name not in _FLIPPED or len(part.args) != 2:
        return None
    left, right = part.args
    operator = part.function.name
    if isinstance(right, ColumnRef):
        left, right, operator = right, left, _FLIPPED[operator]
    if not isinstance(left, ColumnRef) or not is_known(right, parameters):
        return None
    value = native(value_of(right, parameters), right.type.pg)
    return None if value is None else (left.column, operator, value)


def native(value: Any, pg: t.PgType) -> Any:
    """Convert a canonical value to the form of file statistics: dates and times as Python's; None for null and for
    values that these cannot represent.
    """
    if value is None:
        return None
    if pg is t.DATE:
        return pa.scalar(value, pa.date32()).as_py() if abs(value) < 700_000 else None
    if pg in (t.TIMESTAMP, t.TIMESTAMPTZ):
        zone = dt.UTC if pg is t.TIMESTAMPTZ else None
        return dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(microseconds=value) if abs(value) < 1 << 55 else None
    return value
