"""GENERATED ALWAYS AS (expression) STORED: columns computed from the row as it is written, above whatever produced the
row.

A statement cannot give such a column a value, and DEFAULT means that it is computed. Rows that are rewritten unchanged
keep their values: the expression is immutable, so the result would be the same.

Source: PostgreSQL 15, nodeModifyTable.c (ExecComputeStoredGenerated), rewriteHandler.c (rewriteTargetListIU).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.catalog.model.objects import Table, TableColumn
from engine.plan_ir.expr import Case, Column, Expr
from engine.plan_ir.free_columns import references
from engine.plan_ir.logical import Evaluator
from engine.sql.binder.blocks import pass_through, refer
from engine.sql.binder.mutations.outcome import Change
from engine.sql.binder.mutations.target import assign, drop_position, row_source
from engine.sql.binder.scope import Scope
from engine.sql.deparse.stored_text import read_formula
from wire.errors import FeatureNotSupported, GeneratedAlways

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder


def forbid_value(column: TableColumn, message: str) -> None:
    """Raises GeneratedAlways if the column is a generated one, because it cannot be given a value."""
    if column.generated:
        raise GeneratedAlways(message, detail=f'Column "{column.name}" is a generated column.')


def with_generated(table: Table, names: Iterable[str]) -> set[str]:
    """Add the generated columns, which may change with the named ones."""
    found = set(names)
    return found | {column.name for column in table.columns if column.generated} if found else found


def compute_generated(binder: QueryBinder, change: Change) -> Change:
    """Return the change with its generated columns computed."""
    if change.kind == "delete" or not any(column.generated for column in change.table.columns):
        return change
    rows: list[Column] = []
    emit: list[Expr] = []
    scope = Scope(binder.context, binder)
    row = row_source(change.table, None, change.rows)
    scope.add(row)
    scope.sources.append(row)
    for declared, column in zip(change.table.written_columns, change.rows, strict=True):
        if not declared.generated:
            rows.append(column)
            emit.append(refer(column))
            continue
        value = _value(binder, declared, change, scope)
        rows.append(binder.context.new_column(declared.name, declared.type))
        emit.append(
            value if change.changed is None else Case(declared.type, ((refer(change.changed), value),), refer(column))
        )
    others = tuple(column for column in change.node.columns if column not in change.rows)
    node = Evaluator((*rows, *others), change.node, (*emit, *pass_through(others)))
    return replace(change, node=node, rows=tuple(rows))


def _value(binder: QueryBinder, column: TableColumn, change: Change, scope: Scope) -> Expr:
    assert column.default is not None, "a generated column has an expression"
    with drop_position():
        value = assign(binder, binder.expressions.bind(read_formula(column.default), scope), column)
    later = {filled for filled, _ in change.filled}
    if any(read in later for read in references(value)):
        raise FeatureNotSupported(
            f'not supported: generated column "{column.name}" of a column that INSERT ... SELECT or UPDATE numbers'
        )
    return value
