"""to_char of numbers, to_number: PostgreSQL 15, section 9.8.

A constant template of the common form is compiled: digits (9, 0), one decimal point (`.`, D), group separators (`,`, G)
and at most one sign (S, MI, SG or PR), possibly FM, with other characters only before or after. The value is rounded to
the template's decimals and written with all zeros and separators; then the leading part without significant digits is
blanked. Any other template, including one that is not constant, runs in the local engine only
(`engine.executors.local.templates`), and so does to_number.

Floats are rounded by DuckDB's printf, which is C's; Spark has no equivalent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.common.sql_type import SqlType, numeric
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Const, Function
from engine.sql.functions.building import NOTHING, fn
from engine.sql.functions.casts_input import read_numeric
from engine.sql.functions.trees import (
    CURSOR_NUMBER,
    both,
    bound,
    concat,
    constant_text,
    integer,
    is_null,
    on,
    required_text,
    sql,
    text,
)
from engine.sql.text_templates.lengths import COMPILED_CHARACTERS_MAX
from engine.sql.text_templates.numbers import SHIFTED_SCALE, number_template, read_number
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, SqlError
from wire.types import pg_types as t
from wire.types.carriers import NumericScale

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call, Expr

_TEMPLATE: Final = re.compile(
    r"(?P<fill>FM|fm)?(?P<before>[^0-9A-Za-z.,\"\\]*)(?P<lead>SG|sg|S|s|MI|mi)?(?P<whole>[90]++(?:[,Gg]++[90]++)*+)"
    r"(?:(?P<point>[.Dd])(?P<decimals>[90]++))?(?P<tail>SG|sg|S|s|MI|mi|PR|pr)?(?P<after>[^0-9A-Za-z.,\"\\]*)"
)


@dataclass(frozen=True, slots=True)
class Layout:
    """A template for numbers.

    whole: `9`, `0` and `,` in order. sign: the sign's keyword, or empty; lead: whether it comes first.
    decimals, least: the number of decimals, and the number that FM keeps.
    """

    before: str
    fill: bool
    sign: str
    lead: bool
    whole: str
    point: bool
    decimals: int
    least: int
    after: str

    @property
    def places(self) -> int:
        return len(self.whole.replace(",", ""))

    @property
    def blank_places(self) -> int:
        """The number of integer places before the first 0, which may be blank."""
        digits = self.whole.replace(",", "")
        return digits.index("0") if "0" in digits else len(digits)


def read_layout(template: str) -> Layout | None:
    """Read a template; None for one of another form."""
    found = _TEMPLATE.fullmatch(template)
    if found is None or (found["lead"] and found["tail"]):
        return None
    decimals = found["decimals"] or ""
    return Layout(
        before=found["before"],
        fill=found["fill"] is None,
        sign=(found["lead"] or found["tail"] or "").upper(),
        lead=found["lead"] is not None,
        whole=found["whole"].upper().replace("G", ","),
        point=bool(found["point"]),
        decimals=len(decimals),
        least=decimals.rindex("0") + 1 if "0" in decimals else 0,
        after=found["after"],
    )


def _substring(
    engine: EngineName, value: exp.Expression, start: exp.Expression | int, length: int | None = None
) -> exp.Expression:
    begin = integer(start) if isinstance(start, int) else start
    if length is None:
        return sql(engine, "substring($1, $2)", value, begin)
    return sql(engine, f"substring($1, $2, {length})", value, begin)


def _group_digits(engine: EngineName, layout: Layout, digits: exp.Expression) -> exp.Expression:
    """Return all integer places with the separators between them."""
    pieces: list[exp.Expression] = []
    at = 1
    for run in re.findall(r"[90]+|,", layout.whole):
        if run == ",":
            pieces.append(text(","))
        else:
            pieces.append(_substring(engine, digits, at, len(run)))
            at += len(run)
    return concat(engine, pieces)


def _offsets(layout: Layout) -> list[int]:
    """Return, for each number of shown integer places, from 0, the number of characters of the grouped text before
    them.
    """
    found = []
    for shown in range(layout.places + 1):
        skipped, passed = layout.places - shown, 0
        at = 0
        while at < len(layout.whole) and passed < skipped:
            passed += layout.whole[at] != ","
            at += 1
        while at < len(layout.whole) and layout.whole[at] == "," and shown < layout.places:
            at += 1
        found.append(at)
    return found


def _format_digits(
    engine: EngineName, layout: Layout, negative: exp.Expression, digits: exp.Expression, decimals: exp.Expression
) -> exp.Expression:
    """Format a number. digits: the integer part without sign or leading zeros (`0` for none). decimals: all decimals."""
    length = "length($1)" if engine == "local" else "char_length($1)"
    width = sql(engine, length, digits)
    zero = sql(engine, "$1 = '0'", digits)
    forced = layout.places - layout.blank_places
    # A zero before decimals is blank unless the template requires it; a zero without decimals is shown.
    least = max(forced, 0 if layout.decimals and layout.places else min(1, layout.places))
    significant = sql(engine, f"CASE WHEN $1 THEN {least} ELSE greatest($2, {least}) END", zero, width)
    full = sql(engine, f"lpad($1, {max(layout.places, 1)}, '0')", digits)
    offsets = _offsets(layout)
    listed = ", ".join(str(offset + 1) for offset in offsets)
    picked = (
        f"list_extract([{listed}], CAST($1 AS INTEGER) + 1)"
        if engine == "local"
        else f"get(array({listed}), CAST($1 AS INT))"
    )
    whole = (
        _substring(engine, _group_digits(engine, layout, full), sql(engine, picked, significant))
        if layout.places
        else text("")
    )
    hashes = text("".join("," if c == "," else "#" for c in layout.whole))
    over = sql(engine, f"(NOT $2 AND $1 > {layout.places})", width, zero)
    body = sql(engine, "CASE WHEN $1 THEN $2 ELSE $3 END", over, hashes, whole)
    if not layout.fill and layout.decimals and not layout.least and not forced:
        # If all decimals are dropped, nothing would be left of a zero.
        nothing = sql(
            engine,
            "($1 AND rtrim($2, '0') = '')" if engine == "local" else "($1 AND rtrim('0', $2) = '')",
            zero,
            decimals,
        )
        body = sql(engine, "CASE WHEN $1 THEN '0' ELSE $2 END", nothing, body)
    tail = _decimal_part(engine, layout, decimals, over)
    return _add_sign(engine, layout, negative, concat(engine, [body, tail]))


def _decimal_part(engine: EngineName, layout: Layout, decimals: exp.Expression, over: exp.Expression) -> exp.Expression:
    if not layout.point and not layout.decimals:
        return text("")
    kept = decimals
    if not layout.fill and layout.decimals:
        # FM drops trailing zeros, except those that the template has as 0.
        rest = _substring(engine, decimals, layout.least + 1)
        trimmed = sql(engine, "rtrim($1, '0')" if engine == "local" else "rtrim('0', $1)", rest)
        kept = concat(engine, [_substring(engine, decimals, 1, layout.least), trimmed]) if layout.least else trimmed
    hashes = text("#" * layout.decimals)
    return concat(
        engine, [text("." if layout.point else ""), sql(engine, "CASE WHEN $1 THEN $2 ELSE $3 END", over, hashes, kept)]
    )


def _add_sign(engine: EngineName, layout: Layout, negative: exp.Expression, body: exp.Expression) -> exp.Expression:
    """Add the sign in its place, and blanks up to the template's width."""
    width = len(layout.whole) + layout.point + layout.decimals

    def choose(yes: str, no: str) -> exp.Expression:
        return sql(engine, "CASE WHEN $1 THEN $2 ELSE $3 END", negative, text(yes), text(no))

    def fill_blanks(tree: exp.Expression, size: int) -> exp.Expression:
        return sql(engine, f"lpad($1, {size}, ' ')", tree) if layout.fill else tree

    blank = " " if layout.fill else ""
    match layout.sign:
        case "":
            shown = fill_blanks(concat(engine, [choose("-", blank), body]), width + 1)
        case "S":
            sign = choose("-", "+")
            shown = (
                fill_blanks(concat(engine, [sign, body]), width + 1)
                if layout.lead
                else concat(engine, [fill_blanks(body, width), sign])
            )
        case "MI" | "SG":
            sign = choose("-", blank if layout.sign == "MI" else "+")
            inside = fill_blanks(body, width)
            shown = concat(engine, [sign, inside] if layout.lead else [inside, sign])
        case _:
            inside = concat(engine, [choose("<", blank), body])
            shown = concat(engine, [fill_blanks(inside, width + 1), choose(">", blank)])
    return concat(engine, [piece for piece in (text(layout.before), shown, text(layout.after)) if piece != text("")])


def _parts(engine: EngineName, shown: exp.Expression, decimals: int) -> tuple[exp.Expression, exp.Expression]:
    """Return the integer digits and the decimals of a plain decimal text without sign."""
    if not decimals:
        return shown, text("")
    length = "length($1)" if engine == "local" else "char_length($1)"
    whole = sql(engine, f"substring($1, 1, {length} - {decimals + 1})", shown)
    return whole, sql(engine, f"right($1, {decimals})", shown)


def _null(engine: EngineName) -> exp.Expression:
    return sql(engine, "CAST(NULL AS VARCHAR)" if engine == "local" else "CAST(NULL AS STRING)")


def _layout(template: exp.Expression) -> Layout | None:
    """Return a short constant template's layout; None if the local engine's function must read it."""
    known = constant_text(template)
    return None if known is None or len(known) > COMPILED_CHARACTERS_MAX else read_layout(known)


def _by_function(engine: EngineName, args: Sequence[exp.Expression], typ: t.PgType) -> exp.Expression:
    """Return the call of the local engine's function. Raises FeatureNotSupported for Spark."""
    value, template = args
    if engine == "spark":
        raise FeatureNotSupported(f'not supported: to_char of a number by "{required_text(template, "a template")}"')
    given = "CAST($1 AS VARCHAR)" if typ is t.NUMERIC else "$1"
    written = sql("local", f"sluice_{typ.name}_to_char({given}, $2, {CURSOR_NUMBER})", value, template)
    return sql("local", "CASE WHEN $1 = '' THEN left(CAST($2 AS VARCHAR), 0) ELSE $3 END", template, value, written)


def _exact(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build to_char of numeric and integers, rounded half away from zero."""
    typ = call.args[0].type
    if is_null(args[1]):
        return _null(engine)
    found = _layout(args[1])
    if found is None:
        return _by_function(engine, args, typ.pg)
    layout = found
    whole_digits = typ.precision - typ.scale if typ.pg is t.NUMERIC else 19
    precision = min(38, max(whole_digits + 1, 1) + layout.decimals)

    def format_value(value: exp.Expression) -> exp.Expression:
        rounded = sql(engine, f"CAST(round($1, {layout.decimals}) AS DECIMAL({precision}, {layout.decimals}))", value)
        shown = sql(engine, "CAST(abs($1) AS VARCHAR)" if engine == "local" else "CAST(abs($1) AS STRING)", rounded)
        return _of_text(engine, layout, sql(engine, "($1 < 0)", rounded), shown, value)

    return bound(engine, "number__", args[0], format_value)


def _of_text(
    engine: EngineName, layout: Layout, negative: exp.Expression, shown: exp.Expression, value: exp.Expression
) -> exp.Expression:
    def split(packed: exp.Expression) -> exp.Expression:
        whole, decimals = _parts(engine, packed, layout.decimals)
        joined = _format_digits(engine, layout, negative, whole, decimals)
        return sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", value, joined)

    return bound(engine, "shown__", shown, split)


#: The maximum number of digits printed of a float8 and of a float4 (DBL_DIG, FLT_DIG).
_DIGITS: Final = {t.FLOAT8: 15, t.FLOAT4: 6}


def _float(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build to_char of floats. Values with all their digits and an unambiguous sign are compiled. The local engine's
    function formats the others, which are few: zeros, which may be negative, values that round to zero, overflows,
    infinities, NaN.
    """
    typ = call.args[0].type.pg
    if is_null(args[1]):
        return _null(engine)
    found = _layout(args[1])
    if found is None or found.decimals >= _DIGITS[typ]:
        return _by_function(engine, args, typ)
    layout = found
    most = 10 ** min(layout.places, _DIGITS[typ] - layout.decimals) - 1

    def format_value(value: exp.Expression) -> exp.Expression:
        shown = sql("local", f"printf('%.{layout.decimals}f', abs(CAST($1 AS DOUBLE)))", value)
        written = _of_text("local", layout, sql("local", "($1 < 0)", value), shown, value)
        usual = sql("local", f"(abs($1) < {most} AND ($1 > 0 OR $1 <= -1))", value)
        other = _by_function("local", [value, args[1]], typ)
        return sql("local", "CASE WHEN $1 THEN $2 WHEN $3 IS NOT NULL THEN $4 END", usual, written, value, other)

    return bound("local", "number__", args[0], format_value)


# --- to_number --------------------------------------------------------------------------------------------------------


def _to_number(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    read = sql("local", f"sluice_to_number($1, nullif($2, ''), {CURSOR_NUMBER})", *args)
    return read_numeric("local", read, call.type)


def _number_digits(args: Sequence[Expr]) -> SqlType:
    """Return to_number's digits from the template; for a constant text, whose decimals are known, the printed ones."""
    template = args[1].value if isinstance(args[1], Const) else None
    if not template:
        return st.of(t.NUMERIC)
    try:
        n = number_template(template)
        known = (
            read_number(args[0].value, template) if isinstance(args[0], Const) and args[0].value is not None else None
        )
    except SqlError:  # raised when it is computed
        return st.of(t.NUMERIC)
    scale = SHIFTED_SCALE if n.shifts else n.after
    if known is not None:
        return numeric(n.before + n.shift + scale, len(known.partition(".")[2]))
    return numeric(n.before + n.shift + scale, scale, NumericScale.FIXED if n.shifts else NumericScale.TRIMMED)


def _rows() -> Iterator[Function]:
    for typ in (t.INT4, t.INT8, t.NUMERIC):
        yield fn("to_char", (typ, t.TEXT), t.TEXT, **both(_exact), volatility="stable")
    for typ in (t.FLOAT4, t.FLOAT8):
        yield fn("to_char", (typ, t.TEXT), t.TEXT, local=on("local", _float), spark=NOTHING, volatility="stable")
    yield fn(
        "to_number", (t.TEXT, t.TEXT), t.NUMERIC, local=_to_number, spark=NOTHING, by_value=_number_digits,
        volatility="stable",
    )  # fmt: skip


ROWS: tuple[Function, ...] = tuple(_rows())
