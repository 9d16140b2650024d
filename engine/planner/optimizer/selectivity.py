"""Estimates the fraction of the rows that a condition keeps: by ANALYZE's statistics, else by Parquet's footers of
columns, else
by constants alone.

**Analysed columns** are estimated as PostgreSQL does (selfuncs.c). An equality with a common value keeps that value's
fraction of the rows; one with any other value keeps that value's share of the rows without common values
(var_eq_const). Inequalities keep the common values for which they hold and, of the rest, the part between their bounds
in the histogram, by linear interpolation within a bucket (scalarineqsel); several inequalities of one column form one
interval. A pattern is tried on all values that are known. Nulls match nothing.

**Other columns.**

A comparison with a constant keeps the part of the column's range that it leaves, as if values were spread evenly. An
equality keeps one of the column's values, of which integers and dates have at most as many as their range is wide. For
other types a footer does not bound the number of values, but the encoded and compressed size of a column chunk
approximates its entropy: a column of b bits a row counts as one of 2^b values that are equally frequent. That is near
the truth for codes, flags and names of things, and errs towards fewer values, so more rows, where a file is sorted.

The remaining conditions have constant estimates, in the manner of PostgreSQL's selfuncs.h and larger than they are
there. PostgreSQL's constants give way to a histogram as soon as somebody analyzes the table, while these stay; and here
it costs more to take a side for smaller than it is (it is sent everywhere, or looked up row by row) than for larger.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from operator import ge, gt, le, lt
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from engine.plan_ir.conjuncts import conjuncts
from engine.plan_ir.expr import And, Call, ColumnRef, Expr, InList, IsNull, Not, Or, Subquery
from engine.planner.optimizer.column_bounds import Range, comparison, is_known, native, value_of
from wire.dataclass import dataclass

#: An inequality with an unknown value (DEFAULT_INEQ_SEL), or a condition of which nothing is known.
_SOME: Final = 1 / 3
#: A pattern. PostgreSQL's 0.005 is right for names and codes; in a text of several words a pattern is most often one of
#: the words.
_MATCH: Final = 0.05
#: A pattern on a column whose values are known, if it matches none of these (patternsel: 0.0001).
_MATCH_RARE: Final = 0.0001
#: Longer patterns are not tried: an estimate is not worth the time.
_PATTERN_LENGTH_MAX: Final = 1_000
#: A histogram needs this many bounds for an estimate of a pattern (patternsel: 10).
_BOUNDS_TELLING: Final = 10
#: IS NULL (DEFAULT_UNK_SEL is 0.005).
_NULL: Final = 0.05
#: EXISTS, IN a subquery, a boolean column.
_EVEN: Final = 0.5
#: The assumed number of distinct values if neither range nor size gives one (DEFAULT_EQ_SEL is 1 / 200).
VALUES_UNKNOWN: Final = 200.0

_HOLDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_INEQUALITIES: Final = tuple(_HOLDS)
#: Fractions up to this are rounding errors.
_NOTHING: Final = 1e-6
_PATTERNS: Final = ("~~", "~~*", "~", "~*")
_NEGATED: Final = {"<>": "=", "!~~": "~~", "!~~*": "~~*", "!~": "~", "!~*": "~*"}


@dataclass(frozen=True, slots=True)
class Known:
    """The known statistics of a column, values in the form of `engine.planner.optimizer.column_bounds.native`.

    values: the number of distinct values, without rare ones. range: the least and greatest value. nulls: the fraction
    of null rows; None: not known. common: the fraction of the rows that has each common value. bounds: the histogram of
    the other values, which divides them evenly. analysed: whether these come from ANALYZE, so that values missing in
    them are rare.
    """

    values: float
    range: Range | None = None
    nulls: float | None = None
    common: Mapping[Any, float] = field(default_factory=dict)
    bounds: Sequence[Any] = ()
    analysed: bool = False

    @property
    def rest(self) -> float:
        """The fraction of the rows whose value is neither common nor null."""
        return max(0.0, 1 - sum(self.common.values()) - (self.nulls or 0.0))

    @property
    def rest_values(self) -> float:
        return max(1.0, self.values - len(self.common))


def bits_as_values(size: int, rows: float) -> float:
    """Return how many equally frequent values would take `size` bytes for `rows` rows."""
    return math.exp2(min(8 * size / max(rows, 1), 60))


def selectivity(condition: Expr | None, known: Mapping[int, Known], parameters: Mapping[int, Any]) -> float:
    """Return the fraction of the rows for which a condition is true. known: by column. parameters: canonical values by
    number.
    """
    parts = conjuncts(condition)
    inequalities: dict[int, list[tuple[str, Any]]] = {}
    part = 1.0
    for conjunct in parts:
        found = comparison(conjunct, parameters)
        if found is not None and found[1] in _INEQUALITIES:
            inequalities.setdefault(found[0].id, []).append(found[1:])
        else:
            part *= _of_one(conjunct, known, parameters)
    for column, tests in inequalities.items():
        part *= _of_range(known.get(column), tests)
    return part


def _of_one(expr: Expr, known: Mapping[int, Known], parameters: Mapping[int, Any]) -> float:
    match expr:
        case Or(args=args):
            return 1 - math.prod(1 - selectivity(arg, known, parameters) for arg in args)
        case And():
            return selectivity(expr, known, parameters)
        case Not(arg=arg):
            return 1 - selectivity(arg, known, parameters)
        case IsNull(arg=arg, negated=negated):
            nulls = _nulls(arg, known)
            return 1 - nulls if negated else nulls
        case InList(arg=arg, items=items):
            return min(sum(_of_equality((arg, item), known, parameters) for item in items), 1)
        case ColumnRef(column=column) if (flag := known.get(column.id)) is not None and flag.analysed:
            return flag.common.get(True, 0.0)
        case Subquery() | ColumnRef():
            return _EVEN
        case Call(args=args) if expr.function.kind == "operator":
            return _of_operator(expr.function.name, args, known, parameters)
        case _:
            return _SOME


def _nulls(arg: Expr, known: Mapping[int, Known]) -> float:
    column = known.get(arg.column.id) if isinstance(arg, ColumnRef) else None
    return _NULL if column is None or column.nulls is None else column.nulls


def _of_operator(name: str, args: Sequence[Expr], known: Mapping[int, Known], parameters: Mapping[int, Any]) -> float:
    if name in _NEGATED:
        part = 1 - _of_operator(_NEGATED[name], args, known, parameters)
        return max(0.0, part - max((_known_nulls(arg, known) for arg in args), default=0.0))
    if name == "=":
        return _of_equality(args, known, parameters)
    if name == "~~" and (part_matching := _of_pattern(args, known, parameters)) is not None:
        return part_matching
    return _MATCH if name in _PATTERNS else _SOME


def _known_nulls(arg: Expr, known: Mapping[int, Known]) -> float:
    column = known.get(arg.column.id) if isinstance(arg, ColumnRef) else None
    return 0.0 if column is None else column.nulls or 0.0


def _of_equality(args: Sequence[Expr], known: Mapping[int, Known], parameters: Mapping[int, Any]) -> float:
    """Estimate an equality. With a constant it keeps the constant's fraction; else one value of the column that has the
    most.
    """
    columns = [known[arg.column.id] for arg in args if isinstance(arg, ColumnRef) and arg.column.id in known]
    constants = [arg for arg in args if is_known(arg, parameters)]
    if len(columns) == len(constants) == 1 and columns[0].analysed:
        value = native(value_of(constants[0], parameters), constants[0].type.pg)
        return _of_value(columns[0], value)
    return 1 / max((column.values for column in columns), default=VALUES_UNKNOWN)


def _of_value(column: Known, value: Any) -> float:
    if value in column.common:
        return column.common[value]
    least = min(column.common.values(), default=1.0)
    return min(column.rest / column.rest_values, least)


def _of_pattern(args: Sequence[Expr], known: Mapping[int, Known], parameters: Mapping[int, Any]) -> float | None:
    """Estimate LIKE with a constant by trying it on the known values. None if too few are known."""
    left, right = args
    column = known.get(left.column.id) if isinstance(left, ColumnRef) else None
    if column is None or not column.analysed or not is_known(right, parameters):
        return None
    pattern = value_of(right, parameters)
    if not isinstance(pattern, str) or not all(isinstance(value, str) for value in (*column.common, *column.bounds)):
        return None
    if column.bounds and len(column.bounds) < _BOUNDS_TELLING:
        return None
    matching = like_matches(pattern, (*column.common, *column.bounds))
    if matching is None:
        return None
    common = sum(part for part, matches in zip(column.common.values(), matching, strict=False) if matches)
    if not column.bounds:
        return common
    hits = sum(matching[len(column.common) :])
    # A pattern that none of the bounds matches may still match what lies between them.
    return common + column.rest * max(hits / len(column.bounds), _MATCH_RARE)


def like_matches(pattern: str, values: Sequence[str]) -> list[bool] | None:
    """Return for each value whether a LIKE pattern matches it; None if the pattern is too long or invalid.

    Pattern and values come from users. Arrow's kernel (RE2) takes time that is linear in a value's length and releases
    the interpreter's lock meanwhile. Rejected: `re`, which backtracks: it tries `%a%a%a%b` on a run of `a` in as many
    ways as there are to place the letters, and blocks all other threads until it has.
    """
    if len(pattern) > _PATTERN_LENGTH_MAX:
        return None
    try:
        matching: list[bool] = pc.match_like(pa.array(values, pa.string()), pattern).to_pylist()
    except pa.ArrowInvalid:
        return None
    return matching


def _of_range(column: Known | None, tests: Sequence[tuple[str, Any]]) -> float:
    """Estimate the fraction of a column's values, or of its range, that several inequalities leave."""
    if column is not None and column.analysed and (part := _of_interval(column, tests)) is not None:
        return part
    if column is None or column.range is None:
        return math.prod([_SOME] * len(tests))
    low, high = column.range
    first, last = low, high
    try:
        for operator, value in tests:
            if operator in ("<", "<="):
                last = min(last, value)
            else:
                first = max(first, value)
        return max(0.0, float((last - first) / (high - low)))
    except (TypeError, ArithmeticError):
        return math.prod([_SOME] * len(tests))


def _of_interval(column: Known, tests: Sequence[tuple[str, Any]]) -> float | None:
    """Estimate several inequalities: the common values for which all hold, and of the rest the histogram's part between
    them.
    """
    try:
        common = sum(part for value, part in column.common.items() if all(_HOLDS[op](value, v) for op, v in tests))
        if len(column.bounds) < 2:
            return common + column.rest * _SOME ** len(tests) if column.rest > _NOTHING else common
        above = max((_below(column.bounds, v) for op, v in tests if op in (">", ">=")), default=0.0)
        below = min((_below(column.bounds, v) for op, v in tests if op in ("<", "<=")), default=1.0)
    except (TypeError, ArithmeticError):
        return None
    # At least one value is assumed, as in PostgreSQL: the ends of a histogram are not those of the table.
    return common + column.rest * max(below - above, min(1 / column.rest_values, 1.0) if below >= above else 0.0)


def _below(bounds: Sequence[Any], value: Any) -> float:
    """Return the fraction of a histogram that is less than a value."""
    at = bisect_right(bounds, value)
    if at == 0:
        return 0.0
    if at == len(bounds):
        return 1.0
    low, high = bounds[at - 1], bounds[at]
    return (at - 1 + _interpolate(low, high, value)) / (len(bounds) - 1)


def _interpolate(low: Any, high: Any, value: Any) -> float:
    """Return where a value lies within a histogram bucket, from 0 to 1; for texts the middle."""
    if isinstance(low, str):
        return 0.5
    return float((value - low) / (high - low))
