"""Members in this process whose engines return their rows in batches of odd sizes, and tables whose rows are in another
order.

No answer may depend on either: an engine decides where a batch ends, and a table has no order. Everything is real
(`server.member.Member`, sockets, DuckDB). Only the batches of a DuckDB reader are changed, between DuckDB and the code
that reads them: batches of one row, of two, of a few or as they were, and empty ones between.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
import pyarrow as pa

from engine.executors.local.database import LocalCursor
from server.config.address import Address
from server.config.config import Config
from server.member import Member
from support.member_process import wait_until

Connection = psycopg.Connection[tuple[Any, ...]]
#: The maximum number of rows of a batch, of which one is drawn for each batch. None: as it was.
_SIZES: Final = (1, 2, 3, 7, 100, None)
#: One in this many batches is followed by an empty one.
_EMPTY: Final = 4


class ShapedReader:
    """DuckDB's reader, with its batches cut into other sizes."""

    def __init__(self, reader: Any, chance: random.Random) -> None:
        self._reader = reader
        self._chance = chance
        self._most = chance.choice(_SIZES)
        self._waiting: deque[pa.RecordBatch] = deque()

    def read_next_batch(self) -> pa.RecordBatch:
        """Raises StopIteration at the end."""
        if not self._waiting:
            self._waiting.extend(self._cut(self._reader.read_next_batch()))
        return self._waiting.popleft()

    def read_all(self) -> pa.Table:
        """Return all rows. No batch has been read."""
        return self._reader.read_all()

    def _cut(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        at = 0
        while at < batch.num_rows:
            count = batch.num_rows if self._most is None else self._chance.randint(1, self._most)
            yield batch.slice(at, count)
            at += count
            if not self._chance.randrange(_EMPTY):
                yield batch.slice(0, 0)
        if not batch.num_rows:
            yield batch


@contextmanager
def shaped_batches(seed: int) -> Iterator[None]:
    """Make all DuckDB readers of this process return batches of odd sizes while the context is open. The same seed and
    order give the same sizes.
    """
    chance = random.Random(seed)
    lock = threading.Lock()
    run = LocalCursor.run

    def shaped(self: LocalCursor, *arguments: Any, **more: Any) -> ShapedReader:
        reader = run(self, *arguments, **more)
        with lock:
            return ShapedReader(reader, random.Random(chance.random()))

    LocalCursor.run = shaped  # type: ignore[method-assign]
    try:
        yield
    finally:
        LocalCursor.run = run  # type: ignore[method-assign]


class Shaped:
    """Members over one catalog, on one event loop in its own thread."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members
        self.count = len(members)

    def connect(self, number: int, settings: Mapping[str, object]) -> Connection:
        """Open a session on a member."""
        host, port = self._members[number].clients.addresses[0][:2]
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        return psycopg.connect(host=host, port=port, user="tester", dbname="sluice", autocommit=True, options=options)


@contextmanager
def shaped_members(folder: Path, count: int) -> Iterator[Shaped]:
    """Run members that know each other and close them at the end. Spark starts when a test first uses it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="shaped-members")
    thread.start()

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(60)

    members: list[Member] = []

    async def start(number: int) -> None:
        seeds = [str(Address(*other.listener.address)) for other in members[:1]]
        member = Member(_config(folder, number, seeds))
        await member.start()
        members.append(member)

    async def seen() -> list[int]:
        return [sum(info.state == "up" for info in member.link.members()) for member in members]

    try:
        for number in range(count):
            run(start(number))
        wait_until(lambda: run(seen()) == [count] * count)
        yield Shaped(members)
    finally:
        for member in members:
            run(member.close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _config(folder: Path, number: int, seeds: Sequence[str]) -> Config:
    nowhere = "127.0.0.1:0"
    return Config.model_validate({
        "listen": nowhere, "mesh": nowhere, "console": nowhere, "data": folder / f"m{number + 1}", "base": folder,
        "catalog": str(folder / "catalog.sqlite"), "member": f"m{number + 1}", "log_level": "error",
        "spark": {"master": "local[1]", "driver_memory": "600m", "start": "lazy"}, "tables": {"compact_after": 0},
        "cluster": {"secret": "for the tests only", "seeds": seeds, "heartbeat": 0.2, "drain_seconds": 0},
    })  # fmt: skip
