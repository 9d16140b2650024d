"""The execution of a statement that is complete when it has been executed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from engine.contracts.batch_stream import BatchStream
from engine.contracts.sessions import ResultColumn


class Done:
    """The execution (`engine.contracts.sessions.Execution`) of a statement that is over and had no rows."""

    query: Final = None

    def __init__(self, tag: str) -> None:
        self.columns: tuple[ResultColumn, ...] | None = None
        self.stream: BatchStream = self
        self._tag = tag

    async def next_batch(self) -> pa.RecordBatch | None:
        return None

    def statistics(self) -> Mapping[str, int]:
        return {"rows": 0, "bytes": 0, "batches": 0}

    def tag(self, rows: int) -> str:
        del rows
        return self._tag

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""
