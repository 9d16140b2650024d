"""Types that are carried as other types: their comparisons, which are those of the carrier, casts from and to text,
money's arithmetic, and the constructor of points.

Casts that have to read or write a value exist in the local engine only (`engine.executors.local.whole_values`). So do
the order of tsvectors and of tsqueries, and the equality of tsqueries (`engine.executors.local.sort_keys`).

Source: PostgreSQL 15, pg_operator, pg_cast; cash.c, geo_ops.c (construct_point, point_out).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.sql_type import numeric
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import NOTHING, agg, cast, fn, op
from engine.sql.functions.textual import as_text
from engine.sql.functions.trees import both, sql
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

_EQUALITY: Final = ("=", "<>")
_ALL: Final = (*_EQUALITY, "<", "<=", ">", ">=")
_ORDERED: Final = (t.INET, t.MACADDR, t.MACADDR8, t.BIT, t.VARBIT, t.MONEY, t.PG_LSN, t.XID8)
_EQUAL: Final = (t.TID,)
_SHOWN: Final = (t.INET, t.CIDR, t.MONEY, t.PG_LSN, t.XID8, t.TSQUERY, t.JSONPATH)
_ITS_OWN_TEXT: Final = (
    t.MACADDR, t.MACADDR8, t.BIT, t.VARBIT, t.TID, t.REFCURSOR, t.ACLITEM, t.POINT, t.LSEG, t.PATH, t.BOX, t.POLYGON, t.LINE,
    t.CIRCLE, t.INT4RANGE, t.INT8RANGE, t.NUMRANGE, t.INT4MULTIRANGE, t.INT8MULTIRANGE, t.NUMMULTIRANGE,
    t.TSVECTOR,
)  # fmt: skip
_READ: Final = (*_ITS_OWN_TEXT, *_SHOWN, t.XML)
_INTEGERS: Final = (t.INT2, t.INT4, t.INT8)
_FLOATS: Final = (t.FLOAT4, t.FLOAT8)


def _comparisons() -> Iterator[Function]:
    for kinds, symbols in ((_ORDERED, _ALL), (_EQUAL, _EQUALITY)):
        for kind in kinds:
            for symbol in symbols:
                yield op(symbol, (kind, kind), t.BOOL, f"$1 {symbol} $2")
    for symbol in _ALL:
        for kind in (t.TSVECTOR, t.TSQUERY):
            key = f"sluice_{kind.name}_key"
            by_keys = f"{key}($1) {symbol} {key}($2)"
            if kind is t.TSVECTOR and symbol in _EQUALITY:
                yield op(symbol, (kind, kind), t.BOOL, f"$1 {symbol} $2")
            else:
                yield op(symbol, (kind, kind), t.BOOL, local=by_keys)
    for name in ("min", "max"):
        for kind in (t.INET, t.MONEY, t.PG_LSN):
            yield agg(name, (kind,), kind, f"{name}($1)")


def _texts() -> Iterator[Function]:
    for kind in _ITS_OWN_TEXT:
        yield cast(kind, t.TEXT, "$1", context="assignment")
    for kind in _SHOWN:
        # The cast of an inet also prints the mask of a single address; its output function does not.
        masked = (
            "CASE WHEN contains($2, '/') THEN $2 ELSE $2 || CASE WHEN contains($2, ':') THEN '/128' ELSE '/32' END END"
        )
        shown = f"sluice_{kind.name}_out($1)"
        local = masked.replace("$2", shown) if kind is t.INET else shown
        yield cast(kind, t.TEXT, local=local, spark=NOTHING, context="assignment")
        if kind is t.INET:
            yield cast(kind, t.NAME, local=shown, spark=NOTHING, context="assignment")
    for kind in (kind for kind in _READ if kind is not t.ACLITEM):
        yield cast(t.TEXT, kind, local=f"sluice_{kind.name}_in($1)", spark=NOTHING)


def _money() -> Iterator[Function]:
    money = t.MONEY
    for symbol in ("+", "-"):
        yield op(symbol, (money, money), money, f"$1 {symbol} $2")
    for kind in _INTEGERS:
        yield op("*", (money, kind), money, "$1 * CAST($2 AS BIGINT)")
        yield op("*", (kind, money), money, "CAST($1 AS BIGINT) * $2")
        zero = "CASE WHEN $2 = 0 THEN RAISE('22012', 'division by zero') ELSE {} END"
        yield op("/", (money, kind), money, local=zero.format("$1 // $2"), spark=zero.format("$1 div $2"))
    for kind in _FLOATS:
        whole = {"local": "CAST(round_even({}, 0) AS BIGINT)", "spark": "CAST(rint({}) AS BIGINT)"}
        for name, args, product in (
            ("*", (money, kind), "CAST($1 AS DOUBLE) * $2"),
            ("*", (kind, money), "$1 * CAST($2 AS DOUBLE)"),
        ):
            local, spark = (text.format(product) for text in whole.values())
            yield op(name, args, money, local=local, spark=spark)
        zero = "CASE WHEN $2 = 0 THEN RAISE('22012', 'division by zero') ELSE {} END"
        local, spark = (zero.format(text.format("CAST($1 AS DOUBLE) / $2")) for text in whole.values())
        yield op("/", (money, kind), money, local=local, spark=spark)
    ratio = "CASE WHEN $2 = 0 THEN RAISE('22012', 'division by zero') ELSE CAST($1 AS DOUBLE) / CAST($2 AS DOUBLE) END"
    yield op("/", (money, money), t.FLOAT8, ratio)
    yield agg("sum", (money,), money, "CAST(sum($1) AS BIGINT)")
    cents = "CAST(CAST($1 AS DECIMAL(21, 2)) * CAST(0.01 AS DECIMAL(2, 2)) AS DECIMAL(21, 2))"
    yield cast(money, t.NUMERIC, cents, context="assignment", rule=lambda _args: numeric(21, 2))
    for kind in (t.INT4, t.INT8):
        yield cast(kind, money, "CAST($1 AS BIGINT) * 100", context="assignment")
    yield cast(t.NUMERIC, money, "CAST(round($1 * 100, 0) AS BIGINT)", context="assignment")


def _make_point(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build a point's text from its coordinates. Of a null coordinate it is null."""
    x, y = (as_text(engine, tree, arg) for tree, arg in zip(args, call.args, strict=True))
    return sql(engine, "'(' || $1 || ',' || $2 || ')'", x, y)


ROWS: tuple[Function, ...] = (
    *_comparisons(),
    *_texts(),
    *_money(),
    fn("point", (t.FLOAT8, t.FLOAT8), t.POINT, **both(_make_point)),
)
