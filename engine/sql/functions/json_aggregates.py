"""json_agg, json_object_agg and their jsonb kin: the values of a group as one document.

The values are collected as array_agg collects them, with nulls, order, DISTINCT and FILTER. The local engine then
writes the list as a document.

Source: PostgreSQL 15, json.c (json_agg_transfn, json_object_agg_transfn), jsonb.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Builder, Function
from engine.sql.functions.aggregates import array_agg
from engine.sql.functions.building import agg
from engine.sql.functions.jsons import as_json, check_key, key_text, normal, quote_json
from engine.sql.functions.textual import typed_as_text
from engine.sql.functions.trees import EngineBuilder, concat, pack, raises, sql, text
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call, Expr

_ITEM: Final = "item__"


def _compose_document(
    engine: EngineName, values: exp.Expression, one: exp.Expression, marks: Sequence[str]
) -> exp.Expression:
    """Build the document of a list: `one` of each item, between the first mark and the last, separated by the middle
    one; null for null.
    """
    begin, between, end = marks
    each = "array_to_string(list_transform($1, lambda item__: $2), $3)"
    return concat(engine, [text(begin), sql(engine, each, values, one, text(between)), text(end)])


def _array(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    value = call.args[0]
    nested = value.type.pg.is_array or value.type.pg.is_row
    one = as_json(engine, exp.column(_ITEM), value.type, value)
    # PostgreSQL starts a new line before each array and each record except the first.
    written = _compose_document(engine, array_agg(engine, args, call), one, ("[", ", \n " if nested else ", ", "]"))
    return normal(engine, written) if call.function.name == "jsonb_agg" else written


def _object(binary: bool) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        key, value = call.args
        pairs = array_agg(engine, [pack(engine, {"f0": args[0], "f1": args[1]})], call)
        named = _key(engine, key)
        one = concat(engine, [named, text(" : "), as_json(engine, _part("f1"), value.type, value)])
        written = _compose_document(engine, pairs, one, ("{ ", ", ", " }"))
        return normal(engine, written) if binary else written

    return build


def _part(name: str) -> exp.Expression:
    return exp.Dot(this=exp.to_identifier(_ITEM), expression=exp.to_identifier(name))


def _key(engine: EngineName, key: Expr) -> exp.Expression:
    check_key(key.type)
    shown = key_text(engine, typed_as_text(engine, _part("f0"), key.type, key, "key"), key.type)
    wrong = raises(engine, "22023", "field name must not be null")
    return sql(engine, "CASE WHEN $1 IS NULL THEN $2 ELSE $3 END", shown, wrong, quote_json(engine, shown))


def _local(build: EngineBuilder) -> Builder:
    """Return an aggregate's template. Its argument is not bound with `let`: it has one value per row and cannot be
    computed outside the aggregate call.
    """
    return lambda args, call: build("local", args, call)


def _rows() -> Iterator[Function]:
    for typ in (t.JSON, t.JSONB):
        yield agg(f"{typ.name}_agg", (t.ANYELEMENT,), typ, local=_local(_array), volatility="stable")
        build = _object(typ is t.JSONB)
        yield agg(f"{typ.name}_object_agg", (t.ANY, t.ANY), typ, local=_local(build), volatility="stable")


ROWS: tuple[Function, ...] = tuple(_rows())
