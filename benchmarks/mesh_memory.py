"""Measures the memory of a receiver whose consumer stops: the bytes of this process beyond the windows of its streams.

Another process sends as much as it may over one, ten or a hundred streams to one receiver, which takes a single batch
and then no more. When nothing moves any longer, the memory that Python has allocated here since before the receiver was
made is compared with the promise: a window and one batch for each stream. The figure comes from tracemalloc, which sees
the buffers themselves, and not from the receiver's own account.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import uvloop

from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground
from engine.exchange.listener import DataListener
from engine.exchange.outbound import open_remote
from engine.exchange.receive import WINDOW_BATCHES, Receiver
from engine.exchange.send import StreamRefused, schema_fingerprint
from engine.exchange.spool import Spooler
from wire.errors import ConnectionFailure
from wire.mesh.messages import VERSION, Open

_STREAMS: Final = (1, 10, 100)
_BATCH_ROWS: Final = 1000
_PAGE_BYTES: Final = 1 << 20
_WINDOW: Final = WINDOW_BATCHES * _PAGE_BYTES
_BATCHES: Final = 256
_QUIET_SECONDS: Final = 1.0


class _Held(NamedTuple):
    """Bytes: by the receiver's account, by the allocator's, and the promise."""

    accounted: int
    allocated: int
    promised: int


def _run(ground: Ground) -> Iterator[Figure]:
    path = str(ground.table("orders"))
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    giver = context.Process(target=_give, args=(path, theirs), daemon=True)
    giver.start()
    tracemalloc.start()
    try:
        batch_bytes, schema = ours.recv()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            for count in _STREAMS:
                folder = ground.folder(f"spool-{count}")
                held = runner.run(_stopped(ours, schema, count, batch_bytes, folder))
                label = f"{count} stream{'s' * (count > 1)}"
                yield Figure(
                    f"{label}: allocated beyond the limit", max(0, held.allocated - held.promised) / 1024, "KiB", 0
                )
                yield Figure(f"{label}: allocated", held.allocated / 1024, "KiB")
                yield Figure(f"{label}: unread batches in the allocated memory", held.accounted / 1024, "KiB")
                yield Figure(f"{label}: limit", held.promised / 1024, "KiB")
        ours.send(None)
        giver.join(10)
    finally:
        tracemalloc.stop()
        giver.kill()


async def _stopped(giver: Connection, schema: pa.Schema, streams: int, batch_bytes: int, folder: Path) -> _Held:
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    listener, spooler = DataListener(), Spooler(folder, 0)
    await listener.start()
    receiver = Receiver(schema, ordered=False, window=_WINDOW, spooler=spooler)
    token = listener.register("orders", receiver)
    try:
        giver.send((*listener.address, token, streams))
        await receiver.next_batch()
        accounted = await _at_rest(receiver)
        gc.collect()
        now, _ = tracemalloc.get_traced_memory()
        return _Held(accounted, now - before, streams * (_WINDOW + batch_bytes))
    finally:
        await receiver.close()
        await listener.close()
        spooler.close()
        await asyncio.to_thread(giver.recv)


async def _at_rest(receiver: Receiver) -> int:
    """Return the bytes that the receiver holds, once they have not changed for a while."""
    held, since = -1, 0.0
    while since < _QUIET_SECONDS:
        await asyncio.sleep(_QUIET_SECONDS / 10)
        now = receiver.statistics()["held_bytes"]
        held, since = now, since + _QUIET_SECONDS / 10 if now == held and now else 0.0
    return held


# -- the other process -----------------------------------------------------------------------------------------------


def _give(path: str, pipe: Connection) -> None:
    batches = pq.ParquetFile(path).iter_batches(_BATCH_ROWS)
    bodies = [(batch.serialize(), batch.num_rows, batch.schema) for _, batch in zip(range(8), batches, strict=False)]
    schema = bodies[0][2]
    pipe.send((max(body.size for body, _, _ in bodies), schema))
    fingerprint = schema_fingerprint(schema.serialize())
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        while (request := pipe.recv()) is not None:
            host, port, token, streams = request
            openings = [Open(VERSION, "orders", token, 0, number, 0, 0, fingerprint) for number in range(streams)]
            runner.run(_send_all(host, port, openings, [(body, rows) for body, rows, _ in bodies]))
            pipe.send(None)


async def _send_all(host: str, port: int, openings: list[Open], bodies: list[tuple[pa.Buffer, int]]) -> None:
    await asyncio.gather(*(_send(host, port, opening, bodies) for opening in openings))


async def _send(host: str, port: int, opening: Open, bodies: list[tuple[pa.Buffer, int]]) -> None:
    """Send until the receiver accepts no more."""
    with suppress(StreamRefused, ConnectionFailure):
        stream = await open_remote(host, port, opening)
        for number in range(_BATCHES):
            await stream.send(*bodies[number % len(bodies)])


MEASURE: Final = Measure(
    "mesh_memory",
    "Memory of a receiver whose consumer stops reading",
    f"Another process sends batches of {_BATCH_ROWS:,} rows of `orders`, {_BATCHES} per stream, over one, ten and a "
    f"hundred streams with windows of {_WINDOW >> 20} MiB; the consumer reads one batch and then stops. Measured when "
    f"nothing has been transferred for {_QUIET_SECONDS:g} s: the memory that Python has allocated in the benchmark's "
    "process since the start of the transfer, as tracemalloc counts it. The limit is one window and one batch per "
    "stream.",
    _run,
)
