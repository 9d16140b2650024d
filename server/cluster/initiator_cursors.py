"""Moves cursors of this member's sessions on behalf of other sessions: the initiator's part of
`server.cursors.remote_cursors`.

A cursor is found by its query's id, and only by its own user in its own database; to anybody else it does not exist.
The movement is a visit to the session that owns the cursor (`server.cursors.cursor_lease`) and is outside of that
session's transaction: an error breaks the cursor and nothing else of the session. The resources of a broken cursor are
released at once.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from server.cursors.cursor_pages import Page, describe_columns, take_page
from server.cursors.portal import Portal
from server.session.cancel import Interruptible, SessionRegistry
from server.session.commands import Commands
from server.session.transaction import Block
from wire.errors import InvalidCursorName, ObjectInUse, ObjectNotInPrerequisiteState
from wire.mesh.control_messages import (
    CloseCursor,
    CursorDescribed,
    CursorMoved,
    DescribeCursor,
    MoveCursor,
    ReadPartition,
)
from wire.mesh.cursor_columns import encode_columns

Question = DescribeCursor | MoveCursor | CloseCursor | ReadPartition
#: How long a FETCH waits for the rows of earlier ones: longer than it takes to notice the loss of a member. A client may
#: take its rows as slowly as it likes.
_SETTLED_SECONDS: Final = 10.0
#: The requesting member, and the number of the request.
Asked = tuple[str, int]


def find_cursor(registry: SessionRegistry, question: Question) -> tuple[Interruptible, Commands, Portal]:
    """Return the session that owns the cursor, its commands, and the portal. Raises InvalidCursorName."""
    for session in registry:
        commands = session.commands_of(question.user, question.database)
        portal = commands.portals.find_query(question.query) if commands is not None else None
        if commands is not None and portal is not None:
            return session, commands, portal
    raise InvalidCursorName(f'cursor "{question.query}" does not exist')


class InitiatorCursors:
    """See the module's docstring. Every method raises SqlError."""

    def __init__(self, registry: SessionRegistry, unsettled: Unsettled) -> None:
        self._registry = registry
        self._unsettled = unsettled

    def describe(self, question: DescribeCursor) -> tuple[CursorDescribed, bytes]:
        _, _, portal = find_cursor(self._registry, question)
        columns = encode_columns(describe_columns(portal.columns or ()))
        return CursorDescribed(question.request, portal.binary), columns

    async def move(self, member: str, question: MoveCursor) -> tuple[CursorMoved, bytes]:
        """Move a cursor for a member. Returns the answer, which is unsettled from then on.

        The first page of a movement waits for the rows of earlier movements: if they are lost, so is the cursor, and rows
        after them must not be given to anybody.
        """
        if question.position is None:
            await self._wait_settled(question)
        session, commands, portal = find_cursor(self._registry, question)
        try:
            page = await session.visits.run(self._move_portal((member, question.request), commands, portal, question))
        except asyncio.CancelledError:
            # Also if the cancellation came when the page was ready.
            portal.fail()
            raise
        return CursorMoved(question.request, page.passed, portal.running_cursor.position, page.last), page.body

    async def _wait_settled(self, question: MoveCursor) -> None:
        try:
            async with asyncio.timeout(_SETTLED_SECONDS):
                while self._unsettled.has(find_cursor(self._registry, question)[2]):
                    await self._unsettled.wait_change()
        except TimeoutError:
            raise ObjectInUse(
                f'rows of cursor "{question.query}" are still on their way to another session',
                hint="Fetch again when it has all rows of its FETCH.",
            ) from None

    async def _move_portal(self, asked: Asked, commands: Commands, portal: Portal, question: MoveCursor) -> Page:
        require_usable(commands, portal, question)
        portal.require_runnable()
        if question.position not in (None, portal.running_cursor.position):
            raise ObjectInUse(f'cursor "{question.query}" was moved by another session in between')
        try:
            page = await _movement(portal, question)
        except BaseException:
            # The cursor's position is now unknown, and it can give no further rows.
            portal.fail()
            await portal.close()
            raise
        self._unsettled.add(asked, portal)
        return page

    async def close(self, question: CloseCursor) -> None:
        session, commands, portal = find_cursor(self._registry, question)
        await session.visits.run(commands.portals.close(portal.name))


def require_usable(commands: Commands, portal: Portal, question: Question) -> None:
    """Raise ObjectNotInPrerequisiteState for a cursor of a transaction that has failed."""
    if commands.block.block is Block.FAILED and not portal.held:
        raise ObjectNotInPrerequisiteState(f'cursor "{question.query}" cannot be used: its transaction has failed')


async def _movement(portal: Portal, question: MoveCursor) -> Page:
    cursor = portal.running_cursor
    if not question.rows:
        return Page(await cursor.move(question.direction, question.count), b"", last=True)
    return await take_page(await cursor.fetch(question.direction, question.count), question.page_bytes)


class Moved(Protocol):
    """A portal that has moved, or a partition that was given rows."""

    def fail(self) -> None:
        """Note that the rows are lost."""
        ...


class Unsettled:
    """Movements whose rows are in flight, by the request.

    If the requesting session does not get the rows, the cursor is broken: moving on would skip them.
    """

    def __init__(self) -> None:
        self._moved: dict[Asked, Moved] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._moved)

    def has(self, moved: Moved) -> bool:
        """Return whether rows of this portal are in flight."""
        return any(each is moved for each in self._moved.values())

    async def wait_change(self) -> None:
        """Wait until a movement is settled or abandoned."""
        await self._changed.wait()

    def add(self, key: Asked, moved: Moved) -> None:
        self._moved[key] = moved

    def settle(self, key: Asked) -> None:
        """Note that the rows have arrived."""
        self._remove(key)

    def abandon(self, key: Asked) -> None:
        """Break a cursor whose rows will not arrive. An unknown movement is no error."""
        moved = self._remove(key)
        if moved is not None:
            moved.fail()

    def _remove(self, key: Asked) -> Moved | None:
        # Those that wait now are woken, and those that wait later are not.
        self._changed.set()
        self._changed = asyncio.Event()
        return self._moved.pop(key, None)

    def lost(self, member: str) -> None:
        """Abandon all movements that this member requested."""
        for key in [key for key in self._moved if key[0] == member]:
            self.abandon(key)
