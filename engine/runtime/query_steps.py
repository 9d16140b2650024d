"""Steps the machines of a member's distributed queries: each in its own turn, on an operation thread or on the event
loop.

An operation thread steps the pure machines (`engine.runtime.queries`) of its partition of the queries, so that messages
of one query are always processed in order, one at a time. The machines' instructions are then performed on the loop, in
their order. A step with no other step queued before it, and no long plan to read, is taken on the loop itself: it ends
before a thread would have woken.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
import zlib
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

import msgspec

from engine.plan_ir.spec import MemberSpec, SharedSpec
from engine.runtime.operation_pool import Operations
from engine.runtime.queries import ChannelState, MemberQueries
from engine.runtime.query_state import (
    Instruction,
    Run,
)
from wire.dataclass import dataclass
from wire.mesh.control_messages import (
    ControlMessage,
)

_log = logging.getLogger(__name__)
_TICK_SECONDS: Final = 0.5
#: The size up to which the loop decodes a body itself; longer ones are left to a thread.
_SHORT_BODY: Final = 1 << 16
_Ask = Callable[[MemberQueries, float], list[Instruction]]


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A Run whose body has been decoded. shared, spec: None if it could not be."""

    query: str
    shared: SharedSpec | None
    spec: MemberSpec | None


#: An instruction that a step leaves to the loop.
Do = Instruction | PreparedRun


class QuerySteps:
    """See the module's docstring. perform: performs a step's instructions on the loop. Used on one loop, from `start`
    on.
    """

    def __init__(self, member: str, operations: Operations, perform: Callable[[list[Do]], None]) -> None:
        self._operations = operations
        self._perform = perform
        self._shards = [MemberQueries(member) for _ in range(operations.threads)]
        self._loop: asyncio.AbstractEventLoop
        self._thread: int
        self._ticking: asyncio.TimerHandle | None = None
        self._closed = False

    def start(self) -> None:
        """Start the timer of `tick`, on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._tick()

    def post(self, query: str, ask: _Ask) -> None:
        """Step a query's machine."""
        self._submit(query, functools.partial(self._step, ask))

    def post_all(self, ask: _Ask) -> None:
        """Step the machines of all partitions."""
        if self._closed:
            return
        for shard in range(len(self._shards)):
            self._operations.post(shard, functools.partial(self._step, ask, shard))

    def _submit(self, query: str, call: Callable[[int], None], *, short: bool = True) -> None:
        if self._closed:
            return
        shard = self._partition(query)
        run = self._operations.run_or_post if short else self._operations.post
        run(shard, functools.partial(call, shard))

    def _partition(self, query: str) -> int:
        return zlib.crc32(query.encode()) % len(self._shards)

    def by_partition(self, queries: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Return the queries, grouped by partition."""
        parts: defaultdict[int, list[str]] = defaultdict(list)
        for query in queries:
            parts[self._partition(query)].append(query)
        return [tuple(part) for part in parts.values()]

    def _step(self, ask: _Ask, shard: int) -> None:
        """Take a step in the partition's turn, on an operation thread or on the loop's thread."""
        instructions = ask(self._shards[shard], self._loop.time())
        prepared: list[Do] = [_prepare_run(i) if isinstance(i, Run) else i for i in instructions]
        if prepared:
            self._later(self._perform, prepared)

    def _later(self, call: Callable[..., None], *args: Any) -> None:
        """Schedule a call on the loop: it never runs within another call, and calls keep the order of the steps."""
        if threading.get_ident() == self._thread:
            self._loop.call_soon(call, *args)
        else:
            self._loop.call_soon_threadsafe(call, *args)

    def on_message(self, member: str, query: str, message: ControlMessage, body: bytes) -> None:
        step = functools.partial(self._step, lambda queries, now: queries.on_message(member, message, body, now))
        self._submit(query, step, short=len(body) <= _SHORT_BODY)

    def find_channel_state(self, query: str, answer: Callable[[ChannelState], None]) -> None:
        """Answer, in the query's turn, whether this member accepts the query's streams."""
        self._submit(query, functools.partial(self._find_channel_state, query, answer))

    def _find_channel_state(self, query: str, answer: Callable[[ChannelState], None], shard: int) -> None:
        self._later(answer, self._shards[shard].channel(query, self._loop.time()))

    def _tick(self) -> None:
        # Scheduled first, so that an error in one tick does not prevent the next.
        self._ticking = self._loop.call_later(_TICK_SECONDS, self._tick)
        self.post_all(lambda queries, now: queries.tick(now))

    def end_ticks(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()

    def close(self) -> None:
        """Take no more steps."""
        self._closed = True


def _prepare_run(run: Run) -> PreparedRun:
    try:
        spec = MemberSpec.decode(run.body)
        return PreparedRun(run.query, SharedSpec.decode(spec.shared), spec)
    except msgspec.MsgspecError as error:
        _log.warning("the plan of query %s from member %s cannot be read: %s", run.query, run.sender, error)
        return PreparedRun(run.query, None, None)
