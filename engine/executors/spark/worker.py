"""Code of a Spark task that sends its partition to the receivers and returns a small summary as the job's result.

Spark's Python workers import this module, and its import time adds to the time to a query's first row. It needs Arrow,
msgspec and `wire`, and from PySpark only the task's context. The driver's side is `engine.executors.spark.executor` and
`engine.executors.spark.production`.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from engine.contracts.output_cast import carry_to
from engine.exchange.partition_streams import PartitionStreams, Sent
from engine.exchange.send import Edge, StreamSender
from engine.storage.infinities import with_infinities
from wire.dataclass import dataclass

if TYPE_CHECKING:
    import duckdb

#: The summary: a row for each stream that was opened, or that its receiver had from an earlier attempt, whose rows were counted
#: and not sent.
SUMMARY_SCHEMA: Final = "receiver int, partition int, rows bigint, bytes bigint, batches bigint, stalls bigint"
_COUNTED: Final = ("rows", "bytes", "batches", "stalls")
_SUMMARY: Final = pa.schema(
    [("receiver", pa.int32()), ("partition", pa.int32()), *((name, pa.int64()) for name in _COUNTED)]
)


@dataclass(frozen=True, slots=True)
class SendPartition:
    """Sends one partition's batches over the streams of an edge, one to each receiver.

    edges: how to reach each receiver; None: that receiver wants nothing. always: open streams even for a partition
    without rows, because an ordered reader must hear of each partition in its turn. parting: DuckDB's statement over
    the relation `part`, whose only column is the number of each row's receiver, in the order of the rows (hash router);
    None: every row goes to every receiver. base: the number that is added to the partition's number, at which this
    producer's share of the edge's numbers begins.

    The task ends early when no receiver wants more rows.
    """

    edges: tuple[Edge | None, ...]
    always: bool = False
    parting: str | None = None
    base: int = 0

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # The member imports this module before PySpark, because of the objects that it sends to tasks.
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None, "runs in a task only"
        schema = next(pa.ipc.read_schema(pa.py_buffer(edge.schema)) for edge in self.edges if edge is not None)
        router = _router(self.parting, len(self.edges))
        partition = self.base + task.partitionId()
        with contextlib.ExitStack() as held:
            streams = PartitionStreams(self.edges, partition, task.taskAttemptId(), task.stageId(), held)
            for receiver in range(len(self.edges)) if self.always else ():
                streams.open(receiver)
            for batch in batches:
                if not streams.is_wanted:
                    break
                if batch.num_rows:
                    for receiver, rows in router(with_infinities(carry_to(batch, schema))):
                        streams.send(receiver, rows)
            sent = streams.finish()
        yield _summary(partition, sent)


class _ToAll:
    """The single router and the mirror router."""

    def __init__(self, receivers: int) -> None:
        self._receivers = range(receivers)

    def __call__(self, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
        return [(receiver, batch) for receiver in self._receivers]


class _ByHash:
    """The hash router, which uses the same function as the members' own engine."""

    def __init__(self, statement: str, receivers: int) -> None:
        # Imported only where it is needed: most tasks do not split rows, and each worker would pay for the import.
        import duckdb

        self._statement = statement
        self._receivers = receivers
        self._connection: duckdb.DuckDBPyConnection = duckdb.connect(config={"threads": 1})

    def __call__(self, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
        from engine.exchange.routers import part_by_bucket

        self._connection.register("part", pa.Table.from_batches([batch]))
        bucket: Any = self._connection.sql(self._statement).to_arrow_table().column(0).combine_chunks()
        numbered = batch.append_column("bucket", bucket.cast(pa.int32()))
        return part_by_bucket(numbered, self._receivers)


def _router(parting: str | None, receivers: int) -> _ToAll | _ByHash:
    return _ToAll(receivers) if parting is None else _ByHash(parting, receivers)


def idle(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read all batches and send nothing. A job with this function starts Python workers, which stay for the next job."""
    for _batch in batches:
        pass
    yield _summary(0, {})


def sent_by(summaries: Iterable[pa.RecordBatch]) -> Sent:
    """Add up the summaries of a job."""
    rows: defaultdict[int, dict[int, int]] = defaultdict(dict)
    totals = dict.fromkeys(_COUNTED, 0)
    for row in pa.Table.from_batches(summaries, _SUMMARY).to_pylist():
        rows[row["receiver"]][row["partition"]] = row["rows"]
        for name in _COUNTED:
            totals[name] += row[name]
    return Sent(rows, totals["bytes"], totals["batches"], totals["stalls"])


def _summary(partition: int, streams: dict[int, StreamSender]) -> pa.RecordBatch:
    rows = [
        {"receiver": receiver, "partition": partition, **{name: getattr(sender, name) for name in _COUNTED}}
        for receiver, sender in streams.items()
    ]
    return pa.RecordBatch.from_pylist(rows, schema=_SUMMARY)
