"""A session's statements that change rows: bound, kept until they run, run, and answered with PostgreSQL's command tags."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.catalog.model.objects import Constraint, DataFile, Relation, Table
from engine.catalog.snapshot import TEMPORARY
from engine.common.shielded import shielded
from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.contracts.materialized_results import BatchesStream, StreamExecution
from engine.contracts.memory_share import MemoryShare, writer_bytes
from engine.contracts.sessions import Execution, Prepared
from engine.executors.spark.connection import is_embedded
from engine.executors.spark.write_task import rules
from engine.lakes.foreign_files import refresh
from engine.plan_ir.logical import Mutate, Root, TableReader
from engine.plan_ir.physical import StagedChange
from engine.plan_ir.requirements import Requirement
from engine.plan_ir.rewrite import walk_all
from engine.plan_ir.shown_columns import ShownColumns
from engine.planner.codegen import Bindings
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.planner.planner import optimise
from engine.runtime.planning_pool import SHORT_CHARACTERS, SHORT_NODES
from engine.session.context import functions
from engine.session.context.statement_cache import lists_many
from engine.sql.binder.mutations import BoundMutation, bind_mutation
from engine.sql.binder.scope import BindContext
from engine.sql.parser.nodes.statements import MutationStatement
from engine.statements.dml import foreign_keys
from engine.statements.dml.cascade import is_told
from engine.statements.dml.collector import collect_files, told_by_all
from engine.statements.dml.direct_rows import DirectRows, direct_rows
from engine.statements.dml.intents import Intents
from engine.statements.dml.run import Outcome, run, told_in_order
from engine.statements.dml.shown_columns import shown_columns, with_shown
from engine.statements.dml.spark_files import by_spark_alone
from engine.statements.dml.tasks import by_members, by_tasks, write
from engine.statements.dml.write_anew import write_anew
from engine.statements.shared.compiling import PlanSizes, compile_aside, sizes_of
from engine.statements.shared.deferral import Cause, Deferral, Event
from engine.statements.shared.distribution import CompiledQuery, DistributedQuery, Terms
from engine.statements.shared.fault_policy import Policy, RepeatableQuery, Repetition
from engine.statements.shared.named_tables import NamedTables
from engine.storage.kept_rows import KEPT_ROWS_BYTES
from engine.storage.staging import KEPT_BYTES
from engine.storage.staging_area import new_name
from engine.writers.sink import RowSink
from engine.writers.write_result import Written
from wire.dataclass import dataclass
from wire.errors import ReadOnlySqlTransaction, SqlError
from wire.types.output import OutputSettings
from wire.types.text_settings import InputSettings

if TYPE_CHECKING:
    from engine.session.context.session_context import SessionContext
    from engine.statements.shared.engine_services import EngineServices

T = TypeVar("T")
#: Files of a transaction's INSERTs that are written anew as one.
COALESCED: Final = 64
#: Rows that are made directly on the loop's thread.
_ROWS_HERE: Final = 64
_TAGS: Final = {"insert": "INSERT 0", "update": "UPDATE", "delete": "DELETE", "merge": "MERGE"}


@dataclass(frozen=True, slots=True)
class PlannedMutation:
    """A bound statement, and under what it is valid: equal keys mean that binding it again would give the same.

    key: None where it never would. reads: the relations that it names. requirements: what has to be permitted whenever it runs.
    long: whether it waits for its turn to be planned. direct: how its rows are made without an engine, where they can be; then the
    statement is valid under `definitions`, too, whatever rows there are. read_by: the settings by which its literals were read.
    """

    bound: BoundMutation
    key: Hashable | None
    reads: tuple[Relation, ...]
    requirements: tuple[Requirement, ...] = ()
    long: bool = False
    direct: DirectRows | None = None
    definitions: Hashable | None = None
    read_by: InputSettings | None = None

    def over(self, table: Table) -> PlannedMutation:
        """The same over the table as it is now; for one whose rows are made directly."""
        if table is self.bound.plan.table:
            return self
        return replace(self, key=None, bound=replace(self.bound, plan=replace(self.bound.plan, table=table)))

    def fresh(self) -> bool:
        """Whether the files of its tables are still those it was bound for."""
        return all(refresh(relation) is relation for relation in self.reads if isinstance(relation, Table))

    @property
    def lists_many(self) -> bool:
        """Whether `fresh` takes long."""
        return lists_many(relation for relation in self.reads if isinstance(relation, Table))


async def plan(
    engine: EngineServices,
    statement: MutationStatement,
    context: BindContext,
    reads: Callable[[], Iterable[Relation]],
    key: Hashable | None,
    definitions: Hashable | None = None,
) -> PlannedMutation:
    """Bind a statement, on an operation thread. key, definitions: see `PlannedMutation`."""
    long = len(statement.text) > SHORT_CHARACTERS

    def bind() -> BoundMutation:
        with context.statement_binding():
            return bind_mutation(statement, context)

    bound = await engine.planning.run(bind, long=long)
    stable = context.stable
    return PlannedMutation(
        bound, key if stable else None, tuple(reads()), context.accesses.to_requirements(), long,
        direct_rows(bound.plan) if stable and not bound.locks else None, definitions if stable else None,
        context.literal_settings and replace(context.literal_settings, now=0),
    )  # fmt: skip


async def direct_outcome(
    session: SessionContext,
    engine: EngineServices,
    planned: PlannedMutation,
    rows: Sequence[Sequence[Any]],
    *,
    keeps: bool,
) -> Outcome | None:
    """Run an INSERT once for each of these arguments, all at once; None where its rows cannot be made directly, and nothing was
    done. keeps: whether rows that depend on nothing may be kept in memory, since the transaction goes on. Raises SqlError, with
    nothing changed but values taken of sequences."""
    assert planned.direct is not None, "asked before"
    make = functools.partial(planned.direct.batch, rows, session.context_value, session.taken)
    aside = planned.direct.takes_numbers or len(rows) > _ROWS_HERE
    batch = await engine.in_operation_pool(make) if aside else make()
    if batch is None:
        return None
    change = planned.bound.plan
    if change.keys or change.foreign_keys:
        # What is asked of its rows is asked of the files that it has now.
        planned = planned.over(await engine.in_operation_pool(lambda: refresh(change.table)))
    elif keeps and change.table.schema != TEMPORARY:
        return await _keep_rows(session, planned, batch)
    return await outcome(session, engine, planned, (), batch)


async def _keep_rows(session: SessionContext, planned: PlannedMutation, batch: pa.RecordBatch) -> Outcome:
    """The rows judged and kept for the transaction."""
    change = with_shown(planned.bound.plan, session.authority(), planned.requirements)
    require_writable(session, _TAGS[change.kind].split()[0], change.table)
    rows = _Collected()
    sink = RowSink(change, rows, session.taken, OutputSettings.read(session.settings.get), memory=session.memory)
    sink.write(batch)
    if not session.catalog.has_room(batch, writer_bytes(session.memory, KEPT_ROWS_BYTES)):
        await session.write_kept()
    for written in rows.batches:
        session.catalog.keep_rows(change.table, written)
    return Outcome(sink.count, sink.summarize(()).returned)


class _Collected:
    """A writer (`engine.writers.parts.Writer`) that leaves rows where they are."""

    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)

    def finish(self) -> tuple[DataFile, ...]:
        return ()

    def abandon(self) -> None:
        self.batches.clear()


async def outcome(
    session: SessionContext,
    engine: EngineServices,
    planned: PlannedMutation,
    arguments: Sequence[Any],
    batch: pa.RecordBatch | None = None,
) -> Outcome:
    """Run a statement to its end. batch: its input where that was made directly. Raises SqlError with nothing changed."""
    change = planned.bound.plan
    change = with_shown(change, session.authority(), planned.requirements)
    require_writable(session, _TAGS[change.kind].split()[0], change.table)
    ground = SessionMutationContext(session, engine, tuple(arguments), long=planned.long, direct=batch)
    told = await run(change, ground, ground)
    await ground.judge(change, told.moved)
    if change.kind == "insert":
        await ground.coalesce(change.table)
    return told


def answer(planned: PlannedMutation, prepared: Prepared, outcome: Outcome) -> Execution:
    """Return the statement's result for the client: its command tag, and the rows of RETURNING."""
    tag = f"{_TAGS[planned.bound.plan.kind]} {outcome.rows}"
    if prepared.columns is None:
        return StreamExecution(None, tag)
    return StreamExecution(planned.bound.columns, tag, stream=BatchesStream(outcome.returned))


def require_writable(session: SessionContext, command: str, table: Table) -> None:
    """Raises ReadOnlySqlTransaction for a table that outlives the session in a transaction that may not write."""
    if table.schema != TEMPORARY and session.settings.get("transaction_read_only") == "on":
        raise ReadOnlySqlTransaction(f"cannot execute {command} in a read-only transaction")


def keeps_order(plan: Mutate, compiled: CompiledQuery) -> bool:
    """Whether rows that this member writes are to be made here alone, for the order in which RETURNING tells of them."""
    return told_in_order(plan) and isinstance(compiled.runs, DistributedQuery) and compiled.runs.area is None


@dataclass(slots=True)
class SessionMutationContext:
    """`engine.statements.dml.run.MutationContext` of one execution. values: of the session, the same for all of its queries.
    judges_later: whether constraints that are not deferred are judged by whoever runs it, who finds them in `later`. long: whether
    the statement waits for its turn to be planned (`engine.runtime.planning_pool`). direct: the MUTATE's input where it was made
    without an engine."""

    session: SessionContext
    engine: EngineServices
    arguments: tuple[Any, ...]
    values: dict[str, Any] = field(default_factory=dict)
    judges_later: bool = False
    later: tuple[Event, ...] = ()
    long: bool = False
    direct: pa.RecordBatch | None = None
    _recorded: Intents = field(default_factory=Intents)

    async def open(self, plan: Root, *, here: bool) -> BatchStream:
        query = await self._query(plan, here=here)
        return await query.open()

    async def ask(self, plan: Root) -> BatchStream:
        """Each participant looks into its own splits, where the files are worth that. A Spark job would take longer than most
        questions about files, whatever was wished for the statement."""
        query = await self._query(plan)
        if query.terms.wish == "spark":
            query = replace(query, terms=replace(query.terms, wish="auto"))
        return await query.open()

    async def feed(self, plan: Mutate, query: Root) -> Written | BatchStream:
        """Participants write what they make, Spark's tasks where Spark alone makes the rows."""
        if self.direct is not None:
            return BatchesStream((self.direct,))
        repeatable = await self._query(query, change=plan)
        compiled, context = await repeatable.compile(), repeatable.context
        if isinstance(compiled.runs, DistributedQuery) and compiled.runs.area is None:
            return await self.open(query, here=True) if keeps_order(plan, compiled) else await repeatable.open()
        repetition = Repetition(repeatable, repeatable.members_of(compiled))
        while True:
            try:
                return await self._run_attempt(plan, compiled, context)
            except SqlError as error:
                compiled = await repetition.after(error)
                context = repeatable.next_context()

    async def _run_attempt(
        self, plan: Mutate, compiled: CompiledQuery, context: ExecutionContext
    ) -> Written | BatchStream:
        """One attempt."""
        runs, pool = compiled.runs, self.engine.in_writer_pool
        if isinstance(runs, DistributedQuery) and runs.area is not None:

            async def by_participants(_folder: Path) -> Written:
                return await told_by_all(await self.engine.open(compiled, context))

            written = await collect_files(plan.table, runs.area, pool, by_participants)
            self._note(written)
            return written
        if isinstance(runs, CompiledFragment) and runs.engine == "spark" and not runs.small and by_tasks(plan):
            return await write(self.engine.spark, runs, context, plan, self.output, pool)
        return await self.engine.open(compiled, context)

    def stage_change(self, plan: Mutate) -> StagedChange | None:
        """How participants are to write its rows, in a folder of this attempt's own; None where they cannot.

        Members see this member's folder of tables if they share its base.
        """
        if self.engine.config.base is None or not by_members(plan):
            return None
        sequences = {oid: self.session.sequence_of(oid) for _, oid in plan.filled}
        tasks = by_tasks(plan)
        return StagedChange(
            rules(plan), new_name(), self.output, sequences, tasks=tasks, alone=tasks and by_spark_alone(plan),
            sparks=tasks and is_embedded(self.engine.config.spark.master),
        )  # fmt: skip

    def _note(self, written: Written) -> None:
        """The last value of each sequence, for currval: the one that a single writer would have taken last."""
        for oid in {oid for oid, _ in written.given}:
            sequence = self.session.sequence_of(oid)
            values = [value for given, value in written.given if given == oid]
            self.session.sequences.note(sequence, max(values) if sequence.increment > 0 else min(values))

    def terms(self, node: Root, *, here: bool = False, writes: bool = False) -> Terms:
        """The session's, for a statement's query. here: on this member alone. writes: whether its rows are written into files."""
        terms = self.session.terms()
        if writes:
            terms = replace(terms, writes=True)
        if here:
            terms = terms.on_this_member()
        if not any(isinstance(below, TableReader) for below in walk_all(node)):
            # A list of values is written here, whatever was wished for queries: it is over before a job would have begun.
            terms = replace(terms, wish="auto")
        return terms

    async def _query(self, plan: Root, *, here: bool = False, change: Mutate | None = None) -> RepeatableQuery:
        """here: on this member alone. change: what is to be done with its rows, by its participants where they can."""
        session, engine = self.session, self.engine

        def ready() -> tuple[Root, Terms, Bindings, PlanSizes]:
            node = self._ready(plan)
            return node, self.terms(node, here=here, writes=change is not None), self.bindings(node), sizes_of(node)

        node, terms, bindings, sizes = await engine.planning.run(ready, long=self.long)

        async def compiled_as(chosen: Terms) -> CompiledQuery:
            staged, begun = None if change is None else self.stage_change(change), time.monotonic()
            query = await compile_aside(engine, node, chosen, bindings, change=staged, sizes=sizes)
            if session.record is not None:
                session.record.record_plan(
                    node if sizes.nodes <= SHORT_NODES else None, query, time.monotonic() - begun
                )
            return query

        policy = cast("Policy", session.settings.get("sluice.fault_policy"))
        return RepeatableQuery(engine, policy, terms, compiled_as, session.execution_context(), session.record)

    def _ready(self, plan: Root) -> Root:
        parameters = self._parameters()
        return functions.evaluate(optimise(plan), self.session, parameters)

    def _parameters(self) -> dict[int, Any]:
        return dict(enumerate(self.arguments, 1))

    def bindings(self, node: Root) -> Bindings:
        for name in functions.context_names(node):
            if name not in self.values:
                self.values[name] = self.session.context_value(name)
        return Bindings(self._parameters(), self.values, self.session.settings.get("TimeZone"))

    async def in_writer_pool(self, call: Callable[[], T]) -> T:
        return await self.engine.in_writer_pool(call)

    def take(self, sequence: int, count: int) -> npt.NDArray[np.int64]:
        return self.session.taken(sequence, count)

    @property
    def deferral(self) -> Deferral:
        """The constraint checks that the session's transaction has deferred."""
        return self.session.transaction.deferral

    @deferral.setter
    def deferral(self, now: Deferral) -> None:
        self.session.transaction.deferral = now

    def postpones(self, key: Constraint, cause: Cause = "key") -> bool:
        """Whether a constraint is judged later than with the statement; that it is to be, and why, is noted."""
        if not self.deferral.is_deferred(key):
            if self.judges_later:
                self.later = (*self.later, Event(cause, key.oid))
            return self.judges_later
        self.deferral = self.deferral.with_event(Event(cause, key.oid))
        return True

    async def record(self, table: Table, intents: Intents, *, appends_only: bool, whole: bool) -> None:
        catalog = self.session.catalog
        await self.engine.in_operation_pool(
            lambda: catalog.change_data(table, intents.added, intents.removed, appends_only=appends_only, whole=whole)
        )
        self._recorded = intents

    async def coalesce(self, table: Table) -> None:
        """Write the rows of an open transaction's INSERTs into one file where they are in many: a transaction that inserts one row
        at a time would read, and leave, a file for each. The transaction removes the small ones when it ends."""
        catalog, files = self.session.catalog, self.session.catalog.appended_files(table)
        if len(files) < COALESCED:
            return
        present = catalog.current().relations[table.schema, table.name]
        assert isinstance(present, Table), "what rows were inserted into"
        kept = writer_bytes(self.memory, KEPT_BYTES)
        ask = functools.partial(self.open, here=True)
        added = await write_anew(self.engine.store.tables, present, files, ask, self.in_writer_pool, kept)
        removed = tuple(file.path for file in files)
        await shielded(
            self.engine.in_operation_pool(lambda: catalog.change_data(present, added, removed, appends_only=False))
        )

    # -- foreign keys --------------------------------------------------------------------------------------------

    async def judge(self, plan: Mutate, moved: Sequence[pa.RecordBatch] = ()) -> None:
        """Raises ForeignKeyViolation for what was recorded. moved: `Outcome.moved`. Not for a replica, whose rows are judged
        where they come from."""
        if self.session.settings.get("session_replication_role") == "replica":
            return
        await foreign_keys.judge(plan, self._recorded, moved, self)

    def wants_moved(self, plan: Mutate) -> bool:
        return any(
            is_told(plan, constraint) for _, constraint in foreign_keys.referencing_keys(self.tables(), plan.table)
        )

    def tables(self) -> list[Table]:
        """The session's, as of now."""
        return [table for table in self.session.catalog.current().tables() if table.storage is not None]

    def shown_columns(self, table: Table) -> ShownColumns:
        """Return the columns of a table that messages may show. The table need not be the target of the statement."""
        return shown_columns(self.session.authority(), table)

    async def refresh(self, table: Table) -> Table:
        return await self.in_writer_pool(lambda: refresh(table))

    async def guard(self, table: Table, *, whole: bool) -> None:
        await self.engine.in_operation_pool(lambda: self.session.catalog.guard(table, whole=whole))

    async def carry_out(self, statement: MutationStatement, tables: Mapping[str, Table]) -> None:
        """A statement of our own that reads these besides."""
        context, catalog = self.session.bind_context((), {})
        context.catalog = NamedTables(tables, catalog)
        planned = await plan(self.engine, statement, context, catalog.reads.values, None)
        await outcome(self.session, self.engine, planned, ())

    @property
    def memory(self) -> MemoryShare | None:
        return self.session.memory

    @property
    def output(self) -> OutputSettings:
        return OutputSettings.read(self.session.settings.get)
