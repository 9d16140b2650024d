"""Bound expressions in the form in which PostgreSQL prints stored expressions: `(a > 0)`, `lower((name)::text)`.

Each operator is printed in parentheses, and each conversion is printed as a cast. Pretty printing leaves out what is
not needed to read the text again: `a > 0`, `lower(name::text)`. Here the binder has already converted a constant to the
type of its context when it is printed, whereas PostgreSQL keeps it as it was read, with the conversion around it. The
type tells which literal it was: numeric has no literals that are whole numbers, so such a constant was an integer.

Source: PostgreSQL 15, ruleutils.c (get_rule_expr, get_const_expr, get_coercion_expr, isSimpleNode,
looks_like_function).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import pyarrow as pa

from engine.common.identifiers import quote_ident
from engine.common.sql_type import SqlType
from engine.contracts.output_cast import carrier_of
from engine.plan_ir import expr as e
from wire.types import pg_types as t
from wire.types.output import EncodedColumn, OutputSettings, text_column

#: Functions with a grammar of their own, which cannot be called by their quoted names.
_WORDS: Final = frozenset({"greatest", "least", "nullif"})
#: Operators that PostgreSQL has for integers of different sizes.
_MIXED: Final = frozenset(("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/"))
#: The indentation of the parts of CASE, which has lines of its own.
_STEP: Final = 4
_HIGH, _LOW = "*/%", "+-"


class Unprintable(Exception):
    """Raised for an expression that cannot be printed."""


def print_expression(expr: e.Expr, *, pretty: bool = False) -> str:
    """Print an expression. Raises Unprintable."""
    # CASE begins a line, and the line before it has no blanks at its end.
    return _Printer(pretty).text(expr).replace(" \nCASE", "\nCASE")


def is_call(expr: e.Expr) -> bool:
    """Return whether an expression looks like a function call, which never needs parentheses."""
    if isinstance(expr, e.Call):
        return expr.function.kind == "function"
    return isinstance(expr, e.Coalesce)


class _Printer:
    def __init__(self, pretty: bool) -> None:
        self._pretty = pretty
        self._indent = 0

    def text(self, expr: e.Expr) -> str:
        match expr:
            case e.ColumnRef():
                name = quote_ident(expr.column.name)
                return name if expr.type.pg is expr.column.type.pg else self._cast(name, expr.type, simple=True)
            case e.Const():
                return self._constant(expr)
            case e.Call():
                return self._call(expr)
            case e.And() | e.Or():
                word = " AND " if isinstance(expr, e.And) else " OR "
                return self._parenthesize(word.join(self._operand(arg, expr) for arg in expr.args))
            case e.Not(arg=e.InList() as within):
                return self._in_list(within, negated=True)
            case e.Not():
                return self._parenthesize(f"NOT {self._operand(expr.arg, expr)}")
            case e.IsNull():
                return self._parenthesize(f"{self._operand(expr.arg, expr)} IS {'NOT ' if expr.negated else ''}NULL")
            case e.IsDistinct():
                sides = f"{self._operand(expr.left, expr)} IS DISTINCT FROM {self._operand(expr.right, expr)}"
                return self._parenthesize(f"NOT ({sides})" if expr.negated else sides)
            case e.InList():
                return self._in_list(expr, negated=False)
            case e.Case():
                return self._case(expr)
            case e.Coalesce():
                return f"COALESCE({self._list(expr.args)})"
            case e.ArrayOf():
                return f"ARRAY[{self._list(expr.items)}]"
            case _:
                raise Unprintable

    def _parenthesize(self, text: str) -> str:
        return text if self._pretty else f"({text})"

    def _list(self, items: Sequence[e.Expr]) -> str:
        return ", ".join(map(self.text, items))

    def _operand(self, expr: e.Expr, parent: e.Expr) -> str:
        text = self.text(expr)
        return f"({text})" if self._pretty and not _is_simple(expr, parent) else text

    def _side(self, expr: e.Expr, call: e.Call) -> str:
        """Print an operand of a binary operator. A small integer beside a bigint stays an integer if PostgreSQL has an
        operator for both types.
        """
        if isinstance(expr, e.Const) and expr.type.pg is t.INT8 and call.function.name in _MIXED:
            return self._constant(e.Const(SqlType(t.INT4), expr.value))
        return self._operand(expr, call)

    def _cast(self, text: str, typ: SqlType, *, simple: bool) -> str:
        return f"{text if self._pretty and simple else f'({text})'}::{typ}"

    def _call(self, call: e.Call) -> str:
        kind, name, args = call.function.kind, call.function.name, call.args
        if kind == "cast":
            return self._cast(self.text(args[0]), call.type, simple=_is_simple(args[0], call))
        if kind == "operator" and len(args) == 2:
            return self._parenthesize(f"{self._side(args[0], call)} {name} {self._side(args[1], call)}")
        if kind == "operator":
            return self._parenthesize(f"{name} {self._operand(args[0], call)}")
        if kind != "function" or call.function.variadic:
            raise Unprintable
        if name in _WORDS:
            return f"{name.upper()}({self._list(args)})"
        if name == "extract" and isinstance(args[0], e.Const):
            return f"EXTRACT({args[0].value} FROM {self.text(args[1])})"
        if name == "timezone" and len(args) == 2:
            return f"({self._operand(args[1], call)} AT TIME ZONE {self._operand(args[0], call)})"
        return f"{quote_ident(name)}({self._list(args)})"

    def _in_list(self, expr: e.InList, *, negated: bool) -> str:
        said = "<> ALL" if negated else "= ANY"
        items = f"ARRAY[{self._list(expr.items)}]"
        if _is_relabelled(expr.arg) and all(isinstance(item, e.Const) for item in expr.items):
            assert isinstance(expr.arg, e.ColumnRef)
            own = expr.arg.column.type.pg
            typed = tuple(e.with_type(item, SqlType(own)) for item in expr.items)
            items = self._cast(f"ARRAY[{self._list(typed)}]", SqlType(t.array_of(expr.arg.type.pg)), simple=True)
        return self._parenthesize(f"{self._operand(expr.arg, expr)} {said} ({items})")

    def _case(self, expr: e.Case) -> str:
        outer = "\n" + " " * self._indent
        self._indent += _STEP
        inner = "\n" + " " * self._indent
        whens = "".join(f"{inner}WHEN {self.text(test)} THEN {self.text(value)}" for test, value in expr.whens)
        default = self.text(expr.default) if expr.default is not None else f"NULL::{t.format_type(expr.type.pg)}"
        self._indent -= _STEP
        return f"{outer}CASE{whens}{inner}ELSE {default}{outer}END"

    def _constant(self, expr: e.Const) -> str:
        value, typ = expr.value, expr.type
        said = f"::{t.format_type(typ.pg)}"
        if value is None:
            return f"NULL{said}"
        if isinstance(value, bool):
            return "true" if value else "false"
        if typ.pg in (t.INT2, t.INT4, t.INT8):
            large = abs(value) >= 2**31
            if value < 0 or large:
                return f"'{value}'::{(t.INT8 if large else typ.pg).sql_name}"
            return self._cast(str(value), typ, simple=True) if typ.pg is t.INT8 else str(value)
        if typ.is_wide:
            return self._cast(f"'{value_text(value, typ)}'", SqlType(typ.pg), simple=True)
        if typ.pg in (t.FLOAT4, t.FLOAT8, t.NUMERIC) and value >= 0:
            text = value_text(value, typ)
            if typ.pg is t.NUMERIC and isinstance(value, Decimal) and "." in text:
                return text
            return self._cast(text, SqlType(typ.pg), simple=True)
        text = value_text(value, typ).replace("'", "''")
        return f"'{text}'{said}"


def value_text(value: object, typ: SqlType) -> str:
    """Return a value's text as a client sees it."""
    if isinstance(value, Decimal) and typ.is_wide:
        return format(value, "f")
    column = EncodedColumn(typ.pg, typ.typmod, typ.display, typ.minimum)
    text: bytes = text_column(column, pa.array([value], carrier_of(typ)), OutputSettings()).join()[0].as_py()
    return text.decode()


def _is_relabelled(expr: e.Expr) -> bool:
    return isinstance(expr, e.ColumnRef) and expr.type.pg is not expr.column.type.pg


def _is_operator(expr: e.Expr) -> bool:
    return isinstance(expr, e.Call) and expr.function.kind == "operator"


def _is_simple(expr: e.Expr, parent: e.Expr) -> bool:
    """Return whether an operand is read correctly without parentheses."""
    within = isinstance(parent, e.And | e.Or | e.Not)
    if isinstance(expr, e.Call) and expr.function.kind == "operator":
        return _is_first(expr, parent) if _is_operator(parent) else within
    if isinstance(expr, e.IsNull | e.IsDistinct):
        return within
    if isinstance(expr, e.And | e.Not):
        return isinstance(parent, e.And | e.Or)
    if isinstance(expr, e.Or):
        return isinstance(parent, e.Or)
    return not isinstance(expr, e.InList)


def _is_first(expr: e.Call, parent: e.Expr) -> bool:
    """Return whether an operator inside another one is applied first in any case."""
    assert isinstance(parent, e.Call)
    inner, outer = expr.function.name, parent.function.name
    if len(expr.args) != 2 or len(parent.args) != 2 or inner not in _HIGH + _LOW or outer not in _HIGH + _LOW:
        return False
    if (inner in _HIGH) != (outer in _HIGH):
        return inner in _HIGH
    return expr is parent.args[0]
