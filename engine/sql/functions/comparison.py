"""Comparison: = <> < <= > >= for every type that PostgreSQL orders.

Both engines order integers, floats (NaN equals itself and comes last), decimals, booleans, binary strings, dates and
times as PostgreSQL does, and text by its bytes, which is the C collation. The differing cases are written out here:
bpchar ignores trailing blanks, interval counts a month as thirty days and a day as 24 hours, timetz orders by the
instant and then by the zone, and dates are compared with timestamps by the session's time zone. jsonb is compared in
`jsons`, ranges in `ranges`.

Source: PostgreSQL 15, pg_operator; varchar.c (bpchareq), timestamp.c (interval_cmp_value), date.c
(timetz_cmp_internal).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.arrays import refuse_nested
from engine.sql.functions.building import op
from engine.sql.functions.comparison_keys import EQUAL_BY_BYTES, SORTED_BY_BYTES
from engine.sql.functions.dimensions import compare_arrays
from engine.sql.functions.trees import EngineBuilder, both, sql
from engine.sql.functions.widening import compare_widened
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

_EQUALITY: Final = ("=", "<>")
_ALL: Final = (*_EQUALITY, "<", "<=", ">", ">=")
_INTS: Final = (t.INT2, t.INT4, t.INT8)
_FLOATS: Final = (t.FLOAT4, t.FLOAT8)
_PLAIN: Final = (
    t.NUMERIC, t.BOOL, t.TEXT, t.NAME, t.CHAR, t.BYTEA, t.OID, t.DATE, t.TIME, t.TIMESTAMP, t.TIMESTAMPTZ, t.UUID,
)  # fmt: skip
#: Date types in order: of two types, the earlier one is cast to the later one. The names are those of each engine.
_TEMPORAL: Final = (t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ)
_LOCAL_NAMES: Final = {t.TIMESTAMP: "TIMESTAMP", t.TIMESTAMPTZ: "TIMESTAMPTZ"}
_SPARK_NAMES: Final = {t.TIMESTAMP: "TIMESTAMP_NTZ", t.TIMESTAMPTZ: "TIMESTAMP"}
_SPAN: Final = "(CAST(({0}).months AS DECIMAL(38, 0)) * 30 + ({0}).days) * 86400000000 + ({0}).micros"
_INSTANT_LOCAL: Final = "row(({0}).micros + CAST(({0}).zone AS BIGINT) * 1000000, ({0}).zone)"
_INSTANT_SPARK: Final = "struct(({0}).micros + CAST(({0}).zone AS BIGINT) * 1000000, ({0}).zone)"
#: Returns null for a null: a struct of nulls would not be null.
_THERE: Final = "CASE WHEN $1 IS NOT NULL AND $2 IS NOT NULL THEN {} END"


def _same_type() -> Iterator[Function]:
    for kind in _PLAIN:
        for symbol in _ALL:
            yield op(symbol, (kind, kind), t.BOOL, f"$1 {symbol} $2")


def _numbers() -> Iterator[Function]:
    for family in (_INTS, _FLOATS):
        for left in family:
            for right in family:
                for symbol in _ALL:
                    plain = f"$1 {symbol} $2"
                    widens = family is _INTS and left is not right
                    yield op(
                        symbol, (left, right), t.BOOL, local=plain, spark=compare_widened(symbol) if widens else plain
                    )


def _names() -> Iterator[Function]:
    for left, right in ((t.NAME, t.TEXT), (t.TEXT, t.NAME)):
        for symbol in _ALL:
            yield op(symbol, (left, right), t.BOOL, f"$1 {symbol} $2")


def _temporal() -> Iterator[Function]:
    for i, left in enumerate(_TEMPORAL):
        for j, right in enumerate(_TEMPORAL):
            if i == j:
                continue
            wider = _TEMPORAL[max(i, j)]
            for symbol in _ALL:
                sides = {
                    names[wider]: " ".join(
                        (
                            "$1" if left is wider else f"CAST($1 AS {names[wider]})",
                            symbol,
                            "$2" if right is wider else f"CAST($2 AS {names[wider]})",
                        )
                    )
                    for names in (_LOCAL_NAMES, _SPARK_NAMES)
                }
                local, spark = sides[_LOCAL_NAMES[wider]], sides[_SPARK_NAMES[wider]]
                yield op(symbol, (left, right), t.BOOL, local=local, spark=spark, volatility="stable")


def _arrays(symbol: str) -> EngineBuilder:
    """Return the builder of an array comparison. Spark orders null elements first, PostgreSQL and DuckDB last;
    equality is the same.
    """
    equality = symbol in _EQUALITY

    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        several = [arg.type.dimensions for arg in call.args]
        element = t.element_of(call.args[0].type.pg)
        keyed = element in (EQUAL_BY_BYTES if equality else SORTED_BY_BYTES)
        if engine == "spark" and (keyed or not equality):
            raise FeatureNotSupported(f"not supported: {symbol} of {call.args[0].type}")
        if max(several) > 1 and not keyed:
            return compare_arrays(engine, symbol, args, several)
        # DuckDB merges two comparisons into a BETWEEN, which it does not support for lists; COALESCE prevents that.
        shape = "{} {} {}" if equality else "COALESCE({} {} {}, NULL)"
        if not keyed:
            return sql(engine, shape.format("$1", symbol, "$2"), *args)
        for arg in call.args:
            refuse_nested(symbol, arg)
        keys = (f"list_transform({arg}, lambda e__: sluice_{element.name}_key(e__))" for arg in ("$1", "$2"))
        return sql(engine, shape.format(next(keys), symbol, next(keys)), *args)

    return build


def _others() -> Iterator[Function]:
    for symbol in _ALL:
        blank = f"rtrim($1, ' ') {symbol} rtrim($2, ' ')"
        yield op(symbol, (t.BPCHAR, t.BPCHAR), t.BOOL, local=blank, spark=f"rtrim($1) {symbol} rtrim($2)")
        spans = f"{_SPAN.format('$1')} {symbol} {_SPAN.format('$2')}"
        yield op(symbol, (t.INTERVAL, t.INTERVAL), t.BOOL, local=f"$1 {symbol} $2", spark=spans)
        yield op(
            symbol,
            (t.TIMETZ, t.TIMETZ),
            t.BOOL,
            local=_THERE.format(f"{_INSTANT_LOCAL.format('$1')} {symbol} {_INSTANT_LOCAL.format('$2')}"),
            spark=_THERE.format(f"{_INSTANT_SPARK.format('$1')} {symbol} {_INSTANT_SPARK.format('$2')}"),
        )
        yield op(symbol, (t.ANYARRAY, t.ANYARRAY), t.BOOL, **both(_arrays(symbol)))
    for symbol in _EQUALITY:
        for kinds in ((t.XID, t.XID), (t.XID, t.INT4), (t.CID, t.CID))[: 2 if symbol == "<>" else 3]:
            yield op(symbol, kinds, t.BOOL, f"$1 {symbol} $2")


ROWS: tuple[Function, ...] = (*_same_type(), *_numbers(), *_names(), *_temporal(), *_others())
