"""Rows that an open transaction has appended to a table and that are not in a file yet.

A transaction that inserts one row at a time would write, sync and record a file for each. Instead its rows are kept and
written as one file before another statement of the transaction may read them, before the commit, and when there are too
many of them (`KEPT_ROWS_BYTES`). Until then only the transaction's own session could see them, and a crash loses no
more than the transaction, which is not committed. They are recorded among the transaction's changes
(`engine.catalog.store.transaction`), at the place of the later file's change, so that a savepoint rolls them back as it
rolls back files.

Rejected: rows in memory as an input of the statements that read the table. Each reader of files (pruning, counting,
keys, Spark, other members) would need a second code path for a state that lasts only until the next statement.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from engine.catalog.model.objects import DataFile, Table
from engine.storage.staging import TableWriter
from wire.types.carriers import carrier

#: The maximal bytes that a session's transaction keeps, for all tables together.
KEPT_ROWS_BYTES: Final = 16 << 20
#: The overhead of a batch; for a batch of one row, it is the largest part.
_BATCH_BYTES: Final = 2048
#: The number of small batches that are combined into one.
_BATCHES_MAX: Final = 256


def kept_size(batch: pa.RecordBatch) -> int:
    """Estimate how many bytes of memory a kept batch takes."""
    return int(batch.get_total_buffer_size()) + _BATCH_BYTES


def row_size(row: Sequence[Any]) -> int:
    """Estimate how many bytes of memory a row takes that is kept as values."""
    return sys.getsizeof(row) + sum(map(sys.getsizeof, row))


class KeptRows:
    """The kept rows of one table. table: the table as one of the statements saw it, or an earlier state with the same
    definition. Rows are carriers (`wire.types.carriers`), in the table's order of columns. A single row is kept as its
    values: the columns are made for all rows at once, when they are written.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._names = [column.name for column in table.written_columns]
        self._whole: list[pa.RecordBatch] = []
        self._few: list[pa.RecordBatch] = []
        #: Rows after those of the batches.
        self._rows: list[Sequence[Any]] = []

    def fits(self, table: Table) -> bool:
        """Return whether rows of the table, as a later statement sees it, may be added to these."""
        return self.table.columns == table.columns

    def add(self, batch: pa.RecordBatch) -> None:
        self._make_columns()
        self._few.append(batch.rename_columns(self._names))
        if len(self._few) >= _BATCHES_MAX:
            self._combine()

    def add_row(self, row: Sequence[Any]) -> None:
        """Add a row. row: a value for each column of the table's files, which Arrow takes unchanged into the column's carrier."""
        self._rows.append(row)

    def extend(self, others: KeptRows) -> None:
        """Add the rows that another transaction has kept for the same table."""
        if others._whole or others._few:
            self._combine()
            self._whole += others._whole
            self._few += others._few
        self._rows += others._rows

    @property
    def bytes(self) -> int:
        return sum(map(kept_size, (*self._whole, *self._few))) + sum(map(row_size, self._rows))

    def write(self, kept_bytes: int) -> tuple[DataFile, ...]:
        """Write the rows into durable files, which nothing names yet. kept_bytes: as in `TableWriter`. Blocks on the
        disk; raises SqlError, and leaves no files then.
        """
        assert self.table.storage is not None, "a stored table"
        writer = TableWriter(Path(self.table.path), self.table.written_columns, self.table.storage, kept_bytes)
        try:
            self._combine()
            for batch in self._whole:
                writer.write(batch)
            return writer.finish()
        except BaseException:
            writer.abandon()
            raise

    def _make_columns(self) -> None:
        """Make a batch of the rows that are kept as values."""
        if self._rows:
            columns = zip(self.table.written_columns, zip(*self._rows, strict=True), strict=True)
            arrays = [pa.array(values, carrier(column.type.pg, column.type.scale)) for column, values in columns]
            self._few.append(pa.RecordBatch.from_arrays(arrays, names=self._names))
            self._rows = []

    def _combine(self) -> None:
        self._make_columns()
        few, self._few = self._few, []
        self._whole += pa.Table.from_batches(few).combine_chunks().to_batches() if len(few) > 1 else few
