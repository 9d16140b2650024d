"""What the Parquet files of a table have in common: which columns are in all of them, and how instants are written.

Files of one table may differ in their columns, as columns were added meanwhile, and in how they hold an instant: Spark writes
the old INT96 unless it is told otherwise, which says no time zone, everyone else a timestamp of UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.parquet as pq

from engine.lakes import stores
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FileColumns:
    """names: all top-level columns. old_instants: those that are INT96."""

    names: frozenset[str]
    old_instants: frozenset[str]


@dataclass(frozen=True, slots=True)
class Common:
    """Of these columns: those that some file lacks, or may lack; those that are INT96 in every file that has them; those that are
    so in some files only."""

    lacking: frozenset[str]
    old_instants: frozenset[str]
    mixed_instants: frozenset[str]


def common(files: Iterable[str], names: Sequence[str]) -> Common:
    """What the files say of these columns. May block. A file that cannot be read here may lack all of them."""
    known = {_file_columns(file) for file in files}
    lacking = frozenset(n for n in names if any(file is None or n not in file.names for file in known))
    having = {n: {n in file.old_instants for file in known if file is not None and n in file.names} for n in names}
    old = frozenset(n for n, found in having.items() if found == {True})
    mixed = frozenset(n for n, found in having.items() if len(found) > 1)
    return Common(lacking, old, mixed)


@lru_cache(1 << 15)
def _file_columns(file: str) -> FileColumns | None:
    """Files of table formats are never changed, so nothing else keys this."""
    try:
        where, system = stores.located(file)
        metadata = pq.read_metadata(where, filesystem=system)
    except (OSError, pa.ArrowInvalid):
        return None
    columns = [metadata.schema.column(index) for index in range(len(metadata.schema))]
    names = frozenset(column.path.partition(".")[0] for column in columns)
    return _shared(names, frozenset(column.path for column in columns if column.physical_type == "INT96"))


@lru_cache(1 << 10)
def _shared(names: frozenset[str], old_instants: frozenset[str]) -> FileColumns:
    """One value for the many files that are alike."""
    return FileColumns(names, old_instants)
