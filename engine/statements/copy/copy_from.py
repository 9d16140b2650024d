"""COPY FROM: an INSERT of rows from a client, or from a file of the server (copyfrom.c)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.catalog.model.objects import Constraint, FileFormat, Table
from engine.common.shielded import shielded
from engine.contracts.batch_stream import BatchStream
from engine.contracts.copy_progress import CopyProgress
from engine.contracts.materialized_results import RowsStream
from engine.contracts.memory_share import MemoryShare
from engine.contracts.query_id import QueryId
from engine.contracts.sessions import ResultColumn
from engine.executors.local.executor import LocalExecutor, LocalWork
from engine.plan_ir.expr import Column, Expr
from engine.plan_ir.logical import Evaluator, Mutate, Root
from engine.plan_ir.physical import Receive, relation_of
from engine.planner.codegen import compile_plan
from engine.session.context import functions
from engine.sql.binder.mutations.copying import EDGE, BoundCopy, bind_copy
from engine.sql.parser.nodes.copy import CopyFrom
from engine.sql.trees.printed import PrintedStatement
from engine.statements.copy import lake_files
from engine.statements.copy.copy_rows import CopiedRows, ReceiveColumn
from engine.statements.copy.options import FILE_FORMS, CopyFormat, copy_format, names_of, written_form
from engine.statements.copy.source import RowSource
from engine.statements.dml.intents import Intents
from engine.statements.dml.planned_mutation import require_writable
from engine.statements.dml.run import run
from engine.statements.dml.shown_columns import with_shown
from engine.statements.dml.statement import SessionMutationContext
from engine.statements.shared.copy_files import FileRows, open_file
from wire.copy.binary import BinaryReader
from wire.copy.reader import RowReader
from wire.errors import ObjectNotInPrerequisiteState, SqlError
from wire.types.output import OutputSettings

if TYPE_CHECKING:
    from engine.session.context.services import SessionServices
    from engine.session.context.session_context import SessionContext

T = TypeVar("T")


async def copy_from(
    session: SessionContext, engine: SessionServices, statement: CopyFrom
) -> CopyFromExecution | CopiedFiles:
    """Begin a COPY: everything that can be refused before the client sends anything."""
    context, _ = session.bind_context((), {})
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
    """FREEZE: rows are as visible as their commit makes them, frozen or not; but PostgreSQL refuses it for a table that others may
    be reading (copyfrom.c: CopyFrom). Of one without rows it is not known whether it has just been emptied."""
    if table.files and not session.catalog.is_new(table):
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
    context, _ = session.bind_context((), {})
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


class CopiedFiles:
    """An `engine.contracts.sessions.Execution` that has rows of files written. None come."""

    query: QueryId | None = None

    def __init__(self, session: SessionContext, engine: SessionServices, plan: Mutate) -> None:
        self.stream: BatchStream = RowsStream((), ())
        self.columns: tuple[ResultColumn, ...] | None = None
        self._ground = SessionMutationContext(session, engine)
        self._plan = plan

    async def write(self) -> int:
        """Write all rows. Returns how many. Raises SqlError with nothing changed."""
        told = await run(self._plan, self._ground, self._ground.queries)
        await self._ground.judge(self._plan)
        return told.rows

    def tag(self, rows: int) -> str:
        return f"COPY {rows}"

    async def close(self) -> None:
        await self.stream.close()


class CopyFromExecution:
    """An `engine.contracts.sessions.Execution` that runs when it is given rows. width: how many fields they have. file: where
    they are."""

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
        """Write all rows of the source. column: reads the binary format. Returns how many. Raises SqlError with nothing changed."""
        ground = _Ground(
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


@dataclass(slots=True)
class _Ground:
    """`engine.statements.dml.run.MutationContext` whose rows are the client's; other queries are run as for any statement."""

    inner: SessionMutationContext
    engine: SessionServices
    bound: BoundCopy
    form: CopyFormat
    source: RowSource
    progress: CopyProgress
    column: ReceiveColumn
    rows: CopiedRows | None = None

    async def open(self, plan: Root, *, here: bool) -> BatchStream:
        if here:
            return await self.inner.open(plan, here=True)
        bound = self.bound
        name, names = bound.plan.table.name, names_of(bound.targets)
        encoding = self.form.encoding or self.inner.session.settings.get("client_encoding")
        binary = self.form.form == "binary"
        reader = BinaryReader(name, names) if binary else RowReader(self.form.layout, name, names, encoding)
        column = self.column if binary else None
        self.rows = CopiedRows(self.source, reader, bound, _Runs(self, plan), self.progress, column)
        return self.rows

    def with_line(self, error: SqlError) -> SqlError:
        return error if self.rows is None else self.rows.with_line(error)

    def compile_statement(self, plan: Root) -> tuple[PrintedStatement, pa.Schema]:
        ready = functions.evaluate(plan, self.inner.session, {})
        fragment = compile_plan(ready, "local", self.inner.queries.bindings(ready))
        return self.local.print_fragment(fragment), fragment.schema

    @property
    def local(self) -> LocalExecutor:
        local = self.engine.executors.local
        assert isinstance(local, LocalExecutor), "a member has an engine of its own"
        return local

    async def in_writer_pool(self, call: Callable[[], T]) -> T:
        return await self.inner.in_writer_pool(call)

    def take(self, sequence: int, count: int) -> npt.NDArray[np.int64]:
        return self.inner.take(sequence, count)

    def postpones(self, key: Constraint) -> bool:
        return self.inner.postpones(key)

    def wants_moved(self, plan: Mutate) -> bool:
        return self.inner.wants_moved(plan)

    async def record(self, table: Table, intents: Intents, *, appends_only: bool, whole: bool) -> None:
        await self.inner.record(table, intents, appends_only=appends_only, whole=whole)

    @property
    def memory(self) -> MemoryShare | None:
        return self.inner.memory

    @property
    def output(self) -> OutputSettings:
        return self.inner.output


class _Runs:
    """`engine.statements.copy.copy_rows.Runs`, with statements compiled once. plan: from values to what the INSERT wants."""

    def __init__(self, ground: _Ground, plan: Root) -> None:
        self._ground = ground
        self._plan = plan
        self._context = ground.inner.session.execution_context()
        self._whole: tuple[PrintedStatement, pa.Schema] | None = None

    def casts(self, texts: pa.RecordBatch, wanted: Sequence[tuple[Column, Expr]]) -> BatchStream:
        columns = tuple(column for column, _ in wanted)
        node = Evaluator(columns, Receive(self._ground.bound.texts, EDGE), tuple(cast for _, cast in wanted))
        return self._run(self._ground.compile_statement(Root(columns, node)), texts)

    def rows(self, values: pa.RecordBatch) -> BatchStream:
        self._whole = self._whole or self._ground.compile_statement(self._plan)
        return self._run(self._whole, values)

    def _run(self, compiled: tuple[PrintedStatement, pa.Schema], batch: pa.RecordBatch) -> BatchStream:
        statement, schema = compiled
        size = self._context.page_bytes
        inputs = {relation_of(EDGE): _OneBatch(batch)}
        zone, memory = self._context.time_zone, self._context.memory
        return self._ground.local.run(
            LocalWork(statement.text, schema, size, zone, parameters=statement.values, inputs=inputs, memory=memory)
        )

    def in_pool(self, call: Callable[[], T]) -> Awaitable[T]:
        return self._ground.in_writer_pool(call)


class _OneBatch:
    """The input of a run (`engine.executors.local.inputs.Inflow`)."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.schema = batch.schema
        self._batch: pa.RecordBatch | None = batch

    async def next_batch(self) -> pa.RecordBatch | None:
        batch, self._batch = self._batch, None
        return batch
