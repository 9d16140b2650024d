"""Measure the cost of parsing client texts: every place where a text meets a pattern or a loop, with long texts of one
kind.

`python -m fuzzing.cost [CHARACTERS]` reads each family of texts at each place, and ends with the names of those that
took more processor time than linear work can. The texts are those that make a matcher backtrack: one character in a
row, with and without something at the end that does not fit, two in turn, brackets, blanks, signs, quotes, and `%a`
against a row of `a`. For 64,000 characters a linear place takes a tenth of a second, a quadratic one many seconds, and
an exponential one never ends.

The time is the process's own (ITIMER_VIRTUAL), so that other processes do not count. `re` checks for signals while it
matches. Code that checks for none is ended by the kernel (RLIMIT_CPU), with the name of the place as the last line of
the output.

To add a place: a function of a text, and a row in `PLACES`.
"""

from __future__ import annotations

import logging
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Final

import duckdb

from engine.common.depth import bounded_depth
from engine.common.error_codec import error_from_text
from engine.executors.local import errors as local_errors
from engine.executors.spark import errors as spark_errors
from engine.planner.optimizer.selectivity import like_matches
from engine.settings.numbers import read_real, read_whole
from engine.settings.time_zone import zone_setting
from engine.sql.binder.literals import depends_on_now
from engine.sql.functions.number_formats import read_layout
from engine.sql.functions.quoting import parse_format
from engine.sql.parser.lexical.lexer import tokenize
from engine.sql.parser.masking import names_password
from engine.sql.regex.agreement import same_groups, same_span
from engine.sql.regex.patterns import like_escape, similar_to_escape
from engine.sql.regex.render import render_test
from engine.sql.text_templates.moments import timestamp_text
from engine.sql.text_templates.numbers import numeric_text, read_number
from engine.sql.text_templates.reading import read_timestamp
from wire.errors import SqlError
from wire.regex.grammar import Options, read
from wire.types import pg_types as t
from wire.types.client_encodings import plain_name
from wire.types.input import InputSettings, parse_text
from wire.types.json_input import require_text
from wire.types.jsonpath import read_jsonpath
from wire.types.time_zones import find_zone

Place = Callable[[str], object]

#: Characters of a text; what takes too long with so many is tried with half of them, and again, to say how its cost grows.
SIZE: Final = 64_000
#: At most, for regular expressions: comparing two ways of matching one has bounds of its own, which take a second.
SIZE_SMALL: Final = 1_000
#: Processor seconds for one text at one place, many times what a linear place takes.
SECONDS: Final = 3
#: Processor seconds for all.
SECONDS_ALL: Final = 600

_INPUT: Final = InputSettings()
_REFUSALS: Final = (SqlError, ValueError)


def texts(size: int) -> Iterator[tuple[str, str]]:
    """Yield texts of `size` characters with their names."""
    for unit in (
        "a",
        "ab",
        "1",
        "1.",
        "-",
        "+",
        "--",
        "-- ",
        " ",
        "\n",
        "(",
        "[",
        "{",
        '"',
        "'",
        "\\",
        "%a",
        "a,",
        "/*",
        "9,",
        "e1",
        ":",
    ):
        row = (unit * size)[:size]
        yield repr(unit), row
        yield f"{unit!r}, then a mismatch", row + "\x01"
    yield "nested parentheses", "(" * (size // 2) + ")" * (size // 2)
    yield "nested brackets", "[" * (size // 2) + "]" * (size // 2)


def _after(prefix: str, place: Place) -> Place:
    return lambda text: place(prefix + text)


def _repeated(word: str, place: Place) -> Place:
    return lambda text: place((word * len(text))[: len(text)])


def _type(name: str) -> Place:
    typ = t.BY_NAME[name]
    return lambda text: parse_text(typ, text, settings=_INPUT)


def _expression(text: str) -> None:
    with bounded_depth():
        pattern = read(text, Options())
        render_test(pattern, "java")
        same_span(pattern.tree)
        same_groups(pattern.tree)


def _local_error(text: str) -> SqlError:
    return local_errors.translate(duckdb.ConversionException(text))


#: What stands before a text so that it is reached at all.
_BEFORE: Final[Mapping[str, tuple[str, ...]]] = {
    "interval": ("P", "PT", "1 ", "@ "),
    "_int4": ("[", "[1:", "{", '{"'),
    "_text": ("[", "{", '{"'),
    "int4range": ("[", "[1,"),
    "int4multirange": ("{", "{["),
    "jsonb": ("[", '{"a":', '"', "1"),
    "jsonpath": ("$", '$."', "$ /*", '$ ? (@ like_regex "a'),
    "point": ("(",),
    "path": ("[(",),
    "polygon": ("((1,",),
    "timestamptz": ("2001-01-01 ", "2001-01-01 00:00:00 "),
    "time": ("00:00:00.",),
    "numeric": ("1e", "1."),
    "tsvector": ("'", "a:"),
    "tsquery": ("'", "a & ", "!"),
    "xml": ("<?xml ", "<a>"),
    "money": ("$",),
    "inet": ("1.1.1.1/",),
    "bytea": ("\\x",),
}
_TYPES: Final = (
    *(
        "bool",
        "int4",
        "int8",
        "float8",
        "oid",
        "date",
        "timestamp",
        "timetz",
        "uuid",
        "json",
        "bit",
        "varbit",
        "lseg",
        "box",
    ),
    *("line", "circle", "cidr", "macaddr", "macaddr8", "pg_lsn", "tid", "name", "bpchar", "daterange", *_BEFORE),
)


def _types() -> Iterator[tuple[str, Place]]:
    for name in _TYPES:
        if name in t.BY_NAME:
            yield name, _type(name)
            for prefix in _BEFORE.get(name, ()):
                yield f"{name} after {prefix!r}", _after(prefix, _type(name))


_ERRORS: Final = (
    "SQLSTATE:22000:", "Overflow in ", "Casting ", "Could not convert string '", "Type INT32 with value ",
    'time field value out of range: "', 'invalid date field format: "', "Timestamp", "Interval", "OSError: AWS",
    'Cannot open file "',
)  # fmt: skip

PLACES: Final[Mapping[str, Place]] = {
    **{
        f"statement after {prefix!r}": _after(prefix, tokenize)
        for prefix in ("", "'a' ", "U&'a' ", "E'", "1", "$1", "$a", "U&'")
    },
    **dict(_types()),
    "LIKE, the pattern": lambda text: like_matches(text, ["a" * 1_000]),
    "LIKE, the value": lambda text: like_matches("%a" * 20 + "%b", [text]),
    "ESCAPE": partial(like_escape, escape="a"),
    "SIMILAR TO": similar_to_escape,
    "format": parse_format,
    "to_char, a template of a moment": lambda text: timestamp_text(0, text),
    "to_char, a template of a number": lambda text: numeric_text("1", text),
    "to_number, the text": lambda text: read_number(text, "999.99"),
    "to_number, the template": lambda text: read_number("1", text),
    "to_timestamp, the text": lambda text: read_timestamp(text, "YYYY-MM-DD", "UTC"),
    "to_timestamp, the template": lambda text: read_timestamp("2001-01-01", text, "UTC"),
    "a constant template of a number": read_layout,
    "a constant template of a number, from its digits on": _after("9", read_layout),
    "whether a literal means now": lambda text: depends_on_now(text, t.DATE),
    "a setting that is whole": read_whole,
    "a setting that is real": read_real,
    "TimeZone": zone_setting,
    "TimeZone, an interval": _after("interval '", zone_setting),
    "a time zone's name": find_zone,
    "an encoding's name": plain_name,
    "masking": names_password,
    "a told error": error_from_text,
    "strings of a JSON document": _after('"\\u0041', require_text),
    **{f"an error of DuckDB, {prefix!r}": _after(prefix, _local_error) for prefix in _ERRORS},
    **{f"errors of DuckDB, {word!r}": _repeated(word, _local_error) for word in _ERRORS},
    "an error of Spark": spark_errors.translate_text,
    "an error of Spark, a value": _after("[CAST_INVALID_INPUT] The value '", spark_errors.translate_text),
}
PLACES_SMALL: Final[Mapping[str, Place]] = {
    "a regular expression": _expression,
    "jsonpath, LIKE_REGEX": lambda text: read_jsonpath('$ ? (@ like_regex "' + text.replace('"', "") + '")'),
}  # fmt: skip


class _TooLong(BaseException):
    """The time limit was exceeded. It is not an Exception, which a place might take for a refusal."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise _TooLong


def _ends(place: Place, text: str) -> bool:
    """Return whether a place reads, or refuses, a text within its time."""
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        place(text)
    except _REFUSALS:
        pass
    except _TooLong:
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return True


def _endless(name: str, place: Place, size: int) -> Iterator[str]:
    """Yield what takes too long at a place: each family of texts with the smallest size that does."""
    for family, text in texts(size):
        if not _ends(place, text):
            yield f"{name}: {family}, {_least(family, place, size)} characters"


def _least(family: str, place: Place, size: int) -> int:
    while size > 1 and not _ends(place, dict(texts(size // 2))[family]):
        size //= 2
    return size


def main(arguments: Sequence[str]) -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_ALL, SECONDS_ALL))
    signal.signal(signal.SIGVTALRM, _stop)
    logging.disable()
    found = list[str]()
    asked = int(arguments[0]) if arguments else SIZE
    for places, size in ((PLACES, asked), (PLACES_SMALL, min(asked, SIZE_SMALL))):
        for name, place in places.items():
            print("reading", name, flush=True)
            found += _endless(name, place, size)
    print("\n".join(found) or "all of it ends")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
