"""The machines of a member, as parts of a world (`learned.Part`).

- `Coordinator`: `engine.runtime.queries.MemberQueries`, with the query machines in it;
- `Inlets`: the receiving side: `DataListener`, `DataConnection`s with their `DataReceiver`s and credits, `Mailboxes`,
  `Receiver`s and `InboundStream`s. The calls to a connection's transport are recorded;
- `Outlet`: one stream's `DataSender` with its credits.

The receiving side was written for an event loop, of which it uses little: the time (which stands still), a deadline
(which is never reached) and a future for a consumer that waits for rows (never used, since the world's consumer polls
for rows). `Standstill` is an event loop that has just these.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, cast
from unittest import mock

import pyarrow as pa
from learned import Event, readers_memory
from transport import Transport

from engine.exchange.listener import DataConnection, DataListener
from engine.exchange.receive import Receiver
from engine.exchange.spool import Spooler
from engine.plan_ir.spec import EdgeSpec
from engine.runtime.mailboxes import Mailboxes
from engine.runtime.queries import MemberQueries
from engine.runtime.query_state import Limits
from wire.errors import SqlError
from wire.mesh.backlog import Backlog
from wire.mesh.channel import DataReceiver, DataSender, State
from wire.mesh.messages import Open

T = TypeVar("T")

#: The limits differ widely, so that a jump of the clock passes a limit clearly or not at all.
LIMITS: Final = Limits(suspect_seconds=10, echo_seconds=1, early_seconds=30, early_queries=4)

SCHEMA: Final = pa.schema([("row", pa.int64())])
SCHEMA_MESSAGE: Final = SCHEMA.serialize().to_pybytes()


def body(*rows: int) -> bytes:
    """Return the batch of these rows, in its wire format."""
    batch = pa.record_batch({"row": pa.array(rows, pa.int64())}, schema=SCHEMA)
    return cast("bytes", batch.serialize().to_pybytes())


#: The cost of a batch: of one row, or of so many rows that it is larger than a window.
BATCH_BYTES: Final = len(body(0))
OVERSIZE_ROWS: Final = 2 * BATCH_BYTES // 8


class Standstill:
    """An event loop whose time passes only when it is set."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def call_later(self, _delay: float, _callback: object, *_arguments: object) -> Cancellable:
        return Cancellable()


class Cancellable:
    """A deadline that is never reached."""

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


STANDSTILL: Final = Standstill()
_SPOOLER: Final = Spooler(Path("/nonexistent"))


@contextlib.contextmanager
def standing_still() -> Iterator[None]:
    """Make the parts' loop the running one of this thread, and tokens predictable, since a machine computes an outcome
    only once.
    """
    STANDSTILL.now = 0.0
    with mock.patch("secrets.token_bytes", bytes):
        asyncio._set_running_loop(cast("asyncio.AbstractEventLoop", STANDSTILL))
        try:
            yield
        finally:
            asyncio._set_running_loop(None)


class CoordinatorView(NamedTuple):
    """The observable state of a coordinator. kept: the number of queries that it keeps, without those that are over.
    running: how many of these run.
    """

    kept: int
    running: int


class Coordinator:
    """The queries of a member. Events: the method's name, its arguments. Outcome: its instructions, or its answer."""

    def __init__(self, member: str) -> None:
        self.queries = MemberQueries(member, LIMITS)

    def take(self, event: Event) -> Hashable:
        name, *arguments = event
        outcome = getattr(self.queries, cast("str", name))(*arguments)
        return tuple(outcome) if isinstance(outcome, list) else cast("Hashable", outcome)

    def shared(self) -> Iterable[object]:
        return ()

    def spent(self) -> Iterable[object]:
        return ()

    def observed(self) -> CoordinatorView:
        counts = self.queries.statistics()
        return CoordinatorView(sum(count for state, count in counts.items() if state != "over"), counts["running"])


class OutletView(NamedTuple):
    """The observable state of a stream's sending end.

    state: the state of the channel.
    sent, granted: bytes in total.
    kept: the number of the first batch that it still keeps.
    confirmed: whether the receiver has confirmed that it has everything.
    """

    state: State
    pending: bool
    sent: int
    granted: int
    kept: int
    confirmed: bool


class Outlet:
    """The sending end of a stream, over one connection, or over one after another if it is `lasting`."""

    def __init__(self, opening: Open, *, lasting: bool = False) -> None:
        self.sender = DataSender(opening, Backlog(keeps=lasting))

    def take(self, event: Event) -> Hashable:
        match event:
            case ("opening",):
                return self.sender.opening_bytes()
            case ("go on", Open() as opening):
                self.sender = DataSender(opening, self.sender._backlog)
                return self.sender.opening_bytes()
            case ("hear", bytes() as chunk):
                heard = tuple(self.sender.receive_data(chunk))
                return heard, self._joined(self.sender.send_pending())
            case ("offer", bytes() as body, int(rows), bool(last)):
                return self._joined(self.sender.offer(body, rows, last=last))
            case ("cancel", str(sqlstate), str(message)):
                return self.sender.cancel(sqlstate, message)
        raise AssertionError(event)

    def shared(self) -> Iterable[object]:
        return [batch.body for batch in self.sender._backlog._batches]

    def spent(self) -> Iterable[object]:
        return readers_memory(self.sender._reader)

    def observed(self) -> OutletView:
        sender = self.sender
        account, kept = sender.credits, sender._backlog.first
        return OutletView(sender.state, sender.has_pending, account.sent, account.granted, kept, sender.is_confirmed)

    @staticmethod
    def _joined(chunks: tuple[bytes | memoryview, ...]) -> bytes:
        return b"".join(chunks)


class Taken(NamedTuple):
    """The result of a consumer's read: rows; or `ended`; or an error's SQLSTATE and message; or nothing yet."""

    rows: tuple[int, ...] = ()
    ended: bool = False
    error: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """The effect that bytes are sent on a connection."""

    connection: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Closed:
    """The effect that a connection is closed: nothing more is sent or received. aborted: whether bytes that were
    written before are lost.
    """

    connection: int
    aborted: bool


@dataclass(frozen=True, slots=True)
class Lost:
    """The effect that a stream broke before its end. fatal: whether no other attempt can replace it."""

    query: str
    partition: int
    fatal: bool


Effect = Written | Closed | Lost


class Account(NamedTuple):
    """The credits of a connection, as total numbers of bytes. open: whether its stream continues. stream: edge,
    partition, attempt.
    """

    number: int
    received: int
    released: int
    granted: int
    announced: int
    window: int
    open: bool
    stream: tuple[int, int, int]


class Arrival(NamedTuple):
    """The state of a partition at the receiver: the attempt that counts, whether it has arrived completely, and whether
    it was abandoned.
    """

    attempt: int
    whole: bool
    dead: bool


class InletView(NamedTuple):
    """The observable state of the receiving side.

    held: bytes in memory.
    registered: the number of mailboxes, channels and connections.
    channels: the channels with their tokens, and whether their receivers are known.
    whole: the edges of which everything has arrived.
    arrivals, promised, errors: mappings by query, edge and consuming instance: the state of each partition; the
        partitions that are to arrive, where all producers have reported; the errors of receivers that have failed.
    """

    held: int
    accounts: tuple[Account, ...]
    registered: int
    channels: tuple[tuple[str, bytes, bool], ...]
    arrivals: Mapping[tuple[str, int, int, int], Arrival]
    promised: Mapping[tuple[str, int, int], frozenset[int]]
    whole: frozenset[int]
    errors: Mapping[tuple[str, int, int], tuple[str, str]]


class Inlets:
    """The receiving side of a member."""

    def __init__(self) -> None:
        self.listener: DataListener = _Listener()
        self.listener.advertised = ("member", 1)
        # It listens; the world's connections arrive as events.
        self.listener._server = cast("Any", _Listening())
        self.mailboxes = Mailboxes(self.listener, _SPOOLER, self._lost)
        self.connections: dict[int, DataConnection] = {}
        self._effects: list[Effect] = []

    def take(self, event: Event) -> Hashable:
        """Process an event. Returns the answer and the effects."""
        name, *arguments = event
        answer = getattr(self, f"_{name}")(*arguments)
        effects, self._effects = tuple(self._effects), []
        # A tally only: it would make states differ in which the same may happen.
        self.listener.denied = 0
        return answer, effects

    def shared(self) -> Iterable[object]:
        schemas = (mailbox.receiver.schema for mailbox in self.mailboxes._mailboxes.values())
        return (STANDSTILL, _SPOOLER, *(schema for schema in schemas if schema is not None))

    def spent(self) -> Iterable[object]:
        # A stream may hold a connection that has ended.
        receivers = [mailbox.receiver for mailbox in self.mailboxes._mailboxes.values()]
        streams = [stream for r in receivers for stream in (*r.streams.by_partition.values(), *r.streams.retired)]
        links = (cast("DataConnection", stream._link) for stream in streams)
        readers = (connection._machine._reader for connection in (*self.connections.values(), *links))
        counters = (receiver._counters for receiver in receivers)
        return (*self.shared(), *counters, *readers_memory(*readers))

    def observed(self) -> InletView:
        accounts = (_account(number, connection._machine) for number, connection in self.connections.items())
        registered = len(self.mailboxes) + len(self.listener._channels) + self.listener.connections
        mailboxes = self.mailboxes._mailboxes.items()
        return InletView(
            self.mailboxes.statistics()["held_bytes"],
            tuple(account for account in accounts if account is not None),
            registered,
            tuple((name, token, it.schema is not None) for name, (token, it) in self.listener._channels.items()),
            {
                (*key, partition): Arrival(stream.opening.attempt, stream.complete, stream.dead)
                for key, mailbox in mailboxes
                for partition, stream in mailbox.receiver.streams.by_partition.items()
            },
            {
                key: frozenset(expected)
                for key, mailbox in mailboxes
                if (expected := mailbox.receiver.promised.all_partitions) is not None
            },
            frozenset(edge for (_, edge, _), mailbox in mailboxes if mailbox.receiver.is_whole),
            {
                key: (error.sqlstate, error.message)
                for key, mailbox in mailboxes
                if (error := mailbox.receiver._error) is not None
            },
        )

    # -- mailboxes ----------------------------------------------------------------------------------------------

    def _open(self, query: str, edge: int, instance: int, window: int) -> tuple[str, bytes]:
        mailbox = self.mailboxes.find_or_make((query, edge, instance), window)
        return mailbox.channel, mailbox.token

    def _adopt(self, query: str, edge: EdgeSpec, instance: int, page_bytes: int) -> None:
        self.mailboxes.adopt(query, edge, instance, page_bytes)

    def _confirm(self, query: str, edge: int, instance: int, rows: tuple[tuple[int, int], ...]) -> None:
        self.mailboxes.find_or_make((query, edge, instance)).receiver.confirm(dict(rows))

    def _fail(self, query: str, sqlstate: str, message: str) -> None:
        for mailbox in self.mailboxes.of_query(query):
            mailbox.receiver.fail(SqlError(message, sqlstate=sqlstate))

    def _close_query(self, query: str) -> None:
        driven(self.mailboxes.close_query(query))

    def _take(self, query: str, edge: int, instance: int) -> Taken:
        receiver = self.mailboxes.find_or_make((query, edge, instance)).receiver
        try:
            receiver._require_usable()
            batch = driven(receiver._next_nowait())
        except SqlError as error:
            return Taken(error=(error.sqlstate, error.message))
        if batch is not None:
            return Taken(rows=tuple(batch.column(0).to_pylist()))
        return Taken(ended=receiver.at_end)

    def _all_arrived(self, query: str) -> bool:
        return all(mailbox.receiver.at_end for mailbox in self.mailboxes.of_query(query))

    # -- connections --------------------------------------------------------------------------------------------

    def _connect(self, number: int) -> None:
        connection = self.connections[number] = DataConnection(self.listener)
        connection.connection_made(cast("asyncio.BaseTransport", Transport(self, number)))

    def _hear(self, number: int, data: bytes) -> None:
        connection = self.connections[number]
        rest = memoryview(data)
        while rest and number in self.connections:
            space = connection.get_buffer(-1)
            count = min(len(space), len(rest))
            space[:count] = rest[:count]
            rest = rest[count:]
            connection.buffer_updated(count)

    def _gone(self, number: int) -> None:
        """End a connection: the peer closed it, it broke, or this end closed it."""
        self.connections.pop(number).connection_lost(None)

    def _lost(self, query: str, opening: Open, fatal: bool) -> None:
        self._effects.append(Lost(query, opening.partition, fatal))

    def wrote(self, number: int, data: bytes) -> None:
        self._effects.append(Written(number, data))

    def broke(self, number: int, *, aborted: bool) -> None:
        self._effects.append(Closed(number, aborted))


class _Listener(DataListener):
    """A listener whose tokens differ by channel and are the same whenever a machine is asked."""

    def register(self, channel: str, receiver: Receiver) -> bytes:
        with mock.patch("secrets.token_bytes", lambda count: channel.encode().rjust(count, b".")):
            return super().register(channel, receiver)


def _account(number: int, machine: DataReceiver) -> Account | None:
    """Return the account of a connection, or None if its stream has not been opened."""
    account, opening = machine.credits, machine.opening
    if account is None or opening is None:
        return None
    return Account(
        number,
        account.received,
        account.released,
        account.granted,
        account.announced,
        account.window,
        machine.state is State.OPEN,
        (opening.edge, opening.partition, opening.attempt),
    )


class _Listening:
    """A stand-in for a server that is listening."""

    def is_serving(self) -> bool:
        return True


def driven(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never has to wait."""
    try:
        work.send(None)
    except StopIteration as stop:
        return cast("T", stop.value)
    work.close()
    raise AssertionError("a coroutine waits where nothing is to be waited for")
