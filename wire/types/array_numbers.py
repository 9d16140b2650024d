"""Long arrays of numbers in the text or binary format, read by kernels of Arrow and numpy instead of element by
element.

The arrays are read on another thread of the member, but each Python step holds the interpreter lock, so an array of a
million elements made all other clients wait. Input of any other form (blanks, quotes, nested arrays, numbers out of
range) is read, or refused, by the reader that takes one element at a time.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wire.types import pg_types as t

_BITS: Final = {t.INT2: 16, t.INT4: 32, t.INT8: 64}
_LAYOUTS: Final = {t.INT2: ">i2", t.INT4: ">i4", t.INT8: ">i8", t.FLOAT4: ">f4", t.FLOAT8: ">f8"}
_LONG_TEXT: Final = 1 << 12
_LONG_COUNT: Final = 64
_NULL: Final = "NULL"
_ITEM: Final = "(?:-?[0-9]{1,18}|NULL)"
_PLAIN: Final = rf"^\{{{_ITEM}(?:,{_ITEM})*\}}$"


def read_numbers(text: str, element: t.PgType) -> list[Any] | None:
    """Return the list that a long array literal of integers represents; None if the general reader must read it."""
    bits = _BITS.get(element)
    if bits is None or len(text) < _LONG_TEXT or not pc.match_substring_regex(text, _PLAIN).as_py():
        return None
    items = pc.split_pattern(pa.scalar(text[1:-1]), ",").values
    null = pc.equal(items, _NULL)
    numbers = pc.cast(pc.replace_with_mask(items, null, pa.scalar("0")), pa.int64()).to_numpy()
    if numbers.min() < -(1 << (bits - 1)) or numbers.max() >= 1 << (bits - 1):
        return None
    if not pc.any(null).as_py():
        return list(numbers.tolist())
    found = numbers.astype(object)
    found[null.to_numpy(zero_copy_only=False)] = None
    return list(found.tolist())


def receive_numbers(element: t.PgType, data: bytes, at: int, count: int) -> list[Any] | None:
    """Return the items of a long binary array of numbers without NULL; None if the general reader must read it. at: the
    offset of the first item.
    """
    layout = _LAYOUTS.get(element)
    if layout is None or count < _LONG_COUNT:
        return None
    item = np.dtype([("length", ">i4"), ("value", layout)])
    if len(data) - at != count * item.itemsize:
        return None
    items = np.frombuffer(data, item, offset=at)
    if not (items["length"] == item["value"].itemsize).all():
        return None
    return list(items["value"].tolist())
