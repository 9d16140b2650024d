"""Compares the exchange between two processes with Arrow Flight: the same batches, the same two processes, in turns.

The other process holds the batches in memory and serves them in two ways: as a Flight server (`do_get`), and as the
sender of a mesh stream (`engine.exchange.outbound`) to a receiver here. Credits are on: a window of two pages, and
batches of as many rows as an engine would put into a page. Both sides take batches as Arrow objects and do not read
their values; both pay for their connection, and for the serialization of each batch.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.flight as flight
import pyarrow.parquet as pq
import uvloop

from benchmarks.figures import Figure, Measure, median
from benchmarks.ground import Ground
from engine.exchange.listener import DataListener
from engine.exchange.outbound import open_remote
from engine.exchange.receive import WINDOW_BATCHES, Receiver
from engine.exchange.send import schema_fingerprint
from engine.exchange.spool import Spooler
from engine.executors.local.page_reader import batch_rows
from wire.mesh.messages import VERSION, Open

_PAGE_BYTES: Final = 1 << 20
_WARM: Final = 2
_RUNS: Final = 15


def _run(ground: Ground) -> Iterator[Figure]:
    path = str(ground.table("orders"))
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    giver = context.Process(target=_give, args=(path, theirs), daemon=True)
    giver.start()
    try:
        flight_port, size, schema = ours.recv()
        with_flight, with_mesh = [], []
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            for _ in range(_WARM + _RUNS):
                with_flight.append(size / _taken_by_flight(flight_port))
                with_mesh.append(size / runner.run(_taken_by_mesh(ours, schema, ground.scratch)))
        ours.send(None)
        giver.join(10)
    finally:
        giver.kill()
    with_flight, with_mesh = with_flight[_WARM:], with_mesh[_WARM:]
    yield Figure("Arrow Flight do_get", median(with_flight) / 1e6, "MB/s")
    yield Figure("a mesh stream", median(with_mesh) / 1e6, "MB/s")
    yield Figure(
        "mesh stream relative to Arrow Flight", median(with_mesh) / median(with_flight), "", bar=1.0, at_least=True
    )


def _taken_by_flight(port: int) -> float:
    with flight.connect(f"grpc://127.0.0.1:{port}") as client:
        started = time.perf_counter()
        rows = sum(chunk.data.num_rows for chunk in client.do_get(flight.Ticket(b"orders")))
        seconds = time.perf_counter() - started
    assert rows
    return seconds


async def _taken_by_mesh(giver: Connection, schema: pa.Schema, scratch: Path) -> float:
    listener, spooler = DataListener(), Spooler(scratch / "spool", 0)
    await listener.start()
    receiver = Receiver(schema, ordered=False, window=WINDOW_BATCHES * _PAGE_BYTES, spooler=spooler)
    receiver.finish([0])
    token = listener.register("orders", receiver)
    try:
        started = time.perf_counter()
        giver.send((*listener.address, token))
        rows = 0
        while (batch := await receiver.next_batch()) is not None:
            rows += batch.num_rows
        seconds = time.perf_counter() - started
        assert rows
        return seconds
    finally:
        await receiver.close()
        await listener.close()
        spooler.close()


# -- the other process -----------------------------------------------------------------------------------------------


def _give(path: str, pipe: Connection) -> None:
    file = pq.ParquetFile(path)
    batches = list(file.iter_batches(batch_rows(file.schema_arrow, _PAGE_BYTES)))
    server = _Server(batches)
    pipe.send((server.port, sum(batch.nbytes for batch in batches), batches[0].schema))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        while (request := pipe.recv()) is not None:
            runner.run(_send(batches, *request))
    server.shutdown()


async def _send(batches: Sequence[pa.RecordBatch], host: str, port: int, token: bytes) -> None:
    fingerprint = schema_fingerprint(batches[0].schema.serialize())
    stream = await open_remote(host, port, Open(VERSION, "orders", token, 0, 0, 0, 0, fingerprint))
    for batch in batches:
        await stream.send(batch.serialize(), batch.num_rows)
    await stream.finish()


class _Server(flight.FlightServerBase):  # type: ignore[misc]
    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        super().__init__("grpc://127.0.0.1:0")
        self._batches = batches

    def do_get(self, _context: Any, _ticket: Any) -> flight.RecordBatchStream:
        return flight.RecordBatchStream(pa.RecordBatchReader.from_batches(self._batches[0].schema, self._batches))


MEASURE: Final = Measure(
    "exchange",
    "An exchange between two processes, relative to Arrow Flight",
    f"Another process holds `orders` in memory as Arrow batches of about {_PAGE_BYTES >> 20} MiB. The benchmark's "
    f"process reads them by Flight's `do_get` and, alternately, over a mesh stream with credits for {WINDOW_BATCHES} "
    f"such batches; the time to connect is included in both. Bytes of the batches per second, median of {_RUNS} runs "
    f"of each after {_WARM} warm-up runs.",
    _run,
)
