"""Senders, the listener and receivers over real sockets and real files: order, attempts, spooling, slots, and nothing
left behind.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from support.session_server import eventually

from engine.exchange.listener import DataListener
from engine.exchange.receive import Receiver
from engine.exchange.send import Edge, StreamRefused, StreamSender
from engine.exchange.slots import SlotKeeper
from engine.exchange.spool import Spooler
from wire.errors import NumericValueOutOfRange, SqlError
from wire.mesh.messages import Open

SCHEMA = pa.schema([("n", pa.int64())])
ROWS = 512
BATCH_BYTES = ROWS * 8


def batch(*numbers: int) -> pa.RecordBatch:
    """A batch of about BATCH_BYTES for each number."""
    return pa.record_batch([pa.array([n for n in numbers for _ in range(ROWS)], pa.int64())], schema=SCHEMA)


class Mesh:
    """One member's receiving side, and senders on threads."""

    def __init__(self, directory: Path, slots: int, spool_bytes_max: int) -> None:
        self.listener = DataListener()
        self.spooler = Spooler(directory, spool_bytes_max)
        self.keeper = SlotKeeper(lambda: slots)
        self.receivers: list[Receiver] = []
        self.threads: list[asyncio.Task[None]] = []
        self.refused: list[str] = []

    def receiver(
        self,
        name: str = "edge",
        *,
        ordered: bool = False,
        on_lost: Callable[[Open, bool], None] | None = None,
        on_ended: Callable[[Open], None] | None = None,
    ) -> tuple[Receiver, Edge]:
        receiver = Receiver(
            SCHEMA,
            ordered=ordered,
            window=3 * BATCH_BYTES,
            spooler=self.spooler,
            on_lost=on_lost,
            on_ended=on_ended,
            on_change=self.keeper.on_receiver_change,
        )
        self.keeper.add(receiver)
        self.receivers.append(receiver)
        token = self.listener.register(name, receiver)
        host, port = self.listener.address
        return receiver, Edge(host, port, name, token, 0, SCHEMA.serialize().to_pybytes(), BATCH_BYTES + 1000)

    def send(self, edge: Edge, partition: int, numbers: range, *, attempt: int = 1, fail: bool = False) -> None:
        """A work unit on a thread: a batch per number; `fail`: it is gone after the last, without a word."""

        def work() -> None:
            try:
                with StreamSender(edge, partition=partition, attempt=attempt, stage=0) as stream:
                    for number in numbers:
                        stream.send(batch(number))
                    if not fail:
                        stream.finish()
            except (StreamRefused, ConnectionError) as error:
                self.refused.append(str(error))

        self.threads.append(asyncio.create_task(asyncio.to_thread(work)))

    async def close(self) -> None:
        for receiver in self.receivers:
            await receiver.close()
            self.keeper.discard(receiver)
        try:
            await asyncio.gather(*self.threads)
        finally:
            await self.listener.close()
            self.spooler.close()


@asynccontextmanager
async def mesh(directory: Path, *, slots: int = 100, spool_bytes_max: int = 1 << 30) -> AsyncIterator[Mesh]:
    files, threads = open_files(), threading.active_count()
    it = Mesh(directory, slots, spool_bytes_max)
    await it.listener.start()
    try:
        yield it
    finally:
        await it.close()
        await asyncio.get_running_loop().shutdown_default_executor()
        assert it.listener.connections == 0
        assert it.spooler.bytes_used == 0
        assert os.listdir(directory) == []
        assert open_files() <= files
        assert threading.active_count() == threads


def open_files() -> set[str]:
    """Return the files that this process has open, without those of the event loop."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue
        if target.startswith(("socket:", "/")) and not target.startswith(("/proc", "/dev")):
            found.add(f"{name} {target}")
    return found


async def numbers(receiver: Receiver, count: int | None = None) -> list[int]:
    """The numbers of the next `count` batches, or of all that come."""
    found: list[int] = []
    while count is None or len(found) < count:
        got = await receiver.next_batch()
        if got is None:
            break
        assert 0 < got.num_rows <= 2 * ROWS
        found.append(got["n"][0].as_py())
    return found


async def test_unordered_streams_arrive_whole(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        receiver, edge = m.receiver()
        for partition in range(4):
            m.send(edge, partition, range(100 * partition, 100 * partition + 20))
        got = asyncio.create_task(numbers(receiver))
        await asyncio.gather(*m.threads)
        receiver.finish(range(4))
        found = await got
        assert sorted(found) == [100 * p + i for p in range(4) for i in range(20)]
        assert [n for n in found if n < 100] == list(range(20)), "each stream keeps its order"
        assert receiver.statistics()["rows"] == 80 * ROWS


async def test_ordered_streams_are_read_in_turn(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        receiver, edge = m.receiver(ordered=True)
        m.send(edge, 3, range(30, 40))
        m.send(edge, 0, range(0, 10))
        got = asyncio.create_task(numbers(receiver, 10))
        assert await got == list(range(10))
        m.send(edge, 1, range(10, 20))
        rest = asyncio.create_task(numbers(receiver))
        await asyncio.gather(*m.threads[1:])
        receiver.finish([0, 1, 3])
        assert await rest == [*range(10, 20), *range(30, 40)]


async def test_a_partition_is_read_to_its_true_end_before_the_next_one(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        ended: list[Open] = []
        receiver, edge = m.receiver(ordered=True, on_ended=ended.append)
        for partition in range(3):
            m.send(edge, partition, range(2 * partition, 2 * partition + 2))
        assert await numbers(receiver, 2) == [0, 1]
        await asyncio.gather(*m.threads)
        assert sorted(opening.partition for opening in ended) == [0, 1, 2]
        following = asyncio.create_task(numbers(receiver, 2))
        await eventually(lambda: receiver.waiting_since is not None)
        assert not following.done(), "nobody knows yet whether partition 0 had more rows"
        waits_since = receiver.waiting_since
        first, second, _ = sorted(ended, key=lambda opening: opening.partition)
        receiver.accept(msgspec.structs.replace(first, attempt=2))
        receiver.accept(second)
        await eventually(lambda: receiver.waiting_since not in (None, waits_since))
        assert not following.done()
        receiver.accept(first)
        assert await following == [2, 3]
        receiver.confirm(dict.fromkeys(range(3), 2 * ROWS))
        assert await numbers(receiver) == [4, 5]


async def test_a_partition_that_never_comes_is_passed_over_at_the_end(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        receiver, edge = m.receiver(ordered=True)
        m.send(edge, 2, range(1))
        await eventually(lambda: receiver.statistics()["streams"] == 1)
        receiver.finish([2])
        assert await numbers(receiver) == [0]


async def test_nobody_sends(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        receiver, _ = m.receiver()
        receiver.finish()
        assert await receiver.next_batch() is None
        assert await receiver.next_batch() is None


async def test_a_slow_consumer_holds_its_senders_back(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        receiver, edge = m.receiver()
        m.send(edge, 0, range(100))
        [stream] = await opened(receiver, 1)
        await eventually(lambda: stream.is_blocked(receiver.now()))
        assert 1 <= len(stream.entries) <= 3, "what is in flight is what was granted"
        assert await numbers(receiver, 50) == list(range(50))
        await eventually(lambda: stream.is_blocked(receiver.now()))
        assert len(stream.entries) <= 3


async def opened(receiver: Receiver, count: int) -> list:  # type: ignore[type-arg]
    await eventually(lambda: receiver.streams.open_count == count)
    return [stream for stream in receiver.streams.by_partition.values() if stream.open]


async def test_a_batch_larger_than_the_window_passes(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        receiver, edge = m.receiver()
        wide = pa.record_batch([pa.array(["x" * 100_000])], names=["t"])
        receiver.expect(wide.schema)
        edge = Edge(edge.host, edge.port, edge.channel, edge.token, 0, wide.schema.serialize().to_pybytes(), 1000)

        def work() -> None:
            with StreamSender(edge, partition=0, attempt=1, stage=0) as stream:
                for _ in range(3):
                    stream.send(wide)
                stream.finish()

        m.threads.append(asyncio.create_task(asyncio.to_thread(work)))
        for _ in range(3):
            assert await receiver.next_batch() == wide
        receiver.finish([0])
        assert await receiver.next_batch() is None


async def test_a_failed_attempt_that_nobody_read_is_replaced(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        lost: list[tuple[int, bool]] = []
        receiver, edge = m.receiver(on_lost=lambda o, consumed: lost.append((o.attempt, consumed)))
        m.send(edge, 0, range(2), attempt=1, fail=True)
        await eventually(lambda: bool(lost))
        assert lost == [(1, False)]
        m.send(edge, 0, range(5), attempt=2)
        got = asyncio.create_task(numbers(receiver))
        await asyncio.gather(*m.threads)
        receiver.finish([0])
        assert await got == list(range(5))


async def test_an_attempt_that_is_still_sending_is_replaced_by_a_later_one(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        receiver, edge = m.receiver()
        m.send(edge, 0, range(100), attempt=1)
        await opened(receiver, 1)
        m.send(edge, 0, range(5), attempt=2)
        await eventually(lambda: receiver.statistics()["streams"] == 2)
        got = asyncio.create_task(numbers(receiver))
        await asyncio.gather(*m.threads)
        receiver.finish([0])
        assert await got == list(range(5))
        m.send(edge, 0, range(7), attempt=1)
        m.send(edge, 0, range(7), attempt=3)
        await asyncio.gather(*m.threads)
        assert await receiver.next_batch() is None, "what has arrived whole stays"


async def test_a_failed_attempt_that_was_read_fails_the_query(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        receiver, edge = m.receiver()
        m.send(edge, 0, range(2), attempt=1, fail=True)
        assert await numbers(receiver, 1) == [0]
        with pytest.raises(SqlError) as caught:
            await numbers(receiver)
        assert caught.value.sqlstate == "40001"
        m.send(edge, 0, range(2), attempt=2)
        await asyncio.gather(*m.threads)
        assert m.refused == ["the query is over"]


async def test_the_senders_error_is_the_querys(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        receiver, edge = m.receiver()

        def work() -> None:
            with StreamSender(edge, partition=0, attempt=1, stage=0) as stream:
                stream.send(batch(1))
                raise NumericValueOutOfRange("value overflows numeric format")

        sending = asyncio.create_task(asyncio.to_thread(work))
        with pytest.raises(SqlError, match="value overflows numeric format") as caught:
            await numbers(receiver)
        assert caught.value.sqlstate == "22003"
        with pytest.raises(NumericValueOutOfRange):
            await sending


async def test_the_first_error_is_the_cause(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        receiver, _ = m.receiver()
        receiver.fail(SqlError("division by zero", sqlstate="22012"))
        receiver.fail(SqlError("a stream failed", sqlstate="40001"))
        with pytest.raises(SqlError, match="division by zero"):
            await receiver.next_batch()


async def test_a_stranger_is_refused(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        receiver, edge = m.receiver()
        m.send(Edge(edge.host, edge.port, edge.channel, b"guess", 0, edge.schema, 1000), 0, range(1))
        m.send(Edge(edge.host, edge.port, edge.channel, edge.token, 0, b"another schema", 1000), 0, range(1))
        await asyncio.gather(*m.threads)
        assert sorted(m.refused) == ["the stream's schema is not the edge's", "wrong token"]
        assert receiver.statistics()["streams"] == 0


async def test_a_sender_may_come_before_its_receiver(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        receiver, edge = m.receiver("early")
        token, _ = m.listener._channels.pop("early")
        m.send(edge, 0, range(3))
        await eventually(lambda: m.listener.denied > 0)
        m.listener._channels["early"] = (token, receiver)
        got = asyncio.create_task(numbers(receiver))
        await asyncio.gather(*m.threads)
        receiver.finish([0])
        assert await got == [0, 1, 2]


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.0\r\n\r\n", b"sluice\x00\x01" + b"\xff" * 100])
async def test_garbage_ends_its_own_connection_only(tmp_path: Path, garbage: bytes) -> None:
    async with mesh(tmp_path) as m:
        receiver, edge = m.receiver()
        m.send(edge, 0, range(100))
        reader, writer = await asyncio.open_connection(edge.host, edge.port)
        writer.write(garbage)
        # Closed, or reset where some of it was not even read.
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        with suppress(ConnectionResetError):
            await writer.wait_closed()
        assert await numbers(receiver, 100) == list(range(100))


async def test_close_in_the_middle_stops_the_senders(tmp_path: Path) -> None:
    async with mesh(tmp_path) as m:
        receiver, edge = m.receiver()
        for partition in range(3):
            m.send(edge, partition, range(1000))
        await numbers(receiver, 5)
        waiting = asyncio.create_task(numbers(receiver))
        await receiver.close()
        await asyncio.gather(*m.threads)
        assert len(m.refused) == 3
        with pytest.raises(SqlError) as caught:
            await waiting
        assert caught.value.sqlstate == "57014"


async def test_a_suspended_portal_lets_others_pass(tmp_path: Path) -> None:
    """Two slots, both held by streams that nobody reads; a second query waits: the first one spools, and loses nothing."""
    async with mesh(tmp_path, slots=2) as m:
        idle, edge = m.receiver("idle")
        m.send(edge, 0, range(50))
        m.send(edge, 1, range(50))
        await opened(idle, 2)
        waiting, _ = m.receiver("waiting")
        got = asyncio.create_task(numbers(waiting))
        # The first to end frees a slot, so that the other one need not go on.
        await asyncio.wait(m.threads, return_when=asyncio.FIRST_COMPLETED)
        assert idle.statistics()["spooled_bytes"] > 40 * BATCH_BYTES
        waiting.finish()
        assert await got == []
        idle.finish([0, 1])
        assert sorted(await numbers(idle)) == sorted([*range(50)] * 2)


async def test_nobody_spools_while_nobody_waits(tmp_path: Path) -> None:
    async with mesh(tmp_path, slots=1) as m:
        idle, edge = m.receiver("idle")
        m.send(edge, 0, range(50))
        [stream] = await opened(idle, 1)
        await eventually(lambda: stream.is_blocked(idle.now() - 0.5))
        assert idle.statistics()["spooled_bytes"] == 0


async def test_later_partitions_do_not_starve_the_one_whose_turn_it_is(tmp_path: Path) -> None:
    async with mesh(tmp_path, slots=1000) as m:
        receiver, edge = m.receiver(ordered=True)
        m.send(edge, 1, range(50, 100))
        got = asyncio.create_task(numbers(receiver))
        await asyncio.gather(*m.threads)
        m.send(edge, 0, range(50))
        await asyncio.gather(*m.threads)
        receiver.finish([0, 1])
        assert await got == list(range(100))


async def test_the_spool_keeps_to_its_budget(tmp_path: Path) -> None:
    async with mesh(tmp_path, slots=1, spool_bytes_max=10 * BATCH_BYTES) as m:
        idle, edge = m.receiver("idle")
        m.send(edge, 0, range(50))
        await opened(idle, 1)
        waiting, _ = m.receiver("waiting")
        got = asyncio.create_task(waiting.next_batch())
        await eventually(lambda: m.spooler.bytes_used > 8 * BATCH_BYTES)
        assert m.spooler.bytes_used <= m.spooler.bytes_max
        waiting.finish()
        assert await got is None
        assert await numbers(idle, 50) == list(range(50))


async def test_a_spooled_stream_can_be_dropped(tmp_path: Path) -> None:
    async with mesh(tmp_path, slots=1) as m:
        idle, edge = m.receiver("idle")
        m.send(edge, 0, range(1000))
        waiting, _ = m.receiver("waiting")
        got = asyncio.create_task(waiting.next_batch())
        await eventually(lambda: idle.statistics()["spooled_bytes"] > 0)
        await idle.close()
        waiting.finish()
        assert await got is None
