"""num_nulls and num_nonnulls: the number of arguments that are null, or that are not.

Source: PostgreSQL 15, misc.c (pg_num_nulls).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import fn
from engine.sql.functions.trees import EngineBuilder, both, sql
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call


def _count_builder(test: str) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        each = (f"CASE WHEN ${n} {test} THEN 1 ELSE 0 END" for n in range(1, len(args) + 1))
        return sql(engine, f"CAST({' + '.join(each)} AS INT)", *args)

    return build


def _rows() -> Iterator[Function]:
    for name, test in (("num_nulls", "IS NULL"), ("num_nonnulls", "IS NOT NULL")):
        yield fn(name, (t.ANY,), t.INT4, **both(_count_builder(test)), variadic=True, strict=False)


ROWS: tuple[Function, ...] = tuple(_rows())
