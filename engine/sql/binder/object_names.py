"""Names of objects whose OIDs are only known while a query runs: regclass, regtype and regnamespace as text.

A scalar subquery over the system catalog, as with the functions of `inlined`: a cast must not make a number of what
PostgreSQL shows as a name. What has no name is shown as its number, 0 as a dash.

Source: PostgreSQL 15, regproc.c (regclassout, regtypeout, regnamespaceout).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.sql.binder import inlined
from engine.sql.expr import AggregateCall, Const, Expr, WindowCall
from engine.sql.scope import Scope, Source, SourceColumn, cursor
from wire import types as t
from wire.errors import FeatureNotSupported

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
_NAMES: Final = {
    t.REGCLASS: _CLASS,
    t.REGTYPE: "select oid, format_type(oid, null) from pg_catalog.pg_type",
    t.REGNAMESPACE: "select oid, quote_ident(nspname::text) from pg_catalog.pg_namespace",
}
_QUERY: Final = (
    'select case when "{value}"::oid = 0 then \'-\' else coalesce((select "=said" from ({names}) as "=n" ("=number", "=said")'
    ' where "=number" = "{value}"::oid), "{value}"::oid::text) end'
)


def is_unnamed(expr: Expr) -> bool:
    """Whether an expression is of an object type and its name is yet to be looked up; types' names are known at once."""
    known = isinstance(expr, Const) and (expr.value is None or expr.type.pg is t.REGTYPE)
    return expr.type.pg in _NAMES and not known


def name_of(binder: ExpressionBinder, expr: Expr, scope: Scope) -> Expr:
    """The name, as text, of the object that `expr` means; see `is_unnamed`."""
    if any(isinstance(part, AggregateCall | WindowCall) for part in expr.walk()):
        message = f"not supported: the name of a {expr.type} that an aggregate or window function gives"
        raise FeatureNotSupported(message, position=cursor(expr.position))
    inner = Scope(scope.context, scope.queries, scope)
    # Not `Scope.add`: the columns inside stay those of their own level.
    inner.sources.append(Source("", (SourceColumn(_VALUE, expr),)))
    text = _QUERY.format(value=_VALUE, names=_NAMES[expr.type.pg])
    return binder.bind(exp.Subquery(this=inlined.query_from(text, scope)), inner)
