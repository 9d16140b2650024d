"""The handlers of both binders, combined, and the constructors of the binders that use them.

Sibling modules bind nested expressions and queries through the binder that they are given. Only this module imports all
of them.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.sql.binder import (
    calls,
    common_tables,
    from_clause,
    operators_syntax,
    select,
    set_operations,
    subqueries,
    values,
    values_lists,
)
from engine.sql.binder.blocks import Bound
from engine.sql.binder.expressions import ExpressionBinder, ExpressionHandlers
from engine.sql.binder.queries import QueryBinder, QueryHandlers
from engine.sql.binder.scope import BindContext, Scope

EXPRESSION_HANDLERS: Final = ExpressionHandlers(
    by_class={
        **values.HANDLERS,
        **operators_syntax.HANDLERS,
        **calls.HANDLERS,
        **subqueries.HANDLERS,
    },
    apply_function=calls.apply_function,
    bind_array_query=subqueries.bind_array_query,
    bind_row_query=subqueries.bind_row_query,
    bind_quantified_query=subqueries.bind_quantified_query,
)


def _bind_body(binder: QueryBinder, tree: exp.Expression, scope: Scope, settle: bool) -> Bound:
    match tree:
        case exp.SetOperation():
            return set_operations.bind(binder, tree, scope)
        case exp.Values():
            return values_lists.bind(binder, tree, scope)
        case exp.Select():
            return select.bind(binder, tree, scope, settle)
        case _:
            raise AssertionError(f"{type(tree).__name__} is no query")


QUERY_HANDLERS: Final = QueryHandlers(_bind_body, common_tables.bind_with, from_clause.bind_item)


def expression_binder(context: BindContext) -> ExpressionBinder:
    """Return a binder of one statement's expressions."""
    return ExpressionBinder(context, EXPRESSION_HANDLERS)


def query_binder(context: BindContext) -> QueryBinder:
    """Return a binder of one statement's queries."""
    return QueryBinder(context, expression_binder(context), QUERY_HANDLERS)
