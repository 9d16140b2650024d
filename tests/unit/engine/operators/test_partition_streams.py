"""The streams of a Spark task over real sockets, without Spark: who is left out, and what fails the task."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.operators.partition_streams import PartitionStreams
from engine.operators.receive import Receiver
from engine.operators.send import Edge, StreamRefused
from engine.operators.spool import Spooler
from engine.runtime.listener import DataListener

SCHEMA = pa.schema([("n", pa.int64())])


class Ground:
    """Receivers of one member."""

    def __init__(self, folder: Path) -> None:
        self.listener = DataListener()
        self.spooler = Spooler(folder, 1 << 20)
        self.receivers: list[Receiver] = []

    def receiver(self) -> tuple[Receiver, Edge]:
        receiver = Receiver(SCHEMA, ordered=False, window=1 << 20, spooler=self.spooler)
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
    """What a task does, on a thread of its own."""

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
        assert streams.wanted
        return sorted(streams.finish())

    assert await in_task((to_gone, to_other, None), work) == [1]
    other.finish([7])
    assert await everything(other) == [2]


async def test_nothing_is_wanted_when_the_last_receiver_has_closed(ground: Ground) -> None:
    receiver, edge = ground.receiver()
    loop = asyncio.get_running_loop()

    def work(streams: PartitionStreams) -> bool:
        streams.open(0)
        asyncio.run_coroutine_threadsafe(receiver.close(), loop).result()
        streams.finish()
        return streams.wanted

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
