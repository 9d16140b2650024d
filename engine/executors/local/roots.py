"""`sluice_root`: square roots of numerics by PostgreSQL's rules, for the local engine, vectorised over Arrow arrays.

The root of the double, as a decimal, is squared exactly in 256 bits. The remainder divided by twice the root corrects
it to about thirty digits, from which each value keeps its own number of digits.

`engine.sql.functions.roots` states the rule and builds the calls. Source: PostgreSQL 15, numeric.c.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.executors.local.division import Digits, rounded_to
from engine.executors.local.udf import arrow_function
from wire.errors import InvalidArgumentForPower, NumericValueOutOfRange

_WIDEST: Final = 76
_SPARE: Final = 6

Integers = npt.NDArray[np.int64]


@arrow_function("sluice_root", ["VARCHAR", "INTEGER", "INTEGER", "INTEGER", "INTEGER"], "VARCHAR")
def root(values: Any, value_scales: Any, scales: Any, minima: Any, kinds: Any) -> Any:
    """Compute square roots, as texts. The remaining arguments are constants: the scale of the values, the scale of the
    result, its least display scale, and 1 if the values are variances. Raises InvalidArgumentForPower for a negative
    value.
    """
    if len(values) == 0:
        return pa.array([], pa.utf8())
    value_scale, scale, minimum, kind = (c[0].as_py() for c in (value_scales, scales, minima, kinds))
    exact = pc.cast(values, pa.decimal256(38, value_scale))
    if pc.any(pc.less(exact, pa.scalar(0, exact.type))).as_py():
        raise InvalidArgumentForPower("cannot take square root of a negative number")
    wanted = _digits_wanted(values, value_scale, variances=bool(kind))
    try:
        refined = _refine_roots(exact, scale)
    except pa.ArrowInvalid:
        raise NumericValueOutOfRange(
            "value out of range: a square root with more digits than numeric can hold"
        ) from None
    digits = np.clip(wanted, minimum, scale)
    found = _without_ties(rounded_to(refined, digits), refined, exact, digits)
    return pc.cast(pc.cast(found, pa.decimal256(_WIDEST, scale)), pa.utf8())


def _without_ties(found: Any, refined: Any, exact: Any, digits: Integers) -> Any:
    """Subtract a unit from results that were rounded up from exactly half way although the true root is below; the
    square of the half-way point decides. This is rare.
    """
    numbers, places = np.unique(digits, return_inverse=True)
    units = pc.cast(pa.array([Decimal(1).scaleb(-int(number)) for number in numbers]), found.type)
    unit = pc.take(units, pa.array(places))
    above = pc.subtract(found, refined)
    tied = np.flatnonzero(pc.equal(pc.add(above, above), unit).to_numpy(zero_copy_only=False))
    if len(tied) == 0:
        return found
    with localcontext(prec=4 * _WIDEST):
        high = [refined[row].as_py() ** 2 > exact[row].as_py() for row in tied.tolist()]
    less = np.zeros(len(digits), bool)
    less[tied] = high
    return pc.if_else(pa.array(less), pc.subtract(found, unit), found)


def _digits_wanted(values: Any, scale: int, *, variances: bool) -> Integers:
    digits = Digits(values, scale)
    if not variances:
        return 15 - 2 * digits.weight
    wanted = 16 - 4 * digits.weight
    return wanted + 4 * (digits.decimals > wanted)


def _refine_roots(exact: Any, scale: int) -> Any:
    """Compute roots with some digits to spare."""
    doubles = np.sqrt(np.asarray(pc.cast(exact, pa.float64()).to_numpy(zero_copy_only=False)))
    width = len(str(int(doubles.max()))) + scale
    guess = pc.cast(pa.array(doubles), pa.decimal256(width, scale))
    narrow = pc.cast(exact, pa.decimal256(2 * (width - scale) + exact.type.scale, exact.type.scale))
    rest = pc.subtract(narrow, pc.multiply(guess, guess))
    with np.errstate(divide="ignore", invalid="ignore"):
        correction = np.asarray(pc.cast(rest, pa.float64()).to_numpy(zero_copy_only=False)) / (2 * doubles)
    correction = np.where(doubles == 0, 0, correction)
    fine = pc.cast(pa.array(correction), pa.decimal256(width + _SPARE, scale + _SPARE))
    return pc.add(guess, fine)
