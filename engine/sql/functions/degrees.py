"""Trigonometric functions in degrees: sind, cosd, tand, cotd, asind, acosd, atand, atan2d.

They are computed as PostgreSQL computes them, so that common angles give exact results: an angle is reduced to the
first quadrant, where a function is scaled by its own value at the angle whose result is known (sine at 30 degrees,
cosine at 60, tangent at 45, the inverses at a half and at one).

Spark has no negative zero among its constants, so cotd('-0') is the infinity of 0 there.

Source: PostgreSQL 15, float.c (sind_0_to_30, cosd_0_to_60, dtand, asind_q1 and their kin).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import fn
from engine.sql.functions.trees import EngineBuilder, both, bound, sql
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

_RADIANS: Final = "0.017453292519943295e0"
_INFINITY: Final = "CAST('Infinity' AS DOUBLE)"
_OUTSIDE: Final = "RAISE('22003', 'input is out of range')"
_SINE_30: Final = f"sin(30e0 * {_RADIANS})"
_COSINE_60: Final = f"(1e0 - cos(60e0 * {_RADIANS}))"
#: The angle of the first quadrant whose functions equal those of `$1`, from 0 to 360, except for the sign.
_FIRST: Final = (
    "CASE WHEN $1 <= 90 THEN $1 WHEN $1 <= 180 THEN 180e0 - $1 WHEN $1 <= 270 THEN $1 - 180e0 ELSE 360e0 - $1 END"
)


def _small_sine(angle: str) -> str:
    """Return the sine of an angle of up to 30 degrees."""
    return f"((sin(({angle}) * {_RADIANS}) / {_SINE_30}) / 2e0)"


def _small_cosine(angle: str) -> str:
    """Return the cosine of an angle of up to 60 degrees."""
    return f"(1e0 - ((1e0 - cos(({angle}) * {_RADIANS})) / {_COSINE_60}) / 2e0)"


def _sine(angle: str) -> str:
    return f"(CASE WHEN {angle} <= 30 THEN {_small_sine(angle)} ELSE {_small_cosine(f'90e0 - {angle}')} END)"


def _cosine(angle: str) -> str:
    return f"(CASE WHEN {angle} <= 60 THEN {_small_cosine(angle)} ELSE {_small_sine(f'90e0 - {angle}')} END)"


def _ratio(above: str, below: str) -> str:
    """Return a tangent or a cotangent: an infinity if the denominator is zero, and never a negative zero."""
    at_45 = f"({above} / {below})".replace("$3", "45e0")
    value = f"$2 * ({above} / {below} / {at_45})"
    return f"CASE WHEN {below} = 0 THEN $2 * {_INFINITY} WHEN {above} = 0 THEN 0e0 ELSE {value} END"


#: By function: the condition on `$1`, the angle from 0 to 360, under which the sign changes; and the result, computed
#: from `$2`, the sign, and `$3`, the angle of the first quadrant.
_TURNED: Final = "$1 > 90 AND $1 <= 180 OR $1 >= 270"
_CIRCULAR: Final = {
    "sind": ("$1 > 180", f"$2 * {_sine('$3')}"),
    "cosd": ("$1 > 90 AND $1 < 270", f"$2 * {_cosine('$3')}"),
    "tand": (_TURNED, _ratio(_sine("$3"), _cosine("$3"))),
    "cotd": (_TURNED, _ratio(_cosine("$3"), _sine("$3"))),
}
#: Functions whose sign follows that of the angle.
_ODD: Final = frozenset({"sind", "tand", "cotd"})


def _circular(name: str) -> EngineBuilder:
    changes, answer = _CIRCULAR[name]
    # The sign of a zero counts too: an arc tangent distinguishes it.
    minus = "CASE WHEN atan2($2, -1e0) < 0 THEN -1e0 ELSE 1e0 END" if name in _ODD else "1e0"
    sign = f"CASE WHEN {changes} THEN -({minus}) ELSE {minus} END"

    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        angle = args[0]

        def answer_for_turn(turn: exp.Expression) -> exp.Expression:
            signed = sql(engine, sign, turn, angle)
            return bound(
                engine, "first__", sql(engine, _FIRST, turn), lambda first: sql(engine, answer, turn, signed, first)
            )

        within = sql(engine, "abs($1) % 360e0", angle)
        found = bound(engine, "turn__", within, answer_for_turn)
        return sql(
            engine, f"CASE WHEN abs($1) = {_INFINITY} THEN {_OUTSIDE} WHEN isnan($1) THEN $1 ELSE $2 END", angle, found
        )

    return build


def _arc_sine(value: str) -> str:
    """Return the arc sine, in degrees, of a value from 0 to 1."""
    return (
        f"(CASE WHEN {value} <= 0.5e0 THEN (asin({value}) / asin(0.5e0)) * 30e0"
        f" ELSE 90e0 - (acos({value}) / acos(0.5e0)) * 60e0 END)"
    )


def _inverse(answer: str) -> str:
    return f"CASE WHEN isnan($1) THEN $1 WHEN abs($1) > 1 THEN {_OUTSIDE} ELSE {answer} END"


_ARC_COSINE: Final = (
    "CASE WHEN $1 < 0 THEN 90e0 + {negative} WHEN $1 <= 0.5e0 THEN 90e0 - (asin($1) / asin(0.5e0)) * 30e0"
    " ELSE (acos($1) / acos(0.5e0)) * 60e0 END"
).format(negative=_arc_sine("(-$1)"))

ROWS: tuple[Function, ...] = (
    *(fn(name, (t.FLOAT8,), t.FLOAT8, **both(_circular(name))) for name in _CIRCULAR),
    fn(
        "asind",
        (t.FLOAT8,),
        t.FLOAT8,
        _inverse(f"CASE WHEN $1 < 0 THEN -{_arc_sine('(-$1)')} ELSE {_arc_sine('$1')} END"),
    ),
    fn("acosd", (t.FLOAT8,), t.FLOAT8, _inverse(_ARC_COSINE)),
    fn("atand", (t.FLOAT8,), t.FLOAT8, "(atan($1) / atan(1e0)) * 45e0"),
    fn("atan2d", (t.FLOAT8, t.FLOAT8), t.FLOAT8, "(atan2($1, $2) / atan(1e0)) * 45e0"),
)
