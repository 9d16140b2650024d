"""Routes movements of cursors between members: requests and their answers, matched by the request's number.

Each member has one router, which serves both ends. At the requesting end it is `server.cursors.remote_cursors.Asking`.
At the initiator, it runs one task per request, which visits the session that owns the cursor
(`server.cluster.initiator_cursors`). A request to this member itself takes the same path, without a connection.

The requesting session enforces deadlines: its statement_timeout, a cancel request, or the loss of its client interrupts
the wait at once, whatever the other member does, and the initiator is told that nobody waits any more
(`CursorAbandoned`). The initiator has no deadline of its own, since it cannot know the client's. If the requesting
member is lost, the initiator gives up the work for it.

Rejected: sending rows over a data connection with credits. A client asks for one small page at a time; a stream would
make the initiator produce rows ahead for a client that may never ask again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from engine.runtime.requests import Requests
from server.cluster.initiator_cursors import Asked, InitiatorCursors, Question, Unsettled
from server.cluster.initiator_partitions import InitiatorPartitions
from server.cluster.routing import ServerMesh
from server.cursors.remote_cursors import Numbered
from server.session.cancel import SessionRegistry
from wire.errors import InternalError, SerializationFailure, SqlError
from wire.mesh.control_messages import (
    CloseCursor,
    ControlMessage,
    CursorAbandoned,
    CursorClosed,
    CursorDescribed,
    CursorMoved,
    CursorRefused,
    CursorSettled,
    DescribeCursor,
    MoveCursor,
    ReadPartition,
)
from wire.mesh.error_fields import error_from_fields, fields_of

log: Final = logging.getLogger(__name__)
_QUESTIONS: Final = (DescribeCursor, MoveCursor, CloseCursor, ReadPartition)
_ANSWERS: Final = (CursorDescribed, CursorMoved, CursorClosed, CursorRefused)
_WORDS: Final = (CursorSettled, CursorAbandoned)
#: The limit of characters in each part of an error, so that it fits into a message.
_WORDS_MAX: Final = 4000
_UNFORESEEN: Final = "internal error; the log of the member that has the cursor has the details"

Answer = tuple[ControlMessage, bytes]


class CursorRouter:
    """See the module's docstring. Made and used on the loop's thread."""

    def __init__(self, mesh: ServerMesh, registry: SessionRegistry) -> None:
        self._mesh = mesh
        self._unsettled = Unsettled()
        self._cursors = InitiatorCursors(registry, self._unsettled)
        self._partitions = InitiatorPartitions(registry)
        self._loop = asyncio.get_running_loop()
        self._questions: Requests[Answer] = Requests(_lost)
        self._serving: dict[Asked, asyncio.Task[None]] = {}
        registry.far_cursors = self
        for kind in (*_QUESTIONS, *_ANSWERS, *_WORDS):
            mesh.take(kind, self._receive)
        mesh.watch(self._lost)

    def statistics(self) -> Mapping[str, int]:
        """Return the numbers of requests that wait for their answer, of requests that are served here, and of answers
        in flight.
        """
        return {"asked": len(self._questions), "served": len(self._serving), "unsettled": len(self._unsettled)}

    # -- requesting (`server.cursors.remote_cursors.Asking`) ----------------------------------------------------------------

    def knows(self, member: str) -> bool:
        return any(info.id == member for info in self._mesh.members())

    async def ask(self, member: str, message: Numbered) -> tuple[int, ControlMessage, bytes]:
        with self._questions.open(member) as request:
            try:
                if not self._tell(member, message(request.number)):
                    raise _unreachable(member)
                answer, body = await request.answer
            except asyncio.CancelledError:
                self.abandon(member, request.number)
                raise
        if isinstance(answer, CursorRefused):
            raise error_from_fields(answer.sqlstate, answer.message, answer.detail, answer.hint, answer.fields)
        return request.number, answer, body

    def settle(self, member: str, request: int) -> None:
        self._tell(member, CursorSettled(request))

    def abandon(self, member: str, request: int) -> None:
        self._tell(member, CursorAbandoned(request))

    def _tell(self, member: str, message: ControlMessage, body: bytes = b"") -> bool:
        if member != self._mesh.member:
            return self._mesh.send(member, message, body)
        self._loop.call_soon(self._receive, member, message, body)
        return True

    # -- incoming messages ---------------------------------------------------------------------------------------

    def _receive(self, member: str, message: ControlMessage, body: bytes) -> None:
        match message:
            case DescribeCursor() | MoveCursor() | CloseCursor() | ReadPartition():
                self._serve(member, message)
            case CursorDescribed(request) | CursorMoved(request) | CursorClosed(request) | CursorRefused(request):
                self._questions.answer(member, request, (message, body))
            case CursorSettled(request):
                self._unsettled.settle((member, request))
            case CursorAbandoned(request):
                self._give_up((member, request))

    def _lost(self, member: str) -> None:
        self._questions.member_lost(member)
        for asked in [asked for asked in self._serving if asked[0] == member]:
            self._give_up(asked)
        self._unsettled.lost(member)

    # -- the initiator -------------------------------------------------------------------------------------------

    def _serve(self, member: str, question: Question) -> None:
        asked = member, question.request
        if asked in self._serving:
            log.warning("member %s asked twice with request %d", *asked)
            return
        task = self._serving[asked] = self._loop.create_task(self._answer(member, question))
        task.add_done_callback(lambda _task: self._serving.pop(asked))

    def _give_up(self, asked: Asked) -> None:
        """Abandon a request for which nobody waits any more: cancel its task, and break a cursor that has moved for
        it.
        """
        task = self._serving.get(asked)
        if task is not None:
            task.cancel()
        self._unsettled.abandon(asked)

    async def _answer(self, member: str, question: Question) -> None:
        try:
            answer, body = await self._work(member, question)
        except SqlError as error:
            answer, body = _refusal(question, error), b""
        except Exception:
            log.exception("a cursor could not be moved for member %s by an error of our own", member)
            answer, body = _refusal(question, InternalError(_UNFORESEEN)), b""
        if not self._tell(member, answer, body):
            self._unsettled.abandon((member, question.request))

    async def _work(self, member: str, question: Question) -> Answer:
        match question:
            case DescribeCursor():
                return self._cursors.describe(question)
            case CloseCursor():
                await self._cursors.close(question)
                return CursorClosed(question.request), b""
            case MoveCursor():
                return await self._cursors.move(member, question)
            case ReadPartition():
                answer, body, reading = await self._partitions.read(question)
                self._unsettled.add((member, question.request), reading)
                return answer, body

    async def close(self) -> None:
        """Cancel the work for other members. The member's own sessions have ended."""
        for task in list(self._serving.values()):
            task.cancel()
        if self._serving:
            await asyncio.wait(list(self._serving.values()))


def _refusal(question: Question, error: SqlError) -> CursorRefused:
    message, detail, hint = ((text or "")[:_WORDS_MAX] for text in (error.message, error.detail, error.hint))
    return CursorRefused(question.request, error.sqlstate, message, detail, hint, fields_of(error))


def _unreachable(member: str) -> SerializationFailure:
    return SerializationFailure(
        f"could not reach member {member}, which has the cursor",
        hint="The statement may be repeated; if the member does not come back, its cursors are gone.",
    )


def _lost(member: str) -> SerializationFailure:
    return SerializationFailure(
        f"could not complete the statement: member {member}, which has the cursor, was lost",
        hint="If the member has ended, its cursors have too: the transaction may be repeated.",
    )
