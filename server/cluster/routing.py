"""Routing of messages between the members' servers, and of cancel requests that reached a member without the session.

`ServerMesh` is the mesh that the engine is given: it takes out the server's own messages (numbers 80 and up) and passes
on the rest. `CancelRouter` sends and receives cancel requests (`server.cluster.cursor_routing` does so for movements of
cursors). Cancel requests have no answer: the protocol does not tell the client whether its cancel request reached a
session, and `pg_cancel_backend` returns only whether the request could be sent.

Rejected: asking all members. The process id names the member (`server.session.cancel`), so a cancel request is one
message, or none if no member has that id.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Sequence
from typing import Final

from engine.contracts.mesh import Handler, MemberInfo, Mesh
from engine.contracts.query_id import QueryId
from server.monitor.records import EndedStatements
from server.monitor.statement_cancel import cancel_statement
from server.session.cancel import SessionRegistry, canceled_by_user, names_member, shut_down
from wire.mesh.control_messages import CancelBackend, CancelRequest, CancelStatement, ControlMessage

#: Seconds for which another thread waits until the loop has sent its message.
_HAND_OVER_SECONDS: Final = 5.0


def _nobody(_member: str, _message: ControlMessage, _body: bytes) -> None: ...


def _not_lost(_member: str) -> None: ...


class ServerMesh:
    """`engine.contracts.mesh.Mesh` over a link, without the messages that `take` claims for the server."""

    def __init__(self, link: Mesh) -> None:
        self._link = link
        self._taken: dict[type[ControlMessage], Handler] = {}
        self._on_lost_first: list[Callable[[str], None]] = []
        self._on_message: Handler = _nobody
        self._on_lost: Callable[[str], None] = _not_lost
        link.listen(self._receive, self._lost)

    @property
    def member(self) -> str:
        return self._link.member

    def members(self) -> Sequence[MemberInfo]:
        return self._link.members()

    def send(self, member: str, message: ControlMessage, body: bytes = b"") -> bool:
        return self._link.send(member, message, body)

    def listen(self, on_message: Handler, on_lost: Callable[[str], None]) -> None:
        self._on_message, self._on_lost = on_message, on_lost

    def take(self, kind: type[ControlMessage], handler: Handler) -> None:
        """Register `handler` for messages of this class."""
        self._taken[kind] = handler

    def watch(self, on_lost: Callable[[str], None]) -> None:
        """Register `on_lost`, which is also called for lost members; it must not raise."""
        self._on_lost_first.append(on_lost)

    def _receive(self, member: str, message: ControlMessage, body: bytes) -> None:
        handler = self._taken.get(type(message))
        if handler is not None:
            handler(member, message, body)
        else:
            self._on_message(member, message, body)

    def _lost(self, member: str) -> None:
        for on_lost in self._on_lost_first:
            on_lost(member)
        self._on_lost(member)


class CancelRouter:
    """`server.session.cancel.Elsewhere` over the mesh. Made on the loop's thread."""

    def __init__(self, mesh: ServerMesh, registry: SessionRegistry, ended: EndedStatements) -> None:
        self._mesh = mesh
        self._registry = registry
        self._ended = ended
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        registry.elsewhere = self
        mesh.take(CancelRequest, self._receive)
        mesh.take(CancelBackend, self._receive)
        mesh.take(CancelStatement, self._receive)

    def cancel_request(self, pid: int, key: bytes) -> bool:
        return self._tell(pid, CancelRequest(pid, key))

    def interrupt(self, pid: int, *, terminate: bool) -> bool:
        return self._tell(pid, CancelBackend(pid, terminate))

    def cancel_statement(self, query: str) -> bool:
        """Cancel a statement of any member by its id. Returns False if its initiator cannot be told. Called on the
        loop's thread.
        """
        member = QueryId.parse(query).initiator
        if member != self._mesh.member:
            return self._mesh.send(member, CancelStatement(query))
        self._cancel_here(query)
        return True

    def _cancel_here(self, query: str) -> None:
        task = self._loop.create_task(cancel_statement(self._registry, self._ended, query))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Wait until all cancels in progress have ended."""
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    def _tell(self, pid: int, message: ControlMessage) -> bool:
        if threading.get_ident() == self._thread:
            return self._send(pid, message)
        done: concurrent.futures.Future[bool] = concurrent.futures.Future()
        self._loop.call_soon_threadsafe(lambda: done.set_result(self._send(pid, message)))
        return done.result(_HAND_OVER_SECONDS)

    def _send(self, pid: int, message: ControlMessage) -> bool:
        meant = [m.id for m in self._mesh.members() if not m.local and names_member(pid, m.id)]
        return True in [self._mesh.send(member, message) for member in meant]

    def _receive(self, _member: str, message: ControlMessage, _body: bytes) -> None:
        """Handle a cancel from another member. It applies to sessions of this member only, so that no request is
        forwarded twice.
        """
        match message:
            case CancelRequest(pid, key):
                self._registry.cancel_request_here(pid, key)
            case CancelBackend(pid, terminate):
                self._registry.interrupt_here(pid, shut_down() if terminate else canceled_by_user())
            case CancelStatement(query):
                self._cancel_here(query)
