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
    """names: all top-level columns. old_instants: those that are INT96, or have such values inside them. new_instants: those that
    are timestamps of UTC, or have such values inside them."""

    names: frozenset[str]
    old_instants: frozenset[str]
    new_instants: frozenset[str]


@dataclass(frozen=True, slots=True)
class Common:
    """lacking: columns that some file lacks, or may lack. old_instants: columns whose instants are INT96 in every file that has
    them. mixed_instants: columns of which some instants are INT96 and others are not."""

    lacking: frozenset[str]
    old_instants: frozenset[str]
    mixed_instants: frozenset[str]


def common(files: Iterable[str], names: Sequence[str]) -> Common:
    """Read which of these columns all files have. May block. A file that cannot be read here may lack all of them."""
    known = {_file_columns(file) for file in files}
    lacking = frozenset(n for n in names if any(file is None or n not in file.names for file in known))
    there = [file for file in known if file is not None]
    old = frozenset(n for n in names if any(n in file.old_instants for file in there))
    new = frozenset(n for n in names if any(n in file.new_instants for file in there))
    return Common(lacking, old - new, old & new)


@lru_cache(1 << 15)
def _file_columns(file: str) -> FileColumns | None:
    """Files of table formats are never changed, so nothing else keys this."""
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
    """The column of the table that a leaf is, or is a part of."""
    return str(leaf.path if is_flat(leaf) else leaf.path.partition(".")[0])


def is_flat(leaf: pq.ColumnSchema) -> bool:
    """Whether a leaf is a column of the table, and not a part of one. A column may have a point in its name."""
    return bool(leaf.name == leaf.path)


def _is_instant(column: pq.ColumnSchema) -> bool:
    """Whether a leaf is a timestamp of UTC."""
    told = json.loads(column.logical_type.to_json())
    return bool(told["Type"] == "Timestamp" and told["isAdjustedToUTC"])


@lru_cache(1 << 10)
def _intern(names: frozenset[str], old_instants: frozenset[str], new_instants: frozenset[str]) -> FileColumns:
    """One value for the many files that are alike."""
    return FileColumns(names, old_instants, new_instants)
