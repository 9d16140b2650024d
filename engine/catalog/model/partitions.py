"""Partition columns, whose values are in the names of folders, as in Hive: `region=EU/day=2024-05-01/part-0.parquet`.

A table knows these columns by name (`Table.partition_by`, spelled as in the files). The value is always read from the
file's own path. It therefore travels with the path, to both engines and to other members, and needs no list beside it.
A value is percent-decoded, as UTF-8; `__HIVE_DEFAULT_PARTITION__` is null. In a Delta table's folders an empty value is
null too, as its log says.

If the files have a column of the same name, the folder's value takes precedence, as in Spark and DuckDB. Undeclared
columns are integers or dates if every value is written as PostgreSQL prints one, else text. So `month=01` is text, and
the zip code 01234 keeps its zero; a user who wants another type declares the column.

File pruning by a filter on such a column evaluates the paths (`engine.planner.optimizer.input_size`); the engines do it
again.

Rejected: DuckDB's own `hive_partitioning` (it takes columns of all folders, in all files alike, whether the table has
them or not), and partition values as a list beside the files (a statement for a member would have to carry them).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

from engine.catalog.model.objects import Table, TableColumn
from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from wire.errors import DataCorrupted, FeatureNotSupported, SqlError
from wire.types import pg_types as t
from wire.types.input import parse_text
from wire.types.text_settings import InputSettings

#: The representation of a null.
NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_FOLDER: Final = re.compile(r"/([^=/%]+)=([^/]*)(?=/)")
_INTEGER: Final = re.compile(r"-?[1-9]\d{0,17}|0")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_INT4: Final = range(-(2**31), 2**31)
#: Types that both engines read from a valid text as PostgreSQL does.
_TYPES: Final = frozenset((t.BOOL, t.INT2, t.INT4, t.INT8, t.NUMERIC, t.TEXT, t.VARCHAR, t.BPCHAR, t.DATE, t.TIMESTAMP))
#: Paths that Spark reads differently, since it decodes each escape as a character of its own, or refuses (an empty
#: value).
_NOT_FOR_SPARK: Final = re.compile(r"=/|%[89A-Fa-f]")
_SETTINGS: Final = InputSettings()


def keys(files: Sequence[str], base: str) -> tuple[str, ...]:
    """Return the partition keys that all files have in the folders below `base`, from the outermost; none if they
    differ.
    """
    found = {_keys(file[len(base.rstrip("/")) :]) for file in files}
    common = found.pop() if len(found) == 1 else ()
    return common if len(set(common)) == len(common) else ()


def _keys(path: str) -> tuple[str, ...]:
    return tuple(match[1] for match in _FOLDER.finditer(path))


def raw_value(file: str, key: str) -> str | None:
    """Return the value of a key in a file's path, as it is written there; None if the path does not have the key."""
    _, found, rest = _folder(file).rpartition(f"/{key}=")
    return rest.partition("/")[0] if found else None


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def text_value(raw: str) -> str | None:
    """Return a value's text; None is null. Raises DataCorrupted for escapes that are not valid text."""
    try:
        text = unquote(raw, errors="strict")
    except UnicodeDecodeError as error:
        raise DataCorrupted(f'could not read the folder value "{raw}": its escapes are not UTF-8') from error
    if "\0" in text:
        raise DataCorrupted(f'could not read the folder value "{raw}": it has a zero byte')
    return None if text == NULL else text


def may_hold(typ: SqlType) -> bool:
    """Return whether names of folders can be read as values of a type."""
    return typ.pg in _TYPES


def inferred_type(files: Sequence[str], key: str) -> SqlType:
    """Return the type of an undeclared column."""
    raws = {raw_value(file, key) or "" for file in files}
    values = [value for value in map(text_value, raws) if value is not None]
    if values and all(map(_INTEGER.fullmatch, values)):
        return st.of(t.INT4 if all(int(value) in _INT4 for value in values) else t.INT8)
    if values and all(_is_date(value) for value in values):
        return st.of(t.DATE)
    return st.of(t.TEXT)


def _is_date(value: str) -> bool:
    if not _DATE.fullmatch(value):
        return False
    try:
        parse_text(t.DATE, value, settings=_SETTINGS)
    except SqlError:
        return False
    return True


def require_readable(
    name: str, columns: Iterable[TableColumn], partition_by: Sequence[str], files: Sequence[str]
) -> None:
    """Check the partition columns. Raises FeatureNotSupported for a column whose type cannot be read from folder names,
    DataCorrupted for a file without a value, or with an invalid value of its column's type. name: the table's.
    """
    partitioned = [column for column in columns if column.file_column in partition_by]
    for column in partitioned:
        if not may_hold(column.type):
            raise FeatureNotSupported(
                f'not supported: column "{column.name}" of type {column.type}, whose values are names of folders',
                hint="Declare it as text and cast it.",
            )
        by_raw = {raw_value(file, column.file_column): file for file in files}
        for raw, file in by_raw.items():
            _require_value(name, column, raw, file)


def _require_value(name: str, column: TableColumn, raw: str | None, file: str) -> None:
    if raw is None:
        raise DataCorrupted(
            f'"{file}" lies in no folder that says column "{column.name}" of table "{name}"',
            hint=f'Expected a folder "{column.file_column}=value" above it.',
        )
    try:
        value(raw, column.type)
    except SqlError as error:
        raise DataCorrupted(
            f'"{file}" lies in a folder whose name is no value of column "{column.name}" of table "{name}"',
            detail=error.message,
            hint="Create the table with this column declared as text.",
        ) from error


@lru_cache(1 << 14)
def value(raw: str, typ: SqlType, *, empty_is_null: bool = False) -> Any:
    """Return the canonical value of a folder's name; None is null. Raises SqlError for an invalid value of the type."""
    text = None if empty_is_null and not raw else text_value(raw)
    return None if text is None else parse_text(typ.pg, text, typmod=typ.typmod, settings=_SETTINGS)


def types(table: Table) -> Mapping[str, SqlType]:
    """Return the type of each partition column, by the names in the files."""
    return {c.file_column: c.type for c in table.columns if c.file_column in table.partition_by}


def spark_base(table: Table) -> str | None:
    """Return the folder below which Spark finds the partitions of all files; None if it would read them differently."""
    return _spark_base(table.files, table.partition_by)


@lru_cache(256)
def _spark_base(files: tuple[str, ...], partition_by: tuple[str, ...]) -> str | None:
    first = f"/{partition_by[0]}="
    bases = {_folder(file).rpartition(first)[0] for file in files}
    return bases.pop() if len(bases) == 1 and not any(map(_NOT_FOR_SPARK.search, files)) else None
