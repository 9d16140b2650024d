"""COPY FROM: an INSERT of rows from a client, or from a file of the server (copyfrom.c)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.catalog.model.objects import FileFormat, Table
from engine.common.shielded import shielded
from engine.contracts.batch_stream import BatchStream
from engine.contracts.copy_progress import CopyProgress
from engine.contracts.materialized_results import RowsStream
from engine.contracts.query_id import QueryId
from engine.contracts.sessions import ResultColumn
from engine.plan_ir.logical import Mutate
from engine.sql.binder.mutations.copying import BoundCopy, bind_copy
from engine.sql.parser.nodes.copy import CopyFrom
from engine.statements.copy import lake_files
from engine.statements.copy.copied_files import CopiedFiles
from engine.statements.copy.copy_context import CopyContext
from engine.statements.copy.copy_rows import ReceiveColumn
from engine.statements.copy.options import FILE_FORMS, CopyFormat, copy_format, names_of, written_form
from engine.statements.copy.source import RowSource
from engine.statements.dml.planned_mutation import require_writable
from engine.statements.dml.run import run
from engine.statements.dml.shown_columns import with_shown
from engine.statements.dml.statement import SessionMutationContext
from engine.statements.shared.copy_files import FileRows, open_file
from wire.errors import ObjectNotInPrerequisiteState, SqlError

if TYPE_CHECKING:
    from engine.session.context.services import SessionServices
    from engine.session.context.session_context import SessionContext


async def copy_from(
    session: SessionContext, engine: SessionServices, statement: CopyFrom
) -> CopyFromExecution | CopiedFiles:
    """Start a COPY FROM: perform all checks that need no data from the client."""
    context, _ = session.environment.context((), {})
    table = statement.table
    assert table is not None, "COPY FROM has a table"
    form = written_form(statement)
    if form in FILE_FORMS and statement.file is not None:
        return await _of_files(session, engine, statement, statement.file, form)
    bound = await engine.planning.run(lambda: bind_copy(table, statement.columns, statement.where, context))
    requirements = context.accesses.to_requirements()
    session.authority().require(requirements)
    require_writable(session, "COPY FROM", bound.plan.table)
    bound = replace(bound, plan=with_shown(bound.plan, session.authority(), requirements))
    how = copy_format(statement, names_of(bound.targets))
    if how.freeze:
        _require_new(session, bound.plan.table)
    source = None if statement.file is None else await _source(engine, statement.file)
    return CopyFromExecution(session, engine, bound, how, source)


def _require_new(session: SessionContext, table: Table) -> None:
    """Check FREEZE. Rows become visible with their commit, whether frozen or not; but PostgreSQL refuses FREEZE for a
    table that others may be reading (copyfrom.c: CopyFrom). For a table without rows it is unknown whether it has just
    been emptied.
    """
    if table.files and not session.catalog.tables.is_new(table):
        raise ObjectNotInPrerequisiteState(
            "cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction"
        )


async def _source(engine: SessionServices, file: str) -> FileRows:
    def begin() -> FileRows:
        return FileRows(open_file(engine.copy_roots.source(file), file), engine.in_writer_pool)

    source: FileRows = await shielded(engine.in_writer_pool(begin))
    return source


async def _of_files(
    session: SessionContext, engine: SessionServices, statement: CopyFrom, file: str, form: FileFormat
) -> CopiedFiles:
    context, _ = session.environment.context((), {})
    target = statement.table
    assert target is not None, "COPY FROM has a table"
    how = copy_format(statement, ())

    def bind() -> Mutate:
        path = engine.copy_roots.source(file)
        return lake_files.plan(path, file, form, target, statement.columns, statement.where, context)

    plan = await engine.in_operation_pool(bind)
    requirements = context.accesses.to_requirements()
    session.authority().require(requirements)
    require_writable(session, "COPY FROM", plan.table)
    plan = with_shown(plan, session.authority(), requirements)
    if how.freeze:
        _require_new(session, plan.table)
    return CopiedFiles(session, engine, plan)


class CopyFromExecution:
    """An `engine.contracts.sessions.Execution` that runs when it receives rows. width: the number of their fields.
    file: the file that holds them.
    """

    query: QueryId | None = None

    def __init__(
        self,
        session: SessionContext,
        engine: SessionServices,
        bound: BoundCopy,
        form: CopyFormat,
        file: FileRows | None,
    ) -> None:
        self.stream: BatchStream = RowsStream((), ())
        self.columns: tuple[ResultColumn, ...] | None = None
        self.width = len(bound.targets)
        self.form = int(form.form == "binary")
        self.file = file
        self._session = session
        self._engine = engine
        self._bound = bound
        self._format = form
        self._progress = engine.copies.begin(
            CopyProgress(
                session.client.backend_pid, session.database, bound.plan.table.oid, "COPY FROM",
                "PIPE" if file is None else "FILE", 0 if file is None else file.size,
            )
        )  # fmt: skip

    async def receive(self, source: RowSource, column: ReceiveColumn) -> int:
        """Write all rows of the source. column: reads a column of the binary format. Returns the number of rows. Raises
        SqlError with nothing changed.
        """
        ground = CopyContext(
            SessionMutationContext(self._session, self._engine), self._engine, self._bound, self._format, source,
            self._progress, column,
        )  # fmt: skip
        try:
            told = await run(self._bound.plan, ground)
            await ground.inner.judge(self._bound.plan)
            return told.rows
        except SqlError as error:
            raise ground.with_line(error) from None

    def tag(self, rows: int) -> str:
        return f"COPY {rows}"

    async def close(self) -> None:
        self._engine.copies.end(self._progress)
        await self.stream.close()
        if self.file is not None:
            await self.file.close()
