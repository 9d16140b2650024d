"""Values of any type as text, inside templates: the conversion that concat, format, array_to_string, to_json and `||`
need.

PostgreSQL has several renderings. The *cast* to text is the result of `x::text`; the *output* form is the one that a
client sees, which differs for booleans (`t` and `f`) and for inet (no mask of a single address). A *key* of a JSON
object is the output form, but of a boolean the cast. All come from the cast rows of the function table, so that there
is one source for each type.
"""

from __future__ import annotations

from typing import Literal

from sqlglot import exp

from engine.common.sql_type import SqlType, of
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Call, Column, ColumnRef, Expr, Function
from engine.sql.functions.trees import sql
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t

TEXTUAL = (t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME, t.CHAR, t.UNKNOWN, t.JSON, t.JSONB, t.UUID)
#: Ranges and multiranges whose text depends on a session's settings.
_STYLED = (t.TSRANGE, t.TSTZRANGE, t.DATERANGE, t.TSMULTIRANGE, t.TSTZMULTIRANGE, t.DATEMULTIRANGE)
#: Types carried as a text that differs from the text that clients see.
_WRITTEN = (*_STYLED, t.TSQUERY, t.JSONPATH)
Rendering = Literal["cast", "output", "key"]


def apply(engine: EngineName, function: Function, args: list[exp.Expression], call: Call) -> exp.Expression:
    """Return the tree of a row's template for one engine. Raises FeatureNotSupported if the engine lacks the row."""
    template = function.local if engine == "local" else function.spark
    if template is None:
        raise FeatureNotSupported(f"not supported: {function!r}")
    return sql(engine, template, *args) if isinstance(template, str) else template(args, call)


def as_text(engine: EngineName, tree: exp.Expression, value: Expr, rendering: Rendering = "output") -> exp.Expression:
    """Return `tree`, which computes `value`, as text; null stays null."""
    return typed_as_text(engine, tree, value.type, value, rendering)


def typed_as_text(
    engine: EngineName, tree: exp.Expression, typ: SqlType, value: Expr, rendering: Rendering = "output"
) -> exp.Expression:
    """Return a tree as text as `as_text` does, for a tree of type `typ` that is no expression of its own (an array's
    element).
    """
    if typ.pg in TEXTUAL or (typ.pg.carried is t.TEXT and typ.pg not in _WRITTEN):
        return tree
    if typ.pg is t.BOOL and rendering == "output":
        return sql(engine, "CASE WHEN $1 THEN 't' WHEN NOT $1 THEN 'f' END", tree)
    from engine.sql.functions.registry import registry

    declared = t.ANYARRAY if typ.pg.is_array else t.RECORD if typ.pg.is_row else typ.pg
    # The cast of an inet to name is its output.
    result = t.NAME if typ.pg is t.INET and rendering != "cast" else t.TEXT
    cast = registry().find_cast(typ.pg, result) or registry().find_cast(declared, t.TEXT)
    if cast is None:
        raise FeatureNotSupported(f"not supported: {typ} as text")
    operand = value if value.type == typ else ColumnRef(typ, Column(-1, "element", typ))
    return apply(engine, cast, [tree], Call(of(t.TEXT), cast, (operand,)))
