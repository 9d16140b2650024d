"""Functions over the characters of a text, for the local engine: Unicode normal forms, escapes, conversion between
encodings, hashes.

Source: PostgreSQL 15, unicode_norm.c (Unicode 14), varlena.c (unistr), mbutils.c (pg_convert).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal

from engine.common.text_hash import hash_text
from engine.executors.local.distinct_calls import register
from wire.errors import (
    CharacterNotInRepertoire,
    FeatureNotSupported,
    InvalidParameterValue,
    SqlSyntaxError,
    UntranslatableCharacter,
)
from wire.types.client_encodings import NUMBER_BY_NAME, encoding_named, from_client, plain_name, to_client

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
_FORMS: Final[dict[str, Form]] = {"NFC": "NFC", "NFD": "NFD", "NFKC": "NFKC", "NFKD": "NFKD"}
_ESCAPE: Final = re.compile(
    r"\\(?:(\\)|([0-9A-Fa-f]{4})|u([0-9A-Fa-f]{4})|\+([0-9A-Fa-f]{6})|U([0-9A-Fa-f]{8})|(?P<wrong>))"
)
_HINT: Final = r"Unicode escapes must be \XXXX, \+XXXXXX, \uXXXX, or \UXXXXXXXX."
_PAIR: Final = "invalid Unicode surrogate pair"


def _form(name: str) -> Form:
    try:
        return _FORMS[name.upper()]
    except KeyError:
        raise InvalidParameterValue(f"invalid normalization form: {name}") from None


def _normalize(text: str, form: str) -> str:
    return unicodedata.normalize(_form(form), text)


def _is_normalized(text: str, form: str) -> bool:
    return unicodedata.is_normalized(_form(form), text)


def _unescape(text: str) -> str:
    """Replace escapes by the characters that they denote, a surrogate pair by one character (unistr)."""
    with_halves = _ESCAPE.sub(_meant, text)
    try:
        return with_halves.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise SqlSyntaxError(_PAIR) from None


def _meant(found: re.Match[str]) -> str:
    if found["wrong"] is not None:
        raise SqlSyntaxError("invalid Unicode escape", hint=_HINT)
    if found[1]:
        return "\\"
    number = int(next(filter(None, found.groups())), 16)
    if not 0 < number <= 0x10FFFF:
        raise InvalidParameterValue(f"invalid Unicode code point: {number:04X}")
    return chr(number)


def _encoding(name: str, which: str) -> str:
    if plain_name(name) not in NUMBER_BY_NAME:
        raise InvalidParameterValue(f'invalid {which} encoding name "{name}"')
    try:
        found = encoding_named(name)
    except KeyError:
        found = "SQL_ASCII"
    if found == "SQL_ASCII":
        raise FeatureNotSupported(f'not supported: the encoding "{name}"')
    return found


def _convert(data: bytes, source_name: str, target_name: str) -> bytes:
    source, target = _encoding(source_name, "source"), _encoding(target_name, "destination")
    if source != target and "UTF8" not in (source, target):
        raise FeatureNotSupported(f"not supported: conversion from {source} to {target}")
    if b"\0" in data:
        raise CharacterNotInRepertoire(f'invalid byte sequence for encoding "{source}": 0x00')
    if source == target != "UTF8":
        return data
    return to_client(_text(data, source), target)


def _text(data: bytes, source: str) -> str:
    try:
        return from_client(data, source)
    except CharacterNotInRepertoire as error:
        if source == "UTF8":
            raise
        wrong = error.message.rpartition(": ")[2]
        raise UntranslatableCharacter(
            f'character with byte sequence {wrong} in encoding "{source}" has no equivalent in encoding "UTF8"'
        ) from None


register("sluice_normalize", ["VARCHAR", "VARCHAR"], "VARCHAR", _normalize)
register("sluice_is_normalized", ["VARCHAR", "VARCHAR"], "BOOLEAN", _is_normalized)
register("sluice_unistr", ["VARCHAR"], "VARCHAR", _unescape)
register("sluice_hashtext", ["VARCHAR"], "INTEGER", hash_text)
register("sluice_convert", ["BLOB", "VARCHAR", "VARCHAR"], "BLOB", _convert)
