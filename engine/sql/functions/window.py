"""Window functions: chapter 9.22.

Both engines have all of them. The integer type of ranks differs, and Spark requires literal offsets.

Source: PostgreSQL 15, table 9.63; windowfuncs.c for the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Builder, Const, Function
from engine.sql.functions import digits
from engine.sql.functions.building import parse, place, window
from engine.sql.functions.trees import constant_int
from wire.errors import FeatureNotSupported, SqlError
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

Text = Callable[[EngineName], str]


def _count_builder(text: str, argument: int, refusal: SqlError) -> Builder:
    """Return a template whose `argument` must be a constant integer, at least 1 (else `refusal` is raised)."""

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        value = constant_int(args[argument])
        given = call.args[argument]
        if value is None and not (isinstance(given, Const) and given.value is None):
            raise FeatureNotSupported(f"not supported: {call.function.name} with an argument that is not a constant")
        if value is not None and value < 1:
            raise refusal
        return place(parse("spark", text), args)

    return build


def _ranks() -> Iterator[Function]:
    for name in ("row_number", "rank", "dense_rank"):
        yield window(name, (), t.INT8, local=f"{name}()", spark=f"CAST({name}() AS BIGINT)")
    for name in ("percent_rank", "cume_dist"):
        yield window(name, (), t.FLOAT8, f"{name}()")
    empty = SqlError("argument of ntile must be greater than zero", sqlstate="22014")
    yield window(
        "ntile",
        (t.INT4,),
        t.INT4,
        local="CAST(ntile(CASE WHEN $1 <= 0 THEN error('SQLSTATE:22014:argument of ntile must be greater than zero') "
        "ELSE $1 END) AS INTEGER)",
        spark=_count_builder("ntile($1)", 0, empty),
    )


def _offset(name: str) -> Builder:
    """Return a template of lag or lead by a constant. Spark does not accept a null offset, whose result is null; a
    negative offset becomes a positive one in the other direction.
    """
    opposite = {"lag": "lead", "lead": "lag"}[name]

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        value = constant_int(args[1])
        given = call.args[1]
        if value is None and not (isinstance(given, Const) and given.value is None):
            raise FeatureNotSupported(f"not supported: {name} with an argument that is not a constant")
        if value is None:
            return place(parse("spark", f"{name}(CASE WHEN false THEN $1 END, 1)"), args)
        towards = name if value >= 0 else opposite
        default = ", $3" if len(args) == 3 else ""
        return place(parse("spark", f"{towards}($1, {min(abs(value), 2**31 - 1)}{default})"), args)

    return build


def _offsets() -> Iterator[Function]:
    for name in ("lag", "lead"):
        yield window(name, (t.ANYELEMENT,), t.ANYELEMENT, f"{name}($1)", rule=digits.same)
        yield window(
            name,
            (t.ANYELEMENT, t.INT4),
            t.ANYELEMENT,
            local=f"{name}($1, $2)",
            spark=_offset(name),
            rule=digits.same,
        )
        yield window(
            name,
            (t.ANYCOMPATIBLE, t.INT4, t.ANYCOMPATIBLE),
            t.ANYCOMPATIBLE,
            local=f"{name}($1, $2, $3)",
            spark=_offset(name),
            rule=digits.value_or_default,
        )


def _frame_functions() -> Iterator[Function]:
    for name in ("first_value", "last_value"):
        yield window(name, (t.ANYELEMENT,), t.ANYELEMENT, f"{name}($1)", rule=digits.same)
    message = "argument of nth_value must be greater than zero"
    yield window(
        "nth_value",
        (t.ANYELEMENT, t.INT4),
        t.ANYELEMENT,
        local=f"nth_value($1, CASE WHEN $2 <= 0 THEN error('SQLSTATE:22016:{message}') ELSE $2 END)",
        spark=_count_builder("nth_value($1, $2)", 1, SqlError(message, sqlstate="22016")),
        rule=digits.same,
    )


ROWS: Final[tuple[Function, ...]] = (*_ranks(), *_offsets(), *_frame_functions())
