"""Column defaults in the form in which PostgreSQL prints stored defaults: `'x'::character varying`, `'-1'::integer`,
`now()`.

Clients read defaults back in this form: Active Record takes the value before the cast, TypeORM compares it with its
own. The catalog therefore stores this form for constants, SQL's keywords for the current time and user, and calls
without arguments; it is read again like any default. All other defaults stay as they were written
(`engine.sql.deparse.stored_text`), including constants of user-defined types, which may be renamed.

A number keeps its own type, since its conversion to the column's type is implied; a string has the column's type.

Source: PostgreSQL 15, ruleutils.c (get_const_expr, SQLValueFunction in get_rule_expr).
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from sqlglot import exp

from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Const, Expr
from engine.sql.deparse.expressions import value_text
from wire.types import pg_types as t

_CALL: Final = re.compile(r"([a-z_][a-z0-9_]*)\s*\(\s*\)", re.IGNORECASE)
#: Types whose text as PostgreSQL prints it would be read as another value: bit strings lose the type's length, the
#: others lose parentheses.
_AS_WRITTEN: Final = (t.BIT, t.TSQUERY, t.JSONPATH)
_WORD: Final = re.compile(r"(?:current|session|local)_?[a-z]+(?:\s*\(\s*\d\s*\))?|user", re.IGNORECASE)


def printed_default(tree: exp.Expression, text: str, bound: Expr, typ: SqlType) -> str:
    """Return a default as PostgreSQL prints it. tree, text: the default as written. typ: the column's type. bound: the
    result of `bind_default`.
    """
    if isinstance(tree, exp.Paren):
        return printed_default(tree.this, text, bound, typ)
    if isinstance(tree, exp.Anonymous):
        return _word(text.strip())
    if isinstance(tree, exp.Boolean):
        return "true" if tree.this else "false"
    number = tree.this if isinstance(tree, exp.Neg) else tree
    if isinstance(number, exp.Literal) and not number.is_string:
        return _number(number.this, negative=number is not tree)
    literal = tree.this if isinstance(tree, exp.Cast) else tree
    if (
        isinstance(literal, exp.Literal)
        and isinstance(bound, Const)
        and bound.type.pg is typ.pg
        and bound.type.typmod < 0
    ):
        return _constant(bound) or text
    return text


def is_null_constant(tree: exp.Expression, bound: Expr, typ: SqlType) -> bool:
    """Return whether a default is NULL, in parentheses or not, or NULL cast to the column's type. tree, bound, typ: as
    for `printed_default`.
    """
    value = tree.unnest()
    if isinstance(value, exp.Cast) and bound.type.pg is typ.pg and bound.type.typmod < 0:
        value = value.this.unnest()
    return isinstance(value, exp.Null)


def printed_null(typ: SqlType, *, is_domain: bool) -> str | None:
    """Return the default NULL of a column as PostgreSQL stores it. It stores none, unless the value is to be converted:
    to the type's modifier, or to a domain, whose own default would apply otherwise.
    """
    if not is_domain and (typ.typmod < 0 or typ.pg is t.INTERVAL):
        return None
    return typed_null(typ)


def typed_null(typ: SqlType) -> str:
    """Return a NULL of a type as PostgreSQL prints it."""
    # Without quotation marks, bit is bit(1).
    name = '"bit"' if typ.pg is t.BIT else t.format_type(typ.pg)
    return f"NULL::{name}"


def _word(text: str) -> str:
    if call := _CALL.fullmatch(text):
        return f"{call[1].lower()}()"
    return "".join(text.split()).upper() if _WORD.fullmatch(text) else text


def _number(digits: str, *, negative: bool) -> str:
    negative = negative and Decimal(digits) != 0
    if not digits.isdigit():
        shown = format(Decimal(digits), "f")
        return f"'-{shown}'::numeric" if negative else shown if "." in shown else f"'{shown}'::numeric"
    value = Decimal(f"-{digits}" if negative else digits)
    if -(2**31) <= value < 2**31:
        return f"{value:f}" if value >= 0 else f"'{value:f}'::integer"
    return f"'{value:f}'::{'bigint' if -(2**63) <= value < 2**63 else 'numeric'}"


def _constant(const: Const) -> str | None:
    pg = const.type.pg
    element = t.element_of(pg) if pg.is_array else pg
    if const.value is None or element.oid not in t.BY_OID or element in _AS_WRITTEN or element.name.startswith("reg"):
        return None
    if pg is t.BOOL:
        return "true" if const.value else "false"
    text = value_text(const.value, const.type)
    if not text.startswith("-") and (pg is t.INT4 or (pg is t.NUMERIC and "." in text)):
        return text
    doubled = text.replace("'", "''")
    return f"'{doubled}'::{t.format_type(pg)}"
