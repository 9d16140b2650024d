"""The pools of a member that run calls and plan statements. Fragments have a pool of their own
(`engine.executors.local`).
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TypeVar

from engine.catalog.store.request_clock import asked_now
from engine.common.fragment_pool import FragmentPool
from engine.common.pool_calls import Call
from engine.runtime.operation_pool import OperationPool
from engine.runtime.planning_pool import PlanningPool
from engine.runtime.stall_watch import StallWatch

T = TypeVar("T")


class Pools:
    """The pools of a member.

    - operations: short calls of statements
    - messages: steps of distributed queries; they have threads of their own, because a statement that takes long to
      bind must not delay a cancel
    - writers: threads that only write files, so that no short call waits for a disk
    - planning: long statements, on the operation threads
    """

    def __init__(self, operation_threads: int, writer_threads: int, memory_bytes: int) -> None:
        self.operations = OperationPool(operation_threads)
        self.messages = OperationPool(operation_threads, "sluice-message")
        self.writers = FragmentPool(writer_threads, "sluice-writer")
        self.planning = PlanningPool(self.operations, memory_bytes)

    def submit_operation(self, call: Callable[[], T]) -> Future[T]:
        """Submit a call that may block to the operation thread with the shortest queue."""
        return self.operations.submit(None, asked_now(call))

    async def run_operation(self, call: Callable[[], T]) -> T:
        """Run a call that may block on the operation thread with the shortest queue."""
        return await asyncio.wrap_future(self.submit_operation(call))

    async def run_writer(self, call: Callable[[], T]) -> T:
        """Run a call that may block for long on a disk."""
        return await asyncio.get_running_loop().run_in_executor(self.writers, call)

    def watch_stalls(self, post_fragment: Callable[[Call], object]) -> StallWatch:
        """Return the stall watch of the pools. post_fragment: posts a call to the fragment threads."""
        return StallWatch({
            "operations": functools.partial(self.operations.post, None),
            "messages": functools.partial(self.messages.post, None),
            "fragments": post_fragment,
        })  # fmt: skip

    def statistics(self) -> Mapping[str, Mapping[str, int]]:
        return {
            "operations": {**self.operations.statistics(), "aside": self.operations.aside},
            "messages": self.messages.statistics(),
            "planning": self.planning.statistics(),
            "writers": self.writers.statistics(),
        }
