"""Reading of runs of ASCII digits, as PostgreSQL's scanners do it."""

from __future__ import annotations

from typing import Final

#: What C's isspace() takes as white space.
SPACE: Final = " \t\n\r\v\f"

_LONG: Final = 20
_BEYOND: Final = 10**30


def is_digits(text: str) -> bool:
    """Whether it is digits of ASCII, one at least: other scripts' are none to PostgreSQL."""
    return text.isdecimal() and text.isascii()


def parse_digits(digits: str) -> int:
    """The integer that ASCII digits say, a sign before them and blanks around: of an absurdly long run, which is not worth
    converting, one that is out of any range."""
    word = digits.strip(SPACE)
    bare = word.lstrip("+-").lstrip("0")
    value = int(bare or "0") if len(bare) <= _LONG else _BEYOND
    return -value if word.startswith("-") else value
