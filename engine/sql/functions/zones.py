"""AT TIME ZONE, as the function timezone(zone, x): PostgreSQL 15, section 9.9.4.

A constant zone is resolved here, by PostgreSQL's rules: an abbreviation stands for its offset before a name is looked
up in the IANA database, and a POSIX specification counts westwards. The engines only receive IANA names, on which they
agree, or do plain arithmetic with an offset. A zone that is computed must be such a name too.

A wall clock time that is skipped is read with the offset before the change; one that occurs twice is the later one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import fn
from engine.sql.functions.moments import DAY, SECOND, fields, micros_of, modulo, moment
from engine.sql.functions.trees import EngineBuilder, bound, concat, constant_text, integer, on, pack, raises, sql, text
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, InvalidParameterValue
from wire.types import pg_types as t
from wire.types import time_zone_abbreviations as abbreviations
from wire.types.time_zones import canonical_name, find_zone, zone

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call


#: A POSIX specification without a name: hours, minutes and seconds west of Greenwich.
_NAMELESS: Final = re.compile(r"([+-]?)(\d{1,3})(?::(\d{1,2}))?(?::(\d{1,2}))?")


@dataclass(frozen=True, slots=True)
class Rule:
    """The meaning of a zone's text: an IANA name, or seconds east of Greenwich."""

    name: str = ""
    east: int = 0


def resolve(spelling: str) -> Rule:
    """Resolve a zone by PostgreSQL's rules. Raises 22023 for an unknown zone, 0A000 for one whose offset depends on
    the time and that no IANA name represents.
    """
    low = spelling.strip().lower()
    if low in abbreviations.OFFSETS:
        return Rule(east=abbreviations.OFFSETS[low])
    if low in abbreviations.ZONES:
        return _of_abbreviation(low)
    nameless = _NAMELESS.fullmatch(low)
    if nameless is not None:
        sign, *parts = nameless.groups(default="0")
        seconds = sum(int(part) * size for part, size in zip(parts, (3600, 60, 1), strict=True))
        return Rule(east=seconds if sign == "-" else -seconds)
    name = canonical_name(spelling.strip())
    if name is not None:
        return Rule(name)
    found = find_zone(spelling.strip())
    if found is None:
        raise InvalidParameterValue(f'time zone "{spelling}" not recognized')
    if len(found.starts) > 1:
        raise FeatureNotSupported(f'not supported: the time zone specification "{spelling}"')
    return Rule(east=int(found.offsets[0]))


def _of_abbreviation(low: str) -> Rule:
    place = zone(abbreviations.ZONES[low])
    offsets = {int(o) for o, name in zip(place.offsets, place.abbreviations, strict=True) if name.lower() == low}
    if len(offsets) != 1:
        raise FeatureNotSupported(f'not supported: the time zone abbreviation "{low}", which meant several offsets')
    return Rule(east=offsets.pop())


def _move(
    engine: EngineName, value: exp.Expression, source: t.PgType, target: t.PgType, micros: exp.Expression
) -> exp.Expression:
    moved = moment(engine, sql(engine, "($1 + $2)", micros_of(engine, value, source), micros), target)
    if engine == "spark":
        return moved
    # An infinite moment has no microseconds in DuckDB, and is the same in all zones.
    infinite = f"CAST($1 AS {'TIMESTAMPTZ' if target is t.TIMESTAMPTZ else 'TIMESTAMP'})"
    return sql("local", f"CASE WHEN isfinite($1) THEN $2 ELSE {infinite} END", value, moved)


def to_zone(engine: EngineName, place: exp.Expression, value: exp.Expression) -> exp.Expression:
    """Convert an instant to the local time of a zone: timestamptz to timestamp."""
    known = constant_text(place)
    rule = resolve(known) if known is not None else None
    if rule is not None and not rule.name:
        return _move(engine, value, t.TIMESTAMPTZ, t.TIMESTAMP, integer(rule.east * SECOND))
    name = text(rule.name) if rule is not None else _check_zone(engine, place)
    if engine == "local":
        return sql("local", "timezone($1, $2)", name, value)
    utc = moment("spark", micros_of("spark", value, t.TIMESTAMPTZ), t.TIMESTAMP)
    return sql("spark", "convert_timezone('UTC', $1, $2)", name, utc)


def in_zone(engine: EngineName, place: exp.Expression, value: exp.Expression) -> exp.Expression:
    """Convert a local time of a zone to its instant: timestamp to timestamptz."""
    known = constant_text(place)
    rule = resolve(known) if known is not None else None
    if rule is not None and not rule.name:
        return _move(engine, value, t.TIMESTAMP, t.TIMESTAMPTZ, integer(-rule.east * SECOND))
    name = text(rule.name) if rule is not None else _check_zone(engine, place)
    if engine == "local":
        return sql("local", "timezone($1, $2)", name, value)

    def choose(wall: exp.Expression) -> exp.Expression:
        later = "timestampadd(DAY, -1, convert_timezone($1, 'UTC', timestampadd(DAY, 1, $2)))"
        picked = "CASE WHEN convert_timezone('UTC', $1, $3) = $2 THEN $3 ELSE convert_timezone($1, 'UTC', $2) END"
        return bound(
            "spark", "later__", sql("spark", later, name, wall), lambda second: sql("spark", picked, name, wall, second)
        )

    utc = bound("spark", "wall__", value, choose)
    return moment("spark", micros_of("spark", utc, t.TIMESTAMP), t.TIMESTAMPTZ)


def _check_zone(engine: EngineName, place: exp.Expression) -> exp.Expression:
    """Return a computed zone, which must be an IANA name with a place in it (or UTC): the engines read others
    differently.
    """
    like = "regexp_full_match($1, $2)" if engine == "local" else "regexp_like($1, $2)"
    wrong = raises(engine, "0A000", concat(engine, [text('not supported: a computed time zone "'), place, text('"')]))
    names = text("^([A-Z][A-Za-z_]+(/[A-Z][A-Za-z0-9_+-]*)+|UTC)$")
    return sql(engine, f"CASE WHEN {like} THEN $1 WHEN $1 IS NOT NULL THEN $3 END", place, names, wrong)


# --- rows -------------------------------------------------------------------------------------------------------------


def _to_zone(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    return to_zone(engine, args[0], args[1])


def _in_zone(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    return in_zone(engine, args[0], args[1])


def _offset(engine: EngineName, span: exp.Expression) -> exp.Expression:
    """Return an interval's microseconds as an offset east."""
    parts = fields(engine, span)
    shown = sql(engine, "'interval time zone must not include months or days'")
    wrong = raises(engine, "22023", shown)
    return sql(
        engine, "CASE WHEN $1 <> 0 OR $2 <> 0 THEN $3 ELSE $4 END", parts.months, parts.days, wrong, parts.micros
    )


def _by_interval(source: t.PgType, target: t.PgType, sign: str) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        return _move(engine, args[1], source, target, sql(engine, f"({sign} $1)", _offset(engine, args[0])))

    return build


def _timetz(engine: EngineName, value: exp.Expression, west: exp.Expression) -> exp.Expression:
    """Return a time of day moved to another offset, modulo 24 hours."""
    moved = sql(engine, f"(($1).micros + (($1).zone - $2) * CAST({SECOND} AS BIGINT))", value, west)
    made = pack(engine, {"micros": modulo(engine, moved, DAY), "zone": sql(engine, "CAST($1 AS INT)", west)})
    return sql(engine, "CASE WHEN $1 IS NULL OR $2 IS NULL THEN NULL ELSE $3 END", value, west, made)


def _timetz_zone(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    known = constant_text(args[0])
    rule = resolve(known) if known is not None else None
    if rule is None or (rule.name and len(zone(rule.name).starts) > 1):
        # The time alone does not determine the offset: it would be today's.
        raise FeatureNotSupported("not supported: a time with time zone in a zone whose offset changes")
    east = int(zone(rule.name).offsets[0]) if rule.name else rule.east
    return _timetz(engine, args[1], integer(-east))


def _timetz_interval(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    seconds = f"(- $1 // {SECOND})" if engine == "local" else f"(- $1 div {SECOND})"
    return _timetz(engine, args[1], sql(engine, seconds, _offset(engine, args[0])))


ROWS: tuple[Function, ...] = tuple(
    fn("timezone", args, returns, local=on("local", build), spark=on("spark", build))
    for args, returns, build in (
        ((t.TEXT, t.TIMESTAMPTZ), t.TIMESTAMP, _to_zone),
        ((t.TEXT, t.TIMESTAMP), t.TIMESTAMPTZ, _in_zone),
        ((t.TEXT, t.TIMETZ), t.TIMETZ, _timetz_zone),
        ((t.INTERVAL, t.TIMESTAMPTZ), t.TIMESTAMP, _by_interval(t.TIMESTAMPTZ, t.TIMESTAMP, "")),
        ((t.INTERVAL, t.TIMESTAMP), t.TIMESTAMPTZ, _by_interval(t.TIMESTAMP, t.TIMESTAMPTZ, "-")),
        ((t.INTERVAL, t.TIMETZ), t.TIMETZ, _timetz_interval),
    )
)
