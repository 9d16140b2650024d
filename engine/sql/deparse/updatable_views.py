"""Automatically updatable views and their updatable columns, determined from the text of their definitions.

Source: PostgreSQL 15, rewriteHandler.c (view_query_is_auto_updatable, view_cols_are_auto_updatable,
relation_is_updatable).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from sqlglot import exp

from engine.catalog.model.objects import Seen, StoredRelation, Table, View
from engine.sql.functions.registry import registry
from engine.sql.parser.nodes.statements import Query
from engine.sql.parser.parse import parse
from wire.errors import InternalError

#: The clauses that an updatable view may not have, in the order in which they are reported.
_CLAUSES: Final = (
    ("distinct", "DISTINCT"),
    ("group", "GROUP BY"),
    ("having", "HAVING"),
    ("with_", "WITH"),
    ("limit", "LIMIT or OFFSET"),
    ("offset", "LIMIT or OFFSET"),
)
NOT_ONE: Final = "Views that do not select from a single table or view are not automatically updatable."


def definition_of(view: View) -> exp.Expression:
    """Return the view's query."""
    (parsed,) = parse(view.definition)
    if not isinstance(parsed, Query):
        raise InternalError(f'the definition of view "{view.name}" is no query')
    return parsed.tree


def why_not(query: exp.Expression) -> str | None:
    """Return the reason why a view of the query is not updatable; None if there is none, provided that the relation it
    reads can be changed.
    """
    if isinstance(query, exp.SetOperation):
        return "Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable."
    for key, clause in _CLAUSES:
        if query.args.get(key):
            return f"Views containing {clause} are not automatically updatable."
    if (returned := _computed_of_rows(query.expressions)) is not None:
        return f"Views that return {returned} are not automatically updatable."
    from_ = query.args.get("from_")
    items = [] if from_ is None else from_.expressions
    if len(items) != 1 or not _is_relation(items[0]):
        return NOT_ONE
    if items[0].args.get("sample") is not None:
        return "Views containing TABLESAMPLE are not automatically updatable."
    return None


def _is_relation(item: exp.Expression) -> bool:
    return isinstance(item, exp.Table) and not item.args.get("rows_from")


def updatable_columns(view: View, by_oid: Callable[[int], StoredRelation | None]) -> frozenset[int] | None:
    """Return the numbers of the columns that can be assigned; None if the view is not updatable, so that its rows
    cannot be deleted either.
    """
    query = definition_of(view)
    if why_not(query) is not None:
        return None
    (item,) = query.args["from_"].expressions
    seen = next((s for s in view.sees if (s.schema, s.name) == (item.text("db") or None, item.name)), None)
    below = None if seen is None else _updatable_numbers(by_oid(seen.oid), by_oid)
    if seen is None or below is None:
        return None
    meant = _meant(query.expressions, item, seen)
    return frozenset(own.number for own, base in zip(view.columns, meant, strict=False) if base in below)


def _updatable_numbers(
    relation: StoredRelation | None, by_oid: Callable[[int], StoredRelation | None]
) -> frozenset[int] | None:
    if isinstance(relation, View):
        return updatable_columns(relation, by_oid)
    if not isinstance(relation, Table) or relation.storage is None or relation.query is not None:
        return None
    return frozenset(column.number for column in relation.columns)


def _meant(items: Sequence[exp.Expression], from_: exp.Table, seen: Seen) -> Iterator[int | None]:
    """Yield, for each column of the select list, the number of the base relation's column; None for a computed one."""
    numbers = [number for number, _ in seen.columns]
    alias = from_.args.get("alias")
    given = [] if alias is None else [column.name for column in alias.args.get("columns") or ()]
    names = [*given, *(name for _, name in seen.columns[len(given) :])]
    by_name = dict(zip(names, numbers, strict=True))
    for item in items:
        tree = item.this if isinstance(item, exp.Alias) else item
        if isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)):
            yield from numbers
        else:
            yield by_name.get(tree.name) if isinstance(tree, exp.Column) else None


def _computed_of_rows(items: Sequence[exp.Expression]) -> str | None:
    """Name the kind of functions in the select list that aggregate rows or return sets; None if there are none."""
    nodes = [node for item in items for node in item.walk(prune=lambda node: isinstance(node, exp.Query))]
    windows = [node for node in nodes if isinstance(node, exp.Window)]
    over = {id(window.this.find(exp.Anonymous)) for window in windows}
    calls = [node for node in nodes if isinstance(node, exp.Anonymous)]
    functions = [(id(call) in over, row) for call in calls for row in registry().functions(str(call.this).lower())]
    if any(row.kind in ("aggregate", "ordered_set") and not windowed for windowed, row in functions):
        return "aggregate functions"
    if windows:
        return "window functions"
    return "set-returning functions" if any(row.returns_set for _, row in functions) else None
