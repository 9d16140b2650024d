"""Cursors of other sessions, addressed by their query's id, as seen by the session that fetches from them.

A load balancer may bring `FETCH 100 FROM "m1:1763..."` to any member, and to a session that did not declare the cursor.
The id names the initiator; `Asking` (`server.cluster.cursor_routing`) carries the statement to it and brings the
answer.

A FETCH is one movement and as many pages as its bytes need; the initiator keeps no state of it between two pages. So
each request for a page names the position at which the cursor must be, and a cursor that somebody else has moved
meanwhile refuses it. A page is *settled* when the rows after it have arrived, the last one when the client has been
given all rows. A movement that does not get that far is *abandoned*, and the initiator breaks the cursor: rows that
nobody has seen are never skipped silently.

Source: the client-protocol seed, 2.2, 2.3 and 3.2; its authors left the routing for later.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeVar

import pyarrow as pa

from engine.contracts.batch_stream import BatchStream
from engine.contracts.query_id import QueryId
from engine.contracts.sessions import ResultColumn
from server.cursors.cursor import Direction
from server.cursors.cursor_pages import page_rows, result_columns
from wire.dataclass import dataclass
from wire.errors import InternalError
from wire.mesh.control_messages import (
    CloseCursor,
    ControlMessage,
    CursorClosed,
    CursorDescribed,
    CursorMoved,
    DescribeCursor,
    MoveCursor,
)
from wire.mesh.cursor_columns import decode_columns
from wire.mesh.framing import RemoteProtocolError

M = TypeVar("M", bound=ControlMessage)
#: A message, given the number of its request.
Numbered = Callable[[int], ControlMessage]


class Asking(Protocol):
    """A transport that carries requests to a member, this one included."""

    def knows(self, member: str) -> bool:
        """Return whether a member of this name is or was in the cluster."""
        ...

    async def ask(self, member: str, message: Numbered) -> tuple[int, ControlMessage, bytes]:
        """Send a request and wait for its answer. Returns the request's number, the answer and its body.

        Raises the error with which the member refused, and SerializationFailure if it cannot be reached or is lost. If
        the caller is interrupted, the request is abandoned.
        """
        ...

    def settle(self, member: str, request: int) -> None:
        """Note that the answer has been given to the client."""
        ...

    def abandon(self, member: str, request: int) -> None:
        """Note that the answer is lost."""
        ...


class Nobody:
    """A transport without any member: not even this member's other sessions can be reached."""

    def knows(self, member: str) -> bool:
        del member
        return False

    async def ask(self, member: str, message: Numbered) -> tuple[int, ControlMessage, bytes]:
        raise AssertionError(f"nobody knows of member {member}: {message(0)}")

    def settle(self, member: str, request: int) -> None: ...

    def abandon(self, member: str, request: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Described:
    """The description of a cursor's rows. binary: as declared."""

    columns: tuple[ResultColumn, ...]
    binary: bool


@dataclass(frozen=True, slots=True)
class Asker:
    """The identity with which a session sends requests. user, database: its own; only their cursors exist for it."""

    asking: Asking
    user: str
    database: str

    def cursor(self, name: str) -> FarCursor | None:
        """Return the cursor to which a name may refer, if it has the form of a query id of a known member."""
        try:
            query = QueryId.parse(name)
        except ValueError:
            return None
        return FarCursor(self, query) if self.asking.knows(query.initiator) else None


@dataclass(frozen=True, slots=True)
class FarCursor:
    """A cursor of another session, which may not exist. Every method raises the errors of `Asking.ask`."""

    asker: Asker
    query: QueryId

    async def ask(self, kind: type[M], message: Numbered) -> tuple[int, M, bytes]:
        request, answer, body = await self.asker.asking.ask(self.query.initiator, message)
        if not isinstance(answer, kind):
            raise InternalError(f"member {self.query.initiator} answered with a {type(answer).__name__}")
        return request, answer, body

    async def describe(self) -> Described:
        who = str(self.query), self.asker.user, self.asker.database
        _, answer, body = await self.ask(CursorDescribed, lambda request: DescribeCursor(request, *who))
        try:
            return Described(result_columns(decode_columns(body)), answer.binary)
        except (RemoteProtocolError, KeyError, ValueError) as error:
            raise InternalError(f"cursor {self.query} cannot be described here: {error}") from None

    async def page(
        self, direction: Direction, count: int | None, page_bytes: int, position: int | None, *, rows: bool
    ) -> tuple[int, CursorMoved, bytes]:
        who = str(self.query), self.asker.user, self.asker.database

        def question(request: int) -> MoveCursor:
            return MoveCursor(request, *who, direction, count, rows, page_bytes, position)

        return await self.ask(CursorMoved, question)

    async def move(self, direction: Direction, count: int | None) -> int:
        """Execute MOVE. Returns the number of rows passed."""
        request, answer, _ = await self.page(direction, count, 1, None, rows=False)
        self.settle(request)
        return answer.passed

    async def close(self) -> None:
        """Execute CLOSE. Returns when the cursor is released."""
        who = str(self.query), self.asker.user, self.asker.database
        await self.ask(CursorClosed, lambda request: CloseCursor(request, *who))

    def settle(self, request: int) -> None:
        self.asker.asking.settle(self.query.initiator, request)

    def abandon(self, request: int) -> None:
        self.asker.asking.abandon(self.query.initiator, request)


class FarRows(abc.ABC):
    """Rows that the initiator gives page by page, as an execution (`engine.contracts.sessions.Execution`).

    A page is settled when the next one has arrived, or when the client was given all rows.
    """

    query: Final = None

    def __init__(self, cursor: FarCursor, columns: tuple[ResultColumn, ...], page_bytes: int) -> None:
        self.columns: tuple[ResultColumn, ...] | None = columns
        self.stream: BatchStream = self
        self._cursor = cursor
        self._page_bytes = page_bytes
        self._page: list[pa.RecordBatch] = []
        self._over = False
        self._unsettled: int | None = None
        self._rows = 0

    @abc.abstractmethod
    async def ask_page(self) -> tuple[int, CursorMoved, bytes]:
        """Request the next page. Returns the request's number, the answer, and its body."""

    @abc.abstractmethod
    def tag(self, rows: int) -> str: ...

    async def next_batch(self) -> pa.RecordBatch | None:
        while not self._page and not self._over:
            await self.turn()
        if not self._page:
            self._settle(None)
            return None
        batch = self._page.pop(0)
        self._rows += batch.num_rows
        return batch

    async def turn(self) -> None:
        """Fetch the next page."""
        request, answer, body = await self.ask_page()
        self._settle(request)
        self._page = page_rows(body)
        self._over = answer.last

    def _settle(self, next_request: int | None) -> None:
        last, self._unsettled = self._unsettled, next_request
        if last is not None:
            self._cursor.settle(last)

    def statistics(self) -> Mapping[str, int]:
        return {"rows": self._rows, "bytes": 0, "batches": 0}

    async def close(self) -> None:
        """Stop reading. The cursor stays where it is; but if the client was not given all rows of the last page, the
        page is abandoned, because the client's position is then unknown.
        """
        last, self._unsettled = self._unsettled, None
        self._over, self._page = True, []
        if last is not None:
            self._cursor.abandon(last)


class FarFetching(FarRows):
    """The execution of a FETCH from another session's cursor. page_bytes: the wanted size of a page."""

    def __init__(
        self,
        cursor: FarCursor,
        columns: tuple[ResultColumn, ...],
        direction: Direction,
        count: int | None,
        page_bytes: int,
    ) -> None:
        super().__init__(cursor, columns, page_bytes)
        self._direction = direction
        self._left = count
        self._position: int | None = None

    async def ask_page(self) -> tuple[int, CursorMoved, bytes]:
        request, answer, body = await self._cursor.page(
            self._direction, self._left, self._page_bytes, self._position, rows=True
        )
        self._position = answer.position
        self._go_on(answer.passed)
        return request, answer, body

    def _go_on(self, passed: int) -> None:
        """Compute the rest to fetch after a page that was not the last: only FETCH FORWARD and BACKWARD have more than
        one page.
        """
        if self._left is None:
            return
        if self._direction == "forward" and self._left < 0:
            self._direction, self._left = "backward", -self._left
        self._left -= passed

    def tag(self, rows: int) -> str:
        return f"FETCH {rows}"
