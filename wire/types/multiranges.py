"""Multiranges, carried as their canonical text: non-empty ranges as `wire.types.ranges` keeps them, in order, with gaps
between them.

Two multiranges are equal exactly if their texts are, except those of numerics. As with ranges, the texts do not sort as
the values do.

Source: PostgreSQL 15, multirangetypes.c (multirange_in, multirange_out, multirange_recv, multirange_send).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from wire.errors import InvalidBinaryRepresentation, InvalidTextRepresentation
from wire.types import pg_types as t
from wire.types.range_ops import normalize_ranges
from wire.types.ranges import (
    SUBTYPES,
    Range,
    Write,
    canonical,
    decode_range,
    rewrite_bounds,
    send_range,
    with_bounds,
    write_range,
)

#: The range type of each multirange type.
RANGES: Final = {
    t.INT4MULTIRANGE: t.INT4RANGE, t.INT8MULTIRANGE: t.INT8RANGE, t.NUMMULTIRANGE: t.NUMRANGE, t.TSMULTIRANGE: t.TSRANGE,
    t.TSTZMULTIRANGE: t.TSTZRANGE, t.DATEMULTIRANGE: t.DATERANGE,
}  # fmt: skip
MULTIRANGES: Final = {range_: multirange for multirange, range_ in RANGES.items()}
_BLANK: Final = " \t\n\r\v\f"
_EMPTY: Final = "empty"
#: A range from its first character to its last. Quoted or escaped characters do not end it; blanks between ranges are
#: skipped.
_ESCAPED: Final = rf"\\[{_BLANK}]*[^{_BLANK}]"
_RANGE: Final = re.compile(rf"""[\[(](?:[^"\\\])]|{_ESCAPED}|"(?:[^"\\]|""|{_ESCAPED})*+")*+[\])]""")


def subtype_of(typ: t.PgType) -> t.PgType:
    """Return the type of a multirange's bounds."""
    return SUBTYPES[RANGES[typ]]


def pieces(text: str) -> Iterator[str]:
    """Yield the texts of the ranges, except for empty ones. Raises InvalidTextRepresentation when it comes to an
    invalid one.
    """

    def malformed_literal(detail: str) -> InvalidTextRepresentation:
        return InvalidTextRepresentation(f'malformed multirange literal: "{text}"', detail=detail)

    at, first = _past_blanks(text, 0), True
    if text[at : at + 1] != "{":
        raise malformed_literal("Missing left brace.")
    while True:
        at = _past_blanks(text, at + 1)
        if first and text[at : at + 1] == "}":
            break
        if at < len(text) and text[at] in "[(":
            found = _RANGE.match(text, at)
            if found is None:
                raise malformed_literal("Unexpected end of input.")
            yield found[0]
            at = found.end()
        elif text[at : at + len(_EMPTY)].lower() == _EMPTY:
            at += len(_EMPTY)
        else:
            raise malformed_literal("Expected range start." if at < len(text) else "Unexpected end of input.")
        first, at = False, _past_blanks(text, at)
        if text[at : at + 1] == "}":
            break
        if text[at : at + 1] != ",":
            raise malformed_literal(
                "Expected comma or end of multirange." if at < len(text) else "Unexpected end of input."
            )
    if _past_blanks(text, at + 1) < len(text):
        raise malformed_literal("Junk after closing right brace.")


def _past_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def all_written(ranges: Iterable[Range], subtype: t.PgType, write: Write) -> str:
    """Write a multirange as multirange_out does, from ranges as `normalize_ranges` gives them."""
    return "{" + ",".join(write_range(range_, subtype, write) for range_ in ranges) + "}"


def read_multirange(typ: t.PgType, text: str, read: Callable[[t.PgType, str], Any], write: Write) -> str:
    """Return the canonical text. read, write: read and write a bound. Raises the errors of `read`,
    InvalidTextRepresentation, DataException.
    """
    subtype = subtype_of(typ)
    found = [canonical(subtype, with_bounds(subtype, piece, read)) for piece in pieces(text)]
    return all_written(normalize_ranges(found), subtype, write)


def all_rewritten(typ: t.PgType, text: str, read: Callable[[t.PgType, str], Any], write: Write) -> str:
    """Return a canonical text with its bounds written in other styles."""
    return "{" + ",".join(rewrite_bounds(RANGES[typ], piece, read, write) for piece in pieces(text)) + "}"


def send_multirange(typ: t.PgType, text: str, send: Callable[[t.PgType, str], bytes]) -> bytes:
    """Return the binary format of a multirange. send: returns a bound's bytes, from its text."""
    sent = [send_range(RANGES[typ], piece, send) for piece in pieces(text)]
    return struct.pack("!i", len(sent)) + b"".join(struct.pack("!i", len(data)) + data for data in sent)


def receive_multirange(typ: t.PgType, data: bytes, receive: Callable[[t.PgType, bytes], Any], write: Write) -> str:
    """Return the canonical text of a binary value. Raises InvalidBinaryRepresentation, the errors of `receive`,
    DataException.
    """
    subtype, found, at = subtype_of(typ), list[Range](), 4
    for _ in range(_number(data, 0)):
        size = _number(data, at)
        if at + 4 + size > len(data):
            raise InvalidBinaryRepresentation("insufficient data left in message")
        found.append(decode_range(subtype, data[at + 4 : at + 4 + size], receive))
        at += 4 + size
    if at != len(data):
        raise InvalidBinaryRepresentation("incorrect binary data format")
    return all_written(normalize_ranges(found), subtype, write)


def _number(data: bytes, at: int) -> int:
    if at + 4 > len(data):
        raise InvalidBinaryRepresentation("insufficient data left in message")
    return int(struct.unpack_from("!I", data, at)[0])
