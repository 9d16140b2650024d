"""to_date and to_timestamp by a template: PostgreSQL 15, section 9.8.

A constant template of a few keywords is compiled: a regular expression matches the texts whose reading is unambiguous,
and the date and time are composed from its groups. Spark refuses any other text (0A000) when it is met. The local
engine passes such a text, and any other template, to its own functions (`engine.executors.local.templates`), which
guess as PostgreSQL does.

Neighbours: `formatting` writes by the same templates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import fn
from engine.sql.functions.datetime import date_of, date_to_timestamp
from engine.sql.functions.formatting import SESSION_ZONE
from engine.sql.functions.moments import HOUR, MINUTE, SECOND, to_instant
from engine.sql.functions.trees import (
    CURSOR_NUMBER,
    both,
    bound,
    concat,
    constant_text,
    integer,
    is_null,
    raises,
    required_text,
    sql,
    text,
)
from engine.sql.text_templates.moments import MONTHS, moment_template
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

#: The minimum and maximum number of digits that a keyword reads; exactly the maximum if another number follows
#: directly.
_READ: Final = {
    "YYYY": (1, 4), "MM": (1, 2), "DD": (1, 2), "HH24": (1, 2), "HH12": (1, 2), "HH": (1, 2), "MI": (1, 2), "SS": (1, 2),
    "MS": (3, 3), "US": (6, 6), "FF3": (3, 3), "FF6": (6, 6),
}  # fmt: skip
#: The same as patterns for the local engine, which leaves values that may be out of range to its function: the last
#: days of a month, years with leading zeros.
_SURE: Final = {
    "YYYY": ("[1-9][0-9]{0,3}", "[1-9][0-9]{3}"), "MM": ("0?[1-9]|1[0-2]", "0[1-9]|1[0-2]"),
    "DD": ("0?[1-9]|1[0-9]|2[0-8]", "0[1-9]|1[0-9]|2[0-8]"), "HH24": ("[01]?[0-9]|2[0-3]", "[01][0-9]|2[0-3]"),
    **dict.fromkeys(("HH12", "HH"), ("0?[1-9]|1[0-2]", "0[1-9]|1[0-2]")),
    **dict.fromkeys(("MI", "SS"), ("[0-5]?[0-9]", "[0-5][0-9]")),
}  # fmt: skip
#: A compiled template has at most one keyword of each group.
_ALONE: Final = (
    ("MONTH", "MON", "MM"),
    ("HH24", "HH12", "HH"),
    ("MS", "US", "FF3", "FF6"),
    ("AM", "PM", "A.M.", "P.M."),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """A template for reading: the regular expression of the texts that it reads, and the keyword of each group."""

    pattern: str
    keywords: tuple[str, ...]


def read_shape(engine: EngineName, template: str) -> Shape:
    """Compile a template to a shape. Raises FeatureNotSupported for a template that is not compiled."""
    items = moment_template(template)
    said, keywords = [r"^[ \t\n\r\v\f]*"], []
    for place, item in enumerate(items):
        upper = item.keyword.upper()
        if not item.keyword:
            said.append(_separator(item.written))
            continue
        if item.ordinal:
            raise FeatureNotSupported("not supported: reading a number with TH")
        if upper in ("MONTH", "MON"):
            names = [name if upper == "MONTH" else name[:3] for name in MONTHS]
            said.append(f"((?i:{'|'.join(names)}))")
        elif upper in _ALONE[-1]:
            said.append("((?i:[ap]\\.m\\.))" if "." in upper else "((?i:[ap]m))")
        elif upper in _READ:
            following = items[place + 1] if place + 1 < len(items) else None
            exact = following is not None and (following.reads_digits or following.written[0].isdecimal())
            if exact and not item.fill:
                raise FeatureNotSupported("not supported: reading a number of any width right before another one")
            said.append(f"({_digits(engine, upper, exact)})")
        else:
            raise FeatureNotSupported(f'not supported: reading "{item.written}" by a template')
        keywords.append(upper)
    if len(set(keywords)) < len(keywords) or any(len(set(keywords) & set(group)) > 1 for group in _ALONE):
        raise FeatureNotSupported("not supported: a template that reads a field twice")
    if "YYYY" not in keywords:
        raise FeatureNotSupported("not supported: reading a date without its year")
    return Shape("".join([*said, r"[ \t\n\r\v\f]*$"]), tuple(keywords))


def _digits(engine: EngineName, keyword: str, exact: bool) -> str:
    if engine == "local" and keyword in _SURE:
        return _SURE[keyword][exact]
    low, high = _READ[keyword]
    return f"[0-9]{{{high if exact else low},{high}}}"


def _separator(literal: str) -> str:
    """Return the pattern of a separator. A separator matches any separator, a blank matches several; a literal letter
    or digit matches itself.
    """
    if literal == " ":
        return "[ \\t\\n\\r\\v\\f]+"
    if re.fullmatch(r"[!-~]", literal) and not literal.isalnum():
        return r"[!-/:-@\[-`{-~]"
    return literal if literal.isalnum() and literal.isascii() else f"\\x{{{ord(literal):x}}}"


def _read_fields(engine: EngineName, value: exp.Expression, shape: Shape) -> dict[str, exp.Expression]:
    pattern = text(shape.pattern)
    return {
        keyword: sql(engine, f"regexp_extract($1, $2, {number})", value, pattern)
        for number, keyword in enumerate(shape.keywords, 1)
    }


def _as_int(engine: EngineName, tree: exp.Expression) -> exp.Expression:
    """Return the digits as an integer; null if the text did not match, for which the error is raised elsewhere."""
    return sql(engine, "TRY_CAST($1 AS INT)", tree)


def _month(engine: EngineName, read: dict[str, exp.Expression]) -> exp.Expression:
    for keyword in ("MONTH", "MON"):
        if keyword in read:
            names = "".join(name[:3].lower() for name in MONTHS)
            position = "strpos($2, lower(left($1, 3)))" if engine == "local" else "instr($2, lower(left($1, 3)))"
            return sql(
                engine, f"(({position} + 2) {'//' if engine == 'local' else 'div'} 3)", read[keyword], text(names)
            )
    return _as_int(engine, read["MM"]) if "MM" in read else integer(1)


def _read_date(engine: EngineName, read: dict[str, exp.Expression]) -> exp.Expression:
    year = _as_int(engine, read["YYYY"])
    day = _as_int(engine, read["DD"]) if "DD" in read else integer(1)
    return date_of(engine, [year, _as_int(engine, _month(engine, read)), day])


def _read_micros(engine: EngineName, read: dict[str, exp.Expression]) -> exp.Expression:
    halves = [keyword for keyword in ("AM", "PM", "A.M.", "P.M.") if keyword in read]
    if halves and "HH24" in read:
        raise FeatureNotSupported("not supported: reading HH24 beside AM or PM")
    parts = []
    for keyword, size, most in (
        ("HH24", HOUR, 23),
        ("HH12", HOUR, 12),
        ("HH", HOUR, 12),
        ("MI", MINUTE, 59),
        ("SS", SECOND, 59),
        ("MS", 1000, 999),
        ("FF3", 1000, 999),
        ("US", 1, 999999),
        ("FF6", 1, 999999),
    ):
        if keyword not in read:
            continue
        number = _as_int(engine, read[keyword])
        wrong = raises(engine, "22008", "date/time field value out of range")
        least = 1 if keyword in ("HH12", "HH") else 0
        checked = sql(engine, f"CASE WHEN $1 > {most} OR $1 < {least} THEN $2 ELSE $1 END", number, wrong)
        if keyword in ("HH12", "HH"):
            after = (
                sql(engine, "CASE WHEN lower(left($1, 1)) = 'p' THEN 12 ELSE 0 END", read[halves[0]])
                if halves
                else integer(0)
            )
            hour = "($1 % 12 + $2)" if halves else "CASE WHEN $1 = 12 THEN 0 ELSE $1 END + $2"
            checked = sql(engine, f"({hour})", checked, after)
        parts.append(sql(engine, f"CAST($1 AS BIGINT) * {size}", checked))
    total = integer(0)
    for part in parts:
        total = sql(engine, "($1 + $2)", total, part)
    return total


def _parse_builder(
    as_date: bool,
) -> Callable[[EngineName, Sequence[exp.Expression], Call | AggregateCall], exp.Expression]:
    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        if is_null(args[1]):
            return sql(
                engine, f"CAST(NULL AS {'DATE' if as_date else 'TIMESTAMPTZ' if engine == 'local' else 'TIMESTAMP'})"
            )
        if engine == "spark":
            shape = read_shape(engine, required_text(args[1], "a template"))
            return bound(engine, "read__", args[0], lambda value: _compile_read(engine, as_date, value, shape, call))
        template = constant_text(args[1])
        try:
            known = read_shape(engine, template) if template is not None else None
        except FeatureNotSupported:
            known = None
        if known is None:
            return _compute_by_function(as_date, args[0], args[1])
        return bound(
            engine, "read__", args[0],
            lambda value: _compile_read(engine, as_date, value, known, call, _compute_by_function(as_date, value, args[1])),
        )  # fmt: skip

    return build


def _compile_read(
    engine: EngineName,
    as_date: bool,
    value: exp.Expression,
    shape: Shape,
    call: Call | AggregateCall,
    otherwise: exp.Expression | None = None,
) -> exp.Expression:
    """Build the reading of a text by a shape. otherwise: the result for a text without the template's shape; without
    it, an error.
    """
    read = _read_fields(engine, value, shape)
    found = _read_date(engine, read)
    if not as_date:
        moved = "$1 + to_microseconds($2)" if engine == "local" else "timestampadd(MICROSECOND, $2, $1)"
        wall = sql(engine, moved, date_to_timestamp(engine, found), _read_micros(engine, read))
        found = sql("local", "CAST($1 AS TIMESTAMPTZ)", wall) if engine == "local" else to_instant(wall)
    matches = "regexp_matches($1, $2)" if engine == "local" else "regexp_like($1, $2)"
    said = concat(engine, [text(f'not supported: {call.function.name} of "'), value, text('" by this template')])
    return sql(
        engine, f"CASE WHEN {matches} THEN $3 WHEN $1 IS NOT NULL THEN $4 END",
        value, text(shape.pattern), found, otherwise if otherwise is not None else raises(engine, "0A000", said),
    )  # fmt: skip


def _compute_by_function(as_date: bool, value: exp.Expression, template: exp.Expression) -> exp.Expression:
    if as_date:
        return sql(
            "local",
            f"(CAST('1970-01-01' AS DATE) + sluice_to_date($1, $2, {CURSOR_NUMBER}))",
            value,
            template,
        )
    return sql(
        "local",
        f"make_timestamptz(sluice_to_timestamp($1, $2, {SESSION_ZONE}, {CURSOR_NUMBER}))",
        value,
        template,
    )


ROWS: tuple[Function, ...] = (
    fn("to_date", (t.TEXT, t.TEXT), t.DATE, **both(_parse_builder(True)), volatility="stable"),
    fn("to_timestamp", (t.TEXT, t.TEXT), t.TIMESTAMPTZ, **both(_parse_builder(False)), volatility="stable"),
)
