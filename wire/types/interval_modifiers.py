"""The type modifier of an interval: the fields that it keeps, and the number of decimals of its seconds.

The upper half of the modifier is a bit mask of fields; the lower half is the number of decimals (PostgreSQL 15,
timestamp.h and datetime.h: INTERVAL_TYPMOD, INTERVAL_MASK; timestamp.c: intervaltypmodin, intervaltypmodout).
"""

from __future__ import annotations

from typing import Final

#: Largest field first.
FIELD_BITS: Final = {
    "year": 1 << 2,
    "month": 1 << 1,
    "day": 1 << 3,
    "hour": 1 << 10,
    "minute": 1 << 11,
    "second": 1 << 12,
}
FULL_RANGE: Final = 0x7FFF
FULL_PRECISION: Final = 0xFFFF
_ORDER: Final = tuple(FIELD_BITS)


def span(fields: str) -> int:
    """Return the bits of `day to second`, or of one field."""
    first, _, last = fields.partition(" to ")
    return sum(FIELD_BITS[name] for name in _ORDER[_ORDER.index(first) : _ORDER.index(last or first) + 1])


#: The combinations of fields that SQL can express, by their bits.
SPANS: Final = {
    span(fields): fields
    for fields in (
        *_ORDER, "year to month", "day to hour", "day to minute", "day to second", "hour to minute", "hour to second",
        "minute to second",
    )
}  # fmt: skip


def interval_typmod(fields: str = "", precision: int | None = None) -> int:
    """Return the modifier of `interval day to second(3)`; -1 if neither fields nor decimals are given."""
    if not fields and precision is None:
        return -1
    return (span(fields) if fields else FULL_RANGE) << 16 | (FULL_PRECISION if precision is None else precision)


def modifier_text(typmod: int) -> str:
    """Return the text after `interval` for a modifier that is not -1."""
    bits, precision = (typmod >> 16) & FULL_RANGE, typmod & FULL_PRECISION
    fields = "" if bits == FULL_RANGE else f" {SPANS[bits]}"
    return fields if precision == FULL_PRECISION else f"{fields}({precision})"
