"""Client encodings: PostgreSQL's names and the Python codecs that implement them.

Used by `wire.pg.messages` for every string of the protocol. SQL_ASCII promises nothing about bytes above 127: PostgreSQL
passes them through, and here they are taken as UTF-8, the server's encoding.

Source: PostgreSQL 15, 24.3 "Character Set Support".
"""

from __future__ import annotations

import re
from typing import Final

from wire.errors import CharacterNotInRepertoire, UntranslatableCharacter

_CODECS: Final = {
    "utf8": "utf-8",
    "unicode": "utf-8",
    "sqlascii": "utf-8",
    "latin1": "iso8859-1",
    "iso88591": "iso8859-1",
}
_NAMES: Final = {"utf-8": "UTF8", "iso8859-1": "LATIN1"}


def codec(encoding: str) -> str:
    """The Python codec for a value of `client_encoding`; PostgreSQL ignores case and punctuation in it (encnames.c).

    Raises KeyError for one that is not supported.
    """
    return _CODECS[re.sub(r"[^a-z0-9]", "", encoding.lower())]


def decode(data: bytes, codec_name: str) -> str:
    """Text that a client sent. Raises CharacterNotInRepertoire, with the offending bytes as PostgreSQL names them."""
    try:
        return data.decode(codec_name)
    except UnicodeDecodeError as error:
        shown = " ".join(f"0x{byte:02x}" for byte in data[error.start : max(error.end, error.start + 1)])
        raise CharacterNotInRepertoire(f'invalid byte sequence for encoding "{_NAMES[codec_name]}": {shown}') from None


def encode(text: str, codec_name: str) -> bytes:
    """Text for a client. Raises UntranslatableCharacter."""
    try:
        return text.encode(codec_name)
    except UnicodeEncodeError as error:
        shown = " ".join(f"0x{byte:02x}" for byte in text[error.start].encode("utf-8", "surrogatepass"))
        raise UntranslatableCharacter(
            f'character with byte sequence {shown} in encoding "UTF8" '
            f'has no equivalent in encoding "{_NAMES[codec_name]}"'
        ) from None
