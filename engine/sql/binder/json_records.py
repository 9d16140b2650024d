"""json_to_record and json_to_recordset, with jsonb's: documents as rows of a shape that the statement says.

    select * from json_to_recordset('[{"a": 1}]') as x(a int, b text)

The documents are a set of one column; a field is its member of that name, as text (of json and jsonb as it is), cast. A member
that is null, or not there, is null.

Source: PostgreSQL 15, jsonfuncs.c (populate_record_worker, populate_record_field).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.plan.logical import Evaluator, FunctionScan
from engine.sql import types as st
from engine.sql.binder import from_clause, literals
from engine.sql.binder.labels import label
from engine.sql.expr import Call, Case, ColumnRef, Expr, IsNull
from engine.sql.functions.building import fn
from engine.sql.scope import Rows, Scope, cursor, position
from engine.sql.type_names import resolve_type
from wire import types as t
from wire.errors import FeatureNotSupported

if TYPE_CHECKING:
    from engine.sql.binder.from_clause import Item
    from engine.sql.binder.queries import QueryBinder

_JSON: Final = (t.JSON, t.JSONB)
#: The documents of each function, for the local engine. No rows of the function table: alone they would give no record.
_DOCUMENTS: Final = {
    f"{typ.name}_to_{shape}": fn(
        f"{typ.name}_to_{shape}", (typ,), typ, returns_set=True,
        local=f"sluice_json_records($1, '{typ.name}_to_{shape}', {str(typ is t.JSONB).upper()})",
    )
    for typ in _JSON
    for shape in ("record", "recordset")
}  # fmt: skip


def bind(binder: QueryBinder, item: exp.Table, scope: Scope) -> Item:
    """A function item with a column definition list."""
    written = item.args["rows_from"]
    name = label(written[0])
    documents = _DOCUMENTS.get(name)
    if documents is None or len(written) > 1 or len(written[0].expressions) != 1 or item.args.get("ordinality"):
        at = cursor(position(item))
        raise FeatureNotSupported("not supported: column definition list of a function in FROM", position=at)
    typ = st.of(documents.returns)
    expressions = binder.expressions
    given = expressions.coerce(expressions.bind(written[0].expressions[0], scope), typ, "implicit")
    document = binder.context.new_column("document", typ)
    scan = FunctionScan((document,), (Call(typ, documents, (given,)),))
    emit, names = [], []
    for field in item.args["definitions"]:
        names.append(field.this.name)
        emit.append(_field(binder, ColumnRef(typ, document), field))
    columns = tuple(binder.context.new_column(n, e.type) for n, e in zip(names, emit, strict=True))
    alias = item.args.get("alias")
    shown = alias.this.name if alias is not None else name
    node = Evaluator(columns, scan, tuple(emit))
    source = from_clause.source_of(node, shown, names)
    source.rows = Rows(kind="a function")
    return node, [from_clause.offered(scope, source)]


def _field(binder: QueryBinder, document: Expr, field: exp.ColumnDef) -> Expr:
    at = position(field)
    target = resolve_type(field.args["kind"], binder.context.notice, binder.context.user_type)
    key = literals.text(field.this.name)
    text = binder.expressions.operator("->>", [document, key], at)
    if target.pg in _JSON:
        part = binder.expressions.coerce(binder.expressions.operator("->", [document, key], at), target, "explicit")
        return Case(target, ((IsNull(st.of(t.BOOL), text), literals.null(target)),), part)
    if target.pg.is_array or target.pg.category in "CP":
        raise FeatureNotSupported(f"not supported: a field of type {target} from json", position=cursor(at))
    if target.pg in (t.VARCHAR, t.BPCHAR):
        # What is too long is an error, not cut.
        return binder.expressions.coerce(text, target, "assignment")
    return binder.expressions.coerce(text, target, "explicit")
