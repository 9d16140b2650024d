"""The offsets of objects and arrays in PostgreSQL's binary form of a jsonb. jsonpath's keyvalue() returns them as a
part of its ids.

A container consists of a header, an entry of four bytes for each element (for each key and each value of an object),
and then the contents: the keys and then the values of an object, or the elements of an array. Texts follow one another
without padding, numbers and containers are aligned to four bytes, and null and booleans take no space. A number is a
numeric, preceded by its length.

Source: PostgreSQL 15, jsonb.h, jsonb_util.c (convertJsonbValue), numeric.c (make_result).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from engine.executors.local import numeric_arithmetic
from engine.executors.local.json_documents import Number

_WORD: Final = 4
#: Bytes of a numeric before its digits, which take two bytes each: the length, and the short or the long header.
_SHORT, _LONG = 6, 8
_SHORT_SCALE_MAX, _SHORT_WEIGHT_FIRST, _SHORT_WEIGHT_END = 63, -64, 64


def offsets(document: Any) -> dict[int, int]:
    """Return the offset of each dict and list from the outermost one, by the object's id()."""
    found: dict[int, int] = {}
    _place_value(document, 0, found)
    return found


def _place_value(value: Any, at: int, found: dict[int, int]) -> int:
    """Return the offset at which `value` ends if it is placed at `at`."""
    if isinstance(value, dict | list):
        at = _align(at)
        found[id(value)] = at
        items: list[Any] = value if isinstance(value, list) else [*value.keys(), *value.values()]
        at += _WORD + _WORD * len(items)
        for item in items:
            at = _place_value(item, at, found)
        return at
    if isinstance(value, Number):
        return _align(at) + _numeric_bytes(Decimal(value))
    return at + len(value.encode()) if isinstance(value, str) else at


def _align(at: int) -> int:
    return -(-at // _WORD) * _WORD


def _numeric_bytes(value: Decimal) -> int:
    weight, _first, count = numeric_arithmetic.groups(value) if value else (0, 0, 0)
    short = numeric_arithmetic.scale_of(value) <= _SHORT_SCALE_MAX and _SHORT_WEIGHT_FIRST <= weight < _SHORT_WEIGHT_END
    return (_SHORT if short else _LONG) + 2 * count
