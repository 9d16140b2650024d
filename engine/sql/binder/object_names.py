"""Conversion between OIDs and names of objects while a query runs: regclass, regtype, regproc and their kin to text,
and text to regclass and regtype.

A conversion becomes a scalar subquery over the system catalog, as the functions of `inlined` do: a cast must not print
as a number what PostgreSQL shows as a name. An OID without an object is shown as its number, and 0 as a dash.

Source: PostgreSQL 15, regproc.c (regclassout, regtypeout, regprocout, regnamespaceout, text_regclass).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.common.sql_type import SqlType, element_type
from engine.plan_ir.expr import AggregateCall, Call, Case, Const, Expr, IsNull, Row, WindowCall
from engine.sql.binder import inlined, regnames
from engine.sql.binder.blocks import row_items
from engine.sql.binder.scope import Scope, Source, SourceColumn
from engine.sql.parser.lexical.positions import cursor
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.expressions import ExpressionBinder

_VALUE: Final = "=object"
_CLASS: Final = (
    'select "=oid", case when "=place" is not null and "=rank" = 1 then quote_ident("=name")'
    ' else quote_ident("=schema") || \'.\' || quote_ident("=name") end from (select c.oid, c.relname::text, n.nspname::text,'
    " array_position({path}, n.nspname::text), row_number() over"
    " (partition by c.relname order by array_position({path}, n.nspname::text)) from pg_catalog.pg_class c"
    " join pg_catalog.pg_namespace n on n.oid = c.relnamespace)"
    ' as "=v" ("=oid", "=name", "=schema", "=place", "=rank")'
)
_FUNCTION: Final = (
    "select oid, case when count(*) over (partition by proname) = 1 then quote_ident(proname::text)"
    " else 'pg_catalog.' || quote_ident(proname::text) end from pg_catalog.pg_proc"
)
#: A signature's arguments have the names that format_type returns.
_PROCEDURE: Final = (
    "select oid, quote_ident(proname::text) || '(' ||"
    " (select coalesce(string_agg(format_type(a.typ, null), ',' order by a.place), '')"
    " from unnest(proargtypes) with ordinality as a(typ, place)) || ')' from pg_catalog.pg_proc"
)
_OPERATOR: Final = (
    "select oid, case when count(*) over (partition by oprname) = 1 then oprname::text"
    " else 'pg_catalog.' || oprname::text end from pg_catalog.pg_operator"
)
_SIGNED_OPERATOR: Final = (
    "select oid, oprname::text || '(' || case oprleft when 0 then 'NONE' else format_type(oprleft, null) end || ','"
    " || case oprright when 0 then 'NONE' else format_type(oprright, null) end || ')' from pg_catalog.pg_operator"
)
_NAMES: Final = {
    t.REGCLASS: _CLASS,
    t.REGTYPE: (
        "select t.oid, case when t.oid < 1073741824 then format_type(t.oid, null) else"
        " case when array_position({path}, n.nspname::text) is not null and row_number() over (partition by t.typname order by"
        " array_position({path}, n.nspname::text)) = 1 then '' else quote_ident(n.nspname::text) || '.' end"
        " || case t.typelem when 0 then quote_ident(t.typname::text) else quote_ident(substr(t.typname::text, 2)) || '[]' end end"
        " from pg_catalog.pg_type t join pg_catalog.pg_namespace n on n.oid = t.typnamespace"
    ),
    t.REGPROC: _FUNCTION,
    t.REGNAMESPACE: "select oid, quote_ident(nspname::text) from pg_catalog.pg_namespace",
    t.REGROLE: "select oid, quote_ident(rolname::text) from pg_catalog.pg_roles",
    t.REGPROCEDURE: _PROCEDURE,
    t.REGOPER: _OPERATOR,
    t.REGOPERATOR: _SIGNED_OPERATOR,
    t.REGCOLLATION: "select oid, quote_ident(collname::text) from pg_catalog.pg_collation",
    t.REGCONFIG: "select oid, quote_ident(cfgname::text) from pg_catalog.pg_ts_config",
    t.REGDICTIONARY: "select oid, quote_ident(dictname::text) from pg_catalog.pg_ts_dict",
}
#: The value occurs once in each query: it may be such a query itself, and clients nest them three deep.
_QUERY: Final = (
    'select case when "=given" = 0 then \'-\' else coalesce("=said", "=given"::text) end from (select "{value}"::oid) as'
    ' "=v" ("=given") left join ({names}) as "=n" ("=number", "=said") on "=number" = "=given"'
)
#: An array's names, each by `_QUERY`.
_ARRAY: Final = (
    'select case when "=object" is not null then coalesce((select array_agg("=each"::text order by "=place")'
    ' from unnest("=object") with ordinality as "=a" ("=each", "=place")), array[]::text[]) end'
)
#: Finds a relation by each spelling of its name: as quote_ident writes it, with all parts in quotes, without quotes.
_RELATION: Final = (
    'select "=regclass"("=given", "=oid") from (select "{value}") as "=g" ("=given") left join'
    " (select c.oid, c.relname::text, quote_ident(c.relname::text), n.nspname::text,"
    " quote_ident(n.nspname::text), array_position({path}, n.nspname::text), row_number() over"
    " (partition by c.relname order by array_position({path}, n.nspname::text)) from pg_catalog.pg_class c"
    " join pg_catalog.pg_namespace n on n.oid = c.relnamespace)"
    ' as "=v" ("=oid", "=name", "=quoted", "=schema", "=schema_quoted", "=place", "=rank")'
    ' on ("=place" is not null and "=rank" = 1 and ("=given" = "=quoted" or lower("=given") = "=name"'
    ' or "=given" = \'"\' || replace("=name", \'"\', \'""\') || \'"\'))'
    ' or "=given" = \'"\' || replace("=schema", \'"\', \'""\') || \'"."\' || replace("=name", \'"\', \'""\') || \'"\''
    ' or "=given" in ("=schema_quoted" || \'.\' || "=quoted",'
    " quote_ident(current_database()::text) || '.' || \"=schema_quoted\" || '.' || \"=quoted\")"
    ' or lower("=given") = "=schema" || \'.\' || "=name" limit 1'
)
#: Finds a type by each spelling of its name, without a modifier: SQL's names (`character varying`), and the spellings
#: of relations.
_TYPE: Final = (
    'select "=regtype"("=given", "=oid") from (select "{value}") as "=g" ("=given") left join'
    " (select t.oid, t.typname::text, quote_ident(t.typname::text), format_type(t.oid, null), e.typname::text || '[]',"
    " n.nspname::text, quote_ident(n.nspname::text), array_position({path}, n.nspname::text), row_number() over"
    " (partition by t.typname order by array_position({path}, n.nspname::text)) from pg_catalog.pg_type t"
    " join pg_catalog.pg_namespace n on n.oid = t.typnamespace"
    " left join pg_catalog.pg_type e on e.oid = t.typelem and t.typcategory = 'A')"
    ' as "=v" ("=oid", "=name", "=quoted", "=spoken", "=of", "=schema", "=schema_quoted", "=place", "=rank")'
    ' on ("=place" is not null and "=rank" = 1 and ("=given" = \'"\' || replace("=name", \'"\', \'""\') || \'"\''
    ' or "=given" = "=quoted" and "=quoted" <> \'char\' or lower("=given") = "=name" and "=name" <> \'char\''
    " or case lower(\"=given\") when 'char' then 'character' when 'int' then 'integer' when 'float' then 'double precision'"
    " when 'dec' then 'numeric' when 'decimal' then 'numeric' else lower(\"=given\") end in (\"=spoken\", \"=of\")))"
    ' or "=given" = \'"\' || replace("=schema", \'"\', \'""\') || \'"."\' || replace("=name", \'"\', \'""\') || \'"\''
    ' or "=given" in ("=schema_quoted" || \'.\' || "=quoted",'
    " quote_ident(current_database()::text) || '.' || \"=schema_quoted\" || '.' || \"=quoted\")"
    ' or lower("=given") = "=schema" || \'.\' || "=name" limit 1'
)
#: Functions that convert their arguments to text.
WRITING: Final = frozenset(
    (
        "array_to_json", "array_to_string", "concat", "concat_ws", "format", "json_agg", "json_build_array", "json_build_object",
        "json_object_agg", "jsonb_agg", "jsonb_build_array", "jsonb_build_object", "jsonb_object_agg", "quote_literal",
        "quote_nullable", "row_to_json", "to_json", "to_jsonb",
    )
)  # fmt: skip
_SOUGHT: Final = {t.REGCLASS: _RELATION, t.REGTYPE: _TYPE}


def is_object(pg: t.PgType) -> bool:
    """Return whether values of a type, or its elements, are shown as names."""
    return (t.element_of(pg) if pg.is_array else pg) in _NAMES


def shows_objects(typ: SqlType) -> bool:
    """Return whether values of a type, its elements, or fields of a record are shown as names."""
    if typ.pg.is_array:
        return shows_objects(element_type(typ))
    return is_object(typ.pg) or (typ.pg.is_row and any(shows_objects(field) for _, field in typ.fields))


def shown_type(typ: SqlType) -> SqlType:
    """Return the type of `with_object_names` of an expression of a type that shows objects. Raises FeatureNotSupported
    for an array of records.
    """
    if typ.pg.is_array and not is_object(typ.pg):
        raise FeatureNotSupported("not supported: arrays of records with names of objects")
    if typ.pg.is_row:
        fields = tuple((name, shown_type(field) if shows_objects(field) else field) for name, field in typ.fields)
        return replace(typ, pg=t.RECORD, fields=fields)
    return st.of(t.array_of(t.TEXT) if typ.pg.is_array else t.TEXT)


def is_unnamed(expr: Expr) -> bool:
    """Return whether an expression is of an object type, or of an array of one, and its name has yet to be looked up.
    Names of built-in types are known at once.
    """
    known = isinstance(expr, Const) and (expr.value is None or (expr.type.pg is t.REGTYPE and expr.value in t.BY_OID))
    return is_object(expr.type.pg) and not known


def type_of(binder: ExpressionBinder, arg: Expr, answer: Expr) -> Call:
    """pg_typeof of an argument that is kept; answer: its type, or the name of that."""
    rows = binder.functions.functions("=pg_typeof")
    row = next(row for row in rows if row.args[1] is answer.type.pg)
    return Call(answer.type, row, (arg, answer), position=answer.position)


def without_argument(expr: Expr) -> Expr:
    """The answer alone of a `type_of`; any other expression as it is."""
    return expr.args[1] if isinstance(expr, Call) and expr.function.name == "=pg_typeof" else expr


def name_of(binder: ExpressionBinder, expr: Expr, scope: Scope) -> Expr:
    """Return the name, as text, of the object that `expr` refers to, or the names for an array of objects; see
    `is_unnamed`.
    """
    if expr.type.pg.is_array:
        return _look_up(binder, expr, scope, _ARRAY)
    answer = without_argument(expr)
    if answer is not expr:
        (arg, _) = expr.children()
        return type_of(binder, arg, with_object_names(binder, answer, scope))
    return _look_up(binder, expr, scope, _QUERY.format(value=_VALUE, names=_NAMES[expr.type.pg]))


def with_object_names(binder: ExpressionBinder, expr: Expr, scope: Scope) -> Expr:
    """Return an expression that is to be converted to text with objects replaced by their names, also inside a row."""
    if expr.type.pg.is_row:
        return _with_named_fields(binder, expr, scope) if shows_objects(expr.type) else expr
    if is_unnamed(expr):
        return name_of(binder, expr, scope)
    return binder.as_output(expr) if expr.type.pg in t.REG_TYPES else expr


def _with_named_fields(binder: ExpressionBinder, expr: Expr, scope: Scope) -> Expr:
    items = tuple(with_object_names(binder, item, scope) for item in row_items(expr))
    row = Row(shown_type(expr.type), items, position=expr.position)
    if isinstance(expr, Row):
        return row
    return Case(row.type, ((IsNull(st.of(t.BOOL), expr, whole=True), Const(row.type, None)),), row)


def relation_of(binder: ExpressionBinder, expr: Expr, scope: Scope) -> Expr:
    """Return the relation, as regclass, that a text names; the query fails with 42P01 if there is none."""
    return object_of(binder, expr, t.REGCLASS, scope)


def object_of(binder: ExpressionBinder, expr: Expr, pg: t.PgType, scope: Scope) -> Expr:
    """Return the object of type `pg` that a text names; the query fails with 42P01 or 42704 if there is none. Raises
    the errors of `regnames.read_name` for a constant, FeatureNotSupported for objects that cannot be looked up while a
    query runs.
    """
    if isinstance(expr, Const) and expr.value is not None:
        if pg is t.REGCLASS:
            return Const(st.of(pg), regnames.read_name(pg, expr.value, scope.context, -1), position=expr.position)
        return binder.coerce(Const(st.of(t.UNKNOWN), expr.value), st.of(pg), "explicit")
    if pg not in _SOUGHT:
        raise FeatureNotSupported(
            f"not supported: cast from {expr.type} to {pg.sql_name}", position=cursor(expr.position)
        )
    text = binder.coerce(expr, st.of(t.TEXT), "explicit")
    return _look_up(binder, text, scope, _SOUGHT[pg].replace("{value}", _VALUE))


def _look_up(binder: ExpressionBinder, expr: Expr, scope: Scope, text: str) -> Expr:
    """Return a scalar subquery that looks the value up; its text calls the value `_VALUE`."""
    if any(isinstance(part, AggregateCall | WindowCall) for part in expr.walk()):
        message = f"not supported: the name of a {expr.type} that an aggregate or window function gives"
        raise FeatureNotSupported(message, position=cursor(expr.position))
    inner = Scope(scope.context, scope.queries, scope)
    # No `Scope.add`: the columns inside still belong to their own level.
    inner.sources.append(Source("", (SourceColumn(_VALUE, expr),)))
    return binder.bind(exp.Subquery(this=inlined.query_from(text, scope)), inner)
