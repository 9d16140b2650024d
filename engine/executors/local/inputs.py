"""The inputs of a local fragment: incoming streams, turned into relations that its statement can read.

A stage after an exchange (a final aggregation, the sides of a join, a sort) must see all of its input before it can
return a row. So a fragment's statement runs once its inputs have arrived completely. No thread waits until then: the
event loop takes batches as they come, which returns credit to their senders. Up to `HELD_BYTES` of an input stay as
Arrow tables, which DuckDB reads in place. Anything beyond goes, a few megabytes at a time, to a temporary table of the
fragment's cursor, which DuckDB keeps within its own memory limit and spills to disk beyond it. All inputs are read
concurrently, whatever the statement does with them, so that a sender to several receivers is never blocked by one of
them.

Considered and rejected: giving DuckDB a reader that waits for batches (DuckDB's workers would wait inside it, each
occupying a thread).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

import pyarrow as pa

from engine.common.shielded import together
from engine.storage.infinities import without_infinities

#: The bytes of one input up to which it stays an Arrow table; beyond that, the bytes handed to DuckDB at a time.
HELD_BYTES: Final = 16 << 20
_CHUNK_BYTES: Final = 4 << 20


class Inflow(Protocol):
    """A stream that feeds a fragment (`engine.exchange.receive` and the merges over it). schema: the schema of its
    batches, in carriers.
    """

    @property
    def schema(self) -> pa.Schema: ...

    async def next_batch(self) -> pa.RecordBatch | None: ...


#: Appends rows to the relation of that name, on a thread that may block.
Store = Callable[[str, pa.Table], Awaitable[None]]


async def take_all(inflows: Mapping[str, Inflow], store: Store, held_bytes: int = HELD_BYTES) -> dict[str, pa.Table]:
    """Read all inputs to their ends. Returns small inputs as tables, by name; the others were stored. held_bytes: the
    limit up to which an input stays an Arrow table.

    Raises the first SqlError of any input. No read is still running when this returns or raises.
    """
    if len(inflows) == 1:
        [(name, inflow)] = inflows.items()
        only = await _take(name, inflow, store, held_bytes)
        return {} if only is None else {name: only}
    taken = await together(*(_take(name, inflow, store, held_bytes) for name, inflow in inflows.items()))
    return {name: rows for name, rows in zip(inflows, taken, strict=True) if rows is not None}


async def _take(name: str, inflow: Inflow, store: Store, held_bytes: int) -> pa.Table | None:
    """Read one input to its end. Returns its rows as a table, or None if they were stored."""
    held: list[pa.RecordBatch] = []
    size, limit, stored = 0, held_bytes, False
    while (batch := await inflow.next_batch()) is not None:
        held.append(without_infinities(batch))
        size += batch.nbytes
        if size > limit:
            rows, held, size, limit, stored = pa.Table.from_batches(held), [], 0, min(_CHUNK_BYTES, held_bytes), True
            await store(name, rows)
    if stored and not held:
        return None
    rows = pa.Table.from_batches(held, held[0].schema if held else inflow.schema)
    if not stored:
        return rows
    await store(name, rows)
    return None
