"""json_to_record, json_to_recordset, json_populate_record, json_populate_recordset, and the same for jsonb.

The first two turn documents into rows of a shape that the statement gives; the other two into rows of a table's row
type or of a composite type.

    select * from json_to_recordset('[{"a": 1}]') as x(a int, b text)
    select * from json_populate_recordset(null::t, '[{"a": 1}]')

The documents are a set of one column. Each field is the document's member of that name, as text (json and jsonb fields
as they are), cast to the field's type. A member that is null or missing becomes null.

Source: PostgreSQL 15, jsonfuncs.c (populate_record_worker, populate_record_field).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Call, Case, Coalesce, ColumnRef, Const, Expr, Function, IsNull, Node
from engine.plan_ir.logical import Evaluator, FunctionScan
from engine.sql.binder import from_items, literals
from engine.sql.binder.labels import label
from engine.sql.binder.scope import Rows, Scope, Source
from engine.sql.binder.type_names import resolve_type
from engine.sql.functions.building import fn
from engine.sql.parser.lexical.positions import cursor, position
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.blocks import FromItem
    from engine.sql.binder.queries import QueryBinder

_JSON: Final = (t.JSON, t.JSONB)
#: The documents of each function, for the local engine. These are no rows of the function table, because by themselves
#: they return no record.
_DOCUMENTS: Final = {
    f"{typ.name}_{shape}": fn(
        f"{typ.name}_{shape}", (typ,), typ, returns_set=True,
        local=f"sluice_json_records($1, '{typ.name}_{shape}', {str(typ is t.JSONB).upper()})",
    )
    for typ in _JSON
    for shape in ("to_record", "to_recordset", "populate_record", "populate_recordset")
}  # fmt: skip


def bind(binder: QueryBinder, item: exp.Table, scope: Scope) -> FromItem:
    """Bind a function item with a column definition list."""
    written = item.args["rows_from"]
    name = label(written[0])
    documents = _DOCUMENTS.get(name) if "_to_" in name else None
    if documents is None or len(written) > 1 or len(written[0].expressions) != 1 or item.args.get("ordinality"):
        at = cursor(position(item))
        raise FeatureNotSupported("not supported: column definition list of a function in FROM", position=at)
    given = binder.expressions.bind(written[0].expressions[0], scope)
    fields = [
        (f.this.name, resolve_type(f.args["kind"], binder.context.notice, binder.context.user_type), position(f))
        for f in item.args["definitions"]
    ]
    source, node = _rows(binder, documents, given, fields)
    alias = item.args.get("alias")
    source.name = alias.this.name if alias is not None else name
    return node, from_items.add_source(scope, source)


def bind_populate(binder: QueryBinder, item: exp.Table, scope: Scope) -> FromItem | None:
    """Bind a json_populate_record or json_populate_recordset call whose first argument is a null of a row type; None
    for any other item.
    """
    (call, *more) = item.args["rows_from"]
    name = label(call)
    documents = _DOCUMENTS.get(name) if "_populate_" in name and isinstance(call, exp.Anonymous) else None
    if documents is None or more or item.args.get("ordinality") or len(call.expressions) != 2:
        return None
    base, given = (binder.expressions.bind(arg, scope) for arg in call.expressions)
    if not (isinstance(base, Const) and base.value is None and base.type.fields):
        return None
    at = position(call)
    source, node = _rows(binder, documents, given, [(field, typ, at) for field, typ in base.type.fields])
    alias = item.args.get("alias")
    source.name = alias.this.name if alias is not None else name
    names = from_items.aliased_names(alias, [column.name for column in source.columns], source.name)
    source.columns = tuple(replace(column, name=n) for column, n in zip(source.columns, names, strict=True))
    source.row_type = lambda: base.type.pg
    return node, from_items.add_source(scope, source)


def _rows(
    binder: QueryBinder, documents: Function, given: Expr, fields: Sequence[tuple[str, SqlType, int]]
) -> tuple[Source, Node]:
    """Return the source and the plan of the documents' fields. fields: names, types, and positions in the statement."""
    typ = st.of(documents.returns)
    document = binder.context.new_column("document", typ)
    coerced = binder.expressions.coerce(given, typ, "implicit")
    if not documents.name.endswith("set"):
        # Without a document, there is one record all the same.
        coerced = Coalesce(typ, (coerced, Const(typ, "{}")))
    scan = FunctionScan((document,), (Call(typ, documents, (coerced,)),))
    emit = [_field(binder, ColumnRef(typ, document), *field) for field in fields]
    columns = tuple(binder.context.new_column(field[0], e.type) for field, e in zip(fields, emit, strict=True))
    node = Evaluator(columns, scan, tuple(emit))
    source = from_items.source_of(node, "", [name for name, _, _ in fields])
    source.rows = Rows(kind="a function")
    return source, node


def _field(binder: QueryBinder, document: Expr, name: str, target: SqlType, at: int) -> Expr:
    key = literals.text(name)
    text = binder.expressions.operator("->>", [document, key], at)
    if target.pg in _JSON:
        part = binder.expressions.coerce(binder.expressions.operator("->", [document, key], at), target, "explicit")
        return Case(target, ((IsNull(st.of(t.BOOL), text), literals.null(target)),), part)
    if target.pg.is_array and target.dimensions <= 1:
        return _array_field(binder, binder.expressions.operator("->", [document, key], at), name, target)
    if target.pg.is_array or target.pg.category in "CP":
        raise FeatureNotSupported(f"not supported: a field of type {target} from json", position=cursor(at))
    if target.pg in (t.VARCHAR, t.BPCHAR):
        # A string that is too long is an error; it is not cut off.
        return binder.expressions.coerce(text, target, "assignment")
    return binder.expressions.coerce(text, target, "explicit")


def _array_field(binder: QueryBinder, part: Expr, name: str, target: SqlType) -> Expr:
    """Return a json array as an array. part: the document's member `name`."""
    row = next(row for row in binder.expressions.functions.functions("=json_items") if row.args[0] is part.type.pg)
    element = t.element_of(target.pg)
    as_json = Const(st.of(t.BOOL), element in _JSON)
    items = Call(st.of(row.returns), row, (part, literals.text(name), as_json))
    return binder.expressions.coerce(items, target, "assignment" if element in (t.VARCHAR, t.BPCHAR) else "explicit")
