"""Reading of runs of ASCII digits, as PostgreSQL's scanners do it."""

from __future__ import annotations

from typing import Final

#: The characters that C's isspace() counts as white space.
SPACE: Final = " \t\n\r\v\f"

_LONG: Final = 20
_BEYOND: Final = 10**30


def is_digits(text: str) -> bool:
    """Return whether a text consists of ASCII digits, at least one. PostgreSQL does not accept digits of other scripts."""
    return text.isdecimal() and text.isascii()


def parse_digits(digits: str) -> int:
    """Return the integer of a text of ASCII digits, with an optional sign and blanks around. An absurdly long run of
    digits is not converted: the result is an integer outside of any type's range.
    """
    word = digits.strip(SPACE)
    bare = word.lstrip("+-").lstrip("0")
    value = int(bare or "0") if len(bare) <= _LONG else _BEYOND
    return -value if word.startswith("-") else value
