"""Multiranges: their bounds, comparisons, operators, constructors, aggregates, and their ranges as rows.

A multirange is its canonical text (`wire.types.multiranges`). Either engine cuts bounds out of this text, and writes a
multirange of one range. All other functions run in the local engine only (`engine.executors.local.multiranges`,
`engine.executors.local.sort_keys`).

Source: PostgreSQL 15, multirangetypes.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Builder, Function
from engine.sql.functions.building import agg, cast, fn, op
from engine.sql.functions.ranges import bound_text, comparison_builder
from engine.sql.functions.trees import EngineBuilder, both, sql, text
from engine.sql.trees.storage_types import storage_name
from wire.types import pg_types as t
from wire.types.multiranges import RANGES, subtype_of

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

#: The texts of the first range's lower bound and of the last one's upper bound; no bound contains a comma.
_LOWER: Final = "split_part(substr($1, 3), ',', 1)"
_UPPER: Final = "split_part(substr($1, 1, length($1) - 2), ',', -1)"
_BOUND: Final = "CAST(CASE WHEN $1 <> '{{}}' THEN nullif(replace({bound}, '\"', ''), '') END AS {typ})"
_MANY, _ONE = t.ANYMULTIRANGE, t.ANYRANGE
#: The operand types of operators between multiranges, or between a multirange and a range.
_SIDES: Final = ((_MANY, _MANY), (_MANY, _ONE), (_ONE, _MANY))
_MADE_OF_ONE: Final = "CASE WHEN $1 = 'empty' THEN '{}' ELSE '{' || $1 || '}' END"


def _bound_builder(bound: str) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        return sql(engine, _BOUND.format(bound=bound, typ=storage_name(st.of(call.type.pg), engine)), *args)

    return build


def _bounds() -> Iterator[Function]:
    for name, bound, sign, place in (("lower", _LOWER, "[", "2"), ("upper", _UPPER, "]", "length($1) - 1")):
        rule = lambda given: st.of(subtype_of(given[0].pg))  # noqa: E731
        yield fn(name, (_MANY,), t.ANYELEMENT, rule=rule, **both(_bound_builder(bound)))
        yield fn(f"{name}_inf", (_MANY,), t.BOOL, f"$1 <> '{{}}' AND {bound} = ''")
        yield fn(f"{name}_inc", (_MANY,), t.BOOL, f"substr($1, {place}, 1) = '{sign}'")
    yield fn("isempty", (_MANY,), t.BOOL, "$1 = '{}'")
    ends = f"substr($1, 2, 1) || {_LOWER} || ',' || {_UPPER} || substr($1, length($1) - 1, 1)"
    yield fn("range_merge", (_MANY,), _ONE, f"CASE WHEN $1 = '{{}}' THEN 'empty' ELSE {ends} END")


def _type_among(call: Call | AggregateCall) -> exp.Expression:
    """Return the name of an operator's multirange type."""
    return text(next(arg.type.pg for arg in call.args if arg.type.pg in RANGES).name)


def _local(function: str, *, turned: bool = False) -> Builder:
    """Return a template of a function of the local engine. turned: the arguments are swapped, as for `<@`."""

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        given = args[::-1] if turned else args
        return sql("local", f"sluice_multirange_{function}($1, $2, $3)", _type_among(call), *given)

    return build


def _element(*, turned: bool = False) -> Builder:
    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        range_, element = (1, 0) if turned else (0, 1)
        said = bound_text(args[element], call.args[element])
        return sql("local", "sluice_multirange_has($1, $2, $3)", _type_among(call), args[range_], said)

    return build


def _operators() -> Iterator[Function]:
    for symbol in ("=", "<>", "<", "<=", ">", ">="):
        yield op(symbol, (_MANY, _MANY), t.BOOL, **both(comparison_builder(symbol)))
    for symbol, function in (("+", "union"), ("*", "intersect"), ("-", "minus")):
        yield op(symbol, (_MANY, _MANY), _MANY, local=_local(function))
    yield op("@>", (_MANY, t.ANYELEMENT), t.BOOL, local=_element())
    yield op("<@", (t.ANYELEMENT, _MANY), t.BOOL, local=_element(turned=True))
    for sides in _SIDES:
        yield op("@>", sides, t.BOOL, local=_local("contains"))
        yield op("<@", sides, t.BOOL, local=_local("contains", turned=True))
        yield op("<<", sides, t.BOOL, local=_local("before"))
        yield op(">>", sides, t.BOOL, local=_local("before", turned=True))
        for symbol, function in (("&&", "overlaps"), ("-|-", "adjacent"), ("&<", "not_right"), ("&>", "not_left")):
            yield op(symbol, sides, t.BOOL, local=_local(function))


def _make_multirange(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    ranges = exp.Array(expressions=[arg.copy() for arg in args])
    return sql("local", "sluice_multirange_made($1, CAST($2 AS VARCHAR[]))", text(call.type.pg.name), ranges)


def _constructors() -> Iterator[Function]:
    yield fn("multirange", (_ONE,), _MANY, _MADE_OF_ONE)
    for made, range_ in RANGES.items():
        yield fn(made.name, (), made, "'{}'")
        yield fn(made.name, (range_,), made, _MADE_OF_ONE)
        yield fn(made.name, (range_,), made, local=_make_multirange, variadic=True, strict=False)
        yield cast(range_, made, _MADE_OF_ONE)


def _aggregate_builder(function: str) -> Builder:
    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        return sql("local", f"sluice_multirange_{function}($1, array_agg($2))", text(call.type.pg.name), *args)

    return build


def _aggregates() -> Iterator[Function]:
    yield agg("range_agg", (_ONE,), _MANY, local=_aggregate_builder("gathered"))
    yield agg("range_agg", (_MANY,), _MANY, local=_aggregate_builder("gathered"))
    yield agg("range_intersect_agg", (_MANY,), _MANY, local=_aggregate_builder("common"))


_UNNEST: Final = fn("unnest", (_MANY,), _ONE, local="sluice_multirange_ranges($1)", returns_set=True)

ROWS: tuple[Function, ...] = (*_bounds(), *_operators(), *_constructors(), *_aggregates(), _UNNEST)
