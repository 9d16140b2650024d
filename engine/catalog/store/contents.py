"""All rows of a catalog database as a value, the same for SQLite and PostgreSQL. Backups store it.

A database reads its contents at one moment (`CatalogDatabase.contents`), and an empty one takes the contents of another
(`fill`). A backup of a catalog in PostgreSQL may therefore be restored into a SQLite file, and the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from engine.catalog.snapshot import Snapshot
from engine.catalog.store import rows
from engine.catalog.store.rows import Content
from wire.dataclass import dataclass
from wire.errors import ObjectInUse

#: Columns by table. `meta` is left out: the fields of `Contents` have its content.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "schemas": ("name", "oid", "comment"),
    "relations": ("schema", "name", "oid", "kind", "body"),
    "counters": ("oid", "value", "called"),
    "storages": ("location", "version", "number"),
    "decisions": ("number", "location", "body"),
    "dropped": ("location", "seconds"),
    "statistics": ("oid", "body"),
    "roles": ("name", "body"),
    "types": ("oid", "body"),
    "rights": ("key", "body"),
}


@dataclass(frozen=True, slots=True)
class Contents:
    """All rows of a catalog. version: of the newest commit. next_oid: the first OID that was not assigned. rows: by
    table, in the order of `COLUMNS`; a Boolean may be a number.
    """

    version: int
    next_oid: int
    rows: Mapping[str, Sequence[tuple[Any, ...]]]


def require_empty(version: int, place: str) -> None:
    """Raise ObjectInUse if anything was committed to a catalog that is to be filled."""
    if version:
        raise ObjectInUse(
            f"the catalog in {place} is not empty",
            hint="Restore into another data directory, or move the catalog and its tables away first.",
        )


def snapshot(given: Contents, root: Path) -> Snapshot:
    """Return the snapshot that the rows describe. root: the folder of its stored tables."""
    of = given.rows
    return rows.snapshot(
        given.version, of["schemas"], of["relations"], Content.of(of["storages"], of["decisions"]), of["statistics"], root,
        of["roles"], ((body,) for _, body in of["types"]), of["rights"],
    )  # fmt: skip
