"""Enums: comparison, casts from and to text, enum_first, enum_last, enum_range, min and max.

A value is its label's number (`wire.types.enums`), in the enum's order, so comparisons are those of numbers. Templates
that need labels take them from the type of the bound call's arguments, so every template is built separately for each
enum.

Source: PostgreSQL 15, enum.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.sql_type import SqlType
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import agg, cast, fn, op
from engine.sql.functions.trees import both, concat, integer, raises, sql, text
from wire.errors import ObjectNotInPrerequisiteState
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

_COMPARISONS: Final = ("=", "<>", "<", "<=", ">", ">=")


def _element(typ: SqlType) -> t.PgType:
    return t.element_of(typ.pg) if typ.pg.is_array else typ.pg


def _number(engine: EngineName, number: int) -> exp.Expression:
    return sql(engine, "CAST($1 AS BIGINT)", integer(number))


def _label(_engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build a number's label; null for null."""
    labels = call.args[0].type.pg.labels
    whens = [exp.If(this=exp.EQ(this=args[0].copy(), expression=integer(n)), true=text(label)) for n, label in labels]
    return exp.Case(ifs=whens) if whens else exp.Null()


def _read(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build a label's number. Fails as enum_in does."""
    enum, given = call.type.pg, args[0]
    said = text(f'invalid input value for enum {enum.sql_name}: "')
    wrong = raises(engine, "22P02", concat(engine, [said, given.copy(), text('"')]))
    whens = [exp.If(this=exp.Is(this=given.copy(), expression=exp.Null()), true=sql(engine, "CAST(NULL AS BIGINT)"))]
    whens += [
        exp.If(this=exp.EQ(this=given.copy(), expression=text(label)), true=_number(engine, number))
        for number, label in enum.labels
    ]
    return exp.Case(ifs=whens, default=wrong)


def _end(last: bool) -> Function:
    def build(engine: EngineName, _args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        enum = call.type.pg
        if not enum.labels:
            raise ObjectNotInPrerequisiteState(f"enum {enum.sql_name} contains no values")
        return _number(engine, enum.labels[-1 if last else 0][0])

    return fn("enum_last" if last else "enum_first", (t.ANYENUM,), t.ANYENUM, strict=False, **both(build))


def _array(engine: EngineName, labels: Sequence[tuple[int, str]]) -> exp.Expression:
    listed = exp.Array(expressions=[_number(engine, number) for number, _ in labels])
    return sql(engine, "CAST($1 AS BIGINT[])" if engine == "local" else "CAST($1 AS ARRAY<BIGINT>)", listed)


def _range(engine: EngineName, _args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    return _array(engine, _element(call.type).labels)


def _between(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build enum_range; a null end stands for the enum's own end."""
    whole = _array(engine, _element(call.type).labels)
    lambdas = {
        "local": "list_filter($1, lambda x__: x__ >= coalesce($2, x__) AND x__ <= coalesce($3, x__))",
        "spark": "filter($1, x__ -> x__ >= coalesce($2, x__) AND x__ <= coalesce($3, x__))",
    }
    return sql(engine, lambdas[engine], whole, *args)


def _rows() -> Iterator[Function]:
    for symbol in _COMPARISONS:
        yield op(symbol, (t.ANYENUM, t.ANYENUM), t.BOOL, f"$1 {symbol} $2")
    for name in ("min", "max"):
        yield agg(name, (t.ANYENUM,), t.ANYENUM, f"{name}($1)")
    yield cast(t.ANYENUM, t.TEXT, context="assignment", **both(_label))
    yield cast(t.TEXT, t.ANYENUM, strict=False, **both(_read))
    yield _end(last=False)
    yield _end(last=True)
    yield fn("enum_range", (t.ANYENUM,), t.ANYARRAY, strict=False, **both(_range))
    yield fn("enum_range", (t.ANYENUM, t.ANYENUM), t.ANYARRAY, strict=False, **both(_between))


ROWS: tuple[Function, ...] = tuple(_rows())
