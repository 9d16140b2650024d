"""The number of digits of numeric results: the type rules of the function table's numeric rows.

PostgreSQL computes with numerics of any length and gives every value its own display scale. Here a numeric expression
has a static decimal(p, s) in both engines, p <= 38, so each operation's rule determines the digits that its result can
need:

- sums and products keep every digit PostgreSQL keeps; integer digits that do not fit 38 are an error at run time (22003);
- a quotient's scale depends on its value (select_div_scale): its storage has room for `QUOTIENT_ROOM` fractional digits
  or more, the engines round to PostgreSQL's digit, and a quotient so small that PostgreSQL would print more digits than
  there are is an error, never a shortened answer;
- a value that is computed from a quotient keeps its digits, but not its trailing zeros (`NumericScale.TRIMMED`).

Source: PostgreSQL 15, numeric.c (select_div_scale, numeric_add, numeric_mul); section 8.1.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engine.common.sql_type import MAX_PRECISION, UNKNOWN_DIGITS, SqlType, numeric
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t
from wire.types.carriers import NumericScale

#: The minimum number of fractional digits of a quotient that its operands do not bound.
QUOTIENT_ROOM: Final = 24
#: The same for an average, which must also have room for the integer digits of the averaged values.
AVERAGE_ROOM: Final = 20
#: Only quotients below 10^-12 need more fractional digits than this.
QUOTIENT_MOST: Final = 28
_INTEGERS: Final = {t.INT2: 5, t.INT4: 10, t.INT8: 19, t.OID: 10}


def as_numeric(typ: SqlType) -> SqlType:
    """Return the numeric type of an integer or numeric type."""
    if typ.pg in _INTEGERS:
        return numeric(_INTEGERS[typ.pg], 0)
    if typ.pg is t.NUMERIC:
        return typ
    precision, scale = UNKNOWN_DIGITS
    return numeric(precision, scale, NumericScale.TRIMMED)


def integer_digits(typ: SqlType) -> int:
    return typ.precision - typ.scale


def shown_digits(typ: SqlType) -> int:
    """Return the number of fractional digits that PostgreSQL prints of such a value, or the best estimate if it
    depends on the value.

    A later quotient has at least as many; so an estimate follows the digits through sums and products, as `minimum`.
    """
    if typ.display is NumericScale.FIXED:
        return typ.scale
    return typ.minimum if typ.display is NumericScale.TRIMMED else max(typ.minimum, 16)


def _result(precision: int, scale: int, minimum: int, args: Sequence[SqlType]) -> SqlType:
    if all(a.display is NumericScale.FIXED for a in args):
        return numeric(precision, scale)
    return numeric(precision, scale, NumericScale.TRIMMED, minimum=min(minimum, scale))


def sum_of_two(args: Sequence[SqlType]) -> SqlType:
    """Return the type of + and -: the larger scale, one more integer digit."""
    a, b = args
    scale = max(a.scale, b.scale)
    return _result(
        max(integer_digits(a), integer_digits(b)) + 1 + scale, scale, max(shown_digits(a), shown_digits(b)), args
    )


def product(args: Sequence[SqlType]) -> SqlType:
    """Return the type of *: the sum of the scales. Raises FeatureNotSupported if not even the fraction fits."""
    a, b = args
    scale = a.scale + b.scale
    if scale > MAX_PRECISION:
        raise FeatureNotSupported(
            f"not supported: a product of numerics with {scale} fractional digits",
            hint="Round the factors, as in round(x, 12), or multiply as double precision.",
        )
    return _result(a.precision + b.precision + 1, scale, shown_digits(a) + shown_digits(b), args)


def remainder(args: Sequence[SqlType]) -> SqlType:
    """Return the type of %: the larger scale, and the integer digits of the operand that has fewer."""
    a, b = args
    scale = max(a.scale, b.scale)
    return _result(
        min(integer_digits(a), integer_digits(b)) + scale, scale, max(shown_digits(a), shown_digits(b)), args
    )


def divisor(args: Sequence[SqlType]) -> SqlType:
    """Return the type of gcd: the larger scale, and the integer digits of the larger argument, which is the result if
    the other is 0.
    """
    scale = max(a.scale for a in args)
    return _result(max(integer_digits(a) for a in args) + scale, scale, max(shown_digits(a) for a in args), args)


def multiple(args: Sequence[SqlType]) -> SqlType:
    """Return the type of lcm: the larger scale and all integer digits there are."""
    scale = max(a.scale for a in args)
    return _result(MAX_PRECISION, scale, max(shown_digits(a) for a in args), args)


def quotient(args: Sequence[SqlType]) -> SqlType:
    """Return the type of /: enough fractional digits for every possible quotient, or as many as 38 digits leave room
    for.
    """
    a, b = args
    smallest = a.scale + integer_digits(b)
    minimum = max(x.minimum if x.display is NumericScale.QUOTIENT else shown_digits(x) for x in args)
    needed = max(minimum, 20 + 4 * -(-smallest // 4))
    return quotient_type(integer_digits(a) + b.scale, needed, minimum, QUOTIENT_ROOM)


def average(args: Sequence[SqlType]) -> SqlType:
    """Return the type of avg: a quotient whose integer digits are the argument's."""
    a = as_numeric(args[0])
    return quotient_type(integer_digits(a), MAX_PRECISION, shown_digits(a), AVERAGE_ROOM)


def quotient_type(integers: int, needed: int, minimum: int, room: int) -> SqlType:
    """Return a quotient's type.

    integers: the integer digits that it may have. needed: the fractional digits that suffice for every value. minimum:
    the fractional digits that are always printed. room: the fractional digits kept at the cost of integer digits.
    """
    scale = max(minimum, min(needed, QUOTIENT_MOST, max(MAX_PRECISION - integers, room)))
    return numeric(MAX_PRECISION, scale, NumericScale.QUOTIENT, minimum=minimum)


def total(args: Sequence[SqlType]) -> SqlType:
    """Return the type of sum: the argument's scale and all integer digits there are."""
    a = as_numeric(args[0])
    return _result(MAX_PRECISION, a.scale, shown_digits(a), (a,))


def same(args: Sequence[SqlType]) -> SqlType:
    """Return the first argument's type and digits; its modifier is dropped, as PostgreSQL's functions drop it."""
    return replace(args[0], typmod=-1)


def last(args: Sequence[SqlType]) -> SqlType:
    """Return the type of the last argument as `same` does for the first."""
    return replace(args[-1], typmod=-1)


def variance(args: Sequence[SqlType]) -> SqlType:
    """Return the type of var_pop and var_samp: a quotient of squares. Raises FeatureNotSupported if not even the
    fraction of a square fits.
    """
    a = as_numeric(args[0])
    if 2 * a.scale > MAX_PRECISION:
        raise FeatureNotSupported(
            f"not supported: a variance of numerics with {a.scale} fractional digits",
            hint="Round the values, as in round(x, 12), or take the variance of double precision.",
        )
    minimum = min(2 * (a.scale if a.display is NumericScale.FIXED else a.minimum), QUOTIENT_MOST)
    return quotient_type(min(2 * integer_digits(a), 18), QUOTIENT_MOST, minimum, AVERAGE_ROOM)


def deviation(args: Sequence[SqlType]) -> SqlType:
    """Return the type of stddev: the root of a variance, whose number of digits does not follow from its own size."""
    squared = variance(args)
    return numeric(MAX_PRECISION, squared.scale, NumericScale.TRIMMED, minimum=min(squared.minimum, squared.scale))


def common(args: Sequence[SqlType]) -> SqlType:
    """Return the common type of arguments of one type, any of which may be the result: for numerics, digits that hold
    them all.
    """
    if args[0].pg is not t.NUMERIC:
        return same(args)
    scale = max(a.scale for a in args)
    precision = max(integer_digits(a) for a in args) + scale
    if all(a.display is NumericScale.FIXED and a.scale == scale for a in args):
        return numeric(precision, scale)
    return numeric(precision, scale, NumericScale.TRIMMED, minimum=min(shown_digits(a) for a in args))


def value_or_default(args: Sequence[SqlType]) -> SqlType:
    """Return the type of lag and lead with a default: that of the first argument or the last."""
    return common((args[0], args[-1]))


def whole(args: Sequence[SqlType]) -> SqlType:
    """Return the type of ceil, floor, round and trunc to an integer: one more integer digit (9.5 rounds to 10)."""
    a = as_numeric(args[0])
    return numeric(integer_digits(a) + 1, 0)
