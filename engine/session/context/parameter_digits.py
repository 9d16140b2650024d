"""The digits of numeric parameters and the dimensions of array parameters: the types of a statement depend on them (ADR
1, ADR 6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from engine.common import sql_type as st
from engine.sql.binder.literals import dimensions_of, is_wide
from wire.types import pg_types as t

#: (precision, scale, dimensions) by the parameter's number.
Digits = Mapping[int, tuple[int, int, int]]


def digits_of(parameters: Sequence[t.PgType], arguments: Sequence[Any]) -> Digits:
    """Return the digits of numeric parameters, and the dimensions of array parameters. A value of another type has no
    digits.
    """
    found = {}
    for index, (pg, value) in enumerate(zip(parameters, arguments, strict=True), 1):
        values = _leaves(value) if pg.is_array else [value]
        decimals = [v for v in values if isinstance(v, Decimal)]
        dimensions = dimensions_of(value)
        if decimals or dimensions > 1:
            found[index] = (*(_widest(decimals) if decimals else (0, 0)), dimensions)
    return found


def _leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, list) else [value]


def _widest(values: Sequence[Decimal]) -> tuple[int, int]:
    if any(is_wide(v) for v in values):
        return st.WIDE_PRECISION, 0
    scale = max(max(0, -cast("int", v.as_tuple().exponent)) for v in values)
    whole = max(max(1, v.adjusted() + 1) for v in values)
    return min(st.MAX_PRECISION, whole + scale), min(scale, st.MAX_PRECISION)
