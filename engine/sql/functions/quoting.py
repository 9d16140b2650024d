"""Quoting and format(): PostgreSQL 15, sections 9.4 and 9.4.1.

A call of format() with a constant format string is expanded: its pieces are concatenated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Const, Expr, Function
from engine.sql.functions.building import fn
from engine.sql.functions.result_sizes import padded_length, reserve
from engine.sql.functions.textual import as_text
from engine.sql.functions.trees import concat, integer, on, required_text, sql, text
from wire.common.digits import parse_digits
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, InvalidParameterValue, NullValueNotAllowed, NumericValueOutOfRange
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

#: Keywords that quote_ident quotes: all that are not unreserved in PostgreSQL 15's grammar (pg_get_keywords()).
_KEYWORDS_TEXT: Final = """
all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both case cast char
character check coalesce collate collation column concurrently constraint create cross current_catalog current_date
current_role current_schema current_time current_timestamp current_user dec decimal default deferrable desc distinct do
else end except exists extract false fetch float for foreign freeze from full grant greatest group grouping having ilike in
initially inner inout int integer intersect interval into is isnull join lateral leading least left like limit localtime
localtimestamp national natural nchar none normalize not notnull null nullif numeric offset on only or order out outer
overlaps overlay placing position precision primary real references returning right row select session_user setof similar
smallint some substring symmetric table tablesample then time timestamp to trailing treat trim true union unique user using
values varchar variadic verbose when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces
xmlparse xmlpi xmlroot xmlserialize xmltable
"""
KEYWORDS: Final = tuple(_KEYWORDS_TEXT.split())
#: The keywords with a blank on both sides of each, as one constant: a list of them would take most of the planning time
#: of a query that prints a few names.
_SPACED: Final = f" {' '.join(KEYWORDS)} "

_PLAIN: Final = "^[a-z_][a-z0-9_]*$"


def quote_ident(engine: EngineName, value: exp.Expression) -> exp.Expression:
    matches = "regexp_matches" if engine == "local" else "regexp_like"
    plain = f"{matches}($1, $2) AND NOT contains($3, concat(' ', $1, ' '))"
    quoted = concat(engine, [text('"'), sql(engine, "replace($1, $2, $3)", value, text('"'), text('""')), text('"')])
    return sql(engine, f"CASE WHEN {plain} THEN $1 ELSE $4 END", value, text(_PLAIN), text(_SPACED), quoted)


def quote_literal(engine: EngineName, value: exp.Expression) -> exp.Expression:
    backslash = text("\\")
    quotes = sql(engine, "replace($1, $2, $3)", value, text("'"), text("''"))
    escaped = sql(engine, "replace($1, $2, $3)", quotes, backslash, text("\\\\"))
    quoted = concat(engine, [text("'"), escaped, text("'")])
    start = sql(engine, "CASE WHEN contains($1, $2) THEN 'E' ELSE '' END", value, backslash)
    return concat(engine, [start, quoted])


def _nullable(engine: EngineName, value: exp.Expression) -> exp.Expression:
    return sql(engine, "coalesce($1, 'NULL')", quote_literal(engine, value))


def _rows(name: str, strict: bool) -> Iterator[Function]:
    quote = quote_literal if strict else _nullable

    def textual(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        return quote(engine, args[0])

    def quote_any(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        return quote(engine, as_text(engine, args[0], call.args[0], "cast"))

    for arg, build in ((t.TEXT, textual), (t.ANYELEMENT, quote_any)):
        yield fn(name, (arg,), t.TEXT, local=on("local", build), spark=on("spark", build), strict=strict)


# --- format() ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Directive:
    """One `%[position$][-][width]type`. position: 1-based, 0 for the next argument. width_from: the position of the
    argument that gives the width; None without one.
    """

    kind: str
    position: int = 0
    width: int = 0
    left: bool = False
    width_from: int | None = None


_DIRECTIVE: Final = re.compile(
    r"%(?:(?P<position>\d+)\$)?(?P<flags>-*)(?P<width>\d+|\*(?:\d+\$)?)?(?P<kind>.?)", re.DOTALL | re.ASCII
)


def parse_format(pattern: str) -> list[str | Directive]:
    """Parse a format string into literal pieces and directives. Raises InvalidParameterValue as format() does."""
    pieces: list[str | Directive] = []
    at = 0
    while (percent := pattern.find("%", at)) >= 0:
        pieces.append(pattern[at:percent])
        if pattern.startswith("%%", percent):
            pieces.append("%")
            at = percent + 2
            continue
        found = _DIRECTIVE.match(pattern, percent)
        assert found is not None
        pieces.append(_directive(found))
        at = found.end()
    pieces.append(pattern[at:])
    return [piece for piece in pieces if piece != ""]


def _directive(found: re.Match[str]) -> Directive:
    kind, width, position = found["kind"], found["width"] or "", found["position"]
    if not kind:
        raise InvalidParameterValue("unterminated format() type specifier", hint='For a single "%" use "%%".')
    if kind not in "sIL":
        raise InvalidParameterValue(f'unrecognized format() type specifier "{kind}"', hint='For a single "%" use "%%".')
    place = width.strip("*$") if width.startswith("*") else None
    argument, wide, asked = (
        parse_digits(position or "0"),
        parse_digits(width if place is None and width else "0"),
        parse_digits(place or "0"),
    )
    if max(argument, wide, asked) >= 1 << 31:
        raise NumericValueOutOfRange("number is out of range")
    if (position and not argument) or (place and not asked):
        raise InvalidParameterValue("format specifies argument 0, but arguments are numbered from 1")
    if place is not None:
        return Directive(kind, argument, left=bool(found["flags"]), width_from=asked)
    return Directive(kind, argument, wide, bool(found["flags"]))


def _format_argument(
    engine: EngineName, directive: Directive, tree: exp.Expression, width: exp.Expression | None
) -> exp.Expression:
    """Format one argument, already text, by a directive. width: the argument that gives the width, if there is one."""
    if directive.kind == "L":
        value = _nullable(engine, tree)
    elif directive.kind == "I":
        null = exp.Anonymous(this="error" if engine == "local" else "raise_error", expressions=[text(_NULL_IDENTIFIER)])
        value = sql(engine, "CASE WHEN $1 IS NULL THEN $2 ELSE $3 END", tree, null, quote_ident(engine, tree))
    else:
        value = sql(engine, "coalesce($1, '')", tree)
    if width is not None:
        return _pad(engine, value, width, left=directive.left)
    if not directive.width:
        return value
    pad = "rpad" if directive.left else "lpad"
    length = "length" if engine == "local" else "char_length"
    padded = f"{pad}($1, {padded_length(engine, directive.width)}, ' ')"
    return sql(engine, f"CASE WHEN {length}($1) >= $2 THEN $1 ELSE {padded} END", value, integer(directive.width))


def _pad(engine: EngineName, value: exp.Expression, width: exp.Expression, *, left: bool) -> exp.Expression:
    """Pad a value to a computed width: a negative width aligns it left, null is no width."""
    length = "length" if engine == "local" else "char_length"
    side = f"CASE WHEN {'TRUE' if left else '$2 < 0'} THEN rpad($1, abs($2), ' ') ELSE lpad($1, $2, ' ') END"
    whole = sql(engine, "CAST($1 AS INT)", width)
    count = reserve(whole, sql("local", _PADDED_BYTES, value, whole)) if engine == "local" else whole
    return sql(engine, f"CASE WHEN {length}($1) >= abs(coalesce($3, 0)) THEN $1 ELSE {side} END", value, count, whole)


#: The least number of bytes of a text, $1, that is padded to a width, $2, in the local engine.
_PADDED_BYTES: Final = "greatest(CAST(strlen($1) AS BIGINT), abs(CAST($2 AS BIGINT)))"


_NULL_IDENTIFIER: Final = (
    f"SQLSTATE:{NullValueNotAllowed.default_sqlstate}:null values cannot be formatted as an SQL identifier"
)


def _format(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    pieces = []
    following = 1
    for piece in parse_format(required_text(args[0], "a format")):
        if isinstance(piece, str):
            pieces.append(text(piece))
            continue
        width = None
        if piece.width_from is not None:
            following, width = _argument(piece.width_from or following, args)
            _require_width(call.args[following - 1])
        following, value = _argument(piece.position or following, args)
        shown = as_text(engine, value, call.args[following - 1])
        pieces.append(_format_argument(engine, piece, shown, width))
    return concat(engine, pieces)


def _argument(index: int, args: Sequence[exp.Expression]) -> tuple[int, exp.Expression]:
    """Return the index of the next argument, and the argument that is meant. Raises InvalidParameterValue if there is
    none.
    """
    if index >= len(args):
        raise InvalidParameterValue("too few arguments for format()")
    return index + 1, args[index]


def _require_width(given: Expr) -> None:
    null = isinstance(given, Const) and given.value is None
    if given.type.pg not in (t.INT2, t.INT4) and not null:
        raise FeatureNotSupported(f"not supported: format() with a width of type {given.type}")


_FORMAT = {"local": on("local", _format), "spark": on("spark", _format)}

ROWS: tuple[Function, ...] = (
    fn(
        "quote_ident",
        (t.TEXT,),
        t.TEXT,
        local=on("local", lambda engine, args, _call: quote_ident(engine, args[0])),
        spark=on("spark", lambda engine, args, _call: quote_ident(engine, args[0])),
    ),
    *_rows("quote_literal", strict=True),
    *_rows("quote_nullable", strict=False),
    fn("format", (t.TEXT,), t.TEXT, local=_FORMAT["local"], spark=_FORMAT["spark"], strict=False, volatility="stable"),
    fn(
        "format",
        (t.TEXT, t.ANY),
        t.TEXT,
        local=_FORMAT["local"],
        spark=_FORMAT["spark"],
        variadic=True,
        strict=False,
        volatility="stable",
    ),
)
