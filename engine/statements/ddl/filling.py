"""Fills a table from a query, as INSERT does: for CREATE TABLE AS, and for an ALTER TABLE that rewrites all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from engine.catalog.model.objects import Table
from engine.sql.parser.nodes.statements import Insert
from engine.statements.shared.named_tables import table_reference

#: The name of a table's former state while it is rewritten, or of a materialized view's query (`NamedTables`).
BEFORE: Final = "before"


def insert_statement(table: Table, rows: exp.Expression, columns: Sequence[str] | None = None) -> Insert:
    """INSERT INTO table [(columns)] OVERRIDING SYSTEM VALUE query."""
    listed = None if columns is None else tuple(exp.to_identifier(name, quoted=True) for name in columns)
    return Insert(
        target=_table(table.schema, table.name), returning=(), alias=None, columns=listed, source=rows, overriding="system",
        filling=True, text="",
    )  # fmt: skip


def reading_before(values: Sequence[exp.Expression]) -> exp.Select:
    """SELECT values FROM the table's former state."""
    return exp.Select(expressions=list(values), from_=exp.From(expressions=[table_reference(BEFORE)]))


def _table(schema: str, name: str) -> exp.Table:
    return exp.Table(this=exp.Identifier(this=name, quoted=True), db=exp.Identifier(this=schema, quoted=True))
