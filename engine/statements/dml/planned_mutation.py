"""A statement that changes rows, bound and kept until it runs, and its result: PostgreSQL's command tags."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from engine.catalog.model.objects import Relation, Table
from engine.catalog.snapshot import TEMPORARY
from engine.contracts.materialized_results import BatchesStream, StreamExecution
from engine.contracts.sessions import Execution, Prepared
from engine.lakes.foreign_files import refresh
from engine.lakes.local_disks import are_local, look_up, paths_of
from engine.plan_ir.logical import TableReader
from engine.plan_ir.requirements import Requirement
from engine.plan_ir.rewrite import walk_all
from engine.runtime.planning_pool import SHORT_CHARACTERS
from engine.session.context.statement_cache import lists_many
from engine.sql.binder.mutations import BoundMutation, bind_mutation
from engine.sql.binder.scope import BindContext
from engine.sql.parser.nodes.statements import MutationStatement
from engine.statements.dml.direct_rows import DirectRows, direct_rows
from engine.statements.dml.run import Outcome
from wire.dataclass import dataclass
from wire.errors import ReadOnlySqlTransaction
from wire.types.text_settings import InputSettings

if TYPE_CHECKING:
    from engine.session.context.session_context import SessionContext
    from engine.statements.shared.engine_services import EngineServices

#: The words of command tags.
TAGS: Final = {"insert": "INSERT 0", "update": "UPDATE", "delete": "DELETE", "merge": "MERGE"}


@dataclass(frozen=True, slots=True)
class PlannedMutation:
    """A bound statement, with the conditions under which it stays valid: if the key is equal, binding the statement
    again would give the same result.

    - key: None if it is valid for one execution only
    - reads: the relations that it names
    - requirements: the privileges that each execution needs
    - long: whether it waits for its turn to be planned
    - direct: makes its rows without an engine, if they can be made so; then the statement is also valid under
      `definitions`, whatever rows the table has
    - read_by: the settings by which its literals were read
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
        """Return the statement over the current state of its table. Only for a statement whose rows are made directly."""
        if table is self.bound.plan.table:
            return self
        return replace(self, key=None, bound=replace(self.bound, plan=replace(self.bound.plan, table=table)))

    def fresh(self) -> bool:
        """Return whether the files of its tables are still those for which it was bound."""
        look_up(paths_of(self._tables))
        return all(refresh(table) is table for table in self._tables)

    @property
    def may_wait(self) -> bool:
        """Whether `fresh` may take long: it looks at many files, or at some that are not on local disks."""
        return lists_many(self._tables) or not are_local(paths_of(self._tables))

    @property
    def rows_of(self) -> Sequence[Relation]:
        """The relations on whose rows its effect depends: without the target of an INSERT that does not read it."""
        plan = self.bound.plan
        if plan.kind != "insert" or any(
            isinstance(node, TableReader) and node.table.oid == plan.table.oid for node in walk_all(plan)
        ):
            return self.reads
        return [relation for relation in self.reads if relation.oid != plan.table.oid]

    @property
    def _tables(self) -> Sequence[Table]:
        return [relation for relation in self.reads if isinstance(relation, Table)]


async def plan_mutation(
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


def answer(planned: PlannedMutation, prepared: Prepared, outcome: Outcome) -> Execution:
    """Return the statement's result for the client: its command tag, and the rows of RETURNING."""
    tag = f"{TAGS[planned.bound.plan.kind]} {outcome.rows}"
    if prepared.columns is None:
        return StreamExecution(None, tag)
    return StreamExecution(planned.bound.columns, tag, stream=BatchesStream(outcome.returned))


def require_writable(session: SessionContext, command: str, table: Table) -> None:
    """Raise ReadOnlySqlTransaction if the transaction is read-only and the table is not temporary."""
    if table.schema != TEMPORARY and session.settings.get("transaction_read_only") == "on":
        raise ReadOnlySqlTransaction(f"cannot execute {command} in a read-only transaction")
