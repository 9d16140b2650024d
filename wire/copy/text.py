r"""PostgreSQL's text format: a backslash escapes the next byte, or gives it a special meaning (CopyReadAttributesText).

A backslash is itself escaped if an odd number of backslashes stands directly before it. An unescaped backslash is
followed by a letter of `bfnrtv`, by up to three octal digits, by `x` and up to two hexadecimal digits, or by a byte
that stands for itself, which may be a delimiter or a line end. `\.` alone on a line is the end of the data.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from wire.copy.block import Bytes1D, Marks, empty_ints, places
from wire.copy.options import Layout
from wire.types.byte_columns import Ints

_LETTERS: Final = {b"b": 8, b"f": 12, b"n": 10, b"r": 13, b"t": 9, b"v": 11}
_MEANS: Final = np.arange(256, dtype=np.uint8)
for _letter, _byte in _LETTERS.items():
    _MEANS[_letter[0]] = _byte
#: The value of a byte as a digit; 255 for a byte that is not a digit.
_HEX: Final = np.full(256, 255, np.int64)
_HEX[list(b"0123456789")] = range(10)
_HEX[list(b"abcdef")] = _HEX[list(b"ABCDEF")] = range(10, 16)


def marks(data: Bytes1D, layout: Layout) -> Marks:
    """Find the marks of bytes that begin with a row."""
    escapes = find_escapes(data)
    candidates = np.flatnonzero((data == layout.delimiter[0]) | (data == 10) | (data == 13))
    if len(escapes):
        taken = np.zeros(len(data) + 1, np.bool_)
        taken[escapes + 1] = True
        candidates = candidates[~taken[candidates]]
    ends = data[candidates] != layout.delimiter[0]
    whole = escapes[escapes + 1 < len(data)]
    drop, replaced, by = _meanings(data, whole)
    return Marks(candidates, ends, drop, replaced, by, empty_ints(), closed=len(whole) == len(escapes))


def find_escapes(data: Bytes1D) -> Ints:
    """Return the backslashes that are not themselves escaped."""
    found = places(data, b"\\")
    if not len(found):
        return found
    begins = np.concatenate(([True], np.diff(found) != 1))
    index = np.arange(len(found))
    first = index[begins][np.cumsum(begins) - 1]
    return np.asarray(found[(index - first) % 2 == 0])


def _meanings(data: Bytes1D, escapes: Ints) -> tuple[Ints, Ints, Bytes1D]:
    """Return the bytes of escapes to drop, those to replace, and the bytes that replace them."""
    if not len(escapes):
        return empty_ints(), empty_ints(), np.empty(0, np.uint8)
    # The three bytes after each escape; zeros, which are not digits, beyond the end of the data.
    behind = np.concatenate((data, np.zeros(3, np.uint8)))
    one, two, three = (behind[escapes + i] for i in (1, 2, 3))
    digits = [_HEX[byte] for byte in (one, two, three)]
    octal = [digit < 8 for digit in digits]
    is_hex = (one == ord("x")) & (digits[1] < 16)
    count = np.where(octal[0], 1 + octal[1] + (octal[1] & octal[2]), np.where(is_hex, 2 + (digits[2] < 16), 1))
    by = _MEANS[one].astype(np.int64)
    value = np.where(octal[0], digits[0], 0)
    for place in (1, 2):
        value = np.where(octal[0] & (count > place), value * 8 + digits[place], value)
    by = np.where(octal[0], value & 255, by)
    by = np.where(is_hex, np.where(count == 3, digits[1] * 16 + digits[2], digits[1]), by)
    # The last byte of an escape is kept and replaced by its meaning; the others are dropped.
    last = escapes + count
    drop = np.concatenate([escapes, *((escapes + i)[count > i] for i in (1, 2))])
    return drop, last, by.astype(np.uint8)
