"""Opens the queries of a statement that changes rows: it decides on which engine and members they run, and where their
rows are written.
"""

from __future__ import annotations

import time
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.contracts.materialized_results import BatchesStream
from engine.plan_ir.logical import Mutate, Root, TableReader
from engine.plan_ir.rewrite import walk_all
from engine.planner.codegen import Bindings
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.planner.planner import optimise
from engine.runtime.planning_pool import SHORT_NODES
from engine.session.context import functions
from engine.statements.dml.collector import collect_files, told_by_all
from engine.statements.dml.run import told_in_order
from engine.statements.dml.staged_change import stage_change
from engine.statements.dml.tasks import by_tasks, write
from engine.statements.shared.compiling import PlanSizes, compile_aside, sizes_of
from engine.statements.shared.distribution import CompiledQuery, DistributedQuery
from engine.statements.shared.fault_policy import Policy, RepeatableQuery, Repetition
from engine.statements.shared.terms import Terms
from engine.writers.write_result import Written
from wire.dataclass import dataclass
from wire.errors import SqlError
from wire.types.output import OutputSettings

if TYPE_CHECKING:
    from engine.session.context.session_context import SessionContext
    from engine.statements.shared.engine_services import EngineServices


def keeps_order(plan: Mutate, compiled: CompiledQuery) -> bool:
    """Return whether the rows that this member writes must be produced on this member alone, so that RETURNING returns
    them in order.
    """
    return told_in_order(plan) and isinstance(compiled.runs, DistributedQuery) and compiled.runs.area is None


@dataclass(slots=True)
class MutationQueries:
    """The `engine.statements.dml.run.Engines` of one execution. values: of the session, the same for all of its
    queries. long: whether the statement waits for its turn to be planned (`engine.runtime.planning_pool`). direct: the
    MUTATE's input if it was made without an engine.
    """

    session: SessionContext
    engine: EngineServices
    arguments: tuple[Any, ...] = ()
    long: bool = False
    direct: pa.RecordBatch | None = None
    values: dict[str, Any] = field(default_factory=dict)

    async def open(self, plan: Root, *, here: bool) -> BatchStream:
        """Start a query that is not optimised yet. here: on this member alone."""
        query = await self._query(plan, here=here)
        return await query.open()

    async def ask(self, plan: Root) -> BatchStream:
        """Run a query about the table's files. Each participant reads its own splits, if the files are large enough for
        that. The query does not run on Spark only because the statement's settings say so: a Spark job would take
        longer than most such queries.
        """
        query = await self._query(plan)
        if query.terms.wish == "spark":
            query = replace(query, terms=replace(query.terms, wish="auto"))
        return await query.open()

    async def feed(self, plan: Mutate, query: Root) -> Written | BatchStream:
        """Run the input. Participants write the rows that they produce, and Spark's tasks write them if Spark alone
        produces the rows; otherwise the rows are returned.
        """
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
        """Run the compiled input once."""
        runs, pool = compiled.runs, self.engine.in_writer_pool
        if isinstance(runs, DistributedQuery) and runs.area is not None:

            async def by_participants(_folder: Path) -> Written:
                return await told_by_all(await self.engine.queries.open(compiled, context))

            written = await collect_files(plan.table, runs.area, pool, by_participants)
            self._note(written)
            return written
        if isinstance(runs, CompiledFragment) and runs.engine == "spark" and not runs.small and by_tasks(plan):
            return await write(
                self.engine.spark, runs, context, plan, OutputSettings.read(self.session.settings.get), pool
            )
        return await self.engine.queries.open(compiled, context)

    def _note(self, written: Written) -> None:
        """Record the last value of each sequence for currval: the value that a single writer would have taken last."""
        for oid in {oid for oid, _ in written.given}:
            sequence = self.session.catalog.sequence(oid)
            values = [value for given, value in written.given if given == oid]
            self.session.sequences.note(sequence, max(values) if sequence.increment > 0 else min(values))

    def terms(self, node: Root, *, here: bool = False, writes: bool = False) -> Terms:
        """Return the session's terms for a query of the statement. here: on this member alone. writes: whether its rows
        are written into files.
        """
        terms = self.session.terms()
        if writes:
            terms = replace(terms, writes=True)
        if here:
            terms = terms.on_this_member()
        if not any(isinstance(below, TableReader) for below in walk_all(node)):
            # A list of values is written on this member, whatever the settings say: it ends before a job would have
            # started.
            terms = replace(terms, wish="auto")
        return terms

    async def _query(self, plan: Root, *, here: bool = False, change: Mutate | None = None) -> RepeatableQuery:
        """Prepare a query to be run. here: on this member alone. change: the statement whose rows the query produces;
        participants write them if they can.
        """
        session, engine = self.session, self.engine

        def ready() -> tuple[Root, Terms, Bindings, PlanSizes]:
            node = self._ready(plan)
            return node, self.terms(node, here=here, writes=change is not None), self.bindings(node), sizes_of(node)

        node, terms, bindings, sizes = await engine.planning.run(ready, long=self.long)

        async def compiled_as(chosen: Terms) -> CompiledQuery:
            staged, begun = None if change is None else stage_change(session, engine, change), time.monotonic()
            query = await compile_aside(engine, node, chosen, bindings, change=staged, sizes=sizes)
            if session.record is not None:
                session.record.record_plan(
                    node if sizes.nodes <= SHORT_NODES else None, query, time.monotonic() - begun
                )
            return query

        policy = cast("Policy", session.settings.get("sluice.fault_policy"))
        return RepeatableQuery(engine.queries, policy, terms, compiled_as, session.execution_context(), session.record)

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
