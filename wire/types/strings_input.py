"""Text to the string types, bytea and uuid, by the rules of PostgreSQL 15's input functions.

`wire.types.input` chooses among the readers by type.

Sources: PostgreSQL 15 documentation 8.3, 8.4, 8.12; behaviour compared with a real server
(tests/unit/wire/test_values_*.py).
"""

from __future__ import annotations

import re
import string
from typing import Final

from wire.errors import (
    CharacterNotInRepertoire,
    FeatureNotSupported,
    InvalidParameterValue,
    InvalidTextRepresentation,
    StringDataRightTruncation,
)
from wire.types import pg_types as t
from wire.types.numbers_input import invalid

NAME_BYTES_MAX: Final = 63

_UUID: Final = re.compile(r"(?:[0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4}")
_HEX_BYTEA: Final = re.compile(r"(?:[0-9a-fA-F]{2}|[ \n\t\r])*")
_ESCAPE_BYTEA: Final = re.compile(rb"(?:[^\\]|\\\\|\\[0-3][0-7][0-7])*", re.DOTALL)
_OCTAL: Final = re.compile(r"\\[0-7]{3}")
_ESCAPE: Final = re.compile(rb"\\(?:\\|([0-3][0-7][0-7]))")


def read_string(typ: t.PgType, text: str, typmod: int = -1) -> str:
    """Read a text, varchar, bpchar, name, "char" or unknown.

    A text longer than varchar(n) or char(n) is 22001 unless only blanks are lost; char(n) is padded to its length.
    """
    if "\0" in text:
        raise CharacterNotInRepertoire('invalid byte sequence for encoding "UTF8": 0x00')
    if typ is t.VARCHAR and typmod != -1:
        return _cut(typ, text, typmod)
    if typ is t.BPCHAR and typmod != -1:
        return _cut(typ, text, typmod).ljust(typmod - 4)
    if typ is t.NAME:
        return text.encode()[:NAME_BYTES_MAX].decode(errors="ignore")
    if typ is t.CHAR:
        return _one_byte(text)
    return text


def _cut(typ: t.PgType, text: str, typmod: int) -> str:
    limit = typmod - 4
    if text[limit:].strip(" "):
        raise StringDataRightTruncation(f"value too long for type {t.format_type(typ, typmod)}")
    return text[:limit]


def _one_byte(text: str) -> str:
    """Read a "char". It holds one byte, which may be written as its octal digits (charin). Here it is carried as text,
    so the byte must be a whole character.
    """
    if _OCTAL.fullmatch(text):
        text = chr(int(text[1:], 8) & 0xFF)
    if text and ord(text[0]) > 0x7F:
        raise FeatureNotSupported('not supported: "char" outside ASCII')
    return "" if text[:1] == "\0" else text[:1]


def read_bytea(text: str) -> bytes:
    r"""Read a bytea in hex (`\x0aff`) or escape (`a\000b`) format."""
    if text.startswith("\\x"):
        return _hex_bytes(text[2:])
    raw = text.encode()
    if not _ESCAPE_BYTEA.fullmatch(raw):
        raise InvalidTextRepresentation("invalid input syntax for type bytea")
    return _ESCAPE.sub(lambda m: bytes([int(m[1], 8)]) if m[1] else b"\\", raw)


def _hex_bytes(digits: str) -> bytes:
    if _HEX_BYTEA.fullmatch(digits):
        return bytes.fromhex(digits)
    at = 0
    while at < len(digits):
        if digits[at] in " \n\t\r":
            at += 1
            continue
        for character in digits[at : at + 2]:
            if character not in string.hexdigits:
                raise InvalidParameterValue(f'invalid hexadecimal digit: "{character}"')
        at += 2
    raise InvalidParameterValue("invalid hexadecimal data: odd number of digits")


def read_uuid(text: str) -> str:
    """Read a uuid: 32 hexadecimal digits, hyphens after any group of four, braces around. Returns the canonical 36
    characters.
    """
    inner = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    if not _UUID.fullmatch(inner):
        raise invalid("uuid", text)
    digits = inner.replace("-", "").lower()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def read_void(_text: str) -> None:
    """Return None: void has no values, and its input function accepts anything (PostgreSQL: void_in)."""
