"""Ranges, carried as their canonical text: bounds as PostgreSQL prints them in ISO style and UTC, quoted where
necessary. For discrete types the lower bound is inclusive and the upper bound exclusive.

Two ranges of a discrete type, or of timestamps, are equal exactly if their texts are. Ranges of numerics are not:
`[1.0,2)` keeps its digits. The texts do not sort as ranges do.

Source: PostgreSQL 15, rangetypes.c (range_parse, range_deparse, make_range, int4range_canonical, range_send).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from wire.dataclass import dataclass
from wire.errors import (
    DataException,
    FeatureNotSupported,
    InvalidBinaryRepresentation,
    InvalidTextRepresentation,
    NumericValueOutOfRange,
)
from wire.types import pg_types as t

#: Range types by the type of their bounds.
SUBTYPES: Final = {
    t.INT4RANGE: t.INT4, t.INT8RANGE: t.INT8, t.NUMRANGE: t.NUMERIC, t.TSRANGE: t.TIMESTAMP, t.TSTZRANGE: t.TIMESTAMPTZ,
    t.DATERANGE: t.DATE,
}  # fmt: skip
_DISCRETE: Final = {t.INT4: 1 << 31, t.INT8: 1 << 63, t.DATE: (1 << 31) - 1}
_INFINITE_DATES: Final = (2**31 - 1, -(2**31))
_QUOTED: Final = frozenset('"\\()[], \t\n\r\v\f')
_EMPTY, _LOWER_IN, _UPPER_IN, _NO_LOWER, _NO_UPPER = 1, 2, 4, 8, 16


@dataclass(frozen=True, slots=True)
class Range:
    """A range. lower, upper: canonical values of the subtype, or texts; None where there is no bound."""

    lower: Any = None
    upper: Any = None
    lower_in: bool = False
    upper_in: bool = False
    empty: bool = False


def _malformed_literal(text: str, detail: str) -> InvalidTextRepresentation:
    return InvalidTextRepresentation(f'malformed range literal: "{text}"', detail=detail)


def parse_bounds(text: str) -> Range:
    """Return the range with its bounds as texts. Raises InvalidTextRepresentation."""
    body = text.strip(" \t\n\r\v\f")
    if body.lower() == "empty":
        return Range(empty=True)
    if body[:5].lower() == "empty":
        raise _malformed_literal(text, 'Junk after "empty" key word.')
    if body[:1] not in ("[", "("):
        raise _malformed_literal(text, "Missing left parenthesis or bracket.")
    lower, at = _bound(text, body, 1)
    if body[at] != ",":
        raise _malformed_literal(text, "Missing comma after lower bound.")
    upper, at = _bound(text, body, at + 1)
    if body[at] == ",":
        raise _malformed_literal(text, "Too many commas.")
    if at + 1 != len(body):
        raise _malformed_literal(text, "Junk after right parenthesis or bracket.")
    return Range(lower, upper, body[0] == "[" and lower is not None, body[at] == "]" and upper is not None)


def _bound(text: str, body: str, at: int) -> tuple[str | None, int]:
    """Read a bound. Returns it, and the position where it ends."""
    found: list[str] = []
    quotes = said = False
    while at < len(body):
        character = body[at]
        if character == "\\":
            at += 1
            if at == len(body):
                break
            found.append(body[at])
            said = True
        elif character == '"':
            if quotes and body[at + 1 : at + 2] == '"':
                found.append('"')
                at += 1
            else:
                quotes = not quotes
            said = True
        elif not quotes and character in ",)]":
            return ("".join(found) if said else None), at
        else:
            found.append(character)
            said = True
        at += 1
    raise _malformed_literal(text, "Unexpected end of input.")


def read_range(typ: t.PgType, text: str, read: Callable[[t.PgType, str], Any], write: Write) -> str:
    """Return the canonical text. read, write: read and write a bound. Raises the errors of `read`,
    InvalidTextRepresentation, DataException.
    """
    subtype = SUBTYPES[typ]
    return write_range(canonical(subtype, with_bounds(subtype, text, read)), subtype, write)


def with_bounds(subtype: t.PgType, text: str, read: Callable[[t.PgType, str], Any]) -> Range:
    """Parse a range and read its bounds. Raises the errors of `read`, InvalidTextRepresentation."""
    found = parse_bounds(text)
    lower, upper = (None if bound is None else read(subtype, bound) for bound in (found.lower, found.upper))
    return replace(found, lower=lower, upper=upper)


def canonical(subtype: t.PgType, given: Range) -> Range:
    """Return the canonical form of a range. Raises DataException (22000), NumericValueOutOfRange, FeatureNotSupported."""
    for bound in (given.lower, given.upper):
        if isinstance(bound, Decimal) and not bound.is_finite():
            raise FeatureNotSupported(f"not supported: {bound} as a bound of a range")
    if given.empty or _is_empty(given):
        return Range(empty=True)
    if subtype not in _DISCRETE:
        return given
    made = given
    if _moves(subtype, given.lower) and not given.lower_in:
        made = replace(made, lower=_next(subtype, given.lower), lower_in=True)
    if _moves(subtype, given.upper) and given.upper_in:
        made = replace(made, upper=_next(subtype, given.upper), upper_in=False)
    return Range(empty=True) if _is_empty(made) else made


def _is_empty(given: Range) -> bool:
    if given.lower is None or given.upper is None:
        return False
    if given.lower > given.upper:
        raise DataException("range lower bound must be less than or equal to range upper bound")
    return bool(given.lower == given.upper and not (given.lower_in and given.upper_in))


def _moves(subtype: t.PgType, bound: int | None) -> bool:
    """Return whether a bound is finite, so that its type has a next value."""
    return bound is not None and not (subtype is t.DATE and bound in _INFINITE_DATES)


def _next(subtype: t.PgType, value: int) -> int:
    if value + 1 >= _DISCRETE[subtype]:
        raise NumericValueOutOfRange(f"{subtype.sql_name if subtype is not t.INT8 else 'bigint'} out of range")
    return value + 1


Write = Callable[[t.PgType, Any], str]


def write_range(given: Range, subtype: t.PgType, write: Write) -> str:
    """Write a range as range_out does. write: returns a bound's text."""
    if given.empty:
        return "empty"
    lower, upper = ("" if b is None else _quote_bound(write(subtype, b)) for b in (given.lower, given.upper))
    return f"{'[' if given.lower_in else '('}{lower},{upper}{']' if given.upper_in else ')'}"


def _quote_bound(text: str) -> str:
    if text and not _QUOTED & set(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '""') + '"'


def rewrite_bounds(typ: t.PgType, text: str, read: Callable[[t.PgType, str], Any], write: Write) -> str:
    """Return a canonical text with its bounds written in other styles."""
    subtype = SUBTYPES[typ]
    return write_range(with_bounds(subtype, text, read), subtype, write)


def send_range(typ: t.PgType, text: str, send: Callable[[t.PgType, str], bytes]) -> bytes:
    """Return the binary format of a range. send: returns a bound's bytes, from its text."""
    found, subtype = parse_bounds(text), SUBTYPES[typ]
    if found.empty:
        return bytes((_EMPTY,))
    flags = _LOWER_IN * found.lower_in | _UPPER_IN * found.upper_in
    flags |= _NO_LOWER * (found.lower is None) | _NO_UPPER * (found.upper is None)
    bounds = [send(subtype, bound) for bound in (found.lower, found.upper) if bound is not None]
    return bytes((flags,)) + b"".join(struct.pack("!i", len(bound)) + bound for bound in bounds)


def receive_range(typ: t.PgType, data: bytes, receive: Callable[[t.PgType, bytes], Any], write: Write) -> str:
    """Return the canonical text of a binary value. Raises InvalidBinaryRepresentation, the errors of `receive`,
    DataException.
    """
    subtype = SUBTYPES[typ]
    return write_range(decode_range(subtype, data, receive), subtype, write)


def decode_range(subtype: t.PgType, data: bytes, receive: Callable[[t.PgType, bytes], Any]) -> Range:
    """Return the canonical range of a binary value. Raises InvalidBinaryRepresentation, the errors of `receive`,
    DataException.
    """
    flags, at = data[0] if data else -1, 1
    if flags < 0:
        raise InvalidBinaryRepresentation("insufficient data left in message")
    if flags & _EMPTY:
        return Range(empty=True)
    bounds: list[Any] = []
    for absent in (_NO_LOWER, _NO_UPPER):
        if flags & absent:
            bounds.append(None)
            continue
        size = struct.unpack_from("!i", data, at)[0] if len(data) >= at + 4 else -1
        if size < 0 or at + 4 + size > len(data):
            raise InvalidBinaryRepresentation("insufficient data left in message")
        bounds.append(receive(subtype, data[at + 4 : at + 4 + size]))
        at += 4 + size
    if at != len(data):
        raise InvalidBinaryRepresentation("incorrect binary data format")
    lower, upper = bounds
    lower_in, upper_in = lower is not None and bool(flags & _LOWER_IN), upper is not None and bool(flags & _UPPER_IN)
    return canonical(subtype, Range(lower, upper, lower_in, upper_in))
