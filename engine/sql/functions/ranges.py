"""Ranges: their bounds, containment, relative position, and the constructors of discrete ranges.

A range is its canonical text (`wire.types.ranges`). Either engine cuts its bounds out of the text and casts them: no
bound of these types contains a comma, and quotes occur only around a bound. Infinite bounds are null.

Order, functions that combine two ranges, and constructors that have to bring bounds to their canonical form run in the
local engine only (`engine.executors.local.ranges`, `engine.executors.local.sort_keys`).

Source: PostgreSQL 15, rangetypes.c (range_cmp_bounds and its callers, range_union_internal, range_minus_internal).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Builder, Function
from engine.sql.functions.building import NOTHING, agg, cast, fn, op
from engine.sql.functions.casts_output import DATE_TEXT_ON_SPARK
from engine.sql.functions.formatting import SESSION_ZONE
from engine.sql.functions.textual import as_text, typed_as_text
from engine.sql.functions.trees import EngineBuilder, both, on, raises, sql, text
from engine.sql.trees.storage_types import storage_name
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t
from wire.types.ranges import SUBTYPES

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call, Expr

_BOUND_TEXT: Final = (
    "CASE WHEN ${n} <> 'empty' THEN"
    " nullif(split_part(replace(substr(${n}, 2, length(${n}) - 2), '\"', ''), ',', {place}), '') END"
)
_BOUND: Final = f"CAST({_BOUND_TEXT} AS {{typ}})"
#: DuckDB reads the era in parentheses, after the date.
_BOUND_WITH_ERA: Final = f"CAST(regexp_replace({_BOUND_TEXT}, '^([^ ]+)(.*) BC$', '\\1 (BC)\\2') AS {{typ}})"
_WITH_ERA: Final = (t.DATERANGE, t.TSRANGE, t.TSTZRANGE)
#: Conditions that the first range's lower bound is not above the second's, and its upper bound not below.
_LOWER: Final = "({L1} IS NULL OR ({L2} IS NOT NULL AND ({L1} < {L2} OR ({L1} = {L2} AND ({I1} OR NOT {I2})))))"
_UPPER: Final = "({U1} IS NULL OR ({U2} IS NOT NULL AND ({U2} < {U1} OR ({U1} = {U2} AND ({J1} OR NOT {J2})))))"
_CONTAINS: Final = f"$2 = 'empty' OR ($1 <> 'empty' AND {_LOWER} AND {_UPPER})"
_ELEMENT: Final = (
    "$1 <> 'empty' AND ({L1} IS NULL OR {L1} < $2 OR ({L1} = $2 AND {I1}))"
    " AND ({U1} IS NULL OR $2 < {U1} OR ($2 = {U1} AND {J1}))"
)
_BEFORE: Final = (
    "(${a} <> 'empty' AND ${b} <> 'empty' AND {{U{a}}} IS NOT NULL AND {{L{b}}} IS NOT NULL"
    " AND ({{U{a}}} < {{L{b}}} OR ({{U{a}}} = {{L{b}}} AND NOT ({{J{a}}} AND {{I{b}}}))))"
)
_LEFT, _RIGHT = _BEFORE.format(a=1, b=2), _BEFORE.format(a=2, b=1)
_OVERLAPS: Final = f"$1 <> 'empty' AND $2 <> 'empty' AND NOT {_LEFT} AND NOT {_RIGHT}"
_ADJACENT: Final = (
    "$1 <> 'empty' AND $2 <> 'empty' AND ((coalesce({U1} = {L2}, FALSE) AND {J1} <> {I2})"
    " OR (coalesce({U2} = {L1}, FALSE) AND {J2} <> {I1}))"
)


#: Ranges whose bounds both engines write in their stored form.
_IN_EITHER: Final = (t.INT4RANGE, t.INT8RANGE, t.DATERANGE)


def _pieces(subtype: t.PgType, engine: EngineName) -> dict[str, str]:
    """Return the names that the templates above use: bounds of the first and second argument, and whether they are
    inclusive.
    """
    found = {}
    has_era = engine == "local" and subtype in (SUBTYPES[made] for made in _WITH_ERA)
    bound, typ = _BOUND_WITH_ERA if has_era else _BOUND, storage_name(st.of(subtype), engine)
    for n in (1, 2):
        found[f"L{n}"] = bound.format(n=n, place=1, typ=typ)
        found[f"U{n}"] = bound.format(n=n, place=2, typ=typ)
        found[f"I{n}"] = f"(substr(${n}, 1, 1) = '[')"
        found[f"J{n}"] = f"(substr(${n}, length(${n}), 1) = ']')"
    return found


def _condition(template: str, *, turned: bool = False) -> EngineBuilder:
    """Return the builder of a condition. turned: the arguments are swapped, as for `<@`."""

    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        range_ = next(arg.type.pg for arg in call.args if arg.type.pg in SUBTYPES)
        text = template.format(**_pieces(SUBTYPES[range_], engine))
        null = "$1 IS NULL OR $2 IS NULL"
        given = args[::-1] if turned else args
        return sql(engine, f"CASE WHEN {null} THEN NULL ELSE {text} END", *given)

    return build


def _bound_builder(letter: str) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        return sql(engine, _pieces(call.type.pg, engine)[letter], *args)

    return build


def _bounds() -> Iterator[Function]:
    for name, letter, place in (("lower", "L1", 1), ("upper", "U1", 2)):
        rule = lambda given: st.of(SUBTYPES[given[0].pg])  # noqa: E731
        yield fn(name, (t.ANYRANGE,), t.ANYELEMENT, rule=rule, **both(_bound_builder(letter)))
        infinite = _BOUND.format(n=1, place=place, typ="{text}") + " IS NULL"
        texts = {"local": "VARCHAR", "spark": "STRING"}
        local, spark = (f"$1 <> 'empty' AND {infinite.format(text=text)}" for text in texts.values())
        yield fn(f"{name}_inf", (t.ANYRANGE,), t.BOOL, local=local, spark=spark)
    yield fn("lower_inc", (t.ANYRANGE,), t.BOOL, "substr($1, 1, 1) = '['")
    yield fn("upper_inc", (t.ANYRANGE,), t.BOOL, "substr($1, length($1), 1) = ']'")
    yield fn("isempty", (t.ANYRANGE,), t.BOOL, "$1 = 'empty'")


def _operators() -> Iterator[Function]:
    two = (t.ANYRANGE, t.ANYRANGE)
    yield op("@>", (t.ANYRANGE, t.ANYELEMENT), t.BOOL, **both(_condition(_ELEMENT)))
    yield op("<@", (t.ANYELEMENT, t.ANYRANGE), t.BOOL, **both(_condition(_ELEMENT, turned=True)))
    yield op("@>", two, t.BOOL, **both(_condition(_CONTAINS)))
    yield op("<@", two, t.BOOL, **both(_condition(_CONTAINS, turned=True)))
    for symbol, template in (("&&", _OVERLAPS), ("<<", _LEFT), (">>", _RIGHT), ("-|-", _ADJACENT)):
        yield op(symbol, two, t.BOOL, **both(_condition(template)))


def comparison_builder(symbol: str) -> EngineBuilder:
    """Return the builder of a comparison of ranges or multiranges. Equal ranges have equal texts, except ranges of
    numerics, whose digits may differ; texts have no order of ranges.
    """

    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        typ = call.args[0].type.pg
        if symbol in ("=", "<>") and typ not in (t.NUMRANGE, t.NUMMULTIRANGE):
            return sql(engine, f"$1 {symbol} $2", *args)
        if engine == "spark":
            raise FeatureNotSupported(f"not supported: {symbol} of {typ.sql_name}")
        key = f"sluice_{typ.name}_key"
        return sql(engine, f"{key}($1) {symbol} {key}($2)", *args)

    return build


def _local(function: str) -> Builder:
    """Return a template of a function of the local engine that receives the range type's name."""

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        given = ", ".join(f"${n}" for n in range(2, len(args) + 2))
        return sql("local", f"sluice_range_{function}($1, {given})", text(call.args[0].type.pg.name), *args)

    return build


def _combinations() -> Iterator[Function]:
    two = (t.ANYRANGE, t.ANYRANGE)
    for symbol in ("=", "<>", "<", "<=", ">", ">="):
        yield op(symbol, two, t.BOOL, **both(comparison_builder(symbol)))
    for symbol, function in (("+", "union"), ("*", "intersect"), ("-", "minus")):
        yield op(symbol, two, t.ANYRANGE, local=_local(function))
    for symbol, function in (("&<", "not_right"), ("&>", "not_left")):
        yield op(symbol, two, t.BOOL, local=_local(function))
    yield fn("range_merge", two, t.ANYRANGE, local=_local("merge"))
    yield agg("range_intersect_agg", (t.ANYRANGE,), t.ANYRANGE, local=_intersection)


def _intersection(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    return sql("local", "sluice_range_intersection($1, array_agg($2))", text(call.args[0].type.pg.name), *args)


def _make_range(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build a range from two bounds with its function; bounds are passed as texts."""
    bounds = [bound_text(tree, arg) for tree, arg in zip(args[:2], call.args, strict=False)]
    null = raises("local", "22000", "range constructor flags argument must not be null")
    flags = sql("local", "CASE WHEN $1 IS NULL THEN $2 ELSE $1 END", args[2], null) if len(args) == 3 else text("[)")
    return sql("local", "sluice_range_made($1, $2, $3, $4)", text(call.type.pg.name), *bounds, flags)


def bound_text(tree: exp.Expression, value: Expr) -> exp.Expression:
    """Return a bound, or a value to search for, as the text that the local engine's functions take."""
    if value.type.pg is t.NUMERIC:
        return as_text("local", tree, value)
    return sql("local", "CAST($1 AS VARCHAR)", tree)


def _bound_shown(engine: EngineName, made: t.PgType, text_type: str, place: int) -> str:
    """Return a bound's text within a range. An era is preceded by a blank, so that the date is quoted. Spark has the
    texts of four-digit years only.
    """
    shown = f"CAST(${place} AS {text_type})"
    if made is not t.DATERANGE:
        return shown
    if engine == "local":
        return f"regexp_replace({shown}, '^(.*) [(]BC[)]$', '\"\\1 BC\"')"
    return DATE_TEXT_ON_SPARK.replace("$1", f"${place}")


def _constructors() -> Iterator[Function]:
    for made, subtype in SUBTYPES.items():
        yield fn(made.name, (subtype, subtype, t.TEXT), made, local=on("local", _make_range), strict=False)
        if made not in _IN_EITHER:
            yield fn(made.name, (subtype, subtype), made, local=on("local", _make_range), strict=False)
    for made in _IN_EITHER:
        wrong = "RAISE('22000', 'range lower bound must be less than or equal to range upper bound')"
        texts: dict[EngineName, str] = {}
        names: dict[EngineName, str] = {"local": "VARCHAR", "spark": "STRING"}
        for engine, name in names.items():
            lower, upper = (f"coalesce({_bound_shown(engine, made, name, n)}, '')" for n in (1, 2))
            begin = "CASE WHEN $1 IS NULL THEN '(' ELSE '[' END"
            shown = f"concat({begin}, {lower}, ',', {upper}, ')')"
            texts[engine] = f"CASE WHEN $1 > $2 THEN {wrong} WHEN $1 = $2 THEN 'empty' ELSE {shown} END"
        args = (SUBTYPES[made],) * 2
        yield fn(made.name, args, made, local=texts["local"], spark=texts["spark"], strict=False)


# --- text -------------------------------------------------------------------------------------------------------------


def _instants_as_text(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build the text of a range of instants, with its bounds in the session's time zone."""
    pieces = _pieces(t.TIMESTAMPTZ, "local")
    bounds = []
    for letter in ("L1", "U1"):
        bound = sql("local", pieces[letter], args[0])
        shown = typed_as_text("local", bound, st.of(t.TIMESTAMPTZ), call.args[0])
        quoted = "CASE WHEN contains($1, ' ') THEN '\"' || $1 || '\"' ELSE coalesce($1, '') END"
        bounds.append(sql("local", quoted, shown))
    ends = [sql("local", piece, args[0]) for piece in ("substr($1, 1, 1)", "substr($1, length($1), 1)")]
    shown = sql("local", "$1 || $2 || ',' || $3 || $4", ends[0], *bounds, ends[1])
    return sql("local", "CASE WHEN $1 = 'empty' THEN $1 ELSE $2 END", args[0], shown)


def _texts() -> Iterator[Function]:
    """Yield casts from and to text of ranges of days and times. The carrier of all but those of instants is their text
    in DateStyle ISO.
    """
    for typ in (t.DATERANGE, t.TSRANGE, t.TSTZRANGE, t.DATEMULTIRANGE, t.TSMULTIRANGE, t.TSTZMULTIRANGE):
        read = f"sluice_range_from_text('{typ.name}', $1, {SESSION_ZONE})"
        yield cast(t.TEXT, typ, local=read, spark=NOTHING, volatility="stable")
    for typ in (t.DATERANGE, t.TSRANGE, t.DATEMULTIRANGE, t.TSMULTIRANGE):
        yield cast(typ, t.TEXT, "$1")
    yield cast(t.TSTZRANGE, t.TEXT, local=_instants_as_text)


ROWS: tuple[Function, ...] = (*_bounds(), *_operators(), *_combinations(), *_constructors(), *_texts())
