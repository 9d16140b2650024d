"""PostgreSQL's named character classes, as code point ranges and as an engine's classes.

PostgreSQL uses the C library's classes. In a UTF-8 locale a letter is whatever Unicode calls alphabetic: letters,
letter numbers, digits of other scripts, and the vowel signs and circled letters listed here, for which neither engine
has a name.

Source: Unicode 14, derived property Alphabetic beyond general categories L and Nl; compared with PostgreSQL 15 on
glibc.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Final

from wire.errors import FeatureNotSupported
from wire.regex.grammar import CODE_POINTS

Ranges = tuple[tuple[int, int], ...]

_OTHER_ALPHABETIC: Final = """
345 5b0-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-657 659-65f 670 6d6-6dc 6e1-6e4 6e7-6e8 6ed 711 730-73f 7a6-7b0
816-817 81b-823 825-827 829-82c 8d4-8df 8e3-8e9 8f0-903 93a-93b 93e-94c 94e-94f 955-957 962-963 981-983 9be-9cc 9d7
9e2-9e3 a01-a03 a3e-a4c a51 a70-a71 a75 a81-a83 abe-acc ae2-ae3 afa-afc b01-b03 b3e-b4c b56-b57 b62-b63 b82 bbe-bcc
bd7 c00-c03 c3e-c4c c55-c56 c62-c63 c81-c83 cbe-ccc cd5-cd6 ce2-ce3 d00-d03 d3e-d4c d57 d62-d63 d81-d83 dcf-ddf
df2-df3 e31 e34-e3a e4d eb1 eb4-eb9 ebb-ebc ecd f71-f81 f8d-fbc 102b-1036 1038 103b-103e 1056-1059 105e-1060 1062-1064
1067-106d 1071-1074 1082-108d 108f 109a-109d 1712-1713 1732-1733 1752-1753 1772-1773 17b6-17c8 1885-1886 18a9
1920-1938 1a17-1a1b 1a55-1a5e 1a61-1a74 1abf-1ac0 1acc-1b04 1b35-1b43 1b80-1b82 1ba1-1ba9 1bac-1bad 1be7-1bf1
1c24-1c36 1de7-1df4 24b6-24e9 2de0-2dff a674-a67b a69e-a69f a802 a80b a823-a827 a880-a881 a8b4-a8c3 a8c5 a8ff
a926-a92a a947-a952 a980-a983 a9b4-a9bf a9e5 aa29-aa36 aa43 aa4c-aa4d aa7b-aa7d aab0 aab2-aab4 aab7-aab8 aabe aaeb-
aaef aaf5 abe3-abea fb1e 10376-1037a 10a01-10a0f 10d24-10d27 10eab-10eac 11000-11002 11038-11045 11073-11074 11082
110b0-110b8 110c2 11100-11102 11127-11132 11145-11146 11180-11182 111b3-111bf 111ce-111cf 1122c-11234 11237 1123e
112df-112e8 11300-11303 1133e-1134c 11357 11362-11363 11435-11441 11443-11445 114b0-114c1 115af-115be 115dc-115dd
11630-1163e 11640 116ab-116b5 1171d-1172a 1182c-11838 11930-1193c 11940 11942 119d1-119df 119e4 11a01-11a0a
11a35-11a39 11a3b-11a3e 11a51-11a5b 11a8a-11a97 11c2f-11c3e 11c92-11cb6 11d31-11d41 11d43 11d47 11d8a-11d96
11ef3-11ef6 16f4f 16f51-16f92 16ff0-16ff1 1bc9e 1e000-1e02a 1e947 1f130-1f149 1f150-1f169 1f170-1f189
"""
_OTHER_UPPER: Final = "2160-216f 24b6-24cf 1f130-1f149 1f150-1f169 1f170-1f189"
_OTHER_LOWER: Final = """
aa ba 1c5 1c8 1cb 1f2 2b0-2b8 2c0-2c1 2e0-2e4 345 37a 1d2c-1d6a 1d78 1d9b-1dbf 2071 207f 2090-209c 2170-217f 24d0-24e9
2c7c-2c7d a69c-a69d a770 a7f8-a7f9 ab5c-ab5f 10780 10783-10785 10787-107b0 107b2-107ba
"""
SPACE: Final = "9-d 20 1680 2000-2006 2008-200a 2028-2029 205f 3000"


def _read(text: str) -> Ranges:
    pairs = (item.partition("-") for item in text.split())
    return tuple((int(low, 16), int(high or low, 16)) for low, _, high in pairs)


_ASCII: Final[dict[str, Ranges]] = {
    "digit": _read("30-39"),
    "xdigit": _read("30-39 41-46 61-66"),
    "blank": _read("9 20"),
    "cntrl": _read("1-1f 7f-9f"),
    "space": _read(SPACE),
}
#: The general categories of each class, as both engines spell them, and its further members.
_BY_CATEGORY: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "upper": (("Lu", "Lt"), _OTHER_UPPER),
    "lower": (("Ll",), _OTHER_LOWER),
}


@cache
def members(name: str) -> tuple[tuple[str, ...], Ranges]:
    """Return a class as general categories and further ranges. Raises FeatureNotSupported for the classes of printable
    characters, which depend on the C library's version.
    """
    if name in _ASCII:
        return (), _ASCII[name]
    if name == "alpha":
        return ("L", "Nl"), (*_read(_OTHER_ALPHABETIC), *_foreign_digits())
    if name in _BY_CATEGORY:
        categories, others = _BY_CATEGORY[name]
        return categories, _read(others)
    if name in ("alnum", "word"):
        return ("L", "Nl", "Nd"), (*_read(_OTHER_ALPHABETIC), *(_read("5f") if name == "word" else ()))
    if name == "punct":
        return ("P", "Sc", "Sm", "Sk", "No", "Co"), (*_symbols(), *_read("a0 2007 202f"))
    raise FeatureNotSupported(f"not supported: the character class [:{name}:]")


def _gather_ranges(points: Iterable[int]) -> Ranges:
    found: list[list[int]] = []
    for point in points:
        if found and found[-1][1] == point - 1:
            found[-1][1] = point
        else:
            found.append([point, point])
    return tuple((low, high) for low, high in found)


@cache
def _foreign_digits() -> Ranges:
    """Return the decimal digits of other scripts, which are letters to the C library."""
    return _gather_ranges(p for p in range(0x80, CODE_POINTS) if unicodedata.category(chr(p)) == "Nd")


@cache
def _symbols() -> Ranges:
    """Return the symbols, marks and formats that are not letters: the C library calls them punctuation."""
    letters = _read(_OTHER_ALPHABETIC)
    kinds = ("So", "Cf", "Me", "Mn", "Mc")
    return _gather_ranges(
        p for p in range(CODE_POINTS) if unicodedata.category(chr(p)) in kinds and not _within(p, letters)
    )


def _within(point: int, ranges: Ranges) -> bool:
    return any(low <= point <= high for low, high in ranges)


def holds(name: str, point: int) -> bool:
    """Return whether a class (`-name`: its complement) contains a code point."""
    if name.startswith("-"):
        return not holds(name[1:], point)
    categories, ranges = members(name)
    return _within(point, ranges) or (bool(categories) and unicodedata.category(chr(point)).startswith(categories))
