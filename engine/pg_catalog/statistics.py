"""pg_stats: ANALYZE's statistics of columns, in PostgreSQL's terms. A role sees only the columns that it may read,
since statistics contain values of the rows.

`correlation` is null: rows are in files, and their order is not defined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from engine.catalog.model.objects import Table
from engine.catalog.model.statistics import ColumnStatistics
from engine.pg_catalog.declared import Row, SystemContext, postgres
from wire.types import pg_types as t
from wire.types.output import format_value


def _pg_stats(context: SystemContext) -> Iterator[Row]:
    for table in context.snapshot.tables():
        shown = context.authority.readable_columns(table) if table.statistics is not None else frozenset()
        for column in (column for column in table.columns if column.number in shown):
            assert table.statistics is not None, "columns are shown of tables with statistics"
            found = table.statistics.of(column.number, column.type.pg.oid)
            if found is not None:
                yield _row(table, column.name, found)


def _row(table: Table, name: str, found: ColumnStatistics) -> Row:
    return (
        table.schema, table.name, name, False, found.nulls, found.width, found.distinct, _any_array(found.common),
        list(found.frequencies) or None, _any_array(found.bounds), None, None, None, None,
    )  # fmt: skip


def _any_array(values: Sequence[str]) -> str | None:
    """Encode values in anyarray's carrier."""
    return format_value(t.array_of(t.TEXT), list(values)) if values else None


SYSTEM: Final = (postgres("pg_stats", _pg_stats, volatile=True),)
