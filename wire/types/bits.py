"""Bit strings, carried as text of 0 and 1. The order of these texts is that of bit_cmp: a prefix sorts before a longer
string that begins with it.

Source: PostgreSQL 15, varbit.c.
"""

from __future__ import annotations

import struct

from wire.errors import (
    InvalidBinaryRepresentation,
    InvalidTextRepresentation,
    StringDataLengthMismatch,
    StringDataRightTruncation,
)
from wire.types import pg_types as t


def read_bits(typ: t.PgType, text: str, typmod: int) -> str:
    """Read `101`, `b101` or `x5f`. Raises InvalidTextRepresentation, StringDataLengthMismatch,
    StringDataRightTruncation.
    """
    hexadecimal = text[:1] in ("x", "X")
    digits = text[1:] if hexadecimal or text[:1] in ("b", "B") else text
    allowed = "0123456789abcdefABCDEF" if hexadecimal else "01"
    for digit in digits:
        if digit not in allowed:
            kind = "hexadecimal" if hexadecimal else "binary"
            raise InvalidTextRepresentation(f'"{digit}" is not a valid {kind} digit')
    bits = "".join(f"{int(digit, 16):04b}" for digit in digits) if hexadecimal else digits
    return check_length(typ, bits, typmod)


def check_length(typ: t.PgType, bits: str, typmod: int) -> str:
    """Check a bit string against the length of its type modifier. Raises StringDataLengthMismatch,
    StringDataRightTruncation.
    """
    if typmod > 0 and typ is t.BIT and len(bits) != typmod:
        raise StringDataLengthMismatch(f"bit string length {len(bits)} does not match type bit({typmod})")
    if typmod > 0 and len(bits) > typmod:
        raise StringDataRightTruncation(f"bit string too long for type bit varying({typmod})")
    return bits


def fit_length(typ: t.PgType, bits: str, typmod: int) -> str:
    """Truncate a bit string, or fill it with zeros, as an explicit cast does."""
    if typmod <= 0:
        return bits
    return bits[:typmod].ljust(typmod, "0") if typ is t.BIT else bits[:typmod]


def send_bits(bits: str) -> bytes:
    size = (len(bits) + 7) // 8
    return struct.pack("!i", len(bits)) + int(bits.ljust(size * 8, "0") or "0", 2).to_bytes(size)


def receive_bits(data: bytes) -> str:
    """Read a bit string from the binary format. Raises InvalidBinaryRepresentation."""
    length = struct.unpack_from("!i", data)[0] if len(data) >= 4 else -1
    if length < 0 or len(data) != 4 + (length + 7) // 8:
        raise InvalidBinaryRepresentation("invalid length in external bit string")
    size = len(data) - 4
    return f"{int.from_bytes(data[4:]):0{size * 8}b}"[:length] if size else ""
