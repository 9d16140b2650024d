"""Code of a Spark task that computes a function with DuckDB; see `engine.planner.codegen.task_functions`.

A Python worker serves many tasks, one after the other. It keeps one database for each time zone, because opening one
and registering the local engine's own functions in it takes longer than most batches.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import duckdb
import pyarrow as pa

from engine.common.error_codec import as_text
from engine.executors.local import own_functions
from engine.executors.local.errors import translate
from engine.executors.local.sandbox import ONE_THREAD
from engine.planner.codegen.task_functions import ARGUMENTS, ERROR, VALUE
from wire.dataclass import dataclass

_TIME_ZONES: Final = 4


@dataclass(frozen=True, slots=True)
class FunctionTask:
    """Computes a function over a batch of its arguments. There is at least one argument.

    statement: as in `TaskFunction`. returns: the Arrow type of a value. time_zone: the session's.
    """

    statement: str
    returns: pa.DataType
    time_zone: str

    def __call__(self, *arguments: pa.Array) -> pa.Array:
        names = [f"a{number}" for number in range(len(arguments))]
        return self._compute(_database(self.time_zone), pa.RecordBatch.from_arrays(list(arguments), names=names))

    def _compute(self, database: duckdb.DuckDBPyConnection, batch: pa.RecordBatch) -> pa.Array:
        """Return the values, and the error of each row that has one. Failing rows are found by bisection, because
        there are few.
        """
        try:
            values, errors = self._values(database, batch), pa.nulls(batch.num_rows, pa.string())
        except duckdb.Error as error:
            if batch.num_rows > 1:
                half = batch.num_rows // 2
                return pa.concat_arrays([self._compute(database, part) for part in (batch[:half], batch[half:])])
            values, errors = pa.nulls(1, self.returns), pa.array([as_text(translate(error))])
        return pa.StructArray.from_arrays([values, errors], names=[VALUE, ERROR])

    def _values(self, database: duckdb.DuckDBPyConnection, batch: pa.RecordBatch) -> pa.Array:
        database.register(ARGUMENTS, pa.Table.from_batches([batch]))
        computed = database.sql(self.statement).to_arrow_table().column(0)
        return pa.chunked_array(computed.cast(self.returns).chunks, self.returns).combine_chunks()


@lru_cache(maxsize=_TIME_ZONES)
def _database(time_zone: str) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(":memory:", config=ONE_THREAD)
    own_functions.install(database)
    database.execute("SET TimeZone = $1", [time_zone])
    return database
