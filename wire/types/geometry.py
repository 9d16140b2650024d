"""Geometric types, carried as the text that PostgreSQL prints. They have no order, and the engines do not compute with
them.

Source: PostgreSQL 15, geo_ops.c; behaviour compared with a real server.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from functools import cache
from typing import Final

import pyarrow as pa

from wire.errors import InvalidBinaryRepresentation, InvalidTextRepresentation
from wire.types import pg_types as t
from wire.types.numbers_input import invalid, read_float
from wire.types.output_numbers import float_text

_DIGITS: Final = r"[+-]?(?:\d++\.?\d*+(?:[eE][+-]?\d++)?|\.\d++(?:[eE][+-]?\d++)?|inf(?:inity)?|nan)"
#: Matched atomically, whatever follows: no number is read as two numbers, and blanks are skipped once.
_NUMBER: Final = rf"(?>\s*+{_DIGITS}\s*+)"
_POINT: Final = rf"(?:\s*+\({_NUMBER},{_NUMBER}\)\s*+|{_NUMBER},{_NUMBER})"
_POINTS: Final = rf"{_POINT}(?:,{_POINT})*"
_FORMS: Final = {
    "point": _POINT,
    "pair": rf"\s*+(?:\({_POINT},?{_POINT}\)|{_POINT},?{_POINT})\s*+",
    "segment": rf"\s*+(?:\[{_POINT},?{_POINT}\]|\({_POINT},?{_POINT}\)|{_POINT},?{_POINT})\s*+",
    "path": rf"\s*+(?:\[{_POINTS}\]|\({_POINTS}\)|{_POINTS})\s*+",
    "polygon": rf"\s*+(?:\({_POINTS}\)|{_POINTS})\s*+",
    "line": rf"\s*+{{{_NUMBER},{_NUMBER},{_NUMBER}}}\s*+",
    "circle": rf"\s*+(?:<{_POINT},?{_NUMBER}>|\({_POINT},?{_NUMBER}\)|{_POINT},?{_NUMBER})\s*+",
}
_FORM: Final = {
    t.POINT: "point", t.LSEG: "segment", t.BOX: "pair", t.PATH: "path", t.POLYGON: "polygon", t.LINE: "line",
    t.CIRCLE: "circle",
}  # fmt: skip
_FLOAT: Final = re.compile(_DIGITS, re.IGNORECASE | re.ASCII)


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Compile a pattern when the first value of its kind is read, since the patterns are long."""
    return re.compile(_FORMS[form], re.IGNORECASE | re.ASCII)


def read_geometry(typ: t.PgType, text: str) -> str:
    """Read a value from its text. Raises InvalidTextRepresentation."""
    form = _FORM[typ]
    if not _pattern(form).fullmatch(text):
        if typ is t.LINE and _pattern("segment").fullmatch(text):
            return _text(typ, _through(numbers(text)))
        raise invalid(typ.name, text)
    found = numbers(text)
    if typ is t.LINE and found[0] == 0 and found[1] == 0:
        raise InvalidTextRepresentation("invalid line specification: A and B cannot both be zero")
    if typ is t.CIRCLE and found[2] < 0:
        raise invalid(typ.name, text)
    return _text(typ, found, closed=not text.lstrip().startswith("["))


def numbers(text: str) -> list[float]:
    """Return the numbers of a value, in order. Raises NumericValueOutOfRange."""
    return [read_float(t.FLOAT8, number) for number in _FLOAT.findall(text)]


def _through(ends: Sequence[float]) -> list[float]:
    """Return the line through two points (line_construct). Raises InvalidTextRepresentation."""
    x1, y1, x2, y2 = ends
    if (x1, y1) == (x2, y2):
        raise InvalidTextRepresentation("invalid line specification: must be two distinct points")
    if x1 == x2:
        return [-1.0, 0.0, x1]
    if y1 == y2:
        return [0.0, -1.0, y1]
    slope = (y1 - y2) / (x1 - x2)
    return [slope, -1.0, y1 - slope * x1 or 0.0]


def _text(typ: t.PgType, values: Sequence[float], *, closed: bool = True) -> str:
    if typ is t.BOX:
        x1, y1, x2, y2 = values
        values = (max(x1, x2), max(y1, y2), min(x1, x2), min(y1, y2))
    shown = [text.decode() for text in float_text(pa.array(values, pa.float64()), 1).join().to_pylist()]
    if typ is t.LINE:
        return "{" + ",".join(shown) + "}"
    points = ",".join(f"({x},{y})" for x, y in zip(shown[::2], shown[1::2], strict=False))
    if typ is t.CIRCLE:
        return f"<{points},{shown[2]}>"
    if typ is t.LSEG or (typ is t.PATH and not closed):
        return f"[{points}]"
    return points if typ in (t.POINT, t.BOX) else f"({points})"


def send_geometry(typ: t.PgType, text: str) -> bytes:
    values = numbers(text)
    packed = struct.pack(f"!{len(values)}d", *values)
    if typ is t.PATH:
        return struct.pack("!bi", not text.startswith("["), len(values) // 2) + packed
    return struct.pack("!i", len(values) // 2) + packed if typ is t.POLYGON else packed


_WIDTH: Final = {t.POINT: 2, t.LSEG: 4, t.BOX: 4, t.LINE: 3, t.CIRCLE: 3}


def receive_geometry(typ: t.PgType, data: bytes) -> str:
    """Read a value from the binary format. Raises InvalidBinaryRepresentation."""
    start = 5 if typ is t.PATH else 4 if typ is t.POLYGON else 0
    if len(data) < start:
        raise InvalidBinaryRepresentation("insufficient data left in message")
    width = _WIDTH.get(typ)
    if width is None:
        width = struct.unpack_from("!i", data, start - 4)[0] * 2
    if width <= 0:
        raise InvalidBinaryRepresentation(f'invalid number of points in external "{typ.name}" value')
    if len(data) != start + width * 8:
        raise InvalidBinaryRepresentation("incorrect binary data format")
    values = struct.unpack_from(f"!{width}d", data, start)
    if typ is t.CIRCLE and values[2] < 0:
        raise InvalidBinaryRepresentation('invalid radius in external "circle" value')
    if typ is t.LINE and values[0] == 0 and values[1] == 0:
        raise InvalidBinaryRepresentation("invalid line specification: A and B cannot both be zero")
    return _text(typ, values, closed=typ is not t.PATH or data[0] != 0)
