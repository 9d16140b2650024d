"""Digits of numeric parameters: a statement's types depend on how many a value has before and after its point (ADR 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from engine.common import sql_type as st
from wire.types import pg_types as t

#: (precision, scale) by the number of the parameter.
Digits = Mapping[int, tuple[int, int]]


def digits_of(parameters: Sequence[t.PgType], arguments: Sequence[Any]) -> Digits:
    """(precision, scale) of the numeric parameters whose values are known now."""
    found = {}
    for index, (pg, value) in enumerate(zip(parameters, arguments, strict=True), 1):
        values = _leaves(value) if pg.is_array else [value]
        decimals = [v for v in values if isinstance(v, Decimal) and v.is_finite()]
        if decimals:
            found[index] = _widest(decimals)
    return found


def _leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, list) else [value]


def _widest(values: Sequence[Decimal]) -> tuple[int, int]:
    scale = max(max(0, -cast("int", v.as_tuple().exponent)) for v in values)
    whole = max(max(1, v.adjusted() + 1) for v in values)
    return min(st.MAX_PRECISION, whole + scale), min(scale, st.MAX_PRECISION)
