"""Files that need not be read, since what is known of them says that none of their rows passes their reader's filter.

Runs when a query is about to be compiled, with its parameters' values, and before anything is said of how much it reads: engine,
splits and members are chosen for what is left. Stored tables are asked first what their log says of whole files, which is in
memory; of what is left, and of foreign Parquet, the footers are asked. An engine would open each file to find the same out.

What the log says is wider than what footers say (`engine.storage.statistics`; a time may have been cut to its millisecond by
another writer). Its floats and decimals have been through JSON and are not used.
"""

from __future__ import annotations

import datetime as dt
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from engine.catalog.model.objects import Table
from engine.plan_ir import logical
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Aggregator, TableReader
from engine.plan_ir.rewrite import rewrite_plan
from engine.planner.optimizer.column_bounds import ColumnBounds, Range, Test, Told, reader_test
from engine.planner.optimizer.input_size import groups_to_read, may_pass
from engine.planner.optimizer.log_answers import answer_by_log
from engine.storage import delta
from engine.storage.delta import ColumnStatistics, Version
from wire.errors import SqlError
from wire.types import pg_types as t

_CUT: Final = dt.timedelta(milliseconds=1)


def with_files(table: Table, files: Sequence[str]) -> Table:
    """The table with these files only: another version of it to whoever caches."""
    digest = zlib.crc32("\0".join((str(table.version), *files)).encode())
    return replace(table, files=tuple(files), version=table.version ^ (digest << 16 | 1))


def prune_files(plan: logical.Root, parameters: Mapping[int, Any]) -> logical.Root:
    """The plan without those files, and without those whose log answers for them (`engine.planner.optimizer.log_answers`).

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


def files_passing(table: Table, test: Test) -> list[str]:
    """The table's files that may have a row that passes."""
    if table.format != "parquet":
        return [file for file in table.files if may_pass(file, table, test)]
    return [file for file in _by_log(table, test) if _by_footer(file, table, test)]


def _by_footer(file: str, table: Table, test: Test) -> bool:
    try:
        return bool(groups_to_read(file, table, test))
    except OSError:
        # Another member's, or gone: whoever reads it says so.
        return True


def _by_log(table: Table, test: Test) -> Sequence[str]:
    if table.storage is None:
        return table.files
    try:
        version = delta.open_version(table.path, table.storage.version)
    except SqlError:
        return table.files
    start = len(table.path.rstrip("/")) + 1
    log = _Log(version, table)
    return [
        file for file in table.files if (at := version.numbers.get(file[start:])) is None or test(log.bounds_of(at))
    ]


class _Log:
    """The statistics of files in a version of a stored table."""

    def __init__(self, version: Version, table: Table) -> None:
        self._version = version
        types = {column.file_column: column.type.pg for column in table.columns}
        self._partition_by = {name: (at, types.get(name)) for at, name in enumerate(version.partitioned_by)}

    def bounds_of(self, file: int) -> Told:
        """Return the column bounds of the file with this number."""

        def bounds(name: str) -> ColumnBounds | None:
            if name in self._partition_by:
                return self._of_partition(file, *self._partition_by[name])
            column = self._version.column(name)
            return None if column is None else _facts(column, file)

        return bounds

    def _of_partition(self, file: int, at: int, pg: t.PgType | None) -> ColumnBounds | None:
        """All rows of a file have one value of a column that the table is partitioned by."""
        text = self._version.partitions[file][at]
        value = None if not text else _of_text(text, pg)
        return None if value is None else ColumnBounds(1, 0, (value, value))


def _of_text(text: str, pg: t.PgType | None) -> Any:
    """A partition's value, as the log spells it; None where its type is none that statistics have."""
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


def _facts(column: ColumnStatistics, number: int) -> ColumnBounds | None:
    rows = column.rows[number]
    if rows is None:
        return None
    return ColumnBounds(rows, column.nulls[number], _range(column.least[number], column.greatest[number]))


def _range(least: Any, greatest: Any) -> Range | None:
    if least is None or greatest is None or isinstance(least, (float, Decimal)):
        return None
    try:
        return (least, greatest + _CUT) if isinstance(greatest, dt.datetime) else (least, greatest)
    except OverflowError:
        return None
