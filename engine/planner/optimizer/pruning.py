"""File pruning: removes files from a plan if statistics show that none of their rows passes their reader's filter.

The pass runs when a query is about to be compiled, with its parameters' values, and before its input is measured:
engine, splits and members are chosen for the remaining files. For stored tables the log's statistics of whole files
come first, since they are in memory; the footers of the remaining files, and of foreign Parquet, come second. Without
this pass an engine would open each file to find the same out.

The log's statistics are wider than those of footers (`engine.storage.statistics`; another writer may have cut a time to
its millisecond). Its floats and decimals have been through JSON and are not used.
"""

from __future__ import annotations

import datetime as dt
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.catalog.model.objects import Storage, Table
from engine.plan_ir import logical
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Aggregator, TableReader
from engine.plan_ir.rewrite import rewrite_plan
from engine.planner.optimizer.bounds_masks import FileBounds, FileValues, mask_of
from engine.planner.optimizer.column_bounds import ColumnBounds, Test, reader_test
from engine.planner.optimizer.footers import read_footers
from engine.planner.optimizer.input_size import groups_to_read, may_pass
from engine.planner.optimizer.log_answers import answer_by_log
from engine.storage import delta
from engine.storage import tables as stored
from engine.storage.delta import Version
from wire.dataclass import dataclass
from wire.errors import SqlError
from wire.types import pg_types as t


def with_files(table: Table, files: Sequence[str]) -> Table:
    """Return the table with these files only, under another version, so that caches distinguish it."""
    digest = zlib.crc32("\0".join((str(table.version), *files)).encode())
    return replace(table, files=tuple(files), version=table.version ^ (digest << 16 | 1))


def prune_files(plan: logical.Root, parameters: Mapping[int, Any]) -> logical.Root:
    """Return the plan without the files that no row passes from, and with aggregates that the log answers replaced
    (`engine.planner.optimizer.log_answers`).

    parameters: canonical values by number. May block on footers that were never read.
    """

    def prune(node: Node) -> Node:
        if isinstance(node, Aggregator):
            return answer_by_log(node)
        if not isinstance(node, TableReader) or not isinstance(node.table, Table):
            return node
        test = reader_test(node, parameters)
        if test is None:
            return node
        files = files_passing(node.table, test)
        count = len(node.table.files)
        if len(files) == count:
            return node
        return replace(node, table=with_files(node.table, files), of_files=node.of_files or count)

    rebuilt = rewrite_plan(plan, prune)
    assert isinstance(rebuilt, logical.Root), "FINAL stays on top"
    return rebuilt


def files_passing(table: Table, test: Test) -> Sequence[str]:
    """Return the table's files that may have a row that passes. May block on footers that were never read."""
    if table.format != "parquet":
        return [file for file in table.files if may_pass(file, table, test)]
    kept = table.files
    if table.storage is not None:
        kept = _by_log(table, table.storage, test)
    elif table.partition_by:
        kept = tuple(file for file in table.files if may_pass(file, table, test))
    # The number of remaining files decides how many footers are read.
    left = table if len(kept) == len(table.files) else replace(table, files=kept)
    read_footers(left)
    return [file for file in kept if _by_footer(file, left, test)]


def _by_footer(file: str, table: Table, test: Test) -> bool:
    try:
        return bool(groups_to_read(file, table, test))
    except OSError:
        # The file is another member's, or gone: the reader reports that.
        return True


def _by_log(table: Table, storage: Storage, test: Test) -> tuple[str, ...]:
    try:
        version = delta.open_version(table.path, storage.version)
    except SqlError:
        return table.files
    mask = mask_of(test, _LoggedFiles(version, table))
    if mask is None:
        return table.files
    folder = f"{table.path.rstrip('/')}/"
    if stored.has_all_files(table):
        # The log alone lists the files that pass.
        gone = frozenset(storage.removed)
        paths = [path for path in version.paths_of(mask) if path not in gone]
        paths += [file.path for file in storage.added]
        return tuple(folder + path for path in sorted(paths))
    excluded = frozenset(version.paths_of(pc.invert(mask)))
    return tuple(file for file in table.files if file[len(folder) :] not in excluded)


@dataclass(frozen=True, slots=True)
class _LoggedFiles:
    """The log's statistics of the files in a version of a stored table (`LoggedFiles`)."""

    version: Version
    table: Table

    @property
    def count(self) -> int:
        return int(self.version.actions.num_rows)

    def bounds(self, name: str) -> FileBounds | FileValues | None:
        if name in self.version.partitioned_by:
            return self._of_partition(name)
        nulls, least, greatest = (self.version.statistics(kind, name) for kind in ("null_count", "min", "max"))
        if nulls is None and least is None and greatest is None:
            return None
        if nulls is None:
            nulls = pa.nulls(self.count, pa.int64())
        return FileBounds(self.version.rows, nulls, least, greatest)

    def _of_partition(self, name: str) -> FileValues | None:
        """Return the values of a partition column, which has one value in each file."""
        texts = self.version.partition(name)
        typ = next((column.type.pg for column in self.table.columns if column.file_column == name), None)
        if texts is None:
            return None
        encoded = texts.dictionary_encode("encode")
        values = (None if not text else _of_text(text, typ) for text in encoded.dictionary.to_pylist())
        bounds = (None if value is None else ColumnBounds(1, 0, (value, value)) for value in values)
        return FileValues(encoded.indices, tuple(bounds))


def _of_text(text: str, pg: t.PgType | None) -> Any:
    """Parse a partition's value as the log spells it; None if statistics do not support its type."""
    try:
        match pg:
            case t.INT2 | t.INT4 | t.INT8:
                return int(text)
            case t.DATE:
                return dt.date.fromisoformat(text)
            case t.TEXT | t.VARCHAR:
                return text
            case _:
                return None
    except ValueError:  # a date that Python has not
        return None
