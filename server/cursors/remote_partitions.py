"""A partition of the rows of another session's cursor, as seen by the session that copies it to its client.

The cursor may be on any member, this one included. Rows arrive page by page, like those of a FETCH by query id
(`server.cursors.remote_cursors`). The pages of all partitions are taken from the cursor in the order in which they are
requested.
"""

from __future__ import annotations

from engine.contracts.sessions import ResultColumn
from engine.statements.copy.partition import CopyPartition
from server.cursors.remote_cursors import FarCursor, FarRows
from wire.mesh.control_messages import CursorMoved, ReadPartition


class PartitionRows(FarRows):
    """The execution whose rows are copied. The request for the first page claims the partition, which can be read
    once.
    """

    def __init__(
        self, cursor: FarCursor, columns: tuple[ResultColumn, ...], partition: CopyPartition, page_bytes: int
    ) -> None:
        super().__init__(cursor, columns, page_bytes)
        self._partition = partition
        self._first = True
        self.is_closed = False

    async def ask_page(self) -> tuple[int, CursorMoved, bytes]:
        asker, partition = self._cursor.asker, self._partition
        who = str(self._cursor.query), asker.user, asker.database
        which = partition.statement, partition.number, partition.count
        first, self._first = self._first, False
        return await self._cursor.ask(
            CursorMoved, lambda request: ReadPartition(request, *who, *which, self._page_bytes, first)
        )

    async def close(self) -> None:
        self.is_closed = True
        await super().close()

    def tag(self, rows: int) -> str:
        return f"COPY {rows}"
