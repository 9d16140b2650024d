"""The listening socket for PostgreSQL clients: makes a session for each connection, and ends all of them.

    listener = Listener(engine.session.session, ListenerOptions(max_connections=500))
    await listener.start("127.0.0.1", 5432)
    ...
    await listener.drain()
    await listener.close()

`close` returns when nothing is left of any session: no task, no socket, and nothing that they ran.

A member that is one of several processes does not listen: the dispatcher hands it its clients' sockets
(`take_clients`).
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from collections import Counter
from dataclasses import field
from typing import Final

from engine.common.closed_servers import close_server
from engine.session.engine_session import SessionFactory
from server.auth.gate import Access, Gate
from server.auth.hba import parse
from server.common import descriptors
from server.monitor.records import EndedStatements
from server.pgwire.client_stream import ClientStream
from server.pgwire.host import UNADMITTED_MAX, Host
from server.pgwire.lite import LiteDoor
from server.pgwire.output_budget import OutputBudget
from server.pgwire.session import Session
from server.processes.place import Place
from server.session.cancel import SessionRegistry, shut_down
from server.session.statement_statistics import StatementStatistics
from wire.dataclass import dataclass
from wire.pg.connection import Connection, Limits
from wire.pg.input_budget import InputBudget

log: Final = logging.getLogger(__name__)

#: Seconds for sessions to end before their tasks are cancelled.
_END_SECONDS: Final = 10.0
#: Seconds between two log lines about scarce descriptors.
_LOG_SECONDS: Final = 60.0


def trust() -> Gate:
    """Return a gate that trusts all clients."""
    return Gate(Access(trusted=parse("host all all all trust", "default")))


@dataclass(frozen=True, slots=True)
class ListenerOptions:
    """max_connections: the number of sessions at a time.
    superuser_reserved_connections: how many of them are for superusers only.
    authentication_timeout: seconds.
    gate: authenticates clients.
    limits: of the protocol.
    member: this member's name.
    input_bytes_max: the total unread input of all clients beyond which long messages are refused.
    output_bytes_max: the total of encoded rows for all clients beyond which pages become smaller.
    door: of a lite member.
    ended: the history of statements.
    """

    max_connections: int = 500
    superuser_reserved_connections: int = 0
    authentication_timeout: float = 60.0
    gate: Gate = field(default_factory=trust)
    limits: Limits = field(default_factory=Limits)
    input_bytes_max: int = 512 << 20
    output_bytes_max: int = 64 << 20
    member: str = ""
    door: LiteDoor | None = None
    ended: EndedStatements = field(default_factory=EndedStatements)
    log_connections: bool = False
    statements_max: int = 5000


class Listener:
    """See the module's docstring. Made on the loop on which it runs."""

    def __init__(self, new_session: SessionFactory, options: ListenerOptions | None = None) -> None:
        self._options = options or ListenerOptions()
        self.registry = SessionRegistry(self._options.member, StatementStatistics(self._options.statements_max))
        #: The unread input of all clients.
        self.input = InputBudget(self._options.input_bytes_max)
        #: The encoded output for all clients that is not written yet.
        self.output = OutputBudget(self._options.output_bytes_max)
        self._host = Host(
            self.registry,
            new_session,
            self._options.gate,
            self._options.authentication_timeout,
            self._options.max_connections,
            self._options.superuser_reserved_connections,
            self._options.door,
            lambda: self._draining,
            ended=self._options.ended,
            log_connections=self._options.log_connections,
        )
        self._draining = False
        self._scarce_logged = -math.inf
        self._server: asyncio.Server | None = None
        self._sessions: dict[asyncio.Task[None], Session] = {}
        self._place: Place | None = None
        self._attaching: set[asyncio.Task[None]] = set()

    @property
    def host(self) -> Host:
        """The member as its sessions use it, also for sessions of other listeners."""
        return self._host

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """The addresses on which it listens; the port is the actual one if 0 was requested."""
        if self._place is not None:
            return list(self._place.addresses)
        sockets = self._server.sockets if self._server else ()
        return [sock.getsockname()[:2] for sock in sockets]

    @property
    def connections(self) -> int:
        """The number of open sockets, admitted or not."""
        return len(self._sessions)

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises OSError."""
        self._server = await asyncio.get_running_loop().create_server(self._accept, host, port, backlog=512)

    def take_clients(self, place: Place) -> None:
        """Accept the clients that the dispatcher hands to this process, instead of listening."""
        self._place = place
        self.registry.share(place)
        place.watch(self._attach)

    def _attach(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._attaching.add(task := asyncio.get_running_loop().create_task(self._connect(client)))
        task.add_done_callback(self._attaching.discard)

    async def _connect(self, client: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._accept, client)
        except OSError as error:
            # The client has disconnected already.
            log.debug("a client's connection could not be taken: %s", error)
            client.close()
            self._note_closed()

    def _accept(self) -> ClientStream:
        stream = ClientStream(Connection(self._options.limits, self.input), self.output)
        session = Session(stream, self._host)
        stream.watch(lambda: self._on_opened(stream, session), session.client_gone, session.tell_idle)
        return stream

    def _on_opened(self, stream: ClientStream, session: Session) -> None:
        full = len(self._sessions) >= self._options.max_connections + UNADMITTED_MAX
        scarce = self._short_of_descriptors(stream.socket.descriptor)
        has_room = self._make_room() if full or scarce else True
        session.admission.is_crowded = scarce and not has_room
        if (full and not has_room) or descriptors.are_exhausted(stream.socket.descriptor):
            stream.refuse()
            self._note_closed()
            return
        task = asyncio.get_running_loop().create_task(session.run())
        self._sessions[task] = session
        task.add_done_callback(self._on_ended)

    def _make_room(self) -> bool:
        """End the connection of an unauthenticated client in favour of a new one. Silent clients must not keep others
        out, among them superusers, who are not known before they have authenticated. The victim is the oldest
        connection of the address that has the most unauthenticated ones, so that a flood from one address only
        displaces itself. Returns whether there was one.
        """
        strangers = [(task, session) for task, session in self._sessions.items() if session.admission.is_stranger]
        if not strangers:
            return False
        ((most, _),) = Counter(session.host for _, session in strangers).most_common(1)
        task, session = next((task, session) for task, session in strangers if session.host == most)
        session.give_way(task)
        return True

    def _short_of_descriptors(self, descriptor: int) -> bool:
        """Return whether descriptors are scarce. This is logged at most once a minute, since at the limit new clients
        displace others all the time.
        """
        scarce, now = descriptors.scarce(descriptor), asyncio.get_running_loop().time()
        if scarce and now - self._scarce_logged >= _LOG_SECONDS:
            self._scarce_logged = now
            log.warning(
                "clients are refused: file descriptors run short (ulimit -n is %d, clients have %d)",
                descriptors.limit(), len(self._sessions),
            )  # fmt: skip
        return scarce

    def _on_ended(self, task: asyncio.Task[None]) -> None:
        del self._sessions[task]
        self._note_closed()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a session's task failed", exc_info=error)

    def _note_closed(self) -> None:
        if self._place is not None:
            self._place.counts.note_closed(self._place.number)

    async def drain(self) -> None:
        """Admit no new clients, who get an error (57P03), and end each session after its transaction. Returns when all
        sessions that have a client have ended.
        """
        self._draining = True
        serving = [task for task, session in self._sessions.items() if session.is_serving]
        for session in self._sessions.values():
            session.drain(shut_down())
        if serving:
            await asyncio.wait(serving)

    async def close(self) -> None:
        """Stop listening and end all sessions now."""
        if self._server is not None:
            await close_server(self._server)
        if self._place is not None:
            self._place.close()
        for task, session in list(self._sessions.items()):
            if session.is_admitted:
                session.interrupt(shut_down())
            else:
                task.cancel()
        if self._attaching:
            await asyncio.wait(self._attaching)
        await self._wait(_END_SECONDS)
        for task in list(self._sessions):
            task.cancel()
        await self._wait(None)
        if self._server is not None:
            await self._server.wait_closed()

    async def _wait(self, seconds: float | None) -> None:
        if self._sessions:
            await asyncio.wait(list(self._sessions), timeout=seconds)
