"""Cutting of a date, time or interval text into typed tokens, and the meanings of known words.

This is the first step of `wire.types.datetime_input` and `wire.types.interval_input`. The characters of a token alone
decide its kind: digits with colons are a time, digits with two equal delimiters a date, a sign before digits an offset
(or a signed number of an interval). A word followed by punctuation is a date (`jan-08-1999`) or a zone
(`america/new_york`), unless it is a known word.

Source: PostgreSQL 15 documentation, appendix B.1 and tables B.1 to B.3; a real server, with which the tests compare.
"""

from __future__ import annotations

import enum
import re
import string
from typing import Final, NamedTuple


class BadFormat(Exception):
    """The text does not have the type's format at all."""


class Kind(enum.Enum):
    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    ZONE = "zone"
    WORD = "word"
    SIGNED_WORD = "signed word"


class Token(NamedTuple):
    kind: Kind
    text: str


_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_WEEKDAYS: Final = {
    "sun": "sunday", "mon": "monday", "tue": "tues tuesday", "wed": "weds wednesday", "thu": "thur thurs thursday",
    "fri": "friday", "sat": "saturday",
}  # fmt: skip

#: Words to (kind, value).
_WORDS: Final[dict[str, tuple[str, str | int]]] = {
    **{
        word: ("reserved", word) for word in ("now", "today", "yesterday", "tomorrow", "epoch", "infinity", "-infinity")
    },
    "allballs": ("reserved", "allballs"),
    **{form: ("month", number) for number, month in enumerate(_MONTHS, 1) for form in (month, month[:3])},
    "sept": ("month", 9),
    **{form: ("weekday", day) for day, forms in _WEEKDAYS.items() for form in (day, *forms.split())},
    "am": ("ampm", "am"),
    "pm": ("ampm", "pm"),
    "ad": ("era", "ad"),
    "bc": ("era", "bc"),
    "at": ("ignore", 0),
    "on": ("ignore", 0),
    "dst": ("summer", 3600),
    "t": ("time", 0),
    **dict.fromkeys(("j", "jd", "julian"), ("unit", "julian")),
    **{letter: ("unit", letter) for letter in ("d", "h", "m", "mm", "s", "y", "dow", "doy", "isodow", "isoyear")},
}


def word_meaning(word: str) -> tuple[str, str | int] | None:
    """Return (kind, value) of a known word in lower case, of which the first ten letters count; None for an unknown
    one.
    """
    return _WORDS.get(word[:10])


def is_word(word: str) -> bool:
    return word[:10] in _WORDS


_TOKENS_MAX: Final = 25
_BYTES_MAX: Final = 128
_SKIPPED: Final = frozenset(string.punctuation) - set("+-.")

_TIME: Final = re.compile(r"\d+:[\d:.]*", re.ASCII)
_DIGITS: Final = re.compile(r"\d+", re.ASCII)
#: Digits, a delimiter, digits; then any sequence of digits and the same delimiter that begins with the delimiter.
_NUMERIC_DATE: Final = re.compile(r"\d+([-/.])\d+(?:\1(?:\d|\1)*)?", re.ASCII)
_MIXED_DATE: Final = re.compile(r"\d+([-/.])")
_FRACTION: Final = re.compile(r"\.\d*", re.ASCII)
_LETTERS: Final = re.compile(r"[A-Za-z]+")
_LONG_WORD: Final = re.compile(r"[A-Za-z0-9+\-/_.:]+")
_SIGNED_NUMBER: Final = re.compile(r"([+-])[ \t\n\r\v\f]*(\d[\d:.\-]*)", re.ASCII)
_SIGNED_WORD: Final = re.compile(r"([+-])[ \t\n\r\v\f]*([A-Za-z]+)")


def split(text: str) -> list[Token]:
    """Return the tokens of `text`, in lower case. Raises BadFormat."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character in " \t\n\r\v\f":
            at += 1
            continue
        token, at = _next(text, at, character)
        if token is not None:
            tokens.append(token)
    if (
        not tokens
        or len(tokens) > _TOKENS_MAX
        or sum(len(token.text) + 1 for token in tokens) > _BYTES_MAX + _TOKENS_MAX
    ):
        raise BadFormat
    return tokens


def _next(text: str, at: int, character: str) -> tuple[Token | None, int]:
    if character in string.digits:
        return _number(text, at)
    if character == ".":
        return _match_token(Kind.NUMBER, _FRACTION, text, at)
    if character in string.ascii_letters:
        return _word(text, at)
    if character in "+-":
        return _read_signed(text, at)
    if character in _SKIPPED:
        return None, at + 1
    raise BadFormat


def _match_token(kind: Kind, pattern: re.Pattern[str], text: str, at: int) -> tuple[Token, int]:
    match = pattern.match(text, at)
    assert match is not None
    return Token(kind, match[0].lower()), match.end()


def _number(text: str, at: int) -> tuple[Token, int]:
    if _TIME.match(text, at):
        return _match_token(Kind.TIME, _TIME, text, at)
    if match := _NUMERIC_DATE.match(text, at):
        single = match[0].count(match[1]) == 1
        return Token(Kind.NUMBER if match[1] == "." and single else Kind.DATE, match[0]), match.end()
    if match := _MIXED_DATE.match(text, at):
        return _match_token(Kind.DATE, re.compile(rf"\d+[A-Za-z0-9{re.escape(match[1])}]*"), text, at)
    return _match_token(Kind.NUMBER, _DIGITS, text, at)


def _word(text: str, at: int) -> tuple[Token, int]:
    letters, end = _match_token(Kind.WORD, _LETTERS, text, at)
    following = text[end : end + 1]
    glued = following in ("-", "/", ".") or (
        (following == "+" or following in string.digits) and not is_word(letters.text)
    )
    if following and glued:
        return _match_token(Kind.DATE, _LONG_WORD, text, at)
    return letters, end


def _read_signed(text: str, at: int) -> tuple[Token, int]:
    if match := _SIGNED_NUMBER.match(text, at):
        return Token(Kind.ZONE, match[1] + match[2]), match.end()
    if match := _SIGNED_WORD.match(text, at):
        return Token(Kind.SIGNED_WORD, (match[1] + match[2]).lower()), match.end()
    raise BadFormat
