"""TABLESAMPLE: it keeps each row of a table with a given probability.

BERNOULLI and SYSTEM are the same here: PostgreSQL's SYSTEM keeps whole blocks, and a table's files have no blocks of
that size. REPEATABLE is refused: it would need a stable identity of rows across reads, which the files do not have.

Source: PostgreSQL 15, parse_clause.c (transformRangeTableSample), bernoulli.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.catalog.model.objects import SystemTable, Table
from engine.common import sql_type as st
from engine.plan_ir.expr import Call, ColumnRef, Const, Node
from engine.plan_ir.logical import Evaluator
from engine.sql.binder.blocks import pass_through
from engine.sql.binder.scope import Scope
from engine.sql.functions.building import fn
from engine.sql.parser.lexical.positions import cursor, position
from wire.errors import (
    FeatureNotSupported,
    InvalidTablesampleArgument,
    UndefinedObject,
)
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder

_METHODS: Final = ("bernoulli", "system")
_RANGE: Final = "sample percentage must be between 0 and 100"
_DRAWN: Final = (
    "CASE WHEN $1 IS NULL THEN RAISE('2202H', 'TABLESAMPLE parameter cannot be null')"
    f" WHEN $1 < 0 OR $1 > 100 OR isnan($1) THEN RAISE('2202H', '{_RANGE}') ELSE {{}} * 100 < $1 END"
)
#: Returns whether a row is kept. This is no row of the function table, because statements cannot call it.
_KEPT: Final = fn(
    "tablesample", (t.FLOAT4,), t.BOOL, local=_DRAWN.format("random()"), spark=_DRAWN.format("rand()"), strict=False,
    volatility="volatile",
)  # fmt: skip


def refuse(item: exp.Table) -> None:
    """Raises FeatureNotSupported if TABLESAMPLE is applied to something other than a table."""
    if item.args.get("sample") is not None:
        message = "TABLESAMPLE clause can only be applied to tables and materialized views"
        raise FeatureNotSupported(message, position=cursor(position(item)))


def sample_rows(binder: QueryBinder, item: exp.Table, relation: object, node: Node, scope: Scope) -> Node:
    """Return the plan of a relation's reader, with its TABLESAMPLE clause if it has one."""
    sample = item.args.get("sample")
    if sample is None:
        return node
    at = cursor(position(item))
    if not isinstance(relation, Table | SystemTable):
        refuse(item)
    _check(sample)
    percentage = binder.expressions.as_type(
        binder.expressions.bind(sample.expressions[0], scope), t.FLOAT4, "TABLESAMPLE"
    )
    if any(isinstance(part, ColumnRef) for part in percentage.walk()):
        raise FeatureNotSupported("not supported: TABLESAMPLE with a percentage of columns", position=at)
    if isinstance(percentage, Const):
        _check_percentage(percentage)
    keep = Call(st.of(t.BOOL), _KEPT, (percentage,))
    return Evaluator(node.columns, node, pass_through(node.columns), keep)


def _check(sample: exp.TableSample) -> None:
    method, at = sample.this.name, cursor(position(sample.this))
    if method not in _METHODS:
        raise UndefinedObject(f"tablesample method {method} does not exist", position=at)
    if len(sample.expressions) != 1:
        raise InvalidTablesampleArgument(
            f"tablesample method {method} requires 1 argument, not {len(sample.expressions)}", position=at
        )
    if sample.args.get("seed") is not None:
        raise FeatureNotSupported("not supported: TABLESAMPLE REPEATABLE", position=at)


def _check_percentage(percentage: Const) -> None:
    if percentage.value is None:
        raise InvalidTablesampleArgument("TABLESAMPLE parameter cannot be null")
    if not 0 <= percentage.value <= 100:
        raise InvalidTablesampleArgument(_RANGE)
