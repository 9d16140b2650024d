"""Portals: statements with arguments, run as far as the client has asked, and the table of a session's portals.

A portal of the protocol (Bind) and a SQL cursor (DECLARE) are the same kind of object and share a namespace, so that
FETCH works on the former and Execute on the latter. Each portal has its own execution, so any number of them may be
suspended in one session. A portal ends with its transaction or with the savepoint under which it was created; a portal
WITH HOLD is read to its end at COMMIT and stays.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from engine.contracts.query_id import QueryId
from engine.contracts.sessions import CursorState, Execution, ResultColumn
from engine.monitor.record import StatementRecord
from server.cursors.cursor import Cursor
from server.cursors.partitions import Partitions
from server.cursors.prepared import Command
from wire.errors import DuplicateCursor, InvalidCursorName, ObjectNotInPrerequisiteState


class PortalState(enum.Enum):
    BOUND = "not run yet"
    RUNNING = "run, perhaps suspended"
    DONE = "a statement without rows that has run"
    FAILED = "broken by an error"


@dataclass(slots=True, eq=False)
class Portal:
    """One portal.

    columns: the columns that Describe reports; None for a statement without rows.
    formats: one per column.
    arguments: canonical values.
    depth: the number of savepoints under which it was created.
    record: of the statement that runs in it.
    source: for pg_cursors.
    statement_name: of the prepared statement that was bound.
    seconds: the time that its pages so far have taken.
    declared: created by DECLARE rather than Bind.
    partitions: of its rows, if other sessions read some.
    """

    name: str
    command: Command
    columns: tuple[ResultColumn, ...] | None
    formats: tuple[int, ...] = ()
    arguments: tuple[object, ...] = ()
    depth: int = 0
    source: str = ""
    statement_name: str = ""
    declared: bool = False
    hold: bool = False
    held: bool = False
    binary: bool = False
    state: PortalState = PortalState.BOUND
    execution: Execution | None = None
    cursor: Cursor | None = None
    seconds: float = 0.0
    created: float = field(default_factory=time.time)
    record: StatementRecord | None = None
    partitions: Partitions | None = None

    def start(self, execution: Execution, scroll: bool | None = False, *, rows_max: int = 0) -> None:
        """Take over an execution that has begun. rows_max: as for `Cursor`."""
        self.execution = execution
        self.cursor = Cursor(execution, scroll, rows_max)
        self.state = PortalState.RUNNING

    @property
    def query(self) -> QueryId | None:
        """The id by which all members know its query; None before it runs, and for a statement that is no query."""
        return self.execution.query if self.execution is not None else None

    @property
    def running_cursor(self) -> Cursor:
        """Its cursor; only after it was started."""
        assert self.cursor is not None
        return self.cursor

    def tag(self, rows: int) -> str:
        """Return the command tag after `rows` rows were sent; only after it was started."""
        assert self.execution is not None
        return self.execution.tag(rows)

    def finish(self) -> None:
        """Note that a statement without rows has run; it does not run twice."""
        self.state = PortalState.DONE

    def fail(self) -> None:
        self.state = PortalState.FAILED

    def require_runnable(self) -> None:
        if self.state in (PortalState.DONE, PortalState.FAILED):
            raise ObjectNotInPrerequisiteState(f'portal "{self.name}" cannot be run')
        if self.partitions is not None:
            raise ObjectNotInPrerequisiteState(
                f'cursor "{self.name}" cannot be moved: its rows are read in partitions',
                hint="Only CLOSE is left, which ends the reading.",
            )

    def cursor_state(self) -> CursorState:
        scrollable = bool(self.cursor and self.cursor.scrollable)
        return CursorState(self.name, self.source, self.hold, self.binary, scrollable, self.created)

    async def close(self) -> None:
        """Cancel the execution if it still runs, and release everything; idempotent."""
        if self.cursor is not None:
            await self.cursor.close()


def _heard(_portal: Portal) -> None: ...


class Portals:
    """A session's portals by name; the unnamed one ("") is replaced silently. on_closed: called with each portal that
    is closed.
    """

    def __init__(self) -> None:
        self.on_closed: Callable[[Portal], None] = _heard
        self._by_name: dict[str, Portal] = {}
        #: The names of portals that ended with an error in the current block.
        self.failed: set[str] = set()

    def __iter__(self) -> Iterator[Portal]:
        return iter(list(self._by_name.values()))

    def __len__(self) -> int:
        return len(self._by_name)

    def require_free(self, name: str) -> None:
        if name and name in self._by_name:
            raise DuplicateCursor(f'cursor "{name}" already exists')

    def add(self, portal: Portal) -> None:
        assert portal.name not in self._by_name, "the caller has closed the unnamed portal"
        self._by_name[portal.name] = portal
        # The name no longer refers to a failed portal: after an error in the unnamed portal, ROLLBACK is bound to it.
        self.failed.discard(portal.name)

    def find(self, name: str) -> Portal | None:
        return self._by_name.get(name)

    def find_query(self, query: str) -> Portal | None:
        """Return the portal that runs the query with this id."""
        return next((portal for portal in self if portal.query is not None and str(portal.query) == query), None)

    def get(self, name: str, what: str = "portal") -> Portal:
        """Return a portal. Raises InvalidCursorName. what: `portal` or `cursor`, for the error message."""
        try:
            return self._by_name[name]
        except KeyError:
            raise InvalidCursorName(f'{what} "{name}" does not exist') from None

    async def close(self, name: str) -> None:
        """Close a portal. A name without a portal is no error."""
        portal = self._by_name.pop(name, None)
        if portal is not None:
            self.on_closed(portal)
            await portal.close()

    async def close_all(self) -> None:
        await self._close(self)

    async def _close(self, portals: Iterable[Portal]) -> None:
        for portal in portals:
            self._by_name.pop(portal.name, None)
            self.on_closed(portal)
            await portal.close()

    async def hold(self) -> None:
        """At COMMIT, before anything else, read the portals that outlive the transaction to their ends. May raise any
        error of a query.
        """
        for portal in self:
            if portal.hold and not portal.held and portal.cursor is not None:
                await portal.cursor.hold()
                portal.held = True

    async def fail(self, depth: int) -> None:
        """After an error in a block, close the portals that were created under more than `depth` savepoints. As in
        PostgreSQL, their names stay known until the block ends.
        """
        self.failed |= {portal.name for portal in self if not portal.held and portal.depth > depth}
        await self.end_savepoint(depth)

    async def end_transaction(self) -> None:
        """Close all portals that are not held."""
        self.failed.clear()
        await self._close([portal for portal in self if not portal.held])

    async def end_savepoint(self, depth: int) -> None:
        """Close the portals that were created under more than `depth` savepoints."""
        await self._close([portal for portal in self if not portal.held and portal.depth > depth])

    def release_savepoint(self, depth: int) -> None:
        """Assign portals that were created under more than `depth` savepoints to that depth."""
        for portal in self:
            portal.depth = min(portal.depth, depth)
