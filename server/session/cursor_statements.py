"""DECLARE, FETCH, MOVE, CLOSE, COPY of partitions: on cursors of this session, and on cursors of other sessions by
their query ids.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from engine.contracts.batch_stream import BatchStream
from engine.contracts.memory_share import page_bytes
from engine.contracts.sessions import Execution
from engine.session.engine_session import EngineSession
from engine.sql.parser.nodes import statements as s
from engine.sql.parser.nodes.copy import CopyTo
from engine.statements.copy.options import copy_format
from engine.statements.copy.partition import CopyPartition
from server.cursors.cursor import Run
from server.cursors.formats import BINARY, TEXT
from server.cursors.portal import Portal, Portals
from server.cursors.prepared import Command
from server.cursors.remote_cursors import Asker, Described, FarCursor, FarFetching
from server.cursors.remote_partitions import PartitionRows
from server.session.done import Done
from server.session.error_positions import locate_errors
from server.session.transaction import TransactionBlock
from wire.errors import InvalidCursorName, ObjectInUse, ObjectNotInPrerequisiteState


class Fetching:
    """The execution of a FETCH: it gives the rows of a cursor, which it moves and does not own."""

    query: Final = None

    def __init__(self, portal: Portal, run: Run) -> None:
        self.columns = portal.columns
        self.stream: BatchStream = self
        self.portal = portal
        self._run = run

    async def next_batch(self) -> pa.RecordBatch | None:
        try:
            return await self._run.next_batch()
        except BaseException:
            # The cursor's position is now unknown. A held cursor survives the error, but must not skip rows.
            self.portal.fail()
            raise

    def statistics(self) -> Mapping[str, int]:
        return {"rows": self._run.rows, "bytes": 0, "batches": 0}

    def tag(self, rows: int) -> str:
        return f"FETCH {rows}"

    async def close(self) -> None:
        """Do nothing: the cursor stays where it is."""


class CursorStatements:
    """asker: finds cursors of other sessions. run: begins to run a bound portal."""

    def __init__(
        self,
        engine: EngineSession,
        portals: Portals,
        block: TransactionBlock,
        asker: Asker,
        run: Callable[[Portal], Awaitable[None]],
    ) -> None:
        self._engine = engine
        self._portals = portals
        self._block = block
        self._asker = asker
        self._run = run
        self._reading: PartitionRows | None = None

    @property
    def reads_partition(self) -> bool:
        """Whether the session reads a partition of another session's cursor. Meanwhile its own cursors have no
        partitions, since sessions that waited for each other's would deadlock.
        """
        return self._reading is not None and not self._reading.is_closed

    async def declare(self, statement: s.DeclareCursor, command: Command, arguments: Sequence[Any]) -> Execution:
        if not statement.name:
            raise InvalidCursorName(f'invalid cursor name "{statement.name}": must not be empty')
        if not statement.hold:
            self._block.require_block("DECLARE CURSOR")
        self._portals.require_free(statement.name)
        assert command.prepared is not None
        with locate_errors(statement.query):
            execution = await self._engine.execute(command.prepared, arguments)
        columns = execution.columns or ()
        portal = Portal(
            statement.name,
            Command(statement.query, command.prepared),
            columns,
            formats=(BINARY if statement.binary else TEXT,) * len(columns),
            depth=self._block.depth,
            source=statement.text,
            hold=statement.hold,
            binary=statement.binary,
        )
        portal.start(execution, statement.scroll, rows_max=rows_max(self._engine))
        if (record := self._engine.record) is not None:
            portal.record, record.portal, record.position = record, portal.name, portal.cursor
            self._engine.record = None
        self._portals.add(portal)
        return Done("DECLARE CURSOR")

    def find(self, name: str) -> Portal | None:
        """Return a cursor of this session by its name or by its query's id."""
        return self._portals.find(name) or self._portals.find_query(name)

    def get(self, name: str) -> Portal | FarCursor:
        """Return a cursor. Raises InvalidCursorName if it can be no other session's either."""
        return self.find(name) or self._asker.cursor(name) or self._portals.get(name, "cursor")

    async def fetch(self, statement: s.Fetch, described: Described | None) -> Execution:
        portal = self.get(statement.cursor)
        if isinstance(portal, FarCursor):
            return await self._fetch_far(statement, portal, described)
        portal.require_runnable()
        if portal.cursor is None:
            await self._run(portal)
        if portal.cursor is None or portal.columns is None:
            raise ObjectNotInPrerequisiteState(f'portal "{portal.name}" cannot be run')
        try:
            if statement.move:
                return Done(f"MOVE {await portal.cursor.move(statement.direction, statement.count)}")
            return Fetching(portal, await portal.cursor.fetch(statement.direction, statement.count))
        except BaseException:
            portal.fail()
            raise

    async def _fetch_far(self, statement: s.Fetch, cursor: FarCursor, described: Described | None) -> Execution:
        if statement.move:
            return Done(f"MOVE {await cursor.move(statement.direction, statement.count)}")
        columns = (described or await cursor.describe()).columns
        size = page_bytes(self._engine.settings)
        return FarFetching(cursor, columns, statement.direction, statement.count, size)

    async def copy_partition(self, statement: CopyTo, partition: CopyPartition) -> Execution:
        """Begin to read a partition of another session's cursor. Its first rows have arrived when this returns."""
        name = partition.query
        if self.find(name) is not None:
            raise ObjectInUse(
                f'cursor "{name}" is this session\'s own',
                hint="Partitions are read by other sessions, while this one waits.",
            )
        cursor = self._asker.cursor(name)
        if cursor is None:
            raise InvalidCursorName(
                f'cursor "{name}" does not exist', hint="QUERY takes the query_id of a cursor in sluice.queries."
            )
        described = await cursor.describe()
        # Invalid options are reported before the partition is claimed, since it can be claimed only once.
        copy_format(statement, [column.name for column in described.columns])
        if any(portal.partitions is not None for portal in self._portals):
            raise ObjectInUse(
                "a cursor of this session is read in partitions", hint="Read those of other cursors in another session."
            )
        rows = PartitionRows(cursor, described.columns, partition, page_bytes(self._engine.settings))
        self._reading = rows
        try:
            await rows.turn()
            return self._engine.copy_rows(statement, rows)
        except BaseException:
            await rows.close()
            raise

    async def close(self, statement: s.CloseCursor) -> Execution:
        if statement.name is None:
            # All portals except the one in which this statement runs, which has no cursor yet.
            for portal in self._portals:
                if portal.cursor is not None:
                    await self._portals.close(portal.name)
            return Done("CLOSE CURSOR ALL")
        cursor = self.get(statement.name)
        if isinstance(cursor, FarCursor):
            await cursor.close()
        else:
            await self._portals.close(cursor.name)
        return Done("CLOSE CURSOR")


def rows_max(engine: EngineSession) -> int:
    """Return the rows that a session's portals may yield."""
    return int(engine.settings.get("sluice.rows_max"))
