"""The executor's contract: an executor runs compiled fragments and returns their rows as streams
(`engine.contracts.executor`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.contracts.query_id import EngineName
from engine.planner.codegen.compiled_fragment import CompiledFragment


class Executor(Protocol):
    """An engine of one member. Created once; `start` may be slow and runs in the background for Spark."""

    name: EngineName

    async def start(self) -> None: ...

    async def open(self, fragment: CompiledFragment, context: ExecutionContext) -> BatchStream:
        """Begin to run a fragment. Returns when it is under way; its errors may come here or from `next_batch`."""
        ...

    @property
    def state(self) -> str:
        """`starting`, `ready`, `failed: why` or `closed`."""
        ...

    @property
    def load(self) -> int:
        """How many statements it runs now."""
        ...

    def statistics(self) -> Mapping[str, int]:
        """Count what is open and held now: streams, connections, bytes."""
        ...

    def sql(self, fragment: CompiledFragment) -> str:
        """The statement as it is given to the engine, for EXPLAIN VERBOSE."""
        ...

    async def close(self) -> None:
        """End the engine: cancels whatever runs and leaves no thread and no process."""
        ...
