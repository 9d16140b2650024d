"""Runs a session's statements that change rows to their end: it records the rows and checks the constraints."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.catalog.model.objects import Constraint, Table
from engine.common.shielded import shielded
from engine.contracts.batch_stream import BatchStream
from engine.contracts.memory_share import MemoryShare, writer_bytes
from engine.lakes.foreign_files import refresh
from engine.plan_ir.logical import Mutate, Root
from engine.plan_ir.shown_columns import ShownColumns
from engine.sql.parser.nodes.statements import MutationStatement
from engine.statements.dml import foreign_keys
from engine.statements.dml.cascade import is_told
from engine.statements.dml.filled_sequences import take_values
from engine.statements.dml.intents import Intents
from engine.statements.dml.mutation_queries import MutationQueries
from engine.statements.dml.planned_mutation import TAGS, PlannedMutation, plan_mutation, require_writable
from engine.statements.dml.run import Outcome, run
from engine.statements.dml.shown_columns import shown_columns, with_shown
from engine.statements.dml.write_anew import write_anew
from engine.statements.shared.deferral import Cause, Deferral, Event
from engine.statements.shared.named_tables import NamedTables
from engine.storage.staging import KEPT_BYTES
from wire.types.output import OutputSettings

if TYPE_CHECKING:
    from engine.session.context.session_context import SessionContext
    from engine.statements.shared.engine_services import EngineServices

T = TypeVar("T")
#: The number of files of a transaction's INSERTs from which on they are rewritten as one.
COALESCED: Final = 64


async def run_mutation(
    session: SessionContext,
    engine: EngineServices,
    planned: PlannedMutation,
    arguments: Sequence[Any],
    batch: pa.RecordBatch | None = None,
) -> Outcome:
    """Run a statement to its end. batch: its input, if it was made directly. On SqlError nothing is changed."""
    change = planned.bound.plan
    change = with_shown(change, session.authority(), planned.requirements)
    require_writable(session, TAGS[change.kind].split()[0], change.table)
    ground = SessionMutationContext(session, engine, tuple(arguments), long=planned.long, direct=batch)
    told = await run(change, ground, ground.queries)
    await ground.judge(change, told.moved)
    if change.kind == "insert":
        await ground.coalesce(change.table)
    return told


class SessionMutationContext:
    """The `engine.statements.dml.run.MutationContext` of one execution. judges_later: the caller checks the constraints
    that are not deferred, and finds them in `later`. long, direct: as in `MutationQueries`, which `queries` are.
    """

    def __init__(
        self,
        session: SessionContext,
        engine: EngineServices,
        arguments: tuple[Any, ...] = (),
        *,
        judges_later: bool = False,
        long: bool = False,
        direct: pa.RecordBatch | None = None,
    ) -> None:
        self.session = session
        self.engine = engine
        self.queries = MutationQueries(session, engine, arguments, long, direct)
        self.judges_later = judges_later
        self.later: tuple[Event, ...] = ()
        self._recorded = Intents()

    async def open(self, plan: Root, *, here: bool) -> BatchStream:
        return await self.queries.open(plan, here=here)

    async def ask(self, plan: Root) -> BatchStream:
        return await self.queries.ask(plan)

    async def in_writer_pool(self, call: Callable[[], T]) -> T:
        return await self.engine.in_writer_pool(call)

    def take(self, sequence: int, count: int) -> npt.NDArray[np.int64]:
        return take_values(self.session, sequence, count)

    @property
    def deferral(self) -> Deferral:
        """The constraint checks that the session's transaction has deferred."""
        return self.session.transaction.deferral

    @deferral.setter
    def deferral(self, now: Deferral) -> None:
        self.session.transaction.deferral = now

    def postpones(self, key: Constraint, cause: Cause = "key") -> bool:
        """Return whether a constraint is checked later than its statement, and if so record the check and its cause."""
        if not self.deferral.is_deferred(key):
            if self.judges_later:
                self.later = (*self.later, Event(cause, key.oid))
            return self.judges_later
        self.deferral = self.deferral.with_event(Event(cause, key.oid))
        return True

    async def record(self, table: Table, intents: Intents, *, appends_only: bool, whole: bool) -> None:
        catalog = self.session.catalog
        await self.engine.in_operation_pool(
            lambda: catalog.tables.change_data(
                table, intents.added, intents.removed, appends_only=appends_only, whole=whole
            )
        )
        self._recorded = intents

    async def coalesce(self, table: Table) -> None:
        """Rewrite the rows of an open transaction's INSERTs into one file if they are in many: a transaction that
        inserts one row at a time would otherwise read, and leave, a file for each. The transaction removes the small
        files when it ends.
        """
        catalog, files = self.session.catalog, self.session.catalog.tables.appended_files(table)
        if len(files) < COALESCED:
            return
        present = catalog.current().relations[table.schema, table.name]
        assert isinstance(present, Table), "what rows were inserted into"
        kept = writer_bytes(self.memory, KEPT_BYTES)
        ask = functools.partial(self.queries.open, here=True)
        added = await write_anew(self.engine.store.tables, present, files, ask, self.in_writer_pool, kept)
        removed = tuple(file.path for file in files)
        await shielded(
            self.engine.in_operation_pool(
                lambda: catalog.tables.change_data(present, added, removed, appends_only=False)
            )
        )

    # -- foreign keys --------------------------------------------------------------------------------------------

    async def judge(self, plan: Mutate, moved: Sequence[pa.RecordBatch] = ()) -> None:
        """Check foreign keys for the recorded changes. Raises ForeignKeyViolation. moved: `Outcome.moved`. A replica
        (`session_replication_role`) does not check them, because its rows were checked at their origin.
        """
        if self.session.settings.get("session_replication_role") == "replica":
            return
        await foreign_keys.judge(plan, self._recorded, moved, self)

    def wants_moved(self, plan: Mutate) -> bool:
        return any(
            is_told(plan, constraint) for _, constraint in foreign_keys.referencing_keys(self.tables(), plan.table)
        )

    def tables(self) -> list[Table]:
        """Return the stored tables that the session sees now."""
        return [table for table in self.session.catalog.current().tables() if table.storage is not None]

    def shown_columns(self, table: Table) -> ShownColumns:
        """Return the columns of a table that messages may show. The table need not be the target of the statement."""
        return shown_columns(self.session.authority(), table)

    async def refresh(self, table: Table) -> Table:
        return await self.in_writer_pool(lambda: refresh(table))

    async def guard(self, table: Table, *, whole: bool) -> None:
        await self.engine.in_operation_pool(lambda: self.session.catalog.tables.guard(table, whole=whole))

    async def carry_out(self, statement: MutationStatement, tables: Mapping[str, Table]) -> None:
        """Run an internal statement that can also read these tables."""
        context, catalog = self.session.environment.context((), {})
        context.catalog = NamedTables(tables, catalog)
        planned = await plan_mutation(self.engine, statement, context, catalog.reads.values, None)
        await run_mutation(self.session, self.engine, planned, ())

    @property
    def memory(self) -> MemoryShare | None:
        return self.session.memory

    @property
    def output(self) -> OutputSettings:
        return OutputSettings.read(self.session.settings.get)
