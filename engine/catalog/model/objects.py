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
from wire.types.pg_types import INT8, PgType

FileFormat = Literal["parquet", "csv", "json"]
#: The format of a table that another system keeps (`engine.lakes`); none: a table is its files. spark: a table of
#: Spark's catalogs, which only Spark reads (`engine.executors.spark.catalogs`): its path, and only file, is its name
#: there.
Lake = Literal["", "delta", "iceberg", "spark"]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column as declared or inferred.

    number: attnum, 1-based and never reused.
    default: the text of an expression that is evaluated for rows without a value; None is null. It names sequences by
        their OID: `nextval('16385'::regclass)` (`engine.sql.deparse.stored_text`).
    identity: GENERATED ... AS IDENTITY; its sequence is the column's own (`Sequence.owner`), and `default` calls it.
    generated: GENERATED ALWAYS AS (default) STORED: every row has the value of that expression over its other columns.
    stored: the column's name in a stored table's files, if it differs from `name`: files are not rewritten when a
        column is renamed, and a name that is used again after DROP COLUMN refers to another column of the files.
    domain: the declared type if that is a domain; `type` is then its base type.
    nested: for a foreign table's jsonb or json column, the type of the files if they hold no text of a document.
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
        """The declared type, which may be a domain."""
        return self.domain or self.type.pg

    @property
    def file_column(self) -> str:
        """The column's name in the table's files."""
        return self.stored or self.name


#: The column that the files of a table without columns have, since files without columns have no rows. The catalog does
#: not contain it. Its values do not matter, and nothing reads them.
PLACEHOLDER: Final = TableColumn("row@0", SqlType(INT8), 0)
#: The schema of a session's temporary relations.
TEMPORARY: Final = "pg_temp"
#: The only database.
DATABASE: Final = "sluice"
#: The access method of an index that names none.
BTREE: Final = "btree"
#: The action for rows whose referenced row is deleted, or gets another key.
KeyAction = Literal["no action", "restrict", "cascade", "set null", "set default"]
#: Whether a constraint is DEFERRABLE, and when it is checked by default.
Deferrable = Literal["", "immediate", "deferred"]


@dataclass(frozen=True, slots=True)
class References:
    """The key that a foreign key references. table: its OID. columns: numbers of the columns of one of its keys, in the
    order of the constraint's own. full: MATCH FULL. delete_columns: numbers of the constraint's columns that ON DELETE
    SET ... applies to; empty: all.
    """

    table: int
    columns: tuple[int, ...]
    on_update: KeyAction = "no action"
    on_delete: KeyAction = "no action"
    full: bool = False
    delete_columns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyPart:
    """A part of an index that has an expression, or of a partial index.

    name: the attribute's name, which for a column is the column's.
    formula: the expression as it was written, else empty.
    text, pretty: the expression as PostgreSQL prints it.
    call: whether the expression looks like a function call, which is printed without parentheses.
    type, typmod: the expression's; 0 for a column.
    """

    name: str
    formula: str = ""
    text: str = ""
    pretty: str = ""
    call: bool = False
    type: int = 0
    typmod: int = -1

    def render(self, *, pretty: bool = False) -> str:
        """Return the expression as an index's definition prints it."""
        text = self.pretty if pretty else self.text
        return text if self.call else f"({text})"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A table's constraint other than NOT NULL, or an index that was created.

    An index is kept for display; only the uniqueness of a unique one is enforced. A "view check" is no constraint of a
    table: it is the condition of the WITH CHECK OPTION of the view with this name.
    columns: those of a key, in its order; those that a check reads.
    expression: a check's text, else empty.
    references: a foreign key's, else None.
    options: an index's for each column, pg_index's bits (1: DESC, 2: NULLS FIRST).
    included: the INCLUDE columns of an index, which affect neither order nor uniqueness.
    parts: the key of an index on expressions, or of a partial index; `columns` are then all columns that it reads.
    predicate: the condition of a partial index.
    method: an index's access method (`engine.pg_catalog.access_methods`).
    classes: the operator classes of an index's parts, by their OIDs; empty: all parts have the default of their types.
    nulls_not_distinct: whether nulls in a key are equal to each other.
    valid: False for NOT VALID: the rows that existed when the constraint was added were not checked.
    index_comment: the comment on a key's index, which has the same name and is an object of its own for COMMENT.
    """

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
        """The parts of the key, in order."""
        return self.parts or tuple(map(KeyPart, self.columns))

    @property
    def all_columns(self) -> tuple[str, ...]:
        """All columns that the constraint refers to."""
        return self.columns + self.included

    @property
    def is_key(self) -> bool:
        """Whether the constraint requires unique rows."""
        return self.kind in ("primary key", "unique", "unique index")

    @property
    def is_index(self) -> bool:
        """Whether it was created as an index, which PostgreSQL does not count as a constraint."""
        return self.kind in ("index", "unique index")


def formulas_of(constraint: Constraint) -> tuple[str, ...]:
    """Return the expressions that a constraint stores as text."""
    where = () if constraint.predicate is None else (constraint.predicate,)
    texts = (constraint.expression, *(part.formula for part in (*constraint.parts, *where)))
    return tuple(filter(None, texts))


@dataclass(frozen=True, slots=True, weakref_slot=True)
class DataFile:
    """A Parquet file of a stored table, as its writer describes it.

    path: below the table's folder, as the file system spells it (Delta's log has it percent-encoded).
    size: bytes.
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
    """The location of a stored table's rows: a Delta table whose version the catalog pins, and the changes since.

    location: its folder, below the catalog's folder of tables.
    version: the Delta version that a reader opens.
    added, removed: additional files to read, and paths of files of that version not to read: changes of committed
        transactions that are not in Delta's log yet, and of this session's own (`engine.storage`).
    changed: the catalog version of the last commit that changed the files.
    partition_by: columns (by the names in the files) whose values name the folders of files.
    sort_by: columns by which every file is sorted.
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
    """Files of a table that only one member can read (a physical source of the topology).

    path: a file, folder or glob: absolute if that member is this one (`here`), else as the topology states it.
    """

    member: str
    path: str
    here: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table: a foreign table over files, or a stored one (`storage`).

    oid: does not change at a restart.
    schema: its namespace's name ("public"; "pg_temp" for temporary ones).
    path: as given: a file, a folder or a glob, absolute after resolution against the member's data roots.
    files: the files that the path resolves to, sorted; splits are made of these.
    version: a digest of the files' names, sizes and times: caches treat another version as another table.
    options: the remaining options (delimiter, header ...), as strings.
    guarantee: the names of the columns by which every file is sorted, if known.
    parts: for a table that the topology declares: the members and the parts that they hold; `path` is then only its
        name, and `files` has a reference (`engine.catalog.model.remote_file_ref`) for each part that another member
        holds.
    partition_by: for a foreign table: the columns, by the names in the files, whose values are in the names of folders
        (`engine.catalog.model.partitions`).
    by_name: for a foreign table over CSV files whose headers differ, so that columns are found by name: the CSV dialect
        of the files (`engine.lakes.csv_headers`). None: columns are found by position.
    lake: for a foreign table whose log lists its files; its format is parquet, and `version` identifies the version of
        the log that `files` belong to.
    deleted: for such a table: files with deleted rows, each with a bitmap: bit n, counted from the first byte's highest
        bit, is row n of the file, and rows after the last bit are not deleted.
    storage: for a table that Sluice stores; its format is parquet, `path` its folder, and `files` are those of the
        pinned version, with the changes since; `version` is then a digest of these changes.
    last_number: the highest number that a column has had, if that column was dropped.
    query: for a materialized view: the view's query. populated: whether its rows have been written.
    unlogged: whether the table was created UNLOGGED; it is stored like any other.
    statistics: ANALYZE's statistics, if it has run. They do not count when tables are compared.
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

    @property
    def has_log(self) -> bool:
        """Whether a log names the table's files, so that none of them changes under its name."""
        return self.storage is not None or bool(self.lake)

    @property
    def written_columns(self) -> tuple[TableColumn, ...]:
        """The columns of the files that are written for a stored table: its own, or `PLACEHOLDER` if it has none."""
        return self.columns or (PLACEHOLDER,)

    def column(self, name: str) -> TableColumn | None:
        return next((column for column in self.columns if column.name == name), None)

    def in_files(self) -> Table:
        """Return the table with its columns named as in its files. A plan reads this table."""
        if not any(column.stored for column in self.columns):
            return self
        return replace(self, columns=tuple(replace(column, name=column.file_column) for column in self.columns))


@dataclass(frozen=True, slots=True)
class Seen:
    """A relation as a view's text names it. schema, name: as written. columns: number and name of the columns that
    existed when the view was created, which `*` means forever. used: the numbers of the columns that the view needs.
    """

    schema: str | None
    name: str
    oid: int
    columns: tuple[tuple[int, str], ...]
    used: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """A view: the text of its definition (one SELECT), the columns it had when it was created, the search path it was
    created under, and the OIDs of the relations it reads.

    sees: the relations that the names in its text refer to, even if relations and columns were renamed since. Empty for
        a view of an earlier release, whose names are looked up along the search path.
    options: reloptions, checked: security_barrier, security_invoker, check_option.
    keys: OIDs of the primary keys without which its GROUP BY would be an error.
    is_closed: for a view of the system, whether only its owner may read it.
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
        """Return whether a Boolean option is on."""
        return any(key == name and truth(value) for key, value in self.options)

    @property
    def check_option(self) -> str:
        """The check option: local, cascaded or none."""
        return dict(self.options).get("check_option", "").lower()

    def reads_column(self, oid: int, number: int) -> bool:
        """Return whether the view needs a column of a relation; True if that is not known."""
        seen = [s for s in self.sees if s.oid == oid]
        return not seen or any(number in s.used for s in seen)


@dataclass(frozen=True, slots=True)
class Sequence:
    """A sequence's definition. Its counter is no part of a catalog snapshot: `CatalogStore.advance` returns values that
    no rollback takes back.

    type: int2, int4 or int8, which bounds it.
    start: the value that RESTART begins with.
    cache: how many values a session takes at a time.
    owner: OID of a table and number of the column that the sequence is dropped with.
    internal: whether it is an identity column's own.
    counter: the counter of the sequence, and first: the counter's first value. RESTART uses a new counter, so that it
        can be rolled back, as in PostgreSQL.
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

    version: distinguishes the rows from those of other snapshots and sessions. A statement sees one version of a
        relation, by its OID, so a statement over other rows is the same statement for the engine.
    closed: for a relation that only superusers may read, its kind in messages.
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
    """Return whether all of these relations have their rows in this member's memory."""
    return bool(tables) and all(isinstance(table, SystemTable) for table in tables)


@dataclass(frozen=True, slots=True)
class Schema:
    oid: int
    name: str
    comment: str | None = None
