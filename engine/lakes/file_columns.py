"""The columns that all Parquet files of a table have, and the format in which the files store instants.

The files of one table may differ in their columns, because columns were added meanwhile, and in how they store an
instant: Spark writes the old INT96 unless it is configured otherwise, which has no time zone; other writers use a
timestamp of UTC.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.parquet as pq

from engine.lakes import stores
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FileColumns:
    """The columns of one file. names: all top-level columns. old_instants: those that are INT96, or contain such
    values. new_instants: those that are timestamps of UTC, or contain such values.
    """

    names: frozenset[str]
    old_instants: frozenset[str]
    new_instants: frozenset[str]


@dataclass(frozen=True, slots=True)
class Common:
    """The differences between the files of a table. lacking: columns that some file lacks, or may lack. old_instants:
    columns whose instants are INT96 in every file that has them. mixed_instants: columns of which some instants are
    INT96 and others are not.
    """

    lacking: frozenset[str]
    old_instants: frozenset[str]
    mixed_instants: frozenset[str]


def common(files: Iterable[str], names: Sequence[str]) -> Common:
    """Compare which of these columns the files have. May block. A file that cannot be read here counts as lacking all
    of them.
    """
    known = {_file_columns(file) for file in files}
    lacking = frozenset(n for n in names if any(file is None or n not in file.names for file in known))
    there = [file for file in known if file is not None]
    old = frozenset(n for n in names if any(n in file.old_instants for file in there))
    new = frozenset(n for n in names if any(n in file.new_instants for file in there))
    return Common(lacking, old - new, old & new)


@lru_cache(1 << 15)
def _file_columns(file: str) -> FileColumns | None:
    """Return the columns of a file; None if it cannot be read here. Cached by path alone, because files of table
    formats never change.
    """
    try:
        where, system = stores.resolve_path(file)
        metadata = pq.read_metadata(where, filesystem=system)
    except (OSError, pa.ArrowInvalid):
        return None
    columns = [metadata.schema.column(index) for index in range(len(metadata.schema))]
    named = [(top_level(column), column) for column in columns]
    old = frozenset(name for name, column in named if column.physical_type == "INT96")
    new = frozenset(name for name, column in named if _is_instant(column))
    return _intern(frozenset(name for name, _ in named), old, new)


def top_level(leaf: pq.ColumnSchema) -> str:
    """Return the column of the table that contains a leaf."""
    return str(leaf.path if is_flat(leaf) else leaf.path.partition(".")[0])


def is_flat(leaf: pq.ColumnSchema) -> bool:
    """Return whether a leaf is a column of the table, and not a part of one. A column's name may contain a point."""
    return bool(leaf.name == leaf.path)


def _is_instant(column: pq.ColumnSchema) -> bool:
    """Return whether a leaf is a timestamp of UTC."""
    told = json.loads(column.logical_type.to_json())
    return bool(told["Type"] == "Timestamp" and told["isAdjustedToUTC"])


@lru_cache(1 << 10)
def _intern(names: frozenset[str], old_instants: frozenset[str], new_instants: frozenset[str]) -> FileColumns:
    """Return one shared value for the many files that have the same columns."""
    return FileColumns(names, old_instants, new_instants)
