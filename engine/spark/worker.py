"""What runs in a Spark task: it sends its partition to the receiver and leaves a one-row summary as the job's result.

Imported in Spark's Python workers, where its start counts in the time to a query's first row: it needs Arrow, msgspec and
the wire, and of PySpark only the task's context. The driver's side is `engine.spark.stream`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark import TaskContext

from engine.carry import carry_to
from engine.operators.send import Edge, StreamSender

#: The summary: which partition, and whether it has a stream.
SUMMARY_SCHEMA: Final = "partition int, streamed boolean, rows bigint, bytes bigint"
_SUMMARY: Final = pa.schema(
    [("partition", pa.int32()), ("streamed", pa.bool_()), ("rows", pa.int64()), ("bytes", pa.int64())]
)


@dataclass(frozen=True, slots=True)
class SendPartition:
    """Sends one partition's batches over an edge.

    always: open a stream even for a partition without rows, as an ordered reader must hear of each in its turn.
    """

    edge: Edge
    always: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None, "runs in a task only"
        nonempty = (batch for batch in batches if batch.num_rows)
        first = next(nonempty, None)
        if first is None and not self.always:
            yield _summary(task.partitionId(), False, 0, 0)
            return
        with StreamSender(
            self.edge, partition=task.partitionId(), attempt=task.taskAttemptId(), stage=task.stageId()
        ) as stream:
            if first is not None:
                self._send(stream, first, nonempty)
            stream.finish()
        yield _summary(task.partitionId(), True, stream.rows, stream.bytes)

    def _send(self, stream: StreamSender, first: pa.RecordBatch, rest: Iterable[pa.RecordBatch]) -> None:
        schema = pa.ipc.read_schema(pa.py_buffer(self.edge.schema))
        stream.send(carry_to(first, schema))
        for batch in rest:
            stream.send(carry_to(batch, schema))


def idle(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Sends nothing: a job of it has started a Python worker, which stays for the next one."""
    yield _summary(0, False, sum(batch.num_rows for batch in batches), 0)


def streamed_partitions(summaries: pa.RecordBatch) -> list[int]:
    """The partitions that have a stream, of a job's summaries."""
    partitions: list[int] = summaries.filter(summaries["streamed"])["partition"].to_pylist()
    return partitions


def _summary(partition: int, streamed: bool, rows: int, size: int) -> pa.RecordBatch:
    return pa.record_batch([[partition], [streamed], [rows], [size]], schema=_SUMMARY)
