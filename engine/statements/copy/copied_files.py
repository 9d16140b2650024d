"""COPY FROM of files that an engine reads itself: an INSERT of the files' rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.contracts.batch_stream import BatchStream
from engine.contracts.materialized_results import RowsStream
from engine.contracts.query_id import QueryId
from engine.contracts.sessions import ResultColumn
from engine.plan_ir.logical import Mutate
from engine.statements.dml.run import run
from engine.statements.dml.statement import SessionMutationContext

if TYPE_CHECKING:
    from engine.session.context.services import SessionServices
    from engine.session.context.session_context import SessionContext


class CopiedFiles:
    """An `engine.contracts.sessions.Execution` that inserts the rows of files. It returns no rows."""

    query: QueryId | None = None

    def __init__(self, session: SessionContext, engine: SessionServices, plan: Mutate) -> None:
        self.stream: BatchStream = RowsStream((), ())
        self.columns: tuple[ResultColumn, ...] | None = None
        self._ground = SessionMutationContext(session, engine)
        self._plan = plan

    async def write(self) -> int:
        """Write all rows. Returns their number. Raises SqlError with nothing changed."""
        told = await run(self._plan, self._ground, self._ground.queries)
        await self._ground.judge(self._plan)
        return told.rows

    def tag(self, rows: int) -> str:
        return f"COPY {rows}"

    async def close(self) -> None:
        await self.stream.close()
