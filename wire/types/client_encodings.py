"""Client encodings: PostgreSQL's names for them, and conversion of strings and of whole columns from and to UTF-8.

The server's encoding is UTF8. A column is converted at once: its bytes are decoded together, each distinct character is
encoded once, and the new offsets are computed from the characters' new lengths. SQL_ASCII promises nothing about bytes
above 127: PostgreSQL passes them through, and Sluice reads them as UTF-8. All code names an encoding by PostgreSQL's
name; `encoding_named` knows its other spellings.

Neighbours: `wire.pg.messages` (every string of the protocol), `wire.types.output` (results), `wire.pg.values`
(parameters), `engine.settings.session_settings` (client_encoding). Source: PostgreSQL 15 documentation 24.3,
encnames.c.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import pyarrow as pa

from wire.errors import CharacterNotInRepertoire, FeatureNotSupported, UntranslatableCharacter
from wire.types.byte_columns import binary_array, data_of, offsets_of

#: PostgreSQL's names of encodings to Python's codecs.
_CODECS: Final = {
    "UTF8": "utf-8", "SQL_ASCII": "utf-8",
    "LATIN1": "latin-1", "LATIN2": "iso8859-2", "LATIN3": "iso8859-3", "LATIN4": "iso8859-4", "LATIN5": "iso8859-9",
    "LATIN6": "iso8859-10", "LATIN7": "iso8859-13", "LATIN8": "iso8859-14", "LATIN9": "iso8859-15",
    "LATIN10": "iso8859-16", "ISO_8859_5": "iso8859-5", "ISO_8859_6": "iso8859-6", "ISO_8859_7": "iso8859-7",
    "ISO_8859_8": "iso8859-8", "WIN1250": "cp1250", "WIN1251": "cp1251", "WIN1252": "cp1252", "WIN1253": "cp1253",
    "WIN1254": "cp1254", "WIN1255": "cp1255", "WIN1256": "cp1256", "WIN1257": "cp1257", "WIN1258": "cp1258",
    "WIN866": "cp866", "WIN874": "cp874", "KOI8R": "koi8-r", "KOI8U": "koi8-u",
}  # fmt: skip
#: All of PostgreSQL's encodings, each at its number (pg_wchar.h, pg_enc), with the maximum number of bytes of a
#: character.
NUMBERED: Final = (
    ("SQL_ASCII", 1), ("EUC_JP", 3), ("EUC_CN", 3), ("EUC_KR", 3), ("EUC_TW", 4), ("EUC_JIS_2004", 3), ("UTF8", 4),
    ("MULE_INTERNAL", 4), *((f"LATIN{number}", 1) for number in range(1, 11)), ("WIN1256", 1), ("WIN1258", 1), ("WIN866", 1),
    ("WIN874", 1), ("KOI8R", 1), ("WIN1251", 1), ("WIN1252", 1), *((f"ISO_8859_{number}", 1) for number in range(5, 9)),
    ("WIN1250", 1), ("WIN1253", 1), ("WIN1254", 1), ("WIN1255", 1), ("WIN1257", 1), ("KOI8U", 1), ("SJIS", 2), ("BIG5", 2),
    ("GBK", 2), ("UHC", 2), ("GB18030", 4), ("JOHAB", 3), ("SHIFT_JIS_2004", 2),
)  # fmt: skip
_UNCONVERTED: Final = ("UTF8", "SQL_ASCII")
_ALIASES: Final = {
    "unicode": "UTF8", "iso88591": "LATIN1", "iso88592": "LATIN2", "iso88593": "LATIN3", "iso88594": "LATIN4",
    "iso88599": "LATIN5", "iso885910": "LATIN6", "iso885913": "LATIN7", "iso885914": "LATIN8", "iso885915": "LATIN9",
    "iso885916": "LATIN10", "koi8": "KOI8R", "alt": "WIN866", "win": "WIN1251", "abc": "WIN1258", "tcvn": "WIN1258",
    "tcvn5712": "WIN1258", "vscii": "WIN1258", **{f"windows{name[3:]}": name for name in _CODECS if name[:3] == "WIN"},
}  # fmt: skip
_MULTIBYTE_ALIASES: Final = {
    "mskanji": "SJIS", "shiftjis": "SJIS", "win932": "SJIS", "windows932": "SJIS", "win936": "GBK", "windows936": "GBK",
    "win949": "UHC", "windows949": "UHC", "win950": "BIG5", "windows950": "BIG5",
}  # fmt: skip


def plain_name(text: str) -> str:
    """Return the significant part of an encoding's name, without case and punctuation."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


_NAMES: Final = {plain_name(name): name for name in _CODECS} | _ALIASES
#: The number of each encoding by all its names, reduced to letters and digits in lower case.
NUMBER_BY_NAME: Final = {
    plain: number
    for number, (name, _bytes) in enumerate(NUMBERED)
    for plain in (plain_name(name), *(alias for alias, of in (_ALIASES | _MULTIBYTE_ALIASES).items() if of == name))
}


def encoding_named(text: str) -> str:
    """Return PostgreSQL's name of the encoding that `text` names; case and punctuation are ignored. Raises KeyError."""
    return _NAMES[plain_name(text)]


def codec(name: str) -> str:
    """Return the Python codec of an encoding. Raises 0A000 for one that is not supported."""
    try:
        return _CODECS[name]
    except KeyError:
        raise FeatureNotSupported(f"not supported: client encoding {name}") from None


def _byte_list(data: bytes) -> str:
    return " ".join(f"0x{byte:02x}" for byte in data)


def from_client(data: bytes, name: str) -> str:
    """Decode text that arrived in a client's encoding. Raises 22021 for bytes that are not valid text there, and names
    them.
    """
    try:
        text = data.decode(codec(name))
    except UnicodeDecodeError as error:
        shown = "UTF8" if name in _UNCONVERTED else name
        wrong = _byte_list(data[error.start : max(error.end, error.start + 1)])
        raise CharacterNotInRepertoire(f'invalid byte sequence for encoding "{shown}": {wrong}') from None
    if "\0" in text:
        raise CharacterNotInRepertoire('invalid byte sequence for encoding "UTF8": 0x00')
    return text


def to_client(text: str, name: str) -> bytes:
    """Encode text for a client. Raises 22P05 for a character that the client's encoding lacks."""
    try:
        return text.encode(codec(name))
    except UnicodeEncodeError as error:
        missing = _byte_list(text[error.start].encode("utf-8", "surrogatepass"))
        raise UntranslatableCharacter(
            f'character with byte sequence {missing} in encoding "UTF8" has no equivalent in encoding "{name}"'
        ) from None


def column_to_client(array: pa.BinaryArray, name: str) -> pa.BinaryArray:
    """Convert a column of UTF-8 to a client's encoding. Raises 22P05 for a character that the encoding lacks."""
    if name in _UNCONVERTED:
        return array
    offsets = offsets_of(array)
    data = data_of(array)[offsets[0] : offsets[-1]]
    if not (data >= 0x80).any():
        return array
    characters = np.frombuffer(data.tobytes().decode("utf-8").encode("utf-32-le"), np.uint32)
    distinct, inverse = np.unique(characters, return_inverse=True)
    encoded = [to_client(chr(code), name) for code in distinct.tolist()]
    width = max(len(item) for item in encoded)
    table = np.array([list(item.ljust(width, b"\0")) for item in encoded], np.uint8).reshape(len(encoded), width)
    sizes = np.array([len(item) for item in encoded], np.int64)[inverse]
    converted = table[inverse][np.arange(width) < sizes[:, None]]
    # A character begins at every byte that is not a continuation byte; its number gives its end in the new bytes.
    begun = np.concatenate(([0], np.cumsum((data & 0xC0) != 0x80)))
    ends = np.concatenate(([0], np.cumsum(sizes)))
    validity = array.is_valid().buffers()[1] if array.null_count else None
    return binary_array(ends[begun[offsets - offsets[0]]], converted, validity)
