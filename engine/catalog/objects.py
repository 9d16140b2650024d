"""What a catalog snapshot holds: schemas, tables, views. Immutable values; a change makes a new snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from engine.sql.types import SqlType

FileFormat = Literal["parquet", "csv", "json"]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column as declared or inferred. `number`: attnum, 1-based and never reused."""

    name: str
    type: SqlType
    number: int
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Part:
    """Files of a table that one member alone can read (a physical source of the topology).

    path: a file, folder or glob: absolute where that member is this one (`here`), else as the topology says it.
    """

    member: str
    path: str
    here: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A foreign table over files.

    oid: stable over restarts. schema: its namespace's name ("public"; "pg_temp" for temporary ones).
    path: as given: a file, a folder or a glob, absolute after resolution against the member's data roots.
    files: the files it resolves to, sorted; splits are made of these.
    version: a digest of the files' names, sizes and times: another version is another table to whoever caches.
    options: the remaining options (delimiter, header ...), as strings.
    guarantee: the names of the columns by which every file is sorted, if known.
    parts: of a table that the topology declares: who holds what of it; `path` is then only its name, and `files` has a
        stand-in (`engine.catalog.elsewhere`) for each part that another member holds.
    """

    oid: int
    schema: str
    name: str
    columns: tuple[TableColumn, ...]
    format: FileFormat
    path: str
    files: tuple[str, ...]
    version: int = 0
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    guarantee: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """A view: its definition's text (one SELECT), the columns it had when it was created, the search path it was
    created under, and the OIDs of the relations it reads."""

    oid: int
    schema: str
    name: str
    columns: tuple[TableColumn, ...]
    definition: str
    search_path: tuple[str, ...] = ("public",)
    depends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SystemTable:
    """A relation of pg_catalog or information_schema: rows that the member has in memory, in carriers.

    version: distinguishes the rows from those of other snapshots and sessions, for whoever registers them by name.
    """

    oid: int
    schema: str
    name: str
    columns: tuple[TableColumn, ...]
    rows: pa.Table = field(compare=False, repr=False)
    version: int = 0


StoredRelation = Table | View
Relation = Table | View | SystemTable


@dataclass(frozen=True, slots=True)
class Schema:
    oid: int
    name: str
