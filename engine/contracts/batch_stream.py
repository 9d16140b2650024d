"""A stream of Arrow record batches, as executors and receivers return it; `engine.contracts.executor` states its rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa


class BatchStream(Protocol):
    """Record batches, pulled one at a time by one consumer."""

    async def next_batch(self) -> pa.RecordBatch | None:
        """Return the next batch (never empty), or None at the end. Raises `SqlError`, after which only `close` may
        follow.
        """
        ...

    async def close(self) -> None:
        """Stop and release everything; see the module's rules. Never raises for the query's own errors."""
        ...

    def statistics(self) -> Mapping[str, int]:
        """Return counters for EXPLAIN ANALYZE and the views: at least `rows`, `bytes`, `batches`."""
        ...


def engine_of(stream: BatchStream) -> str | None:
    """Return the engine that produces a stream's rows: `local`, `spark`, or `distributed` for several members; None if
    there is none.
    """
    name = getattr(stream, "engine_name", None)
    return name if isinstance(name, str) else None
