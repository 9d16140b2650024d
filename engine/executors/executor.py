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
    """One engine of a member. It is created once; `start` may be slow, and for Spark it runs in the background."""

    name: EngineName

    async def start(self) -> None: ...

    async def open(self, fragment: CompiledFragment, context: ExecutionContext) -> BatchStream:
        """Begin to run a fragment. Returns once it has started; its errors may be raised here or by `next_batch`."""
        ...

    @property
    def state(self) -> str:
        """The state: `starting`, `ready`, `failed: why` or `closed`."""
        ...

    @property
    def load(self) -> int:
        """The number of statements that the executor is running."""
        ...

    def statistics(self) -> Mapping[str, int]:
        """Count the resources that are open and held now: streams, connections, bytes."""
        ...

    def sql(self, fragment: CompiledFragment) -> str:
        """Return the statement in the form that the engine receives, for EXPLAIN VERBOSE."""
        ...

    async def close(self) -> None:
        """End the engine. Cancels everything that runs, and leaves no thread and no process behind."""
        ...
