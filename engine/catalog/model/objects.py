"""The objects of a catalog snapshot: schemas, tables, views, sequences. Immutable values; a change makes a new snapshot."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from typing import Final, Literal

import pyarrow as pa

from engine.catalog.model.file_options import CsvDialect
from engine.catalog.model.file_types import FileType
from engine.catalog.model.statistics import TableStatistics
from engine.common.sql_type import SqlType
from engine.settings.session_settings import truth
from wire.dataclass import dataclass
from wire.types.pg_types import PgType

FileFormat = Literal["parquet", "csv", "json"]
#: The format of a table that others keep (`engine.lakes`); none: a table is its files. spark: a table of Spark's catalogs, which
#: only Spark reads (`engine.executors.spark.catalogs`): its path, and only file, is its name there.
Lake = Literal["", "delta", "iceberg", "spark"]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column as declared or inferred.

    number: attnum, 1-based and never reused. default: an expression's text, evaluated for rows that do not say the value;
    None is null; it names sequences by their OID: `nextval('16385'::regclass)` (`engine.sql.deparse.stored_text`).
    identity: GENERATED ... AS IDENTITY; its sequence is the column's own (`Sequence.owner`), and `default` calls it.
    generated: GENERATED ALWAYS AS (default) STORED: every row has the value of that expression over its other columns.
    stored: the column's name in a stored table's files, where it is not `name`: files are not written anew when a column is
    renamed, and a name that comes again after DROP COLUMN means another column of the files.
    domain: what it was declared as, where that is a domain; `type` is what is below it.
    nested: of a foreign table's jsonb or json, what its files have instead of a document's text.
    """

    name: str
    type: SqlType
    number: int
    nullable: bool = True
    default: str | None = None
    identity: Literal["", "always", "by default"] = ""
    stored: str = ""
    comment: str | None = None
    generated: bool = False
    domain: PgType | None = None
    nested: FileType | None = None

    @property
    def declared_type(self) -> PgType:
        """The type that was declared."""
        return self.domain or self.type.pg

    @property
    def file_column(self) -> str:
        """The column's name in the table's files."""
        return self.stored or self.name


#: The schema of relations that are their session's alone.
TEMPORARY: Final = "pg_temp"
#: The one database that there is.
DATABASE: Final = "sluice"
#: The access method of an index for which none is named.
BTREE: Final = "btree"
#: What becomes of rows whose foreign key names a row that is gone, or has another key now.
KeyAction = Literal["no action", "restrict", "cascade", "set null", "set default"]
#: Whether a transaction may have a constraint judged later, and when it is where nothing was said.
Deferrable = Literal["", "immediate", "deferred"]


@dataclass(frozen=True, slots=True)
class References:
    """The key that a foreign key references. table: its OID. columns: numbers of the columns of one of its keys, in the order
    of the constraint's own. full: MATCH FULL. delete_columns: numbers of those of its own that ON DELETE SET ... is about;
    none: all."""

    table: int
    columns: tuple[int, ...]
    on_update: KeyAction = "no action"
    on_delete: KeyAction = "no action"
    full: bool = False
    delete_columns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyPart:
    """A part of an index that is more than columns of all rows. name: the attribute's, which of a column is the column's.
    formula: an expression as it was written, else empty. text, pretty: the expression as PostgreSQL prints it. call: whether it
    looks like a call, which stands without parentheses. type, typmod: the expression's; 0 of a column."""

    name: str
    formula: str = ""
    text: str = ""
    pretty: str = ""
    call: bool = False
    type: int = 0
    typmod: int = -1

    def render(self, *, pretty: bool = False) -> str:
        """Render the expression as an index's definition has it."""
        text = self.pretty if pretty else self.text
        return text if self.call else f"({text})"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A table's constraint beside NOT NULL, or an index that was created: it is kept for whoever looks, and what a unique one
    says of rows holds; "view check" is no constraint of a table, but what WITH CHECK OPTION of the view of that name asks.
    columns: those of a key, in its order; those that a check reads. expression: a check's text, else empty.
    references: a foreign key's, else None. options: an index's for each column, pg_index's bits (1: DESC, 2: NULLS FIRST).
    included: columns that an index only carries along, which say nothing of the order and of what is unique.
    parts: of an index on expressions, or on some rows only: what its key is; `columns` are then all that it reads. predicate: which
    rows it is about, where not all. method: an index's (`engine.pg_catalog.access_methods`). classes: the operator classes of its
    parts, by their OIDs; none: all have their type's default. nulls_not_distinct: whether a key's null is equal to another.
    valid: False for NOT VALID, of which the rows that were there when it was added have not been asked. index_comment: of a key's
    index, which has the same name and is an object of its own to whoever comments on it."""

    oid: int
    name: str
    kind: Literal["check", "primary key", "unique", "foreign key", "index", "unique index", "view check"]
    columns: tuple[str, ...]
    expression: str = ""
    comment: str | None = None
    references: References | None = None
    options: tuple[int, ...] = ()
    deferrable: Deferrable = ""
    included: tuple[str, ...] = ()
    parts: tuple[KeyPart, ...] = ()
    predicate: KeyPart | None = None
    method: str = "btree"
    classes: tuple[int, ...] = ()
    nulls_not_distinct: bool = False
    valid: bool = True
    index_comment: str | None = None

    @property
    def key_parts(self) -> tuple[KeyPart, ...]:
        """The parts of its key, in order."""
        return self.parts or tuple(map(KeyPart, self.columns))

    @property
    def all_columns(self) -> tuple[str, ...]:
        """All columns that it is about."""
        return self.columns + self.included

    @property
    def is_key(self) -> bool:
        """Whether it says that no two rows are alike."""
        return self.kind in ("primary key", "unique", "unique index")

    @property
    def is_index(self) -> bool:
        """Whether it was created as an index, and is no constraint to PostgreSQL."""
        return self.kind in ("index", "unique index")


def formulas_of(constraint: Constraint) -> tuple[str, ...]:
    """The expressions that it keeps as text."""
    where = () if constraint.predicate is None else (constraint.predicate,)
    texts = (constraint.expression, *(part.formula for part in (*constraint.parts, *where)))
    return tuple(filter(None, texts))


@dataclass(frozen=True, slots=True, weakref_slot=True)
class DataFile:
    """A Parquet file of a stored table, as its writer describes it.

    path: below the table's folder, as the file system spells it (Delta's log has it percent-encoded). size: bytes.
    partition: the values of the table's partition columns, as text, in their order; None is null.
    statistics: Delta's per-file statistics (numRecords, minValues, maxValues, nullCount) as JSON.
    """

    path: str
    size: int
    rows: int
    partition: tuple[str | None, ...] = ()
    statistics: str = "{}"


@dataclass(frozen=True, slots=True)
class Storage:
    """Where a stored table's rows are: a Delta table whose version the catalog pins, and what was changed since.

    location: its folder, below the catalog's folder of tables. version: the Delta version that a reader opens.
    added, removed: files that are to be read too, and paths of files of that version that are not: by transactions that
        were committed and are not in Delta's log yet, and by this session's own (`engine.storage`).
    changed: the catalog's version with which the files were last changed by a commit.
    partition_by: columns (as files call them) whose values name the folders of files. sort_by: those by which every file
        is sorted.
    """

    location: str
    version: int
    added: tuple[DataFile, ...] = ()
    removed: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    changed: int = 0


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
    """A table: a foreign one over files, or a stored one (`storage`).

    oid: stable over restarts. schema: its namespace's name ("public"; "pg_temp" for temporary ones).
    path: as given: a file, a folder or a glob, absolute after resolution against the member's data roots.
    files: the files it resolves to, sorted; splits are made of these.
    version: a digest of the files' names, sizes and times: another version is another table to whoever caches.
    options: the remaining options (delimiter, header ...), as strings.
    guarantee: the names of the columns by which every file is sorted, if known.
    parts: of a table that the topology declares: who holds what of it; `path` is then only its name, and `files` has a
        stand-in (`engine.catalog.model.remote_file_ref`) for each part that another member holds.
    partition_by: of a foreign table: the columns, as its files call them, whose values are in the names of folders
        (`engine.catalog.model.partitions`).
    by_name: of a foreign table over CSV files whose headers differ, so that columns are found by name: how the files are written
        (`engine.lakes.csv_headers`). None: columns are found by their places.
    lake: of a foreign table whose log says which files it has; its format is parquet, and `version` tells which version of
        it `files` are.
    deleted: of such a table: files of which some rows were deleted, each with a bitmap of these: bit n, counted from the first
        byte's highest bit, is row n of the file, and rows after the last bit are there.
    storage: of a table that Sluice keeps; its format is parquet, `path` its folder, and `files` are those of the version
        that it pins, with what was changed since; `version` is then a digest of which changes those are.
    last_number: the highest number that a column has had, where that one is gone.
    query: of a materialized view: whose rows these are; populated: whether they have been written.
    unlogged: whether CREATE UNLOGGED was said; it is kept as any other.
    statistics: what ANALYZE found, if it has run. No part of what the table is: tables are equal whatever they say.
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
    partition_by: tuple[str, ...] = ()
    by_name: CsvDialect | None = None
    lake: Lake = ""
    deleted: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    storage: Storage | None = None
    constraints: tuple[Constraint, ...] = ()
    comment: str | None = None
    last_number: int = 0
    query: View | None = None
    populated: bool = True
    unlogged: bool = False
    statistics: TableStatistics | None = field(default=None, compare=False, repr=False)

    @property
    def next_number(self) -> int:
        """The number of the next column."""
        return max(self.last_number, *(column.number for column in self.columns), 0) + 1

    def column(self, name: str) -> TableColumn | None:
        return next((column for column in self.columns if column.name == name), None)

    def in_files(self) -> Table:
        """The table with its columns called as its files call them: what a plan reads."""
        if not any(column.stored for column in self.columns):
            return self
        return replace(self, columns=tuple(replace(column, name=column.file_column) for column in self.columns))


@dataclass(frozen=True, slots=True)
class Seen:
    """A relation as a view's text names it. schema, name: as written. columns: number and name of those that there were when
    the view was created: `*` means these for ever. used: the numbers of those that the view needs."""

    schema: str | None
    name: str
    oid: int
    columns: tuple[tuple[int, str], ...]
    used: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """A view: its definition's text (one SELECT), the columns it had when it was created, the search path it was
    created under, and the OIDs of the relations it reads.

    sees: what the names in its text mean, whatever relations and columns are called by now. Empty for a view of an earlier
    release, whose names are looked up along the search path.
    options: reloptions, checked: security_barrier, security_invoker, check_option.
    keys: OIDs of the primary keys without which its GROUP BY would be an error.
    is_closed: of the system's, whether only its owner may read it.
    """

    oid: int
    schema: str
    name: str
    columns: tuple[TableColumn, ...]
    definition: str
    search_path: tuple[str, ...] = ("public",)
    depends: tuple[int, ...] = ()
    comment: str | None = None
    sees: tuple[Seen, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    keys: tuple[int, ...] = ()
    is_closed: bool = False

    def has_option(self, name: str) -> bool:
        """Whether a Boolean option is on."""
        return any(key == name and truth(value) for key, value in self.options)

    @property
    def check_option(self) -> str:
        """local, cascaded or none."""
        return dict(self.options).get("check_option", "").lower()

    def reads_column(self, oid: int, number: int) -> bool:
        """Whether the view needs a column of a relation; True where that is not known."""
        seen = [s for s in self.sees if s.oid == oid]
        return not seen or any(number in s.used for s in seen)


@dataclass(frozen=True, slots=True)
class Sequence:
    """A sequence's definition. Its counter is no part of the catalog's state: `CatalogStore.advance` gives values that no
    transaction takes back.

    type: int2, int4 or int8, which bounds it. start: what RESTART begins with. cache: how many values a session takes at a
    time. owner: OID of a table and number of the column with which it goes. internal: an identity column's own.
    counter: which counter counts it, and first: with what that begins. RESTART is a new counter, so that it can be rolled
    back, as in PostgreSQL.
    """

    oid: int
    schema: str
    name: str
    type: SqlType
    start: int = 1
    increment: int = 1
    minimum: int = 1
    maximum: int = 2**63 - 1
    cache: int = 1
    cycle: bool = False
    owner: tuple[int, int] | None = None
    internal: bool = False
    counter: int = 0
    first: int = 1
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class SystemTable:
    """A relation of pg_catalog or information_schema: rows that the member has in memory, in carriers.

    version: distinguishes the rows from those of other snapshots and sessions. A statement sees one version of a relation, by its
    OID: so that a statement over other rows is the same one for the engine.
    closed: where only superusers may read it, what messages call it.
    """

    oid: int
    schema: str
    name: str
    columns: tuple[TableColumn, ...]
    rows: pa.Table = field(compare=False, repr=False)
    version: int = 0
    closed: Literal["", "table", "view"] = ""


StoredRelation = Table | View | Sequence
Relation = Table | View | SystemTable


def are_in_memory(tables: Collection[Relation]) -> bool:
    """Whether a fragment that reads these reads rows which the member has in memory, and nothing else."""
    return bool(tables) and all(isinstance(table, SystemTable) for table in tables)


@dataclass(frozen=True, slots=True)
class Schema:
    oid: int
    name: str
    comment: str | None = None
