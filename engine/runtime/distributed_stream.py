"""The root stream of a distributed query, as the portal reads it; it ends the query when its rows are no longer wanted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Set
from typing import Final, Protocol

import pyarrow as pa

from engine.common.shielded import closed_in_turn, shielded
from engine.runtime.analysis import merge_counters
from engine.runtime.mailboxes import Mailboxes
from engine.runtime.query_run import QueryRun
from engine.runtime.query_state import (
    SUCCESS,
    Cause,
)
from engine.runtime.run_figures import RunFigures
from engine.runtime.run_services import Source
from engine.runtime.spawned_tasks import SpawnedTasks
from engine.runtime.spool_while_idle import IdleSpool
from wire.errors import ConnectionFailure, QueryCanceled, SqlError

#: Seconds that the initiator waits for counters once all rows have arrived.
_COUNTED_SECONDS: Final = 5.0
_CLOSED_EARLY: Final = Cause(SUCCESS, "the initiator wants no more rows")


class Initiator(Protocol):
    """The member that started the query: `engine.runtime.runtime.MeshRuntime`."""

    @property
    def mailboxes(self) -> Mailboxes: ...

    @property
    def tasks(self) -> SpawnedTasks: ...

    @property
    def figures(self) -> RunFigures: ...

    def finish(self, query: str) -> None:
        """Report that the query is complete."""
        ...

    def cancel(self, query: str, cause: Cause) -> None: ...

    def forget_stream(self, query: str) -> None: ...


class DistributedStream:
    """The root of a distributed query, as the portal reads it (`engine.contracts.batch_stream.BatchStream`). notice: as in
    `ExecutionContext`."""

    engine_name: Final = "distributed"

    def __init__(self, runtime: Initiator, run: QueryRun, counting: Set[str], notice: Callable[[str], None]) -> None:
        self.notice = notice
        self._runtime = runtime
        self._run = run
        self._counting = set(counting)
        self._counters: list[Mapping[str, int]] = []
        self._all_counted = asyncio.Event()
        self._root: Source | None = None
        self._ended = False
        self._error: SqlError | None = None
        self._failed = asyncio.get_running_loop().create_future()
        self._closed: asyncio.Task[None] | None = None
        self._absence: IdleSpool | None = None
        self._wait = ""
        self._counts = {"rows": 0, "bytes": 0, "batches": 0}

    def begin(self, schema: pa.Schema) -> None:
        self._root = self._run.root(schema)

    async def next_batch(self) -> pa.RecordBatch | None:
        assert self._root is not None
        if self._absence is not None:
            self._absence.end()
        try:
            batch = await self._root.next_batch()
        except ConnectionFailure as error:
            # Wait for the cause: another member reports it, or none does within a second.
            raise await self._told_cause(error) from error
        except SqlError as error:
            raise self._error or error from None
        if self._error is not None:
            raise self._error
        if batch is None:
            self._end()
            return None
        self._counts["rows"] += batch.num_rows
        self._counts["bytes"] += batch.nbytes
        self._counts["batches"] += 1
        if self._absence is not None:
            self._absence.begin()
        return batch

    def spool_while_away(self, bytes_max: int) -> None:
        """Let producers continue into files while nobody asks for rows, up to `bytes_max` in total. Call it before the
        first row is requested.
        """
        receiver = self._run.root_receiver
        if receiver is not None:
            self._absence = IdleSpool(receiver, bytes_max)
            self._absence.begin()

    @property
    def is_whole(self) -> bool:
        """Whether everything that other members send to the query has arrived."""
        return self._run.inputs.is_whole

    def fail(self, error: SqlError) -> None:
        """Fail the query for an error elsewhere: readers that wait for rows receive the error."""
        if self._error is not None or self._ended:
            return
        self._error = error
        if not self._failed.done():
            self._failed.set_result(None)
        self._run.inputs.fail(error)
        if self._root is not None:
            self._runtime.tasks.spawn(self._root.close())

    async def close(self) -> None:
        if self._closed is None:
            self._closed = asyncio.get_running_loop().create_task(self._close())
        await shielded(self._closed)

    def statistics(self) -> Mapping[str, int]:
        return dict(self._counts)

    def note(self, member: str, counters: Mapping[str, int]) -> None:
        """Add the counters of a member whose part of the query has ended."""
        if member in self._counting:
            self._counting.discard(member)
            self._counters.append(counters)
        if not self._counting:
            self._all_counted.set()

    def note_wait(self, member: str, message: str) -> None:
        """Send the client a notice of what a participant waits for, unless it has received the same one."""
        if member in self._counting and message != self._wait:
            self._wait = message
            self.notice(message)

    async def collect_counters(self) -> Mapping[str, int]:
        """Wait for the counters of all members and merge them. A member that does not send its counters in time is left out."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_COUNTED_SECONDS):
                await self._all_counted.wait()
        own = {} if self._root is None else self._run.root_operators(self._root)
        return merge_counters([*self._counters, own])

    def _end(self) -> None:
        """End the query after the root's last row. If the root did not read all of its input, the other members are
        stopped at once.
        """
        if not self._ended:
            self._ended = True
            self._counters.append(self._runtime.mailboxes.spooled_by_edge(self._run.query))
            if self._run.inputs.all_arrived:
                self._runtime.finish(self._run.query)
            else:
                self._runtime.cancel(self._run.query, _CLOSED_EARLY)

    async def _told_cause(self, error: ConnectionFailure) -> SqlError:
        cause = Cause("40001", f"could not complete the query: {error.message}", echo=True)
        self._runtime.cancel(self._run.query, cause)
        await self._failed
        return self._error or QueryCanceled("canceling statement due to user request")

    async def _close(self) -> None:
        self._runtime.figures.keep(self._run.query)
        if self._absence is not None:
            self._absence.end()
        if not self._ended:
            self._runtime.cancel(self._run.query, _CLOSED_EARLY)
        if not self._failed.done():
            # No cause of a broken connection will be reported any more: the reader that waits for it has closed the
            # stream.
            self._failed.set_result(None)
        await closed_in_turn(
            lambda: None if self._root is None else self._root.close(),
            self._run.wait_ended,
            lambda: self._runtime.mailboxes.close_query(self._run.query),
            lambda: self._runtime.forget_stream(self._run.query),
        )
        self._run.trace_root(self._counts["rows"], self._error)
