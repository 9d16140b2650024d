"""Code of a Spark task that reads files through DuckDB; see `engine.planner.codegen.scans`.

Object stores and their credentials travel with the task, in PySpark's own closure, which appears in no plan, log or
event. A store without a key uses the credentials of the executor's process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from engine.common.error_codec import TaskError
from engine.executors.local.sandbox import ONE_THREAD
from engine.lakes import stores
from wire.dataclass import dataclass

#: Rows of a batch: a multiple of 2048, the size of DuckDB's vectors.
_BATCH_ROWS: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a scan: a file, or its rows from `first` to before `end`."""

    file: str
    first: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True)
class ScanUnits:
    """Reads the units whose numbers its input rows contain. statement, reader: as in `Scan`, the reader by its number.
    columns: labels. units: the units, by number.
    """

    statement: str
    reader: int
    columns: tuple[str, ...]
    units: tuple[tuple[Unit, ...], ...]
    stores: tuple[stores.Store, ...]
    time_zone: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Imported only where it is needed: most tasks do not read through DuckDB, and each worker would pay for the import.
        import duckdb

        from engine.executors.local.errors import translate

        stores.register(self.stores)
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        with duckdb.connect(":memory:", config=ONE_THREAD) as connection:
            if self.stores:
                from engine.lakes.store_files import StoreFiles

                connection.register_filesystem(StoreFiles())
            if _OURS in self.statement.lower():
                from engine.executors.local import own_functions

                own_functions.install(connection)
            connection.execute("SET TimeZone = $1", [self.time_zone])
            try:
                for number in numbers:
                    for unit in self.units[number]:
                        read = connection.sql(self.statement, params=self._values(unit))
                        rows: pa.RecordBatchReader = read.to_arrow_reader(_BATCH_ROWS)
                        yield from map(self._name_columns, rows)
            except duckdb.Error as error:
                raise TaskError(translate(error)) from None

    def _name_columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if not self.columns:
            return pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows, pa.bool_())], names=[NOTHING])
        return pa.RecordBatch.from_arrays(batch.columns, names=list(self.columns))

    def _values(self, unit: Unit) -> dict[str, object]:
        files: dict[str, object] = {f"r{self.reader}": [unit.file]}
        if unit.end is None:
            return files
        return {**files, f"r{self.reader}_first": unit.first, f"r{self.reader}_end": unit.end}


#: The prefix of those of the local engine's own functions that a scan may call.
_OURS: Final = "sluice_json"
#: The column of a scan that reads no columns, which has rows all the same.
NOTHING: Final = "nothing"
