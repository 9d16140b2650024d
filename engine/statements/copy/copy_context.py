"""The context of a MUTATE whose rows come from the client (`engine.statements.dml.run.MutationContext`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.catalog.model.objects import Constraint, Table
from engine.contracts.batch_stream import BatchStream
from engine.contracts.copy_progress import CopyProgress
from engine.contracts.memory_share import MemoryShare
from engine.executors.local.executor import LocalExecutor
from engine.executors.local.work import LocalWork
from engine.plan_ir.expr import Column, Expr
from engine.plan_ir.logical import Evaluator, Mutate, Root
from engine.plan_ir.physical import Receive, relation_of
from engine.planner.codegen import compile_plan
from engine.session.context import functions
from engine.sql.binder.mutations.copying import EDGE, BoundCopy
from engine.sql.trees.printed import PrintedStatement
from engine.statements.copy.copy_rows import CopiedRows, ReceiveColumn
from engine.statements.copy.options import CopyFormat, names_of
from engine.statements.copy.source import RowSource
from engine.statements.dml.intents import Intents
from engine.statements.dml.statement import SessionMutationContext
from wire.copy.binary import BinaryReader
from wire.copy.reader import RowReader
from wire.errors import SqlError
from wire.types.output import OutputSettings

if TYPE_CHECKING:
    from engine.session.context.services import SessionServices

T = TypeVar("T")


@dataclass(slots=True)
class CopyContext:
    """The `engine.statements.dml.run.MutationContext` of rows that come from the client. Other queries run as for any
    statement.
    """

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
    """The `engine.statements.copy.copy_rows.Runs`, with statements that are compiled once. plan: computes the INSERT's
    rows from the values.
    """

    def __init__(self, ground: CopyContext, plan: Root) -> None:
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
        zone, memory, query = self._context.time_zone, self._context.memory, str(self._context.query)
        values = statement.values
        return self._ground.local.run(
            LocalWork(statement.text, schema, size, zone, parameters=values, inputs=inputs, memory=memory, query=query)
        )

    def in_pool(self, call: Callable[[], T]) -> Awaitable[T]:
        return self._ground.in_writer_pool(call)


class _OneBatch:
    """The input of a run: one batch (`engine.executors.local.inputs.Inflow`)."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.schema = batch.schema
        self._batch: pa.RecordBatch | None = batch

    async def next_batch(self) -> pa.RecordBatch | None:
        batch, self._batch = self._batch, None
        return batch
