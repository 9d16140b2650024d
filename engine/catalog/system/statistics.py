"""pg_stats: what ANALYZE found out about columns, in PostgreSQL's terms.

Its arrays of any type are arrays of text here: the same to whoever reads them as text. `correlation` is null: rows are in files,
and which come first is nobody's promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.catalog.objects import Table
from engine.catalog.statistics import ColumnStatistics
from engine.catalog.system.declared import Row, SystemContext, postgres


def _pg_stats(context: SystemContext) -> Iterator[Row]:
    for table in context.snapshot.tables():
        for column in table.columns if table.statistics is not None else ():
            assert table.statistics is not None
            found = table.statistics.of(column.number, column.type.pg.oid)
            if found is not None:
                yield _row(table, column.name, found)


def _row(table: Table, name: str, found: ColumnStatistics) -> Row:
    common, frequencies = list(found.common) or None, list(found.frequencies) or None
    return (
        table.schema, table.name, name, False, found.nulls, found.width, found.distinct, common, frequencies,
        list(found.bounds) or None, None, None, None, None,
    )  # fmt: skip


SYSTEM: Final = (postgres("pg_stats", _pg_stats),)
