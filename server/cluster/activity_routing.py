"""The activity of all members, queried over the mesh: one request and one answer per member, within a bounded time.

A member that is lost, or does not answer in time, is reported as silent instead of being waited for. A request costs
the answering member a few milliseconds of its event loop, so a member serves only a bounded number of another member's
requests at a time; further ones are not answered.

`ClusterActivity.ask_from_thread` is for rows of system tables, which are made on an operation thread: the thread hands
its queue to another thread while it waits (`engine.catalog.store.request_clock.mark_waiting`).

Rejected: members that report their activity to each other at intervals. Most of the time nobody looks, and a viewer
wants the current state.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, Final, TypeVar

import msgspec

from engine.catalog.store.request_clock import mark_waiting
from engine.contracts.activity import Answer, ClusterReport, Part, StatementFigures
from engine.runtime.requests import Requests
from server.cluster.routing import ServerMesh
from server.monitor.activity import MemberActivity
from wire.errors import ConnectionFailure
from wire.mesh.control_messages import ActivityAnswer, AskActivity, ControlMessage, ResetStatements

_T = TypeVar("_T")
log: Final = logging.getLogger(__name__)
#: Seconds to wait for the answers of other members.
ASK_SECONDS: Final = 1.0
#: Seconds for which a thread waits for the loop.
_HAND_OVER_SECONDS: Final = 10.0
#: The number of one member's requests that are served at a time.
_QUESTIONS_MAX: Final = 16
#: The limit of an answer in bytes.
_ANSWER_BYTES: Final = 16 << 20
_ASKED: Final = ("up", "suspect", "draining")
_DECODER: Final = msgspec.msgpack.Decoder(Answer)


class ClusterActivity:
    """See the module's docstring. Made and used on the loop's thread, except `ask_from_thread`."""

    def __init__(self, mesh: ServerMesh, own: MemberActivity, seconds: float = ASK_SECONDS) -> None:
        self._mesh = mesh
        self._own = own
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._requests: Requests[bytes] = Requests(_lost)
        self._serving: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        mesh.take(AskActivity, self._receive)
        mesh.take(ActivityAnswer, self._receive)
        mesh.take(ResetStatements, self._receive)
        mesh.watch(self._requests.member_lost)

    async def ask(self, parts: Collection[Part], query: str = "", of: Collection[str] | None = None) -> ClusterReport:
        """Query all members. query: restricts the answer to this query. of: restricts the request to these members."""
        asked, away = self._others(of)
        asking = asyncio.gather(*(self._ask(member, tuple(parts), query) for member in asked))
        told = {self._own.member: await self._own.answer(parts, query)}
        answers = await asking
        told |= {member: answer for member, answer in zip(asked, answers, strict=True) if answer is not None}
        return ClusterReport(told, (*(member for member in asked if member not in told), *away))

    def ask_from_thread(self, parts: Collection[Part], query: str = "") -> ClusterReport:
        """Call `ask` from a thread that may block."""
        return self._wait(self.ask(parts, query))

    async def reset_statements(self, user: str | None, query_id: int) -> Sequence[str]:
        """Have all members reset their statement statistics. Returns the names of members that did not answer."""
        asked, away = self._others()
        self._own.reset_statements(user, query_id)
        answers = await asyncio.gather(
            *(self._request(member, lambda number: ResetStatements(number, user, query_id)) for member in asked)
        )
        return (*(member for member, answer in zip(asked, answers, strict=True) if answer is None), *away)

    def reset_statements_nowait(self, user: str | None, query_id: int) -> None:
        """Tell all members to reset their statement statistics, without waiting for answers."""
        self._own.reset_statements(user, query_id)
        for member in self._others()[0]:
            self._mesh.send(member, ResetStatements(0, user, query_id))

    def reset_statements_from_thread(self, user: str | None, query_id: int) -> Sequence[str]:
        """Call `reset_statements` from a thread that may block."""
        return self._wait(self.reset_statements(user, query_id))

    def _others(self, of: Collection[str] | None = None) -> tuple[list[str], list[str]]:
        """Return the other members: those that can be queried, and those that are away. of: only these."""
        members = [info for info in self._mesh.members() if info.state not in ("left", "joining") and not info.local]
        wanted = [info for info in members if of is None or info.id in of]
        return (
            [info.id for info in wanted if info.state in _ASKED],
            [info.id for info in wanted if info.state not in _ASKED],
        )

    def _wait(self, asking: Coroutine[Any, Any, _T]) -> _T:
        """Wait for a coroutine on the loop, from a thread that may block. Raises ConnectionFailure."""
        answer = asyncio.run_coroutine_threadsafe(asking, self._loop)
        with mark_waiting():
            try:
                return answer.result(_HAND_OVER_SECONDS)
            except TimeoutError:
                answer.cancel()
                raise ConnectionFailure("the member is too busy to tell what it does") from None

    async def close(self) -> None:
        """Cancel all answers in progress."""
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    async def _ask(self, member: str, parts: tuple[Part, ...], query: str) -> Answer | None:
        """Query one member. Returns None if it does not answer."""
        body = await self._request(member, lambda number: AskActivity(number, parts, query))
        try:
            return None if body is None else _DECODER.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            log.warning("what member %s says of its statements cannot be read: %s", member, error)
            return None

    async def _request(self, member: str, message: Callable[[int], ControlMessage]) -> bytes | None:
        """Send a message, which is made with the request's number. Returns the body of the answer, or None if the
        member does not answer.
        """
        with self._requests.open(member) as request:
            try:
                async with asyncio.timeout(self._seconds):
                    return await request.answer if self._mesh.send(member, message(request.number)) else None
            except (TimeoutError, ConnectionFailure):
                return None

    def _receive(self, member: str, message: ControlMessage, body: bytes) -> None:
        match message:
            case AskActivity() if self._serving[member] < _QUESTIONS_MAX:
                self._serving[member] += 1
                task = self._loop.create_task(self._answer(member, message))
                self._tasks.add(task)
                task.add_done_callback(lambda task: self._on_answered(member, task))
            case ResetStatements(request, user, query_id):
                self._own.reset_statements(user, query_id)
                if request:
                    self._mesh.send(member, ActivityAnswer(request))
            case ActivityAnswer(request):
                self._requests.answer(member, request, body)

    def _on_answered(self, member: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._serving[member] -= 1
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("member %s could not be told what this one does", member, exc_info=error)

    async def _answer(self, member: str, message: AskActivity) -> None:
        answer = await self._own.answer(message.parts, message.query)
        body = msgspec.msgpack.encode(answer)
        while len(body) > _ANSWER_BYTES and (answer.finished or answer.running or _statement_figures(answer)):
            answer = _halve(answer)
            body = msgspec.msgpack.encode(answer)
        self._mesh.send(member, ActivityAnswer(message.request), body)


def _statement_figures(answer: Answer) -> Sequence[StatementFigures]:
    return () if answer.kept is None else answer.kept.statements


def _halve(answer: Answer) -> Answer:
    """Drop the older half of the statements, and the half of the statement statistics with the fewest calls."""
    kept = answer.kept
    if kept is not None:
        by_calls = sorted(kept.statements, key=lambda figures: -figures.calls)
        kept = msgspec.structs.replace(kept, statements=tuple(by_calls[: len(by_calls) // 2]))
    running, finished = answer.running[: len(answer.running) // 2], answer.finished[: len(answer.finished) // 2]
    return msgspec.structs.replace(answer, running=running, finished=finished, kept=kept)


def _lost(member: str) -> ConnectionFailure:
    return ConnectionFailure(f"the connection to member {member} was lost")
