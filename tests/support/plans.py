"""Logical plans built by hand, for tests of compilation and execution: a few function rows and short constructors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from engine.catalog.model.objects import SystemTable, Table, TableColumn
from engine.common.sql_type import SqlType, numeric, of
from engine.plan_ir.expr import (
    AggregateCall,
    Call,
    Column,
    ColumnRef,
    Const,
    Expr,
    Function,
    FunctionKind,
    Node,
    OrderItem,
    Template,
)
from engine.plan_ir.logical import Evaluator, OrderKey, TableReader, Values
from wire.types import pg_types as t

BOOL, INT4, INT8, FLOAT8, TEXT, DATE = (of(x) for x in (t.BOOL, t.INT4, t.INT8, t.FLOAT8, t.TEXT, t.DATE))


def row(
    name: str,
    args: Sequence[t.PgType],
    returns: t.PgType,
    local: Template | None,
    spark: Template | None = None,
    *,
    kind: FunctionKind = "operator",
    **more: Any,
) -> Function:
    return Function(name, kind, tuple(args), returns, local, local if spark is None else spark, **more)


_N = (t.INT4, t.INT4)
EQ = row("=", _N, t.BOOL, "$1 = $2")
NE = row("<>", _N, t.BOOL, "$1 <> $2")
LT = row("<", _N, t.BOOL, "$1 < $2")
GT = row(">", _N, t.BOOL, "$1 > $2")
GE = row(">=", _N, t.BOOL, "$1 >= $2")
LE = row("<=", _N, t.BOOL, "$1 <= $2")
ADD = row("+", _N, t.INT4, "$1 + $2")
SUB = row("-", _N, t.INT4, "$1 - $2")
MUL = row("*", _N, t.INT4, "$1 * $2")
DIV = row("/", _N, t.INT4, "$1 // $2", "$1 div $2")
MUL_NUMERIC = row("*", (t.NUMERIC, t.NUMERIC), t.NUMERIC, "$1 * $2")
SUB_NUMERIC = row("-", (t.NUMERIC, t.NUMERIC), t.NUMERIC, "$1 - $2")
UPPER = row("upper", (t.TEXT,), t.TEXT, "upper($1)", kind="function")
RANDOM = row("random", (), t.FLOAT8, "random()", "rand()", kind="function", volatility="volatile")
ONLY_LOCAL = Function("only_local", "function", (t.INT4,), t.INT4, "abs($1)", None)
SUM = row("sum", (t.INT4,), t.INT8, "CAST(sum($1) AS BIGINT)", kind="aggregate")
SUM_NUMERIC = row("sum", (t.NUMERIC,), t.NUMERIC, "sum($1)", kind="aggregate")
COUNT = row("count", (), t.INT8, "count(*)", kind="aggregate")
COUNT_OF = row("count", (t.ANY,), t.INT8, "count($1)", kind="aggregate")
ARRAY_AGG = row("array_agg", (t.ANYELEMENT,), t.ANYARRAY, "list($1)", "array_agg($1)", kind="aggregate")
STRING_AGG = row("string_agg", (t.TEXT, t.TEXT), t.TEXT, "string_agg($1, $2)", "listagg($1, $2)", kind="aggregate")
MEDIAN = row(
    "percentile_disc",
    (t.FLOAT8, t.ANYELEMENT),
    t.ANYELEMENT,
    "percentile_disc($1) WITHIN GROUP (ORDER BY $2)",
    kind="ordered_set",
)
ROW_NUMBER = row("row_number", (), t.INT8, "row_number()", "CAST(row_number() AS BIGINT)", kind="window")
LAG = row("lag", (t.ANYELEMENT, t.INT4), t.ANYELEMENT, "lag($1, $2)", kind="window", optional=1)
SERIES = row(
    "generate_series", _N, t.INT4, "generate_series($1, $2)", "sequence($1, $2)", kind="function", returns_set=True
)
UNNEST = row("unnest", (t.ANYARRAY,), t.ANYELEMENT, "$1", kind="function", returns_set=True)


class Plans:
    """A builder of plans that gives columns fresh ids."""

    def __init__(self) -> None:
        self._ids = count(1)

    def column(self, name: str = "x", typ: SqlType = INT4) -> Column:
        return Column(next(self._ids), name, typ)

    def columns(self, *types: SqlType) -> tuple[Column, ...]:
        return tuple(self.column("x", typ) for typ in types)

    def values(self, *rows: Sequence[Any], types: Sequence[SqlType] | None = None) -> Values:
        """Return rows of constants; integers unless `types` says otherwise."""
        kinds = types or [INT4 if not isinstance(v, str) else TEXT for v in rows[0]]
        constants = tuple(tuple(Const(typ, v) for typ, v in zip(kinds, values, strict=True)) for values in rows)
        return Values(self.columns(*kinds), constants)

    def read(self, table: Table | SystemTable, *names: str, **more: Any) -> TableReader:
        types = {c.name: c.type for c in table.columns}
        return TableReader(tuple(self.column(n, types[n]) for n in names), table, names, **more)

    def emit(self, node: Node, *exprs: Expr, where: Expr | None = None) -> Evaluator:
        return Evaluator(tuple(self.column("x", e.type) for e in exprs), node, exprs, where)


def ref(column: Column) -> ColumnRef:
    return ColumnRef(column.type, column)


def const(value: Any, typ: SqlType = INT4) -> Const:
    return Const(typ, value)


def call(function: Function, *args: Expr, typ: SqlType | None = None) -> Call:
    return Call(typ or of(function.returns), function, args)


def agg(function: Function, *args: Expr, typ: SqlType | None = None, **more: Any) -> AggregateCall:
    return AggregateCall(typ or of(function.returns), function, args, **more)


def item(expr: Expr, *, descending: bool = False, nulls_first: bool | None = None) -> OrderItem:
    return OrderItem(expr, descending, descending if nulls_first is None else nulls_first)


def key(column: Column, *, descending: bool = False, nulls_first: bool | None = None) -> OrderKey:
    return OrderKey(column, descending, descending if nulls_first is None else nulls_first)


def table(name: str, files: Sequence[str], columns: Sequence[tuple[str, SqlType]], **more: Any) -> Table:
    """Return a table with a fixed oid and version, so that its name in generated SQL is fixed too."""
    declared = tuple(TableColumn(n, typ, i) for i, (n, typ) in enumerate(columns, 1))
    oid = 16384 + sum(map(ord, name))
    defaults: dict[str, Any] = {"format": "parquet", "path": files[0] if files else "", "version": 1}
    return Table(oid=oid, schema="public", name=name, columns=declared, files=tuple(files), **(defaults | more))


MONEY = numeric(15, 2)
