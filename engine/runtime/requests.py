"""Requests to other members that wait for their answers. An answer is matched to its request by number.

    with requests.open(member) as request:
        mesh.send(member, OpenChannel(request.number, ...))     # or raise, if it cannot be sent
        answer = await request.answer

An answer counts only once, and only from the member that was asked; a late one, or one for an abandoned request, is
ignored. When a member is lost, the requests to it fail. Requests have no deadline: a member that is silent for too long
is lost, and a caller that waits may be cancelled.

Everything here runs on the loop's thread. Considered and rejected: sending in here as well. The two callers (the
runtime for channels, `server.cluster.cursor_routing` for cursors) differ in their errors for a member that cannot be
reached, and in what they do when they are cancelled.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from wire.dataclass import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """An open request. answer: to be awaited; raises the error of a refusal, or of the member's loss."""

    number: int
    member: str
    answer: asyncio.Future[T]


class Requests(Generic[T]):
    """See the module's docstring. T: the type of an answer. lost: makes the error of a request whose member is lost."""

    def __init__(self, lost: Callable[[str], Exception]) -> None:
        self._lost = lost
        self._numbers = itertools.count(1)
        self._open: dict[int, Request[T]] = {}

    def __len__(self) -> int:
        return len(self._open)

    @contextmanager
    def open(self, member: str) -> Iterator[Request[T]]:
        """Open a request under a number of its own, from before it is sent until nobody waits for it."""
        number = next(self._numbers)
        request = self._open[number] = Request(number, member, asyncio.get_running_loop().create_future())
        try:
            yield request
        finally:
            del self._open[number]

    def answer(self, member: str, number: int, answer: T) -> None:
        request = self._find_request(member, number)
        if request is not None:
            request.answer.set_result(answer)

    def refuse(self, member: str, number: int, error: Exception) -> None:
        request = self._find_request(member, number)
        if request is not None:
            request.answer.set_exception(error)

    def member_lost(self, member: str) -> None:
        """Fail the requests to a member."""
        for request in self._open.values():
            if request.member == member and not request.answer.done():
                request.answer.set_exception(self._lost(member))

    def _find_request(self, member: str, number: int) -> Request[T] | None:
        """Return the request that the member may answer, if there is one."""
        request = self._open.get(number)
        if request is None or request.member != member or request.answer.done():
            return None
        return request
