"""`sluice_exp`, `sluice_ln`, `sluice_log`, `sluice_power` of numerics by PostgreSQL's rules, for the local engine.

`engine.sql.functions.exact_powers` computes each *distinct* value of a batch once and caches the most recent ones; rows
only look them up. For floats the engines' own functions are used (`engine.sql.functions.math`).

The functions take the operands as texts, and three constants: the number of fractional digits that the operands' types
show, bits for operands whose values determine it (`engine.sql.functions.math`), and the scale of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from engine.executors.local.udf import arrow_function
from engine.sql.functions.exact_powers import (
    Exact,
    exponential,
    given_digits,
    logarithm,
    natural,
    power,
    quotient_digits,
    round_value,
)

_REMEMBERED: Final = 65_536


@lru_cache(_REMEMBERED)
def _compute_rounded(compute: Callable[..., Exact], texts: tuple[str, ...], minimum: int, scale: int) -> str:
    value, digits = compute(*map(Decimal, texts), minimum)
    return round_value(value, digits, scale)


def _count_shown(texts: tuple[str, ...], minimum: int, kinds: int) -> int:
    """Return the number of fractional digits that the operands show. Bits 1 and 2 of `kinds` mark operands that are
    quotients, 4 and 8 operands whose values decide.
    """
    shown = [minimum]
    for place, text in enumerate(texts):
        if kinds & 1 << place:
            shown.append(quotient_digits(Decimal(text)))
        elif kinds & 4 << place:
            shown.append(given_digits(Decimal(text)))
    return max(shown)


def _distinct(texts: Any, compute: Callable[[str], str]) -> Any:
    """Apply `compute` to every text, calling it once for each distinct one."""
    encoded = pc.dictionary_encode(texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts)
    return pa.array([compute(text) for text in encoded.dictionary.to_pylist()], pa.utf8()).take(encoded.indices)


def _compute_distinct(compute: Callable[..., Exact], operands: Any, minima: Any, kinds: Any, scales: Any) -> Any:
    """Compute a function of texts once for each distinct row. operands: the operands of each row, joined by a blank."""
    if len(operands) == 0:
        return pa.array([], pa.utf8())
    minimum, kind, scale = (c[0].as_py() for c in (minima, kinds, scales))

    def of_texts(joined: str) -> str:
        texts = tuple(joined.split(" "))
        return _compute_rounded(compute, texts, _count_shown(texts, minimum, kind), scale)

    return _distinct(operands, of_texts)


def _of_one(compute: Callable[..., Exact]) -> Callable[..., Any]:
    return lambda values, minima, kinds, scales: _compute_distinct(compute, values, minima, kinds, scales)


def _of_two(compute: Callable[..., Exact]) -> Callable[..., Any]:
    def compute_vector(first: Any, second: Any, minima: Any, kinds: Any, scales: Any) -> Any:
        return _compute_distinct(compute, pc.binary_join_element_wise(first, second, " "), minima, kinds, scales)

    return compute_vector


_ONE: Final = ["VARCHAR", "INTEGER", "INTEGER", "INTEGER"]
_TWO: Final = ["VARCHAR", "VARCHAR", "INTEGER", "INTEGER", "INTEGER"]
arrow_function("sluice_exp", _ONE, "VARCHAR")(_of_one(exponential))
arrow_function("sluice_ln", _ONE, "VARCHAR")(_of_one(natural))
arrow_function("sluice_log", _TWO, "VARCHAR")(_of_two(logarithm))
arrow_function("sluice_power", _TWO, "VARCHAR")(_of_two(power))
