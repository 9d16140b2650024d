"""One statement's result on its way to a client that fetches it page by page: `buenavista.core.QueryResult`, in pages.

A producer and a consumer meet here on the loop's thread. The session (`server.http.session`) gives a page only when the
one before it has been taken, so that a slow or absent client exerts backpressure on the statement; at the end it
reports how the statement ended. The door takes a page, nothing yet, or the end. The members of buenavista's interface
(`column`, `rows`, `status`) describe the page that was taken last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from buenavista.core import BVType, QueryResult
from buenavista.http.schemas import Column

from engine.common.sql_type import of
from engine.contracts.sessions import ResultColumn
from server.http.types import family, signature, trino_name
from server.http.values import rows
from wire.dataclass import dataclass
from wire.errors import Notice, SqlError
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.monitor.record import StatementRecord


@dataclass(frozen=True, slots=True)
class Ending:
    """How a statement ended. kind, count: for a statement that changes something, Trino's name for it and the number
    of rows. headers: of the answer, without `X-Trino-`. error: None if it succeeded.
    """

    kind: str | None = None
    count: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    error: SqlError | None = None


class Result(QueryResult):
    """See the module's docstring. text: the statement as it was sent. prepared: the client's statements by name.

    record: the session's record of the statement, once it is parsed. nodes, splits: the numbers of members and
    instances that run it. rows_given, bytes_given: so far.
    """

    def __init__(self, text: str, prepared: dict[str, str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.text = text
        self.prepared = prepared
        self.ending: Ending | None = None
        self.notices: list[Notice] = []
        self.record: StatementRecord | None = None
        self.nodes = self.splits = 1
        self.rows_given = self.bytes_given = 0
        self._columns: tuple[ResultColumn, ...] | None = None
        self._carriers: tuple[pa.DataType, ...] = ()
        self._slot: list[Any] | None = None
        self._page: list[Any] = []
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    # -- the session's side ----------------------------------------------------------------------------------------

    async def give(self, columns: Sequence[ResultColumn], batch: pa.RecordBatch) -> None:
        """Give a page, after the last one has been taken."""
        page = rows(batch, [column.type for column in columns])
        await self._room.wait()
        self.describe(columns, tuple(batch.schema.types))
        self.rows_given += batch.num_rows
        self.bytes_given += batch.nbytes
        self._slot = page
        self._room.clear()
        self._news.set()

    def describe(self, columns: Sequence[ResultColumn], carriers: tuple[pa.DataType, ...] = ()) -> None:
        """Set the result's columns, and the Arrow types of their values once a batch has arrived."""
        if self._columns is None or carriers:
            self._columns, self._carriers = tuple(columns), carriers or self._carriers

    def end(self, ending: Ending) -> None:
        """End the result. A page that was given can still be taken, unless the statement failed."""
        if self.ending is None:
            self.ending = ending
            if ending.error is not None:
                self._slot = None
            elif ending.kind is not None and ending.count is not None and self._columns is None:
                self._columns = (ResultColumn("rows", of(t.INT8)),)
                self._slot = [(ending.count,)]
            self._news.set()

    # -- the door's side -------------------------------------------------------------------------------------------

    async def take(self, seconds: float) -> bool:
        """Wait at most `seconds` for a page or for the end. Returns whether the result has ended, as `ending` says."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            self._page = []
            return False
        self._page, self._slot = self._slot or [], None
        self._room.set()
        if self.ending is None:
            self._news.clear()
        return self.ending is not None

    # -- buenavista's interface ------------------------------------------------------------------------------------

    def has_results(self) -> bool:
        return self._columns is not None

    def column_count(self) -> int:
        return len(self._columns or ())

    def column(self, index: int) -> tuple[str, BVType]:
        assert self._columns is not None
        return self._columns[index].name, family(self._columns[index].type.pg)

    def rows(self) -> Iterator[list[Any]]:
        return iter(self._page)

    def status(self) -> str:
        return (self.ending.kind or "") if self.ending is not None else ""

    # -- Trino's ---------------------------------------------------------------------------------------------------

    def columns(self) -> list[Column] | None:
        """Return the columns as Trino describes them; None if they are not known yet, or if there are none."""
        if self._columns is None:
            return None
        carriers = self._carriers or (None,) * len(self._columns)
        return [
            Column(
                name=column.name,
                type=trino_name(column.type, carrier),
                type_signature=signature(column.type, carrier),
            )
            for column, carrier in zip(self._columns, carriers, strict=True)
        ]
