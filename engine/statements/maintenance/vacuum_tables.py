"""VACUUM: the tables that it processes, and its messages about them. `engine.catalog.store.sweep` decides what is
removed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from engine.catalog.authority import UNBOUNDED, Authority
from engine.catalog.model.objects import Table
from engine.catalog.model.rights import DATABASE_OID
from engine.catalog.snapshot import TEMPORARY, Snapshot
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.sweep import Swept
from engine.contracts.maintenance_progress import MaintenanceProgress, pages_of
from engine.pg_catalog import SystemCatalog
from engine.settings.session_settings import size_text
from engine.sql.parser.nodes.statements import QualifiedName, Vacuum
from engine.storage.tables import data_files
from wire.dataclass import dataclass
from wire.errors import Notice, UndefinedTable


@dataclass(frozen=True, slots=True)
class Vacuuming:
    """The part of a session that VACUUM uses. retention: in seconds. notice: sends a notice to the client."""

    snapshot: Snapshot
    search_path: Sequence[str]
    database: str
    retention: float
    notice: Callable[[Notice], None]
    authority: Authority = UNBOUNDED


def tables_to_vacuum(statement: Vacuum, session: Vacuuming) -> list[Table]:
    """Return the stored tables to vacuum: those that the statement names, or else all. Raises UndefinedTable.

    Temporary tables are left out, because their folders are removed with their session.
    """
    if statement.tables:
        found = [_find_table(name, session) for name in statement.tables]
    else:
        found = [table for table in session.snapshot.tables() if table.storage is not None]
    kept = {
        table.oid: table
        for table in found
        if table is not None
        and table.schema != TEMPORARY
        and may_look_after(table, "vacuum", session.authority, session.notice)
    }
    return list(kept.values())


def may_look_after(table: Table, verb: str, authority: Authority, notice: Callable[[Notice], None]) -> bool:
    """Return whether the current role owns the table or the database; give a warning if it does not (vacuum.c,
    vacuum_is_relation_owner).
    """
    if authority.owns(table) or authority.judge.owns(authority.role, DATABASE_OID):
        return True
    notice(Notice(f'skipping "{table.name}" --- only table or database owner can {verb} it', "WARNING"))
    return False


def _find_table(name: QualifiedName, session: Vacuuming) -> Table | None:
    """Find a named table. Returns None for a relation without files of its own, which PostgreSQL skips with a warning."""
    schemas = session.search_path if name.schema is None else (name.schema,)
    if SystemCatalog.oid_of(schemas, name.name) is not None:
        return None
    found = session.snapshot.resolve(name.schema, name.name, session.search_path)
    if found is None:
        raise UndefinedTable(f'relation "{name}" does not exist', position=name.position + 1)
    if isinstance(found, Table) and found.storage is not None:
        return found
    warning = f'skipping "{name.name}" --- cannot vacuum non-tables or special system tables'
    session.notice(Notice(warning, "WARNING"))
    return None


def vacuum(
    statement: Vacuum,
    tables: Sequence[Table],
    store: CatalogStore,
    session: Vacuuming,
    progress: MaintenanceProgress | None = None,
) -> None:
    """Remove dead files. tables: those to vacuum. progress: of the first table; it is advanced to the others. Blocks.
    Raises SqlError.
    """
    meant = {_location(table): table for table in tables}
    following = {before.oid: after for before, after in pairwise(tables)}
    for swept in store.vacuum(list(meant), session.retention):
        after = following.get(meant[swept.location].oid)
        if progress is not None and after is not None:
            progress.relation, progress.pages = after.oid, table_pages(after)
        if statement.verbose:
            _tell(meant[swept.location], swept, session)
    if not statement.tables:
        _strays(statement, store, session)


def _strays(statement: Vacuum, store: CatalogStore, session: Vacuuming) -> None:
    strays = store.vacuum_strays(session.retention)
    for location in strays.kept:
        session.notice(
            Notice(
                f'folder "{store.tables / location}" holds rows of a table that the catalog does not have; it is left',
                "WARNING",
                hint="Where the catalog was restored from a copy, that table is missing. Else remove the folder yourself.",
            )
        )
    if statement.verbose and strays.removed:
        told = f"folders of tables that were never committed: {len(strays.removed)} removed"
        session.notice(Notice(told, "INFO"))


def tell_compacted(table: Table, before: int, after: int, session: Vacuuming) -> None:
    session.notice(Notice(f'"{_full_name(table, session)}": {before} small files became {after}', "INFO"))


def _tell(table: Table, swept: Swept, session: Vacuuming) -> None:
    removed = f"{swept.files} files removed ({size_text(swept.size)})"
    told = f'finished vacuuming "{_full_name(table, session)}": {removed}, {swept.left} in use'
    session.notice(Notice(told, "INFO"))


def _full_name(table: Table, session: Vacuuming) -> str:
    return f"{session.database}.{table.schema}.{table.name}"


def table_pages(table: Table) -> int:
    """Return the number of pages of a stored table's files, for progress reports."""
    return pages_of(sum(file.size for file in data_files(table).values()))


def _location(table: Table) -> str:
    assert table.storage is not None, "a stored table"
    return table.storage.location
