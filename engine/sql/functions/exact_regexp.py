"""Calls of the local engine's own regular expressions (`engine.executors.local.regular_expressions`), for patterns for
which RE2 would choose another match, and for patterns that are not constant.

Source: PostgreSQL 15, regexp.c.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sqlglot import exp

from engine.common.interrupts import check_for_interrupts
from engine.sql.functions.trees import (
    CURSOR_NUMBER,
    bound,
    constant_int,
    constant_text,
    integer,
    required_text,
    sql,
    text,
)
from engine.sql.regex.matching import compile_pattern
from wire.errors import FeatureNotSupported, InvalidParameterValue
from wire.regex.grammar import read, read_options

Arguments = Sequence[exp.Expression]
#: The groups of a match, or the whole match if there are none.
_GROUPS: Final = "CASE WHEN len($1) = 1 THEN $1 ELSE list_slice($1, 2, len($1)) END"
_OPERATORS: Final[Mapping[str, str]] = {"~": "", "!~": "", "~*": "i", "!~*": "i"}


def exact_call(name: str, args: Arguments) -> exp.Expression:
    """Return the call of a function or an operator by its name. Raises FeatureNotSupported if options or counts are
    not constant, InvalidRegularExpression for a constant that is not a valid pattern.
    """
    if name in _OPERATORS:
        found = _call("test", args, text(_OPERATORS[name]))
        return sql("local", "NOT ($1)", found) if name.startswith("!") else found
    return _BUILDERS[name](name, args)


def _call(function: str, args: Arguments, letters: exp.Expression, *more: exp.Expression) -> exp.Expression:
    written, options = constant_text(args[1]), constant_text(letters)
    if written is not None and options is not None:
        compile_pattern(read(written, read_options(options), check_for_interrupts))
    places = ", ".join(f"${n}" for n in range(1, 4 + len(more)))
    call = f"sluice_regexp_{function}({places}, {CURSOR_NUMBER})"
    return sql("local", call, args[0], args[1], letters, *more)


def _at(args: Arguments, place: int) -> exp.Expression | None:
    return args[place] if len(args) > place else None


def _letters(name: str, tree: exp.Expression | None, *, may_be_every: bool = False) -> tuple[exp.Expression, bool]:
    """Return the options without `g`, and whether `g` was among them."""
    given = required_text(tree, "regular expression options") if tree is not None else ""
    every = read_options(given).every
    if every and not may_be_every:
        raise InvalidParameterValue(f'{name}() does not support the "global" option')
    return text(given.replace("g", "")), every


def _count(tree: exp.Expression | None, name: str, least: int = 1, default: int = 1) -> exp.Expression:
    if tree is None:
        return integer(default)
    value = constant_int(tree)
    if value is None:
        raise FeatureNotSupported(f'not supported: the regular expression parameter "{name}" that is not a constant')
    if value < least:
        raise InvalidParameterValue(f'invalid value for parameter "{name}": {value}')
    return integer(value)


def _like(name: str, args: Arguments) -> exp.Expression:
    return _call("test", args, _letters(name, _at(args, 2))[0])


def _match(name: str, args: Arguments) -> exp.Expression:
    found = _call("matches", args, _letters(name, _at(args, 2))[0], integer(1), integer(1))
    return bound("local", "m__", sql("local", "list_extract($1, 1)", found), lambda m: sql("local", _GROUPS, m))


def _matches(name: str, args: Arguments) -> exp.Expression:
    letters, every = _letters(name, _at(args, 2), may_be_every=True)
    found = _call("matches", args, letters, integer(1), integer(0 if every else 1))
    return sql("local", "list_transform($1, lambda m__: $2)", found, sql("local", _GROUPS, exp.column("m__")))


def _substring(name: str, args: Arguments) -> exp.Expression:
    return sql("local", "list_extract($1, 1)", _match(name, args))


def _split(name: str, args: Arguments) -> exp.Expression:
    return _call("split", args, _letters(name, _at(args, 2))[0])


def _number_of_matches(name: str, args: Arguments) -> exp.Expression:
    letters, start = _letters(name, _at(args, 3))[0], _at(args, 2) or integer(1)
    return sql("local", "CAST(len($1) AS INTEGER)", _call("matches", args, letters, start, integer(0)))


def _substr(name: str, args: Arguments) -> exp.Expression:
    nth, group = _count(_at(args, 3), "n"), _count(_at(args, 5), "subexpr", 0, 0)
    letters, start = _letters(name, _at(args, 4))[0], _at(args, 2) or integer(1)
    found = _call("matches", args, letters, start, nth)
    return sql("local", "list_extract(list_extract($1, $2), $3 + 1)", found, nth, group)


def _instr(name: str, args: Arguments) -> exp.Expression:
    nth, after = _count(_at(args, 3), "n"), _count(_at(args, 4), "endoption", 0, 0)
    group = _count(_at(args, 6), "subexpr", 0, 0)
    if constant_int(after) not in (0, 1):
        raise InvalidParameterValue(f'invalid value for parameter "endoption": {constant_int(after)}')
    letters, start = _letters(name, _at(args, 5))[0], _at(args, 2) or integer(1)
    return _call("place", args, letters, start, nth, after, group)


def _replace(name: str, args: Arguments) -> exp.Expression:
    """Build regexp_replace(text, pattern, replacement [, flags]), or with start [, n [, flags]], whose `g` is used if
    n is not given.
    """
    from_start = len(args) > 4 or (len(args) == 4 and constant_int(args[3]) is not None)
    if not from_start:
        letters, every = _letters(name, _at(args, 3), may_be_every=True)
        return _call("replace", args, letters, args[2], integer(1), integer(0 if every else 1))
    letters, _ = _letters(name, _at(args, 5), may_be_every=True)
    return _call("replace", args, letters, args[2], args[3], _count(_at(args, 4), "n", 0))


_BUILDERS: Final[Mapping[str, Callable[[str, Arguments], exp.Expression]]] = {
    "regexp_like": _like,
    "regexp_match": _match,
    "regexp_matches": _matches,
    "substring": _substring,
    "regexp_split_to_array": _split,
    "regexp_split_to_table": _split,
    "regexp_count": _number_of_matches,
    "regexp_substr": _substr,
    "regexp_instr": _instr,
    "regexp_replace": _replace,
}
