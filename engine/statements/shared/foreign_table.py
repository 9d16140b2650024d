"""CREATE FOREIGN TABLE: registers files as a table.

Folders named `key=value` below the table's path make columns of their keys (`engine.catalog.model.partitions`), if all
files are in folders of the same keys. If the statement declares columns, only the declared keys become columns;
otherwise all do. `partitioning 'hive'` requires such folders, `'none'` ignores the names of folders. If a CSV file's
header has a column of a key's name, the file keeps that column, because columns of CSV files are matched by position.

A folder that is a table of a format with a log (`engine.lakes`) is read as such, unless another format is requested:
read as plain files it would still have rows that have been deleted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast, get_args

import pyarrow as pa

from engine.catalog.authority import UNBOUNDED, Authority
from engine.catalog.model import partitions
from engine.catalog.model.file_options import FILE_OPTIONS
from engine.catalog.model.file_types import nested_type
from engine.catalog.model.objects import FileFormat, Lake, Table, TableColumn
from engine.catalog.store.transaction import SessionCatalog
from engine.lakes import csv_headers, iceberg
from engine.lakes import tables as lakes
from engine.lakes.folder_contents import contents, format_at
from engine.lakes.foreign_files import DataRoots, list_files, listed_from, without_ending
from engine.lakes.infer import infer_columns, read_schema
from engine.sql.binder.type_names import resolve_type
from engine.sql.parser.nodes.statements import CreateForeignTable
from wire.dataclass import dataclass
from wire.errors import (
    DuplicateColumn,
    FeatureNotSupported,
    InvalidForeignTableOption,
    InvalidParameterValue,
    UndefinedColumn,
    UndefinedFile,
)
from wire.types import pg_types as t

_FORMATS: Final = get_args(FileFormat)
_LAKES: Final = ("delta", "iceberg")
_OF_CATALOG: Final = ("catalog", "table", "format")

_PARTITIONING: Final = ("hive", "none")


@dataclass(frozen=True, slots=True)
class _Source:
    """The source of a foreign table's rows. format: None if the statement gives none. lake: a table format; the empty
    one if the statement gives another format, None if it gives none. partitioning: hive, none, or not given. options:
    all except path and format.
    """

    path: str
    format: FileFormat | None
    lake: Lake | None
    partitioning: str | None
    options: Mapping[str, str]

    @property
    def of_reading(self) -> Mapping[str, str]:
        """The options that control how a file is read."""
        return {name: value for name, value in self.options.items() if name != "partitioning"}


@dataclass(frozen=True, slots=True)
class _Shape:
    """The columns of a table, and those whose values are in the names of folders."""

    columns: tuple[TableColumn, ...]
    partition_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Declared:
    """The table as the statement declares it, without the source of its rows. columns: empty if those of the files are
    used.
    """

    schema: str
    name: str
    columns: tuple[TableColumn, ...]


def create_foreign_table(
    statement: CreateForeignTable,
    catalog: SessionCatalog,
    search_path: Sequence[str],
    roots: DataRoots,
    notify: Callable[[str], None],
    authority: Authority = UNBOUNDED,
) -> None:
    """Register files under a name. Reads their schema if no columns are listed. Blocks on the file system.

    Raises DuplicateTable, InvalidForeignTableOption, UndefinedFile, DataCorrupted, InsufficientPrivilege.
    """
    snapshot = catalog.current()
    schema = snapshot.creation_schema(statement.name.schema, search_path)
    authority.require_creation(snapshot, schema)
    if statement.if_not_exists and (schema, statement.name.name) in snapshot.relations:
        notify(f'relation "{statement.name.name}" already exists, skipping')
        return

    def leave_out(column: str, typ: str) -> None:
        notify(f'column "{column}" of "{statement.name.name}" is left out: its type in the files is {typ}')

    source, declared = _source(statement), _Declared(schema, statement.name.name, _columns_of(statement))
    catalog.objects.put(_table(source, declared, catalog.objects.new_oid(), roots, leave_out))


def table_of_path(path: str, oid: int, roots: DataRoots, notify: Callable[[str], None]) -> Table:
    """Make the table that CREATE FOREIGN TABLE would make with only a path, in no schema: it is named after the file,
    without the file name's extension. May block.

    Raises InvalidForeignTableOption, UndefinedFile, DataCorrupted, InsufficientPrivilege.
    """
    name = without_ending(os.path.basename(path.rstrip("/")))

    def leave_out(column: str, typ: str) -> None:
        notify(f'column "{column}" of "{name}" is left out: its type in the files is {typ}')

    return _table(_Source(path, None, None, None, {}), _Declared("", name, ()), oid, roots, leave_out)


def _table(
    source: _Source, declared: _Declared, oid: int, roots: DataRoots, leave_out: Callable[[str, str], None]
) -> Table:
    path = source.path if source.path.startswith(iceberg.SCHEME) else roots.absolute(source.path)
    lake = source.lake if source.lake is not None else lakes.kind_of(path)
    if lake:
        _require_known(source.options, lake)
        return _lake_table(declared, oid, lake, path, leave_out)
    file_format = source.format or format_at(path)
    _require_known(source.options, file_format)
    files, version = _list_files(path, file_format)
    # Links below a folder or behind a wildcard may lead anywhere.
    roots.require(files)
    keys = _folder_keys(source, files, path)
    shape = _declared_shape(declared.columns, files, file_format, keys)
    if not shape.columns:
        shape = _infer_shape(source, files, file_format, keys, leave_out)
    partitions.require_readable(declared.name, shape.columns, shape.partition_by, files)
    table = Table(
        oid, declared.schema, declared.name, shape.columns, file_format, path, files, version,
        source.of_reading, partition_by=shape.partition_by,
    )  # fmt: skip
    return csv_headers.with_columns_by_name(table)


def _source(statement: CreateForeignTable) -> _Source:
    options: dict[str, str] = {}
    for name, value in statement.options:
        if name.lower() in options:
            raise InvalidForeignTableOption(f'option "{name}" provided more than once')
        options[name.lower()] = value
    if "catalog" in options:
        return _of_catalog(options)
    if "path" not in options:
        raise InvalidForeignTableOption(
            "a foreign table needs the option path", hint="OPTIONS (path 'file.parquet', format 'parquet')"
        )
    file_format = options["format"].lower() if "format" in options else None
    if file_format in _LAKES:
        rest = {name: value for name, value in options.items() if name not in ("path", "format")}
        return _Source(options["path"], None, cast("Lake", file_format), None, rest)
    if file_format is not None and file_format not in _FORMATS:
        raise InvalidParameterValue(
            f'format "{file_format}" is not known', hint=f"Known formats: {', '.join((*_FORMATS, *_LAKES))}."
        )
    partitioning = options.get("partitioning")
    if partitioning is not None and partitioning.lower() not in _PARTITIONING:
        raise InvalidParameterValue(
            f'partitioning "{partitioning}" is not known', hint=f"Known are: {', '.join(_PARTITIONING)}."
        )
    rest = {name: value for name, value in options.items() if name not in ("path", "format")}
    lake: Lake | None = "" if file_format else None
    return _Source(
        options["path"], cast("FileFormat | None", file_format), lake, partitioning and partitioning.lower(), rest
    )


def _list_files(path: str, file_format: FileFormat) -> tuple[tuple[str, ...], int]:
    """Call `list_files`. Its error also says which other files there are."""
    try:
        return list_files(path, file_format)
    except UndefinedFile as error:
        if os.path.isdir(path):
            error.detail = f"The folder has {contents(path)}."
        raise


def _of_catalog(options: Mapping[str, str]) -> _Source:
    """Return the source of a table in one of the catalogs that the configuration names."""
    for name in options:
        if name not in _OF_CATALOG:
            raise _invalid_option(name, _OF_CATALOG, "iceberg")
    if "table" not in options or options.get("format", "iceberg").lower() != "iceberg":
        raise InvalidForeignTableOption(
            "a catalog's table needs the option table, and format iceberg",
            hint="OPTIONS (catalog 'name', table 'namespace.table')",
        )
    return _Source(iceberg.path_of(options["catalog"], options["table"]), None, "iceberg", None, {})


def _require_known(options: Iterable[str], kind: FileFormat | Lake) -> None:
    """Raise InvalidForeignTableOption for an option, other than path and format, that a format does not have."""
    known = ("partitioning", *FILE_OPTIONS[kind]) if kind in FILE_OPTIONS else ()
    for name in options:
        if name not in known:
            raise _invalid_option(name, ("path", "format", *known), kind)


def _invalid_option(name: str, known: Sequence[str], kind: str) -> InvalidForeignTableOption:
    return InvalidForeignTableOption(
        f'invalid option "{name}"', hint=f"Valid options for format {kind} are: {', '.join(known)}"
    )


def _lake_table(declared: _Declared, oid: int, lake: Lake, path: str, leave_out: Callable[[str, str], None]) -> Table:
    """Make a table that a log describes; columns that the statement declares must match the log."""
    state = lakes.newest(lake, path)
    columns = (
        state.resolve_columns(declared.columns, path) if declared.columns else state.table_columns(path, leave_out)
    )
    return Table(
        oid, declared.schema, declared.name, columns, "parquet", path, state.files, state.digest,
        partition_by=state.partition_by, lake=lake, deleted=state.deleted,
    )  # fmt: skip


def _folder_keys(source: _Source, files: tuple[str, ...], path: str) -> tuple[str, ...]:
    if source.partitioning == "none":
        return ()
    keys = partitions.keys(files, listed_from(path))
    if source.partitioning == "hive" and not keys:
        raise InvalidForeignTableOption(
            f'the files at "{source.path}" do not lie in folders named key=value, the same keys for all of them'
        )
    return keys


def _infer_shape(
    source: _Source,
    files: tuple[str, ...],
    file_format: FileFormat,
    keys: Sequence[str],
    leave_out: Callable[[str, str], None],
) -> _Shape:
    """Infer the columns: those of the first file, and after them those that only the names of folders contain."""
    columns = {column.name: column for column in infer_columns(files, file_format, source.of_reading, leave_out)}
    if file_format == "csv":
        keys = _not_in_header(source, columns, keys)
    for key in keys:
        inside = columns.get(key)
        typ = partitions.inferred_type(files, key)
        if inside is None:
            columns[key] = TableColumn(key, typ, len(columns) + 1)
        else:
            fitting = inside.type if partitions.may_hold(inside.type) else typ
            columns[key] = replace(inside, type=fitting, nullable=True, nested=None)
    return _Shape(tuple(columns.values()), tuple(keys))


def _not_in_header(source: _Source, columns: Mapping[str, TableColumn], keys: Sequence[str]) -> Sequence[str]:
    left = [key for key in keys if key not in columns]
    if source.partitioning == "hive" and len(left) < len(keys):
        both = next(key for key in keys if key in columns)
        raise FeatureNotSupported(
            f'not supported: a column "{both}" both in csv files and in the names of their folders'
        )
    return left


def _declared_shape(
    columns: tuple[TableColumn, ...], files: tuple[str, ...], file_format: FileFormat, keys: Sequence[str]
) -> _Shape:
    names = [column.name for column in columns]
    if names and file_format == "parquet":
        found = _fields(files, [name for name in names if name not in keys], keys)
        columns = tuple(column if column.name in keys else _of_field(column, found[column.name]) for column in columns)
    return _Shape(columns, tuple(key for key in keys if key in names))


def _fields(files: tuple[str, ...], names: Sequence[str], keys: Sequence[str]) -> Mapping[str, pa.Field]:
    """Return the fields of these names, each from the first file that has it, because later files may have more
    columns. Raises UndefinedColumn for one that no file has, FeatureNotSupported for one that the engines would confuse.
    """
    found: dict[str, pa.Field] = {}
    for file in files:
        fields = {field.name: field for field in read_schema(file)}
        _require_distinct(file, names, fields)
        found = {**fields, **found}
        if found.keys() >= set(names):
            return found
    missing = next(name for name in names if name not in found)
    others = f" and {len(files) - 1} more files" if len(files) > 1 else ""
    raise UndefinedColumn(
        f'column "{missing}" does not exist in "{files[0]}"{others}',
        hint=f"There are columns {', '.join(sorted({*found, *keys}))}.",
    )


def _require_distinct(file: str, names: Sequence[str], fields: Collection[str]) -> None:
    """Raise FeatureNotSupported for a column of a file that has another one, not declared, whose name differs only in
    case: the engines find columns without regard to case, and could read the other one.
    """
    declared = set(names)
    spellings: dict[str, str] = {}
    for name in fields:
        other = spellings.setdefault(name.lower(), name)
        if other != name and (name in declared) != (other in declared):
            raise FeatureNotSupported(
                f'not supported: columns "{other}" and "{name}" of "{file}", whose names differ only in case',
                hint="Rename one of them in the file.",
            )


def _of_field(column: TableColumn, field: pa.Field) -> TableColumn:
    """Return a declared column with the files' representation of a jsonb. Raises FeatureNotSupported for a struct or
    map declared as another type.
    """
    arrow = field.type
    nested = nested_type(arrow)
    if column.type.pg in (t.JSON, t.JSONB):
        return replace(column, nested=nested)
    if nested is not None and not column.type.pg.is_row and not column.type.pg.is_array:
        raise FeatureNotSupported(
            f'not supported: column "{column.name}" of type {column.type}, which the files have as {arrow}',
            hint="Declare it as jsonb, and cast it where it is used.",
        )
    return column


def _columns_of(statement: CreateForeignTable) -> tuple[TableColumn, ...]:
    """Return the columns that the statement lists."""
    names = [column.name for column in statement.columns]
    for name in names:
        if names.count(name) > 1:
            raise DuplicateColumn(f'column "{name}" specified more than once')
    return tuple(
        TableColumn(column.name, resolve_type(column.type), number, not column.not_null)
        for number, column in enumerate(statement.columns, 1)
    )
