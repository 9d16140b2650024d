"""One version of a table in another format: its columns and files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from engine.catalog.model.file_types import FileType, nested_type, type_of_arrow
from engine.catalog.model.objects import Table, TableColumn
from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.lakes.infer import without_type
from wire.dataclass import dataclass
from wire.errors import ObjectNotInPrerequisiteState, UndefinedColumn
from wire.types import pg_types as t

#: Types that both engines read from files with the type in the log. Others have storage types of their own (time), or none.
_READ: Final = frozenset(
    (
        t.BOOL, t.INT2, t.INT4, t.INT8, t.FLOAT4, t.FLOAT8, t.NUMERIC, t.TEXT, t.BYTEA, t.DATE, t.TIMESTAMP,
        t.TIMESTAMPTZ,
    )
)  # fmt: skip
#: Engines keep a table's version in signed 64 bits.
_DIGEST_BYTES: Final = 7


@dataclass(frozen=True, slots=True)
class LakeColumn:
    """A column of a lake table. name: its current name. stored: its name in the files. type: None if PostgreSQL has
    none for it. told: the format's name of the type. nested: the files' type of a column that is jsonb here.
    """

    name: str
    stored: str
    type: SqlType | None
    nullable: bool
    told: str
    nested: FileType | None = None


@dataclass(frozen=True, slots=True)
class LakeState:
    """One version of a lake table.

    number: the format's own number of this version.
    digest: differs between any two versions of any two tables.
    columns: by their names in the files, in their order.
    partition_by: the columns that are only in the names of folders.
    files: absolute.
    deleted: as in `engine.catalog.model.objects.Table`.
    """

    kind: str
    number: int
    digest: int
    columns: Mapping[str, LakeColumn]
    partition_by: tuple[str, ...]
    files: tuple[str, ...]
    deleted: tuple[tuple[str, bytes], ...] = ()

    def table_columns(self, path: str, leave_out: Callable[[str, str], None]) -> tuple[TableColumn, ...]:
        """Return all columns that have a type here. leave_out: called with each other column and the format's name of
        its type.

        Raises FeatureNotSupported if no column has a type here.
        """
        readable = [column for column in self.columns.values() if column.type is not None]
        for column in self.columns.values():
            if column.type is None:
                if not readable:
                    raise without_type(column.name, column.told, f'in the {self.kind} table at "{path}"')
                leave_out(column.name, column.told)
        return tuple(_table_column(column, number) for number, column in enumerate(readable, 1))

    def resolve_columns(self, wanted: Sequence[TableColumn], path: str) -> tuple[TableColumn, ...]:
        """Find these columns by their names. Raises UndefinedColumn, ObjectNotInPrerequisiteState if a type differs."""
        by_name = {column.name: column for column in self.columns.values()}
        found = []
        for column in wanted:
            known = by_name.get(column.name)
            if known is None:
                raise UndefinedColumn(
                    f'column "{column.name}" does not exist in the {self.kind} table at "{path}"',
                    hint=f"Its columns are: {', '.join(sorted(by_name))}.",
                )
            self._require_type(column, known)
            found.append(replace(_table_column(known, column.number), nullable=column.nullable))
        return tuple(found)

    def of(self, table: Table) -> Table:
        """Return the table with this version's files, and with the fields that structs have in it.

        Raises ObjectNotInPrerequisiteState if the columns have changed since.
        """
        columns = []
        for column in table.columns:
            known = self.columns.get(column.file_column)
            if known is None:
                raise ObjectNotInPrerequisiteState(
                    f'the {self.kind} table behind "{table.name}" has no column "{column.name}" in version {self.number}',
                    hint="Create the foreign table again to have the columns that it has now.",
                )
            self._require_type(column, known)
            columns.append(column if column.nested == known.nested else replace(column, nested=known.nested))
        if self.partition_by != table.partition_by:
            raise ObjectNotInPrerequisiteState(
                f'the {self.kind} table behind "{table.name}" is partitioned otherwise in version {self.number}',
                hint="Create the foreign table again.",
            )
        return replace(table, columns=tuple(columns), files=self.files, version=self.digest, deleted=self.deleted)

    def _require_type(self, column: TableColumn, known: LakeColumn) -> None:
        if known.type is None or known.type != column.type:
            told = known.told if known.type is None else known.type
            raise ObjectNotInPrerequisiteState(
                f'column "{column.name}" is of type {told} in the {self.kind} table, not of type {column.type}',
                hint="Declare that type, or no columns at all, and cast it where it is used.",
            )


def lake_column(name: str, stored: str, arrow: pa.DataType, *, nullable: bool) -> LakeColumn:
    found = type_of_arrow(arrow)
    element = t.element_of(found.pg) if found is not None and found.pg.is_array else found and found.pg
    nested = nested_type(arrow)
    if nested is not None and all(typ.pg in _READ for typ in nested.values()):
        return LakeColumn(name, stored, st.of(t.JSONB), nullable, str(arrow), nested)
    return LakeColumn(name, stored, found if element in _READ else None, nullable, str(arrow))


def digest(*parts: str) -> int:
    whole = "\0".join(parts).encode()
    return int.from_bytes(hashlib.blake2b(whole, digest_size=_DIGEST_BYTES).digest(), "big")


def _table_column(column: LakeColumn, number: int) -> TableColumn:
    assert column.type is not None, "a column of a type that PostgreSQL has"
    stored = "" if column.stored == column.name else column.stored
    return TableColumn(column.name, column.type, number, column.nullable, stored=stored, nested=column.nested)
