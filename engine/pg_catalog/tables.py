"""`sluice.tables`: the files of each stored table on disk, for administrators.

The relation has one row for each table, including the session's temporary ones. `files`, `rows` and `bytes` are what a
query of the session would read now. They are null where the folder cannot be read, since a view for diagnosing problems
must not fail because of them. `pending` is read from the catalog database: the number of commits that Delta's log does
not have yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.catalog.model.objects import Table
from engine.catalog.snapshot import SLUICE
from engine.pg_catalog.declared import Row, SystemContext, SystemRelation
from engine.storage.tables import data_files
from wire.errors import SqlError


def _tables(context: SystemContext) -> Iterator[Row]:
    pending = context.pending()
    for table in sorted(context.snapshot.tables(), key=lambda table: (table.schema, table.name)):
        storage = table.storage
        if storage is not None:
            waiting = pending.get(storage.location, 0)
            yield (
                table.schema,
                table.name,
                table.oid,
                storage.location,
                storage.version,
                waiting,
                *_count_content(table),
            )


def _count_content(table: Table) -> tuple[int | None, int | None, int | None]:
    """Return the numbers of files, rows and bytes."""
    try:
        files = data_files(table).values()
    except SqlError:
        return None, None, None
    return len(files), sum(file.rows for file in files), sum(file.size for file in files)


SYSTEM: Final = (
    SystemRelation(
        15_903,
        "tables",
        "schema name, name name, oid oid, location text, version int8, pending int8, files int8, rows int8, bytes int8",
        _tables,
        volatile=True,
        schema=SLUICE,
    ),
)
