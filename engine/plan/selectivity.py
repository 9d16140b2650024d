"""Which part of its rows a condition keeps, guessed from what Parquet footers say of columns, else from nothing at all.

A comparison with a constant keeps the part of the column's range that it leaves, as if values were spread evenly. An equality
keeps one of the column's values, of which integers and dates have at most as many as their range is wide. Of other types a
footer does not say it, but what a chunk takes once it is encoded and compressed is about what its values differ: a column of b
bits a row is as surprising as one of 2^b values that are equally frequent. That is near the truth for codes, flags and names of
things, and errs towards fewer values, so more rows, where a file is sorted.

For the rest there are guesses, in the manner of PostgreSQL's selfuncs.h and larger than they are there: PostgreSQL's give way to
a histogram as soon as somebody analyzes the table, while these stay, and to take a side for smaller than it is costs more here (it
is sent everywhere, or looked up row by row) than the opposite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engine.plan.conjuncts import conjuncts
from engine.plan.judgement import Range, comparison
from engine.sql.expr import And, Call, ColumnRef, Expr, InList, IsNull, Not, Or, Subquery

#: An inequality with something that is not known (DEFAULT_INEQ_SEL), or a condition of which nothing is.
_SOME: Final = 1 / 3
#: A pattern. PostgreSQL's 0.005 is right for names and codes; in a text of several words most patterns are one of the words.
_MATCH: Final = 0.05
#: IS NULL (DEFAULT_UNK_SEL is 0.005).
_NULL: Final = 0.05
#: EXISTS, IN a subquery, a boolean column.
_EVEN: Final = 0.5
#: An equality with one of so many values, where neither range nor size tells (DEFAULT_EQ_SEL is one in as many).
VALUES_UNKNOWN: Final = 200.0

_INEQUALITIES: Final = ("<", "<=", ">", ">=")
_PATTERNS: Final = ("~~", "~~*", "~", "~*")
_NEGATED: Final = {"<>": "=", "!~~": "~~", "!~~*": "~~*", "!~": "~", "!~*": "~*"}


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a column. values: how many there are, of those that are not rare. range: its least and greatest."""

    values: float
    range: Range | None = None


def bits_as_values(size: int, rows: float) -> float:
    """How many equally frequent values take so many bytes for so many rows."""
    return math.exp2(min(8 * size / max(rows, 1), 60))


def kept(condition: Expr | None, known: Mapping[int, Known], parameters: Mapping[int, Any]) -> float:
    """The part of the rows for which a condition is true. known: by column. parameters: canonical values by number."""
    parts = conjuncts(condition)
    inequalities: dict[int, list[tuple[str, Any]]] = {}
    part = 1.0
    for conjunct in parts:
        found = comparison(conjunct, parameters)
        if found is not None and found[1] in _INEQUALITIES:
            inequalities.setdefault(found[0].id, []).append(found[1:])
        else:
            part *= _of_one(conjunct, known, parameters)
    for column, tests in inequalities.items():
        part *= _of_range(known.get(column), tests)
    return part


def _of_one(expr: Expr, known: Mapping[int, Known], parameters: Mapping[int, Any]) -> float:
    match expr:
        case Or(args=args):
            return 1 - math.prod(1 - kept(arg, known, parameters) for arg in args)
        case And():
            return kept(expr, known, parameters)
        case Not(arg=arg):
            return 1 - kept(arg, known, parameters)
        case IsNull(negated=negated):
            return 1 - _NULL if negated else _NULL
        case InList(arg=arg, items=items):
            return min(len(items) * _of_equality((arg,), known), 1)
        case Subquery() | ColumnRef():
            return _EVEN
        case Call(args=args) if expr.function.kind == "operator":
            return _of_operator(expr.function.name, args, known)
        case _:
            return _SOME


def _of_operator(name: str, args: Sequence[Expr], known: Mapping[int, Known]) -> float:
    if name in _NEGATED:
        return 1 - _of_operator(_NEGATED[name], args, known)
    if name == "=":
        return _of_equality(args, known)
    return _MATCH if name in _PATTERNS else _SOME


def _of_equality(args: Sequence[Expr], known: Mapping[int, Known]) -> float:
    """One of the values of the column with the most."""
    values = [known[arg.column.id].values for arg in args if isinstance(arg, ColumnRef) and arg.column.id in known]
    return 1 / max(values, default=VALUES_UNKNOWN)


def _of_range(column: Known | None, tests: Sequence[tuple[str, Any]]) -> float:
    """What several inequalities leave of a column's range."""
    if column is None or column.range is None:
        return math.prod([_SOME] * len(tests))
    low, high = column.range
    first, last = low, high
    try:
        for operator, value in tests:
            if operator in ("<", "<="):
                last = min(last, value)
            else:
                first = max(first, value)
        return max(0.0, float((last - first) / (high - low)))
    except (TypeError, ArithmeticError):
        return math.prod([_SOME] * len(tests))
