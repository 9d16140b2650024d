"""The logical sources of a topology as this member's tables: they are in schema public, and are found, described and
listed like foreign tables.

They are declared by the file that every member receives, not stored in the catalog. So they are the same for all
members, whatever their catalog, and nobody can drop or replace them. Sources that this member holds have real files,
below the member's own data directory (not `base`, which members share) and within its roots; the others have stand-ins.

**OIDs** are derived from the names, in the upper half of their range, which the catalog's counter never reaches. A
source keeps its OID when the file's order changes, and has the same one on all members.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Sequence

from engine.catalog.model.objects import Part, Table
from engine.catalog.snapshot import DECLARED_OIDS, PUBLIC
from engine.lakes.foreign_files import DataRoots, refresh
from engine.plan_ir.topology import SourceTable, Topology, tables
from wire.errors import SqlError

_log = logging.getLogger(__name__)


def topology_tables(topology: Topology, member: str, roots: DataRoots) -> tuple[Table, ...]:
    """Return the tables to declare in this member's catalog. roots: where its physical sources lie. Blocks on the file
    system.

    Columns that the topology file does not declare are taken from the files here. Where there are no such files (yet),
    the statement that names the table looks again. Raises InsufficientPrivilege for a path of this member's outside its
    roots.
    """
    sources = tables(topology)
    oids = _oids([source.name for source in sources])
    return tuple(_with_columns_of_files(_table(source, oids[source.name], member, roots)) for source in sources)


def _oids(names: Sequence[str]) -> dict[str, int]:
    """Assign an OID to each name. If two names have the same one, the later in the alphabet takes the next."""
    taken: dict[int, str] = {}
    for name in sorted(names):
        oid = DECLARED_OIDS | zlib.crc32(name.encode())
        while oid in taken:
            oid = DECLARED_OIDS | (oid + 1)
        taken[oid] = name
    return {name: oid for oid, name in taken.items()}


def _table(source: SourceTable, oid: int, member: str, roots: DataRoots) -> Table:
    parts = tuple(
        Part(holder, roots.absolute(path) if holder == member else path, holder == member)
        for holder, paths in source.paths.items()
        for path in paths
    )
    return Table(
        oid, PUBLIC, source.name, source.columns, source.format, source.name, (), options=source.options, parts=parts
    )  # fmt: skip


def _with_columns_of_files(table: Table) -> Table:
    """Add the columns of the files here if none are declared."""
    if table.columns or not any(part.here for part in table.parts):
        return table
    try:
        return refresh(table)
    except SqlError as error:
        _log.warning('the columns of "%s" are not known yet: %s', table.name, error.message)
        return table
