"""Expressions and nodes as text, for EXPLAIN and golden plans: PostgreSQL's notation, columns by their names."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from engine.common.sql_type import SqlType
from engine.plan_ir import expr as e
from engine.plan_ir.logical import Ordering
from wire.types import pg_types as t
from wire.types.carriers import carrier
from wire.types.range_bounds import bound_text


def column(column: e.Column) -> str:
    """Return a column's name; a column that the binder made for an expression goes by its label."""
    return column.name or column.label


def ordering(keys: Ordering) -> str:
    return ", ".join(_key(column(k.column), k.descending, k.nulls_first) for k in keys)


def _key(text: str, descending: bool, nulls_first: bool) -> str:
    text += " DESC" if descending else ""
    if nulls_first != descending:
        text += " NULLS FIRST" if nulls_first else " NULLS LAST"
    return text


def expression(expr: e.Expr) -> str:
    """Return `expr` as text; operators in parentheses, as PostgreSQL deparses them."""
    match expr:
        case e.Const():
            return constant(expr.value, expr.type)
        case e.ColumnRef():
            return column(expr.column)
        case e.ParamRef():
            return f"${expr.index}"
        case e.ContextRef():
            return expr.name
        case e.Call():
            return _call(expr)
        case e.Relabel():
            return f"({expression(expr.arg)})::{expr.type}"
        case e.And():
            return _join_items(" AND ", expr.args)
        case e.Or():
            return _join_items(" OR ", expr.args)
        case e.Not():
            return f"(NOT {expression(expr.arg)})"
        case e.IsNull():
            return f"({expression(expr.arg)} IS {'NOT ' if expr.negated else ''}NULL)"
        case e.IsDistinct():
            words = "IS NOT DISTINCT FROM" if expr.negated else "IS DISTINCT FROM"
            return f"({expression(expr.left)} {words} {expression(expr.right)})"
        case e.InList():
            return f"({expression(expr.arg)} IN ({_list(expr.items)}))"
        case e.Case():
            return _case(expr)
        case e.Coalesce():
            return f"COALESCE({_list(expr.args)})"
        case e.ArrayOf():
            return f"ARRAY[{_list(expr.items)}]"
        case e.Row():
            return f"ROW({_list(expr.items)})"
        case e.FieldRef():
            return f"({expression(expr.arg)}).{expr.arg.type.fields[expr.index][0]}"
        case e.Subquery():
            return _subquery(expr)
        case e.AggregateCall():
            return aggregate(expr)
        case e.WindowCall():
            return _window(expr)
        case _:
            return type(expr).__name__.lower()


def _list(items: Sequence[e.Expr]) -> str:
    return ", ".join(expression(item) for item in items)


def _join_items(word: str, items: tuple[e.Expr, ...]) -> str:
    return f"({word.join(expression(item) for item in items)})"


def _call(call: e.Call) -> str:
    kind, name = call.function.kind, call.function.name
    if kind == "cast":
        return f"({expression(call.args[0])})::{call.type}"
    if kind == "operator" and len(call.args) == 2:
        return f"({expression(call.args[0])} {name} {expression(call.args[1])})"
    if kind == "operator" and len(call.args) == 1:
        return f"({name} {expression(call.args[0])})"
    return f"{name}({_list(call.args)})"


def _case(expr: e.Case) -> str:
    whens = " ".join(f"WHEN {expression(test)} THEN {expression(value)}" for test, value in expr.whens)
    default = f" ELSE {expression(expr.default)}" if expr.default is not None else ""
    return f"CASE {whens}{default} END"


def _subquery(expr: e.Subquery) -> str:
    """Return a subquery's text by its kind; its plan is printed as a node of its own."""
    match expr.kind:
        case e.SubqueryKind.EXISTS:
            return "EXISTS(SubPlan)"
        case e.SubqueryKind.ARRAY:
            return "ARRAY(SubPlan)"
        case e.SubqueryKind.SCALAR:
            return "(SubPlan)"
        case e.SubqueryKind.IN if expr.operator is not None:
            return f"({_list(expr.tests)} {expr.operator.name} {expr.quantifier.upper()} (SubPlan))"
        case _:
            return f"({_list(expr.tests)} IN (SubPlan))"


def _order_items(items: tuple[e.OrderItem, ...]) -> str:
    return ", ".join(_key(expression(i.expr), i.descending, i.nulls_first) for i in items)


def aggregate(call: e.AggregateCall) -> str:
    arguments = _list(call.args) or ("" if call.function.kind == "ordered_set" else "*")
    text = f"{call.function.name}({'DISTINCT ' if call.distinct else ''}{arguments}"
    if call.order_by and call.function.kind == "ordered_set":
        text += f") WITHIN GROUP (ORDER BY {_order_items(call.order_by)}"
    elif call.order_by:
        text += f" ORDER BY {_order_items(call.order_by)}"
    text += ")"
    return f"{text} FILTER (WHERE {expression(call.filter)})" if call.filter is not None else text


def _window(call: e.WindowCall) -> str:
    inner = call.call
    text = aggregate(inner) if isinstance(inner, e.AggregateCall) else expression(inner)
    parts = []
    if call.partition_by:
        parts.append(f"PARTITION BY {_list(call.partition_by)}")
    if call.order_by:
        parts.append(f"ORDER BY {_order_items(call.order_by)}")
    if call.frame is not None:
        parts.append(_frame(call.frame))
    return f"{text} OVER ({' '.join(parts)})"


def _frame(frame: e.Frame) -> str:
    def bound(b: e.FrameBound) -> str:
        return f"{expression(b.offset)} {b.kind}".upper() if b.offset is not None else b.kind.upper()

    exclude = f" EXCLUDE {frame.exclude.upper()}" if frame.exclude else ""
    return f"{frame.unit.value.upper()} BETWEEN {bound(frame.start)} AND {bound(frame.end)}{exclude}"


def constant(value: Any, typ: SqlType) -> str:
    """Return a canonical value as a literal of its type."""
    if value is None:
        return f"NULL::{typ}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if typ.pg in (t.INT2, t.INT4, t.INT8, t.FLOAT4, t.FLOAT8) or isinstance(value, Decimal):
        return str(value)
    return f"'{_text(value, typ)}'::{typ}"


def _text(value: Any, typ: SqlType) -> str:
    if isinstance(value, str):
        return value.replace("'", "''")
    if typ.pg in (t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ):
        return bound_text(typ.pg, value)
    if typ.pg is t.TIME:
        return str(pa.scalar(value, carrier(typ.pg)))
    if isinstance(value, pa.MonthDayNano):
        return f"{value.months} mons {value.days} days {value.nanoseconds / 1e9:g} secs"
    return str(value)
