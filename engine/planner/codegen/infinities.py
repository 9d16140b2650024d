"""Infinite dates and timestamps on Spark, which has none.

Files of stored tables hold infinities as the least and the greatest number of their type (`engine.storage.types`).
Spark takes these for ordinary days. That is right where values are only compared, sorted, grouped, passed on or
printed, and wrong where something is computed from them. So on Spark a function, an operator or a cast that computes
with a date accepts finite dates only, and raises 0A000 for an infinite one.

An argument is tested if it may be infinite: a column, or an expression that passes a column's value on. Infinite
constants and parameters are refused as literals (`literals`), and no function with such a result type returns an
infinity for finite arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Builder, Call, Const, ContextRef, Expr, Function, ParamRef
from engine.sql.functions.moments import FINITE_ON_SPARK
from engine.sql.functions.trees import on, raises, sql
from engine.sql.trees.build import conjunction
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall

_COMPARISONS: Final = frozenset(("=", "<>", "<", "<=", ">", ">="))
#: A timestamp and a timestamptz are compared in the session's time zone, which has no place for an infinity.
_CLOCKED: Final = frozenset((t.TIMESTAMP, t.TIMESTAMPTZ))


def finite_only(call: Call | AggregateCall, template: Builder) -> Builder:
    """Return a template for Spark that fails for infinite arguments, if the call may have some; else the template
    itself.
    """
    suspects = () if _takes_infinities(call.function) else _suspects(call)
    if not suspects:
        return template
    refusal = raises(
        "spark", "0A000", f"not supported: computing with infinite {suspects[0][1].sql_name} values in Spark"
    )

    def build(_engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        tests = [sql("spark", f"($1 IS NULL OR {FINITE_ON_SPARK[typ]})", args[place]) for place, typ in suspects]
        return sql("spark", "CASE WHEN $1 THEN $2 ELSE $3 END", conjunction(tests), template(args, call), refusal)

    return on("spark", build)


def _takes_infinities(function: Function) -> bool:
    if function.kind == "operator" and function.name in _COMPARISONS:
        return frozenset(function.args) != _CLOCKED
    if function.kind == "cast":
        return function.returns is t.TEXT
    return function.kind not in ("function", "operator") or function.name == "isfinite"


def _suspects(call: Call | AggregateCall) -> tuple[tuple[int, t.PgType], ...]:
    """Return the arguments that may be infinite, with their types. Arguments that are declared polymorphic are left
    out: they are passed on or printed.
    """
    declared = call.function.args
    pairs = ((place, declared[min(place, len(declared) - 1)], arg) for place, arg in enumerate(call.args))
    return tuple((place, typ) for place, typ, arg in pairs if typ in FINITE_ON_SPARK and _may_be_infinite(arg))


def _may_be_infinite(expr: Expr) -> bool:
    if isinstance(expr, Call):
        return expr.function.returns not in FINITE_ON_SPARK
    return not isinstance(expr, Const | ParamRef | ContextRef)
