"""CREATE FOREIGN TABLE: registering files as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast, get_args

import pyarrow.parquet as pq

from engine.catalog.files import DataRoots, list_files
from engine.catalog.infer import infer_columns
from engine.catalog.objects import FileFormat, Table, TableColumn
from engine.catalog.transaction import SessionCatalog
from engine.sql.statements import CreateForeignTable
from engine.sql.type_names import resolve_type
from wire.errors import DuplicateColumn, InvalidForeignTableOption, InvalidParameterValue, UndefinedColumn

_FORMATS: Final = get_args(FileFormat)
#: What each format's OPTIONS may say.
OPTIONS: Final = {
    "parquet": ("path", "format"),
    "json": ("path", "format"),
    "csv": ("path", "format", "header", "delimiter", "quote", "escape", "null"),
}


@dataclass(frozen=True, slots=True)
class _Source:
    path: str
    format: FileFormat
    options: Mapping[str, str]


def create_foreign_table(
    statement: CreateForeignTable,
    catalog: SessionCatalog,
    search_path: Sequence[str],
    roots: DataRoots,
    notify: Callable[[str], None],
) -> None:
    """Register files under a name; reads their schema when no columns are listed. Blocks on the file system.

    Raises DuplicateTable, InvalidForeignTableOption, UndefinedFile, DataCorrupted, InsufficientPrivilege.
    """
    snapshot = catalog.current()
    schema = snapshot.creation_schema(statement.name.schema, search_path)
    if statement.if_not_exists and (schema, statement.name.name) in snapshot.relations:
        notify(f'relation "{statement.name.name}" already exists, skipping')
        return
    source = _source(statement)
    path = roots.absolute(source.path)
    files, version = list_files(path, source.format)
    columns = _declared(statement, files, source.format) or infer_columns(files, source.format, source.options)
    catalog.put(
        Table(
            catalog.new_oid(), schema, statement.name.name, columns, source.format, path, files, version, source.options
        )
    )  # fmt: skip


def _source(statement: CreateForeignTable) -> _Source:
    options: dict[str, str] = {}
    for name, value in statement.options:
        if name.lower() in options:
            raise InvalidForeignTableOption(f'option "{name}" provided more than once')
        options[name.lower()] = value
    if "path" not in options:
        raise InvalidForeignTableOption(
            "a foreign table needs the option path", hint="OPTIONS (path 'file.parquet', format 'parquet')"
        )
    file_format = options.get("format", _format_of(options["path"])).lower()
    if file_format not in _FORMATS:
        raise InvalidParameterValue(
            f'format "{file_format}" is not known', hint=f"Known formats: {', '.join(_FORMATS)}."
        )
    for name in options:
        if name not in OPTIONS[file_format]:
            raise InvalidForeignTableOption(
                f'invalid option "{name}"',
                hint=f"Valid options for format {file_format} are: {', '.join(OPTIONS[file_format])}",
            )
    rest = {name: value for name, value in options.items() if name not in ("path", "format")}
    return _Source(options["path"], cast("FileFormat", file_format), rest)


def _format_of(path: str) -> str:
    """The format that a path's ending says, else Parquet."""
    for ending, file_format in (
        (".csv", "csv"),
        (".tsv", "csv"),
        (".json", "json"),
        (".ndjson", "json"),
        (".jsonl", "json"),
    ):
        if path.lower().removesuffix(".gz").endswith(ending):
            return file_format
    return "parquet"


def _declared(
    statement: CreateForeignTable, files: tuple[str, ...], file_format: FileFormat
) -> tuple[TableColumn, ...]:
    names = [column.name for column in statement.columns]
    for name in names:
        if names.count(name) > 1:
            raise DuplicateColumn(f'column "{name}" specified more than once')
    if names and file_format == "parquet":
        there = set(pq.read_schema(files[0]).names)
        for name in names:
            if name not in there:
                raise UndefinedColumn(
                    f'column "{name}" does not exist in "{files[0]}"',
                    hint=f"Its columns are: {', '.join(sorted(there))}.",
                )
    return tuple(
        TableColumn(column.name, resolve_type(column.type), number, not column.not_null)
        for number, column in enumerate(statement.columns, 1)
    )
