"""Automatically updatable views: a statement that changes a view's rows changes those of its base relation.

A view is automatically updatable if it is a plain selection from one table, or from another such view. A name of one of
its columns stands for the expression that the view's select list has for it, over a row of the table, and the view's
WHERE limits the rows. Only view columns that are columns of the base relation can be assigned.

The role that runs the statement needs privileges on the view and its columns. The view's owner needs them on the base
relation and, where the statement reads, SELECT on everything that the definition references.

Source: PostgreSQL 15, rewriteHandler.c (rewriteTargetView, view_query_is_auto_updatable, view_col_is_auto_updatable).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NoReturn

from sqlglot import exp

from engine.catalog.model.objects import Constraint, Table, TableColumn, View
from engine.plan_ir.expr import And, Column, Expr, Node
from engine.plan_ir.logical import Evaluator
from engine.sql.binder import select
from engine.sql.binder.blocks import filter_rows, pass_through
from engine.sql.binder.from_items import aliased_names
from engine.sql.binder.mutations.target import (
    RIGHTS,
    Target,
    drop_position,
    find_relation,
    require_stored,
    table_target,
)
from engine.sql.binder.scope import Scope, Source, SourceColumn
from engine.sql.deparse.updatable_views import NOT_ONE, definition_of, why_not
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, ObjectNotInPrerequisiteState, SqlSyntaxError

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder

#: A statement's words in messages: its verb, the action that a trigger would enable, and the trigger's event.
_WORDS: Final = {
    "insert": ("insert into", "inserting into", "INSERT"),
    "update": ("update", "updating", "UPDATE"),
    "delete": ("delete from", "deleting from", "DELETE"),
}
#: The number of a view's column that is no column of the table.
_NO_COLUMN: Final = 0


def find_target(binder: QueryBinder, written: exp.Table, verb: str) -> Target:
    """Find the target that a statement names. verb: insert, update or delete; fill, for a materialized view's rows.

    Raises what `find_relation` and `require_stored` raise, and ObjectNotInPrerequisiteState for a view that is not updatable.
    """
    found = find_relation(binder, written)
    if isinstance(found, View):
        return _view_target(binder, found, verb)
    return table_target(binder, require_stored(found, verb), verb)


@dataclass(frozen=True, slots=True)
class ViewTarget(Target):
    """A view as a target. below: its base relation. alias: the alias of that in the definition, with its column names.
    bases: for each column the base relation's column, or None if it is none.
    """

    view: View
    query: exp.Select
    below: Target
    alias: exp.TableAlias | None
    bases: tuple[TableColumn | None, ...] = ()

    def insert(self, columns: Sequence[TableColumn]) -> None:
        self.access.insert(self._own_columns(columns))
        self.below.insert(self._bases(columns, "insert into"))

    def update(self, columns: Sequence[TableColumn]) -> None:
        self.access.update(self._own_columns(columns))
        self.below.update(self._bases(columns, "update"))

    def select(self, columns: Iterable[TableColumn]) -> None:
        asked = list(columns)
        numbers = {column.number for column in asked}
        self.access.select(self._own_columns([column for column in self.columns if column.number in numbers]))
        self.below.select(asked)

    def row(self, alias: str | None, row: Sequence[Column]) -> Source:
        exprs = self.bind_outputs(row)
        named = zip(self.view.columns, exprs, strict=True)
        offered = tuple(SourceColumn(column.name, expr) for column, expr in named)
        self.binder.context.accesses.offer_values(self.access, exprs)
        schema = None if alias else self.view.schema
        return Source(alias or self.view.name, offered, schema=schema, relation=self.view.name)

    def visible(self, reader: Node, row: Sequence[Column]) -> tuple[Node, Expr | None]:
        node, below = self.below.visible(reader, row)
        conditions = tuple(part for part in (below, self._where(row)) if part is not None)
        if not conditions:
            return node, None
        both = conditions[0] if len(conditions) == 1 else And(conditions[0].type, conditions)
        if not self.view.has_option("security_barrier"):
            return node, both
        # The statement's own conditions run above the barrier: an error in one could reveal a row that the view hides.
        return Evaluator(node.columns, filter_rows(node, both), pass_through(node.columns), barrier=True), None

    def view_checks(self, row: Sequence[Column], *, cascaded: bool = False) -> list[tuple[Constraint, Expr]]:
        cascaded = cascaded or self.view.check_option == "cascaded"
        found = self.below.view_checks(row, cascaded=cascaded)
        if cascaded or self.view.check_option:
            own = self._where(row)
            if own is not None:
                found.append((Constraint(0, self.view.name, "view check", ()), own))
        return found

    def _where(self, row: Sequence[Column]) -> Expr | None:
        where, expressions = self.query.args.get("where"), self.binder.expressions
        if where is None:
            return None
        with self._definition():
            return expressions.as_boolean(expressions.bind(where.this, self._scope(row)), "WHERE")

    def bind_outputs(self, row: Sequence[Column]) -> tuple[Expr, ...]:
        """Bind the select list over a row of the table."""
        expressions = self.binder.expressions
        with self._definition():
            found = select.select_list(self.binder, self.query, self._scope(row))
            # The select list may return more columns than the view had when another view was defined over it.
            return tuple(expressions.settle(item.expr) for item in found[: len(self.view.columns)])

    def base_row(self, row: Sequence[Column]) -> Source:
        """Return a row of the base relation as the definition's names see it."""
        source = self.below.row(self.alias.name if self.alias is not None else None, row)
        names = aliased_names(self.alias, [column.name for column in source.columns], source.name)
        columns = tuple(SourceColumn(name, c.expr) for name, c in zip(names, source.columns, strict=True))
        return replace(source, columns=columns)

    def _scope(self, row: Sequence[Column]) -> Scope:
        scope = Scope(self.binder.context, self.binder)
        source = self.base_row(row)
        scope.add(source)
        scope.sources.append(source)
        return scope

    @contextmanager
    def _definition(self) -> Iterator[None]:
        """Set the context of the view's definition while a part of it is bound."""
        with (
            drop_position(),
            self.binder.as_seen_by(self.view),
            self.binder.context.accesses.within_definition(self.view),
        ):
            yield

    def _own_columns(self, columns: Sequence[TableColumn]) -> Iterator[TableColumn]:
        names = {column.name for column in columns}
        return (column for column in self.view.columns if column.name in names)

    def _bases(self, columns: Sequence[TableColumn], verb: str) -> list[TableColumn]:
        """Return the base relation's columns. Raises FeatureNotSupported for a column without one, SqlSyntaxError for
        a base column that occurs twice.
        """
        bases = dict(zip((column.name for column in self.columns), self.bases, strict=True))
        found: dict[TableColumn, str] = {}
        for column in columns:
            base = bases[column.name]
            if base is None:
                raise FeatureNotSupported(
                    f'cannot {verb} column "{column.name}" of view "{self.view.name}"',
                    detail="View columns that are not columns of their base relation are not updatable.",
                )
            # Several parts of one column may be assigned.
            if found.setdefault(base, column.name) != column.name:
                raise SqlSyntaxError(f'multiple assignments to same column "{base.name}"')
        return list(found)


def _view_target(binder: QueryBinder, view: View, verb: str) -> ViewTarget:
    access = binder.context.accesses.target(view, RIGHTS.get(verb, 0))
    query = definition_of(view)
    reason = why_not(query)
    if reason is not None or not isinstance(query, exp.Select):
        _refuse(view, verb, reason or NOT_ONE)
    (item,) = query.args["from_"].expressions
    with binder.as_seen_by(view), binder.context.accesses.within_definition(view):
        seen = find_relation(binder, item)
        if isinstance(seen, View):
            below: Target = _view_target(binder, seen, verb)
        else:
            if isinstance(seen, Table) and seen.query is not None:
                _refuse(view, verb, NOT_ONE)
            below = _base(binder, require_stored(seen, verb), verb)
    access.below = below.access
    target = ViewTarget(binder, below.table, view, (), access, view, query, below, item.args.get("alias"))
    row = tuple(binder.context.new_column(column.name, column.type) for column in below.table.written_columns)
    exprs, offered = target.bind_outputs(row), target.base_row(row).columns
    bases = tuple(_base_column(expr, offered, below.columns) for expr in exprs)
    if verb != "delete" and not any(base is not None and base.number for base in bases):
        _refuse(view, verb, "Views that have no updatable columns are not automatically updatable.")
    columns = tuple(
        TableColumn(own.name, own.type, _NO_COLUMN) if base is None else replace(base, name=own.name)
        for own, base in zip(view.columns, bases, strict=True)
    )
    return replace(target, columns=columns, bases=bases)


def _base(binder: QueryBinder, seen: Table, verb: str) -> Target:
    """Return the target for a table as the view sees it, over all columns that it has now."""
    table = binder.context.catalog.by_oid(seen.oid)
    assert isinstance(table, Table), "it was resolved"
    return table_target(binder, table, verb, seen)


def _base_column(expr: Expr, offered: Sequence[SourceColumn], columns: Sequence[TableColumn]) -> TableColumn | None:
    """Return the base relation's column that an item of the select list is, or None."""
    return next((c for item, c in zip(offered, columns, strict=True) if item.expr == expr), None)


def _refuse(view: View, verb: str, detail: str) -> NoReturn:
    said, enabling, event = _WORDS[verb]
    raise ObjectNotInPrerequisiteState(
        f'cannot {said} view "{view.name}"',
        detail=detail,
        hint=f"To enable {enabling} the view, provide an INSTEAD OF {event} trigger"
        f" or an unconditional ON {event} DO INSTEAD rule.",
    )
