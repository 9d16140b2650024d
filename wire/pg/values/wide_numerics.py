"""The binary format of numerics that no Arrow decimal holds (NaN, the infinities, numbers with more digits), a value at
a time.

`wire.pg.values.binary` writes columns of decimals. Source: PostgreSQL 15, numeric.c (numeric_send, NUMERIC_NAN,
NUMERIC_PINF, NUMERIC_NINF).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

_NEGATIVE: Final = 0x4000
_GROUP: Final = 4
#: Special values by the sign word in the header.
SPECIAL_VALUES: Final[Mapping[int, Decimal]] = {
    0xC000: Decimal("NaN"),
    0xD000: Decimal("Infinity"),
    0xF000: Decimal("-Infinity"),
}
#: The display scale with which PostgreSQL sends the infinities and NaN.
_SPECIAL_SCALES: Final[Mapping[int, int]] = {0xC000: 0, 0xD000: 0x20, 0xF000: 0x20}


def send_numeric(value: Decimal) -> bytes:
    """Return the header (number of groups, weight of the first, sign, display scale) and the groups of four digits."""
    if not value.is_finite():
        word = 0xC000 if value.is_nan() else 0xF000 if value.is_signed() else 0xD000
        return struct.pack("!HhHH", 0, 0, word, _SPECIAL_SCALES[word])
    whole, _, fraction = format(value.copy_abs(), "f").partition(".")
    padded = whole.rjust(-(-len(whole) // _GROUP) * _GROUP, "0") + fraction.ljust(
        -(-len(fraction) // _GROUP) * _GROUP, "0"
    )
    groups = [int(padded[at : at + _GROUP]) for at in range(0, len(padded), _GROUP)]
    weight = -(-len(whole) // _GROUP) - 1
    first = next((at for at, group in enumerate(groups) if group), len(groups))
    last = next((at + 1 for at in range(len(groups) - 1, -1, -1) if groups[at]), first)
    kept = groups[first:last]
    sign = _NEGATIVE if value.is_signed() and kept else 0
    return struct.pack(f"!HhHH{len(kept)}H", len(kept), weight - first if kept else 0, sign, len(fraction), *kept)
