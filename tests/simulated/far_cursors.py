"""Cursors that a client reads from any member, by their query's id: its FETCHes come to one member after another, as a
load balancer brings them.

The routing is the real one: `CursorRouter` of each member, `FarFetching` at the member that the client has reached, and
at the initiator the portal, its cursor, and the leases of the session that owns it. Only the session itself is
simulated: it is idle.

A member that the client has reached may be killed in the middle of a FETCH. The client then goes on at another one. So
the rows that it gets are all rows of the query, each once, or the cursor refuses to continue.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from engine.contracts.batch_stream import BatchStream
from engine.contracts.query_id import QueryId
from engine.contracts.sessions import ResultColumn
from server.cursors.cursor_lease import CursorLeases
from server.cursors.portal import Portal, Portals
from server.cursors.prepared import Command
from server.cursors.remote_cursors import Asker, FarFetching
from server.session.transaction import Block
from wire.dataclass import dataclass
from wire.errors import SerializationFailure, SqlError

if TYPE_CHECKING:
    from simulated.member import SimulatedMember

_USER: Final = "client"
_DATABASE: Final = "sluice"
#: The rows of a FETCH, the bytes of a page, and the seconds after which the client looks again for an answer.
_ROWS: Final = (1, 3, 20, 200)
_PAGE_BYTES: Final = (1, 256, 1 << 20)
_LOOK_SECONDS: Final = 0.01
#: So many FETCHes may fail one after another before the client gives up, and the seconds between them.
_FAILURES_MAX: Final = 5
_PAUSE_SECONDS: Final = 0.05
#: The probability that a member stands still during a FETCH; within how many seconds, and for how many.
_STALLS: Final = 0.2
_STALL_WITHIN: Final = 0.02
_STALL_SECONDS: Final = 1.0
#: The cursor refuses to continue: rows that it has given may be lost.
_BROKEN: Final = "55000"


@dataclass(slots=True)
class CursorExecution:
    """The `engine.contracts.sessions.Execution` of a query whose stream is open."""

    query: QueryId
    stream: BatchStream
    columns: tuple[ResultColumn, ...] | None

    def tag(self, rows: int) -> str:
        return f"SELECT {rows}"

    async def close(self) -> None:
        await self.stream.close()


class IdleSession:
    """A session that has one cursor and waits for its client: what `server.cluster.initiator_cursors` uses of it, and of
    its commands.
    """

    def __init__(self, execution: CursorExecution) -> None:
        self.pid = execution.query.local
        self.visits = CursorLeases()
        self.visits.welcome = True
        self.portals = Portals()
        self.block = Block.EXPLICIT
        portal = Portal("c", Command(None), execution.columns)
        portal.start(execution)
        self.portals.add(portal)

    def commands_of(self, user: str, database: str) -> Any:
        return _CommandsOf(self.portals, self) if (user, database) == (_USER, _DATABASE) else None


@dataclass(frozen=True, slots=True)
class _CommandsOf:
    """block: its attribute of the same name is the state of the transaction."""

    portals: Portals
    block: IdleSession


async def read_from_afar(
    member: SimulatedMember,
    execution: CursorExecution,
    reach: Callable[[], Sequence[SimulatedMember]],
    give: Callable[[pa.RecordBatch], None],
    chance: Random,
    *,
    stalls: bool,
) -> None:
    """Read a query of this member to its end through members that `reach` returns. give: receives the rows that the
    client gets. stalls: whether a member that it has reached stands still in the middle of a FETCH, now and then. Raises
    the first error of those after which the cursor cannot be read any more.
    """
    session: Any = IdleSession(execution)
    member.registry.register(session)
    first: SqlError | None = None
    failures = 0
    try:
        while failures < _FAILURES_MAX:
            count, reached = chance.choice(_ROWS), chance.choice(reach())
            if stalls and reached is not member and chance.random() < _STALLS:
                _stall(reached, chance.uniform(0, _STALL_WITHIN))
            try:
                got = await _fetch_at(reached, execution.query, count, give, chance)
            except SqlError as error:
                if error.sqlstate == _BROKEN:
                    # Without an error before: the rows have arrived, and the word of that is lost.
                    raise first or SerializationFailure(error.message) from error
                first, failures = first or error, failures + 1
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                failures = 0
                if got < count:
                    return
        assert first is not None, "something has failed"
        raise SerializationFailure(f"the cursor could not be read: {first.message}") from first
    finally:
        member.registry.forget(session)


def _stall(reached: SimulatedMember, after: float) -> None:
    """Let a member stand still for a while. after: in seconds."""

    def pause() -> None:
        if reached.process.state == "running":
            reached.process.pause()
            reached.world.after(_STALL_SECONDS, reached.process.go_on)

    reached.world.after(after, pause)


async def _fetch_at(
    reached: SimulatedMember, query: QueryId, count: int, give: Callable[[pa.RecordBatch], None], chance: Random
) -> int:
    """Run FETCH at a member. Returns the number of rows. Raises SqlError, also if that member is killed."""
    page_bytes = chance.choice(_PAGE_BYTES)
    task = reached.process.create_task(_fetch(reached, query, count, page_bytes, give))
    for _ in itertools.count():
        if task.done() or reached.process.state != "running":
            break
        await asyncio.sleep(_LOOK_SECONDS)
    if not task.done():
        # Its loop ends it when it goes on, if ever; the client is elsewhere.
        task.cancel()
        raise SerializationFailure("the client's connection was lost")
    got = task.result()
    if isinstance(got, SqlError):
        raise got
    if got > count:
        reached.world.failures.append(f"FETCH {count} of {query} at {reached.name} gave {got} rows")
    return int(got)


async def _fetch(
    reached: SimulatedMember, query: QueryId, count: int, page_bytes: int, give: Callable[[pa.RecordBatch], None]
) -> int | SqlError:
    """Run FETCH. Returns its error, instead of raising it: the client may be gone."""
    cursor = Asker(reached.cursors, _USER, _DATABASE).cursor(str(query))
    if cursor is None:
        return SerializationFailure(f"{reached.name} does not know {query.initiator} yet")
    rows, got = FarFetching(cursor, (), "forward", count, page_bytes), 0
    try:
        while (batch := await rows.next_batch()) is not None:
            got += batch.num_rows
            give(batch)
        return got
    except SqlError as error:
        return error
    finally:
        await rows.close()
