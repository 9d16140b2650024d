"""hashtext: the hash that PostgreSQL's hash indexes compute for a text, which applications use to name advisory locks.

Source: PostgreSQL 15, hashfn.c (hash_bytes), which is Bob Jenkins' lookup3.
"""

from __future__ import annotations

import struct
from typing import Final

_MASK: Final = 0xFFFFFFFF
_BEGIN: Final = 0x9E3779B9 + 3923095
_BLOCK: Final = 12
_MIXING: Final = (4, 6, 8, 16, 19, 4)
_ENDING: Final = (14, 11, 25, 16, 4, 14, 24)


def _rotate(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (32 - bits))) & _MASK


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    for bits in _MIXING:
        a = ((a - c) & _MASK) ^ _rotate(c, bits)
        c = (c + b) & _MASK
        a, b, c = b, c, a
    return a, b, c


def _final(a: int, b: int, c: int) -> int:
    """Mix the three values. Each is changed by the one before it: c by b, a by c, b by a, and so on, ending with c."""
    one, before, other = c, b, a
    for bits in _ENDING:
        one = ((one ^ before) - _rotate(before, bits)) & _MASK
        one, before, other = other, one, before
    return before


def hash_text(text: str) -> int:
    """Return the hash as a signed 32-bit number."""
    data = text.encode()
    a = b = c = (_BEGIN + len(data)) & _MASK
    whole = len(data) - len(data) % _BLOCK
    for x, y, z in struct.iter_unpack("<III", data[:whole]):
        a, b, c = _mix((a + x) & _MASK, (b + y) & _MASK, (c + z) & _MASK)
    data = data[whole:]
    # The lowest byte of the third word is left free, because the length has been added there.
    x, y, z = struct.unpack("<III", data[:8].ljust(8, b"\0") + (b"\0" + data[8:]).ljust(4, b"\0"))
    found = _final((a + x) & _MASK, (b + y) & _MASK, (c + z) & _MASK)
    return found - (1 << 32) if found >> 31 else found
