"""The inputs of a local fragment: streams that arrive, made relations that its statement can read.

A stage after an exchange (a final aggregation, a join's sides, a sort) must have seen its input before it can give a row, so
a fragment's statement runs when its inputs have arrived whole. Until then no thread waits: batches are taken as they come, on
the loop, which gives their senders credit. Up to `HELD_BYTES` they stay as Arrow tables, which DuckDB reads in place; what is
more goes, a few megabytes at a time, to a temporary table of the fragment's cursor, which DuckDB keeps within its own memory
limit and spills to disk beyond it. All inputs are taken at once, whatever the statement does with them, so that a sender to
several receivers is never held by one of them.

Considered and rejected: giving DuckDB a reader that waits for batches (its workers would wait inside it, each a thread).
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

import pyarrow as pa

from engine.local.infinities import without_infinities

#: Bytes of one input that stay Arrow tables; and how much is handed to DuckDB at a time beyond.
HELD_BYTES: Final = 16 << 20
_CHUNK_BYTES: Final = 4 << 20


class Inflow(Protocol):
    """A stream that feeds a fragment (`engine.operators.receive` and the merges over it). schema: of its batches, in carriers."""

    @property
    def schema(self) -> pa.Schema: ...

    async def next_batch(self) -> pa.RecordBatch | None: ...


class Relations(Protocol):
    """Where inputs are put: a cursor (`engine.local.database.LocalCursor`), on a thread that may block."""

    def hold(self, name: str, rows: pa.Table) -> None:
        """Have `rows` known as `name`."""
        ...

    def store(self, name: str, rows: pa.Table) -> None:
        """Append `rows` to the temporary table `name`, which is made if it is not there."""
        ...


#: Runs a call on a thread that may block, one at a time, and waits for it also when cancelled.
InPool = Callable[[Callable[[], Any]], Awaitable[Any]]


async def take_all(inflows: Mapping[str, Inflow], relations: Relations, in_pool: InPool) -> None:
    """Take all inputs to their ends and put them where the statement finds them. Raises the first SqlError of any."""
    tasks = [asyncio.ensure_future(_take(name, inflow, relations, in_pool)) for name, inflow in inflows.items()]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _take(name: str, inflow: Inflow, relations: Relations, in_pool: InPool) -> None:
    held: list[pa.RecordBatch] = []
    size, limit, stored = 0, HELD_BYTES, False
    while (batch := await inflow.next_batch()) is not None:
        held.append(without_infinities(batch))
        size += batch.nbytes
        if size > limit:
            rows, held, size, limit, stored = pa.Table.from_batches(held), [], 0, _CHUNK_BYTES, True
            await in_pool(functools.partial(relations.store, name, rows))
    rows = pa.Table.from_batches(held, held[0].schema if held else inflow.schema)
    if not stored:
        await in_pool(lambda: relations.hold(name, rows))
    elif held:
        await in_pool(lambda: relations.store(name, rows))
