"""The streams of a Spark task over real sockets, without Spark: which receivers are left out, and what fails the task."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.exchange.listener import DataListener
from engine.exchange.partition_streams import PartitionStreams
from engine.exchange.receive import Receiver
from engine.exchange.send import Edge, StreamRefused
from engine.exchange.spool import Spooler
from engine.executors.spark.worker import SendPartition, sent_by
from wire.errors import SerializationFailure

SCHEMA = pa.schema([("n", pa.int64())])


class Ground:
    """Receivers of one member."""

    def __init__(self, folder: Path) -> None:
        self.listener = DataListener()
        self.spooler = Spooler(folder, 1 << 20)
        self.receivers: list[Receiver] = []

    def receiver(self, *, ordered: bool = False) -> tuple[Receiver, Edge]:
        receiver = Receiver(SCHEMA, ordered=ordered, window=1 << 20, spooler=self.spooler)
        name = f"edge {len(self.receivers)}"
        self.receivers.append(receiver)
        token = self.listener.register(name, receiver)
        return receiver, Edge(*self.listener.address, name, token, 0, SCHEMA.serialize().to_pybytes(), 1 << 16)


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    ground = Ground(tmp_path)
    await ground.listener.start()
    yield ground
    for receiver in ground.receivers:
        await receiver.close()
    await ground.listener.close()
    ground.spooler.close()


def rows(*numbers: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(numbers, pa.int64())], schema=SCHEMA)


async def in_task(edges: tuple[Edge | None, ...], work: Callable[[PartitionStreams], Any], attempt: int = 1) -> Any:
    """Run a task on a thread of its own."""

    def run() -> Any:
        with contextlib.ExitStack() as held:
            return work(PartitionStreams(edges, 7, attempt, 0, held))

    return await asyncio.to_thread(run)


async def everything(receiver: Receiver) -> list[int]:
    found: list[int] = []
    while (batch := await receiver.next_batch()) is not None:
        found += batch["n"].to_pylist()
    return found


async def test_each_receiver_gets_its_rows_and_streams_are_opened_for_rows_only(ground: Ground) -> None:
    first, to_first = ground.receiver()
    second, to_second = ground.receiver()
    third, to_third = ground.receiver()

    def work(streams: PartitionStreams) -> list[int]:
        streams.send(0, rows(1, 2))
        streams.send(2, rows(3))
        streams.send(0, rows(4))
        return sorted(streams.finish())

    assert await in_task((to_first, to_second, to_third), work) == [0, 2]
    for receiver, sent in ((first, [7]), (second, []), (third, [7])):
        receiver.finish(sent)
    assert [await everything(receiver) for receiver in (first, second, third)] == [[1, 2, 4], [], [3]]


async def test_who_is_done_with_the_query_is_left_out_and_the_others_get_theirs(ground: Ground) -> None:
    gone, to_gone = ground.receiver()
    other, to_other = ground.receiver()
    await gone.close()

    def work(streams: PartitionStreams) -> list[int]:
        streams.send(0, rows(1))
        streams.send(1, rows(2))
        streams.send(2, rows(3))
        assert streams.is_wanted
        return sorted(streams.finish())

    assert await in_task((to_gone, to_other, None), work) == [1]
    other.finish([7])
    assert await everything(other) == [2]


async def test_streams_that_are_opened_without_rows_leave_out_who_is_not_there(ground: Ground) -> None:
    receiver, edge = ground.receiver()

    def work(streams: PartitionStreams) -> list[int]:
        for number in range(2):
            streams.open(number)
        return sorted(streams.finish())

    assert await in_task((None, edge), work) == [1]
    receiver.finish([7])
    assert await everything(receiver) == []


async def test_nothing_is_wanted_when_the_last_receiver_has_closed(ground: Ground) -> None:
    receiver, edge = ground.receiver()
    loop = asyncio.get_running_loop()

    def work(streams: PartitionStreams) -> bool:
        streams.open(0)
        asyncio.run_coroutine_threadsafe(receiver.close(), loop).result()
        streams.finish()
        return streams.is_wanted

    assert not await in_task((edge,), work)


async def test_an_attempt_whose_place_is_taken_fails(ground: Ground) -> None:
    receiver, edge = ground.receiver()

    def work(streams: PartitionStreams) -> None:
        streams.send(0, rows(1))
        streams.finish()

    later = asyncio.create_task(in_task((edge,), lambda streams: streams.open(0), attempt=2))
    await later
    with pytest.raises(StreamRefused, match="a later attempt"):
        await in_task((edge,), work, attempt=1)
    await in_task((edge,), work, attempt=3)
    receiver.finish([7])
    assert await everything(receiver) == [1]


def sent_whole(*batches: pa.RecordBatch) -> Callable[[PartitionStreams], dict[int, dict[int, int]]]:
    """A task that sends those to receiver 0 and reports, by receiver, the rows of its partition."""

    def work(streams: PartitionStreams) -> dict[int, dict[int, int]]:
        for batch in batches:
            streams.send(0, batch)
        return {receiver: {7: sender.rows} for receiver, sender in streams.finish().items()}

    return work


def cut_off(count: int, *batches: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Return the input that a Python worker reads if the executor is killed after so many batches, at the end of a message."""
    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, SCHEMA) as stream:
        for batch in batches[:count]:
            stream.write_batch(batch)
        end = written.tell()
    # Without the mark of its end: pyarrow reads that as an end all the same.
    return list(pa.ipc.open_stream(written.getvalue()[:end]))


WHOLE = [rows(1, 2), rows(3), rows(4, 5, 6)]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("read_first", [False, True])
async def test_an_attempt_whose_input_was_cut_off_is_found_by_the_next_one(
    ground: Ground, *, ordered: bool, read_first: bool
) -> None:
    receiver, edge = ground.receiver(ordered=ordered)
    if ordered:
        receiver.order._current = 7
    short = cut_off(1, *WHOLE)
    assert short == WHOLE[:1]
    await in_task((edge,), sent_whole(*short), attempt=1)
    if read_first:
        assert await receiver.next_batch() == WHOLE[0]
    reported = await in_task((edge,), sent_whole(*WHOLE), attempt=2)
    assert reported == {0: {7: 6}}
    receiver.confirm(reported[0])
    with pytest.raises(SerializationFailure, match=r"incomplete: 2 rows of a partition have arrived, Spark reports 6"):
        await everything(receiver)


async def test_an_attempt_that_was_cut_off_before_its_first_row_is_found(ground: Ground) -> None:
    receiver, edge = ground.receiver()

    def nothing(streams: PartitionStreams) -> None:
        streams.open(0)
        streams.finish()

    await in_task((edge,), nothing, attempt=1)
    receiver.confirm((await in_task((edge,), sent_whole(*WHOLE), attempt=2))[0])
    with pytest.raises(SerializationFailure, match=r"0 rows .* Spark reports 6"):
        await everything(receiver)


async def test_an_attempt_that_sent_everything_before_its_executor_was_lost_counts(ground: Ground) -> None:
    receiver, edge = ground.receiver()
    await in_task((edge,), sent_whole(*cut_off(3, *WHOLE)), attempt=1)
    # In another order, and in other batches, as a shuffle may give them again.
    receiver.confirm((await in_task((edge,), sent_whole(rows(6, 5), rows(4, 3, 2, 1)), attempt=2))[0])
    assert await everything(receiver) == [1, 2, 3, 4, 5, 6]


async def test_a_count_that_comes_before_the_rows_is_compared_as_well(ground: Ground) -> None:
    receiver, edge = ground.receiver()
    receiver.confirm({7: 6})
    await in_task((edge,), sent_whole(*WHOLE[:2]))
    with pytest.raises(SerializationFailure, match="3 rows"):
        await everything(receiver)


async def test_rows_of_an_attempt_that_spark_did_not_take_are_not_delivered_as_its_result(ground: Ground) -> None:
    receiver, edge = ground.receiver()
    await in_task((edge,), sent_whole(*WHOLE), attempt=1)
    receiver.confirm({})
    with pytest.raises(SerializationFailure, match="Spark reports 0"):
        await everything(receiver)


async def test_a_receiver_that_has_enough_compares_nothing(ground: Ground) -> None:
    receiver, edge = ground.receiver()
    await in_task((edge,), sent_whole(*WHOLE[:1]), attempt=1)
    assert await receiver.next_batch() == WHOLE[0]
    await receiver.close()
    assert await in_task((edge,), sent_whole(*WHOLE), attempt=2) == {}
    receiver.confirm({})


class Task:
    """The `pyspark.TaskContext` of an attempt at the task of partition 7."""

    def __init__(self, attempt: int) -> None:
        self._attempt = attempt

    def taskAttemptId(self) -> int:  # noqa: N802
        return self._attempt

    def partitionId(self) -> int:  # noqa: N802
        return 7

    def stageId(self) -> int:  # noqa: N802
        return 0


@pytest.mark.parametrize(("kept", "arrived"), [(1, 2), (2, 3), (3, 6)])
async def test_the_result_of_the_attempt_that_spark_takes_decides(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, kept: int, arrived: int
) -> None:
    receiver, edge = ground.receiver()
    send = SendPartition((edge,), always=True)

    def run(attempt: int, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        monkeypatch.setattr("pyspark.TaskContext.get", lambda: Task(attempt))
        return list(send(batches))

    lost = await asyncio.to_thread(run, 1, cut_off(kept, *WHOLE))
    assert sent_by(lost).rows == {0: {7: arrived}}, "the attempt knows of nothing"
    taken = await asyncio.to_thread(run, 2, WHOLE)
    assert sent_by(taken).rows == {0: {7: 6}}
    receiver.confirm(sent_by(taken).rows[0])
    if arrived == 6:
        assert await everything(receiver) == [1, 2, 3, 4, 5, 6]
        return
    with pytest.raises(SerializationFailure, match=f"{arrived} rows of a partition have arrived, Spark reports 6"):
        await everything(receiver)
