"""The driver's side of writing: the job of a DataFrame whose last stage writes, with Sluice's sink
(`engine.executors.spark.write_task`) or with Spark's own Parquet writer, which needs no Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from engine.contracts.output_cast import match_dimensions
from engine.executors.spark.write_task import WritePartition
from engine.writers.write_result import INTENTS_ON_SPARK, Written, written_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The size of a row group in bytes: each of Spark's tasks keeps one in the JVM's heap.
_GROUP_BYTES: Final = 64 << 20


def write_parquet(frame: DataFrame, names: Sequence[str], folder: Path) -> None:
    """Run the job that writes a DataFrame's rows into Parquet files in a new folder, with columns of these names.
    Blocks until it has ended.
    """
    writer = frame.toDF(*names).write.option("parquet.block.size", _GROUP_BYTES)
    writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    writer.parquet(f"file://{folder}", compression="snappy")


def write_frame(frame: DataFrame, task: WritePartition) -> Written:
    """Run the job that writes a DataFrame's rows. Blocks until it has ended."""
    # This runs on the job's thread, for which Spark has been started, so PySpark can be imported.
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.udf import _create_udf
    from pyspark.util import PythonEvalType

    from engine.executors.spark.collect import collect_arrow

    schema = pa.ipc.read_schema(pa.py_buffer(task.schema))
    if any(pa.types.is_list(typ) for typ in schema.types):
        # Only Spark knows the number of dimensions of arrays.
        task = replace(task, schema=match_dimensions(schema, to_arrow_schema(frame.schema)).serialize().to_pybytes())
    frame = _rebalance(frame.toDF(*(f"c{i}" for i in range(len(frame.columns)))), task.parted_by)
    udf = _create_udf(task, INTENTS_ON_SPARK, PythonEvalType.SQL_MAP_ARROW_ITER_UDF, "write", deterministic=False)
    mapped = frame._jdf.mapInArrow(udf(*(frame[name] for name in frame.columns))._jc, False, None)
    return written_by(collect_arrow(mapped))


def _rebalance(frame: DataFrame, places: Sequence[int]) -> DataFrame:
    """Bring the rows of each partition of the table together, in as few tasks as their number requires. Spark's
    REBALANCE combines many small partitions in one task and splits a large one over several; the rows are sorted, so
    that a task has one file open at a time.
    """
    from pyspark.sql import functions as f

    columns = [f.col(frame.columns[place]) for place in places]
    return frame.hint("rebalance", *columns).sortWithinPartitions(*columns) if columns else frame
