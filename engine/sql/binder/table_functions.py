"""Functions in FROM: one call, ROWS FROM several, WITH ORDINALITY (parse_clause.c: transformRangeFunction).

The column of a function that returns one plain value takes the alias as its name; a function that returns records gives
its fields. An expression that is no function call (a cast, CURRENT_DATE) is a row of one value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.common import sql_type as st
from engine.plan_ir.expr import Call, Column, Const, Expr, Node, WindowCall
from engine.plan_ir.logical import Evaluator, FunctionScan, Values
from engine.sql.binder import from_items, inlined, json_records
from engine.sql.binder.labels import label
from engine.sql.binder.levels import is_set_returning, own_aggregates
from engine.sql.binder.scope import BindContext, Rows, Scope
from engine.sql.parser.lexical.positions import cursor
from wire.errors import FeatureNotSupported, GroupingError, WindowingError
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.blocks import FromItem
    from engine.sql.binder.queries import QueryBinder


def bind(binder: QueryBinder, item: exp.Table, scope: Scope) -> FromItem:
    """Bind a function item, which may refer to the items to its left."""
    if item.args.get("definitions"):
        return json_records.bind(binder, item, scope)
    if (filled := json_records.bind_populate(binder, item, scope)) is not None:
        return filled
    written = [call for one in item.args["rows_from"] for call in _split_unnest(one)]
    alias = item.args.get("alias")
    ordinality = bool(item.args.get("ordinality"))
    query = inlined.table_of(written[0], scope) if len(written) == 1 and not ordinality else None
    if query is not None:
        return _bind_query_function(binder, query, alias, label(written[0]), scope)
    exprs = [_call(binder, call, scope) for call in written]
    shown = alias.this.name if alias is not None else label(written[0])
    columns = [_columns(binder.context, e, label(w), shown, len(exprs)) for e, w in zip(exprs, written, strict=True)]
    names = [c.name for group in columns for c in group]
    node = _plan(binder.context, exprs, [c for group in columns for c in group], ordinality)
    if ordinality:
        names.append("ordinality")
    source = from_items.source_of(node, shown, from_items.aliased_names(alias, names, shown))
    source.rows = Rows(kind="a function")
    if len(exprs) == 1 and not ordinality and exprs[0].type.pg.category == "C":
        source.row_type = partial(_row_type, exprs[0])
    source.scalar = len(exprs) == 1 and not ordinality and not exprs[0].type.pg.is_row
    return node, from_items.add_source(scope, source)


def _row_type(expr: Expr) -> t.PgType:
    return expr.type.pg


def _bind_query_function(
    binder: QueryBinder, query: exp.Expression, alias: exp.Expression | None, name: str, scope: Scope
) -> FromItem:
    """Bind a function that is a query over the system catalog."""
    bound = binder.bind(query, scope)
    shown = alias.this.name if alias is not None else name
    node = bound.subquery_plan()
    names = bound.names if len(bound.names) > 1 or alias is None else (shown,)
    source = from_items.source_of(node, shown, from_items.aliased_names(alias, names, shown))
    source.rows = Rows(kind="a function")
    return node, from_items.add_source(scope, source)


def _split_unnest(call: exp.Expression) -> Sequence[exp.Expression]:
    """Return the calls of ROWS FROM (unnest(a), unnest(b)) for unnest(a, b)."""
    if not isinstance(call, exp.Anonymous) or call.this != "unnest" or len(call.expressions) < 2:
        return (call,)
    found = []
    for argument in call.expressions:
        one = exp.Anonymous(this="unnest", expressions=[argument.copy()])
        one.meta.update(call.meta)
        found.append(one)
    return found


def _call(binder: QueryBinder, written: exp.Expression, scope: Scope) -> Expr:
    expr = binder.expressions.settle(binder.expressions.bind(written, scope))
    for aggregate in own_aggregates(expr, scope):
        message = "aggregate functions are not allowed in functions in FROM"
        raise GroupingError(message, position=cursor(aggregate.position))
    for part in expr.walk():
        if isinstance(part, WindowCall):
            message = "window functions are not allowed in functions in FROM"
            raise WindowingError(message, position=cursor(part.position))
        if part is not expr and is_set_returning(part):
            message = "set-returning functions must appear at top level of FROM"
            raise FeatureNotSupported(message, position=cursor(part.position))
    return expr


def _columns(context: BindContext, expr: Expr, name: str, shown: str, calls: int) -> list[Column]:
    """Return the columns of one call: a record's fields, or one column that is named by the function or like the item."""
    if expr.type.fields:
        return [context.new_column(field, typ) for field, typ in expr.type.fields]
    if isinstance(expr, Call) and expr.function.column:
        return [context.new_column(expr.function.column, expr.type)]
    return [context.new_column(shown if calls == 1 else name, expr.type)]


def _plan(context: BindContext, exprs: Sequence[Expr], columns: list[Column], ordinality: bool) -> Node:
    if any(is_set_returning(e) for e in exprs) or len(exprs) > 1:
        calls = tuple(_as_call(e) for e in exprs)
        counted = (context.new_column("ordinality", st.of(t.INT8)),) if ordinality else ()
        return FunctionScan((*columns, *counted), calls, ordinality)
    emit: tuple[Expr, ...] = tuple(exprs)
    if ordinality:
        columns = [*columns, context.new_column("ordinality", st.of(t.INT8))]
        emit = (*emit, Const(st.of(t.INT8), 1))
    if len(columns) != len(emit):
        raise FeatureNotSupported("not supported: a function in FROM that returns one record")
    return Evaluator(tuple(columns), Values((), ((),)), emit)


def _as_call(expr: Expr) -> Call:
    if not isinstance(expr, Call):
        raise FeatureNotSupported("not supported: ROWS FROM with a value", position=cursor(expr.position))
    return expr
