"""One client's engine side (`engine.contracts.sessions.EngineSession`): prepare and execute, settings, catalog transaction.

Binding runs on an operation thread, unless the statement cache has it. A query is bound once at Parse for Describe; at
Execute it is looked up again by the catalog as it is then, so that a statement prepared before a view was replaced runs
the new one or says that it cannot (0A000 cached plan must not change result type).
"""

from __future__ import annotations

import functools
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import numpy.typing as npt

from engine.catalog.authority import Authority
from engine.catalog.model import acl
from engine.catalog.model.objects import Relation, Table
from engine.catalog.model.objects import Sequence as NumberSequence
from engine.catalog.model.rights import Judge, Rights
from engine.catalog.model.roles import Roles
from engine.catalog.snapshot import SLUICE, TEMPORARY
from engine.catalog.store.transaction import SessionCatalog
from engine.common import sql_type as st
from engine.common.notice_deduplicator import ToldOnce
from engine.common.shielded import shielded
from engine.common.value_sizes import are_long
from engine.contracts.executor import ExecutionContext
from engine.contracts.materialized_results import RowsStream, StreamExecution
from engine.contracts.memory_share import MemoryShare, page_bytes, share_of, writer_bytes
from engine.contracts.mesh import MemberInfo
from engine.contracts.sessions import Client, EngineSession, Execution, Prepared, ResultColumn
from engine.pg_catalog import PG_CATALOG, SystemCatalog, SystemContext
from engine.pg_catalog.declared import INFORMATION_SCHEMA
from engine.plan_ir.logical import Final as FinalNode
from engine.plan_ir.requirements import Accesses
from engine.planner.codegen import Bindings
from engine.planner.planner import optimise
from engine.runtime.planning_pool import SHORT_CHARACTERS, SHORT_NODES
from engine.session.context import functions
from engine.session.context.advisory_locks import SessionLocks
from engine.session.context.parameter_digits import Digits, digits_of
from engine.session.context.permissions import require_permitted
from engine.session.context.recording_catalog import RecordingCatalog
from engine.session.context.roles import SessionRoles
from engine.session.context.row_calls import RowCallStream
from engine.session.context.statement_cache import PlannedQuery
from engine.session.context.system_rows import with_rows_of_now
from engine.session.transaction import SessionTransaction
from engine.settings.session_settings import SessionSettings
from engine.sql.binder import bind_query, regnames
from engine.sql.binder.scope import BindContext, ParameterTypes, RowLock
from engine.sql.parser.nodes import statements as s
from engine.sql.parser.nodes.copy import CopyFrom, CopyTo
from engine.statements.copy.copy_from import copy_from
from engine.statements.copy.copy_to import copy_to
from engine.statements.ddl import definitions_with_rows
from engine.statements.ddl.definitions import DEFINITIONS, define, refuse_in_read_only
from engine.statements.ddl.drop import drop
from engine.statements.ddl.foreign_table import create_foreign_table
from engine.statements.ddl.role_ground import RoleGround
from engine.statements.ddl.roles import ROLE_STATEMENTS, change_roles
from engine.statements.dml import deferred, with_running
from engine.statements.dml import statement as mutations
from engine.statements.dml.autocommit_retry import needs_turn
from engine.statements.dml.explain import explain_change
from engine.statements.dml.run import Outcome
from engine.statements.maintenance import analyze, vacuum
from engine.statements.maintenance.lock import lock_tables
from engine.statements.query.explain import ExplainRequest, explain, summarised
from engine.statements.shared.compiling import compile_aside
from engine.statements.shared.deferral import Deferral
from engine.statements.shared.definer import Definer
from engine.statements.shared.distribution import CompiledQuery, Terms, data_members
from engine.statements.shared.fault_policy import Policy, RepeatableQuery
from engine.statements.shared.sequences import SessionSequences
from engine.statements.shared.text_styles import check_styles, foreign_styles
from engine.storage.staging import KEPT_BYTES
from wire.errors import (
    CachedPlanChanged,
    FeatureNotSupported,
    InternalError,
    Notice,
    ReadOnlySqlTransaction,
    SqlError,
    UndefinedObject,
)
from wire.types import pg_types as t
from wire.types.text_settings import InputSettings

if TYPE_CHECKING:
    from engine.session.services import SessionServices

#: Characters of a statement's values with which what it is compiled to is kept.
_VALUES_LENGTH: Final = 4096
_SYSTEM_SCHEMAS: Final = (PG_CATALOG,)
#: Those that are there without being made, and are looked in where a search path says so.
_LOOKED_IN: Final = (PG_CATALOG, INFORMATION_SCHEMA, SLUICE)
#: What changes definitions, or all rows of a table at once.
_DEFINING: Final = (
    *DEFINITIONS,
    *definitions_with_rows.STATEMENTS,
    *ROLE_STATEMENTS,
    s.Truncate,
    s.CreateForeignTable,
    s.Drop,
)
#: Of these, what writes rows of a query, however many.
_WRITING: Final = (s.CreateTableAs, s.CreateMaterializedView, s.RefreshMaterializedView)
#: Statements of which a session keeps how their rows are made directly.
_DIRECT: Final = 32
#: Values of the context that are others each time.
_MOMENTS: Final = ("now", "statement_timestamp")
Bound = tuple[FinalNode, Bindings]


class Session(EngineSession):
    """See `engine.contracts.sessions`. Created by `Engine.session`."""

    def __init__(
        self, engine: SessionServices, *, user: str, database: str, settings: SessionSettings, client: Client
    ) -> None:
        self.settings = settings
        self.database = database
        self.client = client
        self.catalog = SessionCatalog(engine.store, self._is_repeatable, lambda: self.roles.current.oid)
        self.roles = SessionRoles(
            user, settings, lambda: self.catalog.current().roles, lambda: engine.store.snapshot.roles
        )
        self._judge = Judge(Rights(), Roles())
        self.sequences = SessionSequences(engine.store)
        self._engine = engine
        self._user = user
        self._system = SystemCatalog()
        self._notices = ToldOnce(client.notice)
        self.locks = SessionLocks(engine.advisory_locks, client.backend_pid)
        self._transaction = SessionTransaction(engine, self.settings, self.catalog, self.locks, self._judge_deferred)
        #: The client's turn for which commits were looked for, until a statement has made use of it.
        self._seen: int | None = None
        self._input: tuple[int, InputSettings] | None = None
        #: INSERTs whose rows are made directly, by text and types of parameters; the last ones.
        self._direct: OrderedDict[tuple[str, tuple[int, ...]], mutations.PlannedMutation] = OrderedDict()

    # -- statements ----------------------------------------------------------------------------------------------

    async def parse(self, sql: str) -> Sequence[s.Statement]:
        return await self._engine.parsed(sql)

    async def prepare(self, statement: s.Statement, parameter_types: Sequence[int]) -> Prepared:
        await self._engine.see_commits()
        self._seen = self.client.turn
        await self._claim_snapshot()
        if not isinstance(statement, s.MutationStatement):
            await self.write_kept()
        match statement:
            case s.Query():
                planned = await self.plan(statement, tuple(parameter_types), {})
                return Prepared(statement, planned.parameters, planned.columns, planned)
            case s.MutationStatement():
                change = await self._prepare_mutation(statement, tuple(parameter_types))
                return Prepared(statement, change.bound.parameters, change.bound.columns, change)
            case s.WithChanges():
                parts = await with_running.bind(self, self._engine, statement, parameter_types, {})
                return Prepared(statement, parts.parameters, parts.last.columns, parts)
            case s.DeclareCursor() | s.CreateTableAs():
                planned = await self.plan(statement.query, tuple(parameter_types), {})
                return Prepared(statement, planned.parameters, None, planned)
            case s.Explain(inner=s.Query() | s.DeclareCursor() as inner):
                query = inner if isinstance(inner, s.Query) else inner.query
                planned = await self.plan(query, tuple(parameter_types), {})
                return Prepared(statement, planned.parameters, self._plan_columns(statement), planned)
            case s.Explain(inner=s.MutationStatement() as changing):
                change = await self._plan_mutation(changing, tuple(parameter_types), {})
                return Prepared(statement, change.bound.parameters, self._plan_columns(statement), change)
            case s.ShowVariable():
                return Prepared(statement, (), self._show_columns(statement.name))
            case _:
                return Prepared(statement, (), None)

    async def _claim_snapshot(self) -> None:
        if self.catalog.claims_snapshot:
            await self._engine.in_operation_pool(self.catalog.claim_snapshot)

    async def execute(self, prepared: Prepared, arguments: Sequence[Any], *, single: bool = False) -> Execution:
        alone = self._transaction.executes(single=single, query=isinstance(prepared.statement, s.Query))
        await self._begin_statement(prepared)
        arguments = regnames.with_oids(prepared.parameters, arguments, lambda: self.bind_context((), {})[0])
        match prepared.statement:
            case s.Query() as statement:
                return await self.run_query(prepared, statement, arguments)
            case s.MutationStatement() as statement:
                return await self._run_mutation(prepared, statement, arguments, alone=alone)
            case s.WithChanges() as statement:
                self._engine.initiation.require_for_statement(statement)
                digits = digits_of(prepared.parameters, arguments)
                return await with_running.execute(self, self._engine, statement, prepared, arguments, digits)
            case s.DeclareCursor() as statement:
                return await self.run_query(prepared, statement.query, arguments)
            case s.Explain(inner=s.MutationStatement() as changing) as statement:
                return await self._explain_change(statement, changing, prepared, arguments, alone=alone)
            case s.Explain() as statement:
                return await self._explain(statement, prepared, arguments)
            case s.ShowVariable() as statement:
                return self._show(statement.name)
            case CopyFrom() as statement:
                self._engine.initiation.require_for_statement(statement)
                return await copy_from(self, self._engine, statement)
            case CopyTo() as statement:
                return await copy_to(self, self._engine, statement)
            case statement if isinstance(statement, _DEFINING):
                return await self._define(prepared, arguments, alone=alone)
            case statement:
                return await self._run_utility(statement)

    async def _begin_statement(self, prepared: Prepared) -> None:
        """See what others have committed, and let the statement see what the transaction has done. Raises SqlError."""
        if self._seen != self.client.turn:
            await self._engine.see_commits()
        self._seen = None
        self._notices.begin()
        await self._claim_snapshot()
        require_permitted(prepared.statement, self.authority)
        if not self._only_appends(prepared):
            await self.write_kept()

    @staticmethod
    def _only_appends(prepared: Prepared) -> bool:
        """Whether a statement does not look at rows that the transaction has kept: those of tables without keys."""
        plan = prepared.plan
        return (
            isinstance(plan, mutations.PlannedMutation) and plan.direct is not None and not plan.bound.plan.foreign_keys
        )

    # -- queries -------------------------------------------------------------------------------------------------

    async def plan(
        self, query: s.Query, parameter_types: tuple[int, ...], digits: Digits, before: PlannedQuery | None = None
    ) -> PlannedQuery:
        """The query bound and optimised against the catalog as it is now. before: it planned earlier, which is used again where
        nothing has changed that it was planned by, whether the cache has it or not."""
        settings, path = self._input_settings(), self.search_path()
        version = self.catalog.cache_key()

        def key_of(types: tuple[int, ...]) -> Hashable:
            return (
                query.text, types, tuple(digits.items()), version, path, self.database,
                settings.date_order, settings.time_zone, settings.interval_style,
            )  # fmt: skip

        key = key_of(parameter_types)
        own = (key, self.roles.session_name)
        kept = self._engine.statements
        found = None if version is None else kept.find(key) or kept.find(own)
        if found is None and before is not None and version is not None and not before.keys.isdisjoint((key, own)):
            found = before
        if found is not None and found.fresh():
            for schema in found.schemas:
                self.authority().require_usage(self.catalog.current(), schema)
            return await self._as_of_now(found) if found.of_session else found
        context, catalog = self.bind_context(parameter_types, digits)

        def bind() -> PlannedQuery:
            with context.binding():
                bound = bind_query(query, context)
            planned = PlannedQuery(
                optimise(bound.plan), tuple(bound.columns), tuple(bound.parameters), tuple(catalog.reads.values()),
                bound.locks, context.accesses.finished(), frozenset(catalog.schemas), length=len(query.text),
                of_session=catalog.volatile, primary_keys=bound.primary_keys,
            )  # fmt: skip
            planned.survey()
            return planned

        planned = await self._engine.planning.run(bind, long=len(query.text) > SHORT_CHARACTERS)
        if version is not None and context.stable:
            planned.keys = frozenset((own if planned.of_session else key,))
            kept.keep(own if planned.of_session else key, planned)
            found_types = tuple(parameter.oid for parameter in planned.parameters)
            if found_types != parameter_types and not planned.of_session:
                # It is executed with the types that were found for what the client left open: as it was prepared.
                planned.keys |= {key_of(found_types)}
                kept.keep(key_of(found_types), planned.with_plan(planned.plan))
        if planned.size > SHORT_NODES:
            self._engine.planning.dispose_with(planned, [planned.plan], planned.size, cached=planned.kept)
        return planned

    async def _as_of_now(self, planned: PlannedQuery) -> PlannedQuery:
        """One that was kept, with the system's rows as this session sees them now."""
        catalog = self._recording_catalog()
        find = functools.partial(with_rows_of_now, planned.plan, catalog.of_now)
        plan = await self._engine.planning.run(find)
        return planned if plan is planned.plan else planned.with_plan(plan)

    def bind_context(self, parameter_types: Sequence[int], digits: Digits) -> tuple[BindContext, RecordingCatalog]:
        """A statement's, and the catalog in it, which notes what is asked for."""
        catalog = self._recording_catalog()
        parameters = ParameterTypes(parameter_types, digits, catalog.type_by_oid)
        path, settings = self.search_path(), self._input_settings()
        rights = catalog.context.snapshot.rights
        accesses = Accesses(lambda oid: rights.of(oid).owner)
        context = BindContext(
            catalog, path, settings, parameters, self.database, self.notify, find_type=catalog.type_named,
            type_names=functools.partial(catalog.type_names, path), role_oid=self._role_oid,
            accesses=accesses,
        )  # fmt: skip
        return context, catalog

    def _role_oid(self, name: str) -> int | None:
        roles = self.catalog.current().roles
        known = roles.named(name) if roles or name != self.roles.session_name else roles.of(name)
        return known.oid if known is not None else None

    def _recording_catalog(self, members: Sequence[MemberInfo] | None = None) -> RecordingCatalog:
        """members: all of them, known before where this runs on another thread than the loop's."""
        members = self._engine.mesh.members() if members is None else members
        context = SystemContext(
            self.catalog.current(), self.settings, self.client, self.roles.session_name, self.database, members,
            self._engine.store.pending, self.roles.may_see, self.roles.may_examine,
            copies=self._engine.copies.running, authority=self.authority(), counted=self._engine.store.counted,
        )  # fmt: skip
        return RecordingCatalog(context, self._system, self._engine.store, self.authority(), self._engine.roots)

    async def _replan(self, prepared: Prepared, query: s.Query, arguments: Sequence[Any]) -> PlannedQuery:
        """The prepared query as of now, with the digits of this execution's numeric parameters."""
        oids = tuple(p.oid for p in prepared.parameters)
        planned = await self.plan(query, oids, digits_of(prepared.parameters, arguments), prepared.plan)
        _require_same_columns(prepared.plan.columns, planned.columns)
        return planned

    async def _compile(
        self, planned: PlannedQuery, arguments: Sequence[Any], bound: Callable[[], Bound], terms: Terms
    ) -> CompiledQuery:
        """What the query runs as, kept for the next time with the same values under the same terms."""
        members, key = data_members(self._engine.mesh), None
        # Long values would be kept as the key, and in what is compiled; and to print them takes long.
        lasts = planned.context_names.isdisjoint(_MOMENTS) and not planned.calls_session and not are_long(arguments)
        values = tuple(map(repr, arguments)) if lasts else ()
        if lasts and sum(map(len, values)) <= _VALUES_LENGTH:
            zone, styles = self.settings.get("TimeZone"), foreign_styles(self.settings)
            context = tuple(map(self.context_value, sorted(planned.context_names)))
            key = (terms, members, zone, styles, values, context)
            if found := planned.compiled.get(key):
                return found
        plan, bindings = bound()
        query = await compile_aside(self._engine, plan, terms, bindings, nodes=planned.size)
        if key is not None:
            self._engine.statements.remember(planned, key, query)
        return query

    def _bound(self, planned: PlannedQuery, arguments: Sequence[Any], *, effects: bool = True) -> Bound:
        """The plan with what only this session, now, knows. effects: whether functions do what they do, as in a run."""
        parameters, plan = dict(enumerate(arguments, 1)), planned.plan
        if planned.calls_session:
            plan = functions.evaluate(planned.split.plan, self, parameters, effects=effects)
        check_styles(plan, self.settings)
        values = {name: self.context_value(name) for name in planned.context_names}
        return plan, Bindings(parameters, values, self.settings.get("TimeZone"))

    async def run_query(
        self, prepared: Prepared, query: s.Query, arguments: Sequence[Any], *, trusted: bool = False
    ) -> Execution:
        """Begin to run a query that was prepared at some time. trusted: it is our own. Raises InsufficientPrivilege."""
        planned = await self._replan(prepared, query, arguments)
        if not trusted:
            self.authority().require(planned.requirements)
        return await self.run_planned(planned, arguments)

    async def run_planned(self, planned: PlannedQuery, arguments: Sequence[Any]) -> Execution:
        """Begin to run a query as it was planned now, and as it was permitted."""
        self._engine.initiation.require_for_query(planned.reads)
        await self.guard(planned.locks, planned.reads)
        parameters = dict(enumerate(arguments, 1))
        if planned.calls_session:
            await functions.wait(planned.split.plan, self, parameters)
        context = self.execution_context()
        # Functions of the session may do something, so they are called once, however often the query is begun.
        bound = functools.cache(lambda: self._bound(planned, arguments))
        repeatable = RepeatableQuery(
            self._engine,
            cast("Policy", self.settings.get("sluice.fault_policy")),
            self.terms(),
            lambda terms: self._compile(planned, arguments, bound, terms),
            context,
        )
        stream = await repeatable.open()
        if planned.calls_session and planned.split.calls:
            stream = RowCallStream(stream, planned.split, self, parameters, self._engine.in_operation_pool)
        return StreamExecution(planned.columns, "SELECT", counted=True, stream=stream, query=context.query)

    async def guard(self, locks: Sequence[RowLock], reads: Sequence[Relation]) -> None:
        """FOR UPDATE: the transaction depends on the rows of these tables from now on. reads: with all their columns, where a
        view saw fewer."""
        if not locks:
            return
        for lock in locks:
            if lock.relation.schema != TEMPORARY and self.settings.get("transaction_read_only") == "on":
                raise ReadOnlySqlTransaction(f"cannot execute SELECT {lock.strength} in a read-only transaction")
        asked = {lock.relation.oid for lock in locks}
        for table in reads:
            if isinstance(table, Table) and table.storage is not None and table.oid in asked:
                await self._engine.in_operation_pool(functools.partial(self.catalog.guard, table))

    def execution_context(self) -> ExecutionContext:
        """A new query's, under the settings as they are."""
        return ExecutionContext(
            query=self._engine.new_query_id(),
            time_zone=self.settings.get("TimeZone"),
            page_bytes=page_bytes(self.settings),
            notice=self.notify,
            settings={"spool_limit": self.settings.size_bytes("sluice.spool_limit")},
            memory=self.memory,
        )

    def terms(self) -> Terms:
        """What a query is compiled under."""
        return Terms.of(self.settings, self.memory)

    @property
    def memory(self) -> MemoryShare | None:
        """What the session's statements may have, with those of its user's other sessions."""
        return share_of(self._user, self.settings)

    # -- statements that change rows -----------------------------------------------------------------------------

    async def _prepare_mutation(
        self, statement: s.MutationStatement, parameter_types: tuple[int, ...]
    ) -> mutations.PlannedMutation:
        if (found := self._find_direct(statement, parameter_types)) is not None:
            return found
        planned = await self._plan_mutation(statement, parameter_types, {})
        self._keep_direct(statement, parameter_types, planned)
        return planned

    async def _plan_mutation(
        self, statement: s.MutationStatement, parameter_types: tuple[int, ...], digits: Digits
    ) -> mutations.PlannedMutation:
        context, catalog = self.bind_context(parameter_types, digits)
        key, definitions = self._mutation_key(digits), self._definitions_key()
        return await mutations.plan(self._engine, statement, context, catalog.reads.values, key, definitions)

    def _definitions_key(self) -> Hashable | None:
        """Binding a statement that reads no rows again under the same key gives the same but for the files of its table."""
        key = self.catalog.definition_key()
        return None if key is None else (key, self.search_path(), self.settings.version)

    def _mutation_key(self, digits: Digits) -> Hashable | None:
        """Binding a statement again under the same key gives the same."""
        version = self.catalog.cache_key()
        return None if version is None else (version, self.search_path(), self.settings.version, tuple(digits.items()))

    async def _run_mutation(
        self, prepared: Prepared, statement: s.MutationStatement, arguments: Sequence[Any], *, alone: bool
    ) -> Execution:
        planned, told = await self._changed(prepared, statement, prepared.columns or (), arguments, alone=alone)
        return mutations.answer(planned, prepared, told)

    async def _changed(
        self,
        prepared: Prepared,
        statement: s.MutationStatement,
        columns: Sequence[ResultColumn],
        arguments: Sequence[Any],
        *,
        alone: bool,
    ) -> tuple[mutations.PlannedMutation, Outcome]:
        """The statement run to its end. columns: what Describe told of RETURNING. alone: it is all of its transaction so far
        (`engine.statements.dml.autocommit_retry`)."""
        self._engine.initiation.require_for_statement(statement)
        planned = prepared.plan

        async def outcome() -> Outcome:
            nonlocal planned
            planned = await self._planned_now(prepared, planned, statement, arguments)
            _require_same_columns(columns, planned.bound.columns or ())
            self.authority().require(planned.requirements)
            if planned.direct is not None:
                told = await mutations.direct_outcome(self, self._engine, planned, [arguments], keeps=not alone)
                if told is not None:
                    return told
                await self.write_kept()
                planned = await self._planned_now(prepared, planned, statement, arguments, direct=False)
            await self.guard(planned.bound.locks, planned.reads)
            return await mutations.outcome(self, self._engine, planned, arguments)

        if alone and needs_turn(planned.bound.plan):
            await self._transaction.take_turn(planned.bound.plan.table)
        elif needs_turn(planned.bound.plan):
            await self._engine.in_operation_pool(functools.partial(self.catalog.claim, planned.bound.plan.table))
            await self._engine.see_commits()
        told = await (self._transaction.change(outcome) if alone else outcome())
        return planned, told

    async def _planned_now(
        self,
        prepared: Prepared,
        planned: mutations.PlannedMutation,
        statement: s.MutationStatement,
        arguments: Sequence[Any],
        *,
        direct: bool = True,
    ) -> mutations.PlannedMutation:
        """Bind a prepared statement again unless the plan is valid now. direct: a plan whose rows can be made directly is, whatever
        digits the arguments have."""
        types = tuple(p.oid for p in prepared.parameters)
        if (
            direct
            and planned.direct is not None
            and (found := self._find_direct(statement, types, planned)) is not None
        ):
            return found
        digits = digits_of(prepared.parameters, arguments)
        if planned.key is not None and planned.key == self._mutation_key(digits) and planned.fresh():
            return planned
        found = await self._plan_mutation(statement, types, digits)
        self._keep_direct(statement, types, found)
        return found

    def _find_direct(
        self, statement: s.MutationStatement, types: tuple[int, ...], known: mutations.PlannedMutation | None = None
    ) -> mutations.PlannedMutation | None:
        """An INSERT whose rows are made directly, as it was bound under the definitions that there are, over its table as it is."""
        definitions = self._definitions_key()
        for planned in (known, self._direct.get((statement.text, types))):
            if planned is not None and definitions is not None and planned.definitions == definitions:
                table = planned.bound.plan.table
                present = self.catalog.current().relations[table.schema, table.name]
                assert isinstance(present, Table), "as it was defined"
                return planned.over(present)
        return None

    def _keep_direct(
        self, statement: s.MutationStatement, types: tuple[int, ...], planned: mutations.PlannedMutation
    ) -> None:
        if planned.direct is not None and len(statement.text) <= SHORT_CHARACTERS:
            self._direct[statement.text, types] = planned
            self._direct.move_to_end((statement.text, types))
            if len(self._direct) > _DIRECT:
                self._direct.popitem(last=False)

    # -- many executions of one INSERT ---------------------------------------------------------------------------

    def takes_rows(self, prepared: Prepared) -> bool:
        plan = prepared.plan
        return (
            isinstance(prepared.statement, s.MutationStatement)
            and prepared.columns is None
            and isinstance(plan, mutations.PlannedMutation)
            and plan.direct is not None
        )

    async def execute_rows(self, prepared: Prepared, rows: Sequence[Sequence[Any]]) -> bool:
        statement = prepared.statement
        assert isinstance(statement, s.MutationStatement), "asked before"
        # What follows a failure is not told apart from what did not: it is all taken back, and each row runs by itself.
        point, deferral = self.catalog.mark(), self.deferral
        try:
            return await self._executed_rows(prepared, statement, rows)
        except SqlError:
            await self._engine.in_operation_pool(functools.partial(self.catalog.rollback_to, point))
            self.deferral = deferral
            return False

    async def _executed_rows(
        self, prepared: Prepared, statement: s.MutationStatement, rows: Sequence[Sequence[Any]]
    ) -> bool:
        self._transaction.executes(single=False, query=False)
        await self._begin_statement(prepared)
        self._engine.initiation.require_for_statement(statement)
        planned = await self._planned_now(prepared, prepared.plan, statement, rows[0])
        if planned.direct is None or planned.bound.columns:
            return False
        self.authority().require(planned.requirements)
        if needs_turn(planned.bound.plan):
            await self._engine.in_operation_pool(functools.partial(self.catalog.claim, planned.bound.plan.table))
            await self._engine.see_commits()
        return await mutations.direct_outcome(self, self._engine, planned, rows, keeps=True) is not None

    def taken(self, sequence: int, count: int) -> npt.NDArray[np.int64]:
        """The values of a sequence (by OID) for so many rows. May block."""
        found = self.sequence_of(sequence)
        self.authority().require_sequence(found, acl.USAGE, acl.UPDATE)
        return self.sequences.take(found, count)

    def sequence_of(self, oid: int) -> NumberSequence:
        for relation in self.catalog.current().relations.values():
            if relation.oid == oid and isinstance(relation, NumberSequence):
                return relation
        raise InternalError(f"could not open relation with OID {oid}")

    async def write_kept(self) -> None:
        """Write the rows that the transaction has kept, for whatever may read them. Raises SqlError."""
        if self.catalog.keeps_rows:
            most = writer_bytes(self.memory, KEPT_BYTES)
            await shielded(self._engine.in_writer_pool(functools.partial(self.catalog.write_kept, most)))

    # -- EXPLAIN -------------------------------------------------------------------------------------------------

    async def _explain(self, statement: s.Explain, prepared: Prepared, arguments: Sequence[Any]) -> Execution:
        started = time.perf_counter()
        inner = statement.inner
        query = inner.query if isinstance(inner, s.DeclareCursor) else cast("s.Query", inner)
        planned = await self.plan(
            query, tuple(p.oid for p in prepared.parameters), digits_of(prepared.parameters, arguments)
        )
        self.authority().require(planned.requirements)
        plan, bindings = self._bound(planned, arguments, effects=statement.analyze)
        request = ExplainRequest(plan, self.terms(), bindings, statement, self.execution_context())
        if statement.analyze:
            self._engine.initiation.require_for_query(planned.reads)
            await self.guard(planned.locks, planned.reads)
        told = await explain(request, self._engine, started)
        return self._plan_told(prepared.columns or (), told)

    async def _explain_change(
        self,
        statement: s.Explain,
        changing: s.MutationStatement,
        prepared: Prepared,
        arguments: Sequence[Any],
        *,
        alone: bool,
    ) -> Execution:
        started = time.perf_counter()
        oids = tuple(p.oid for p in prepared.parameters)
        planned = await self._plan_mutation(changing, oids, digits_of(prepared.parameters, arguments))
        self.authority().require(planned.requirements)
        actual: dict[str, float | int | str] = {"Planning Time": (time.perf_counter() - started) * 1e3}
        if statement.analyze:
            started = time.perf_counter()
            columns = planned.bound.columns or ()
            _, told = await self._changed(replace(prepared, plan=planned), changing, columns, arguments, alone=alone)
            actual |= {"Rows": told.rows, "Execution Time": (time.perf_counter() - started) * 1e3}
        actual = summarised(statement, actual)
        lines = await explain_change(planned.bound.plan, self, self._engine, statement, arguments, actual)
        return self._plan_told(prepared.columns or (), lines)

    @staticmethod
    def _plan_columns(statement: s.Explain) -> tuple[ResultColumn, ...]:
        types = {"json": t.JSON, "xml": t.XML}
        return (ResultColumn("QUERY PLAN", st.of(types.get(statement.format, t.TEXT))),)

    @staticmethod
    def _plan_told(columns: tuple[ResultColumn, ...], lines: Sequence[str]) -> Execution:
        return StreamExecution(columns, "EXPLAIN", stream=RowsStream(columns, [(line,) for line in lines]))

    # -- definitions ---------------------------------------------------------------------------------------------

    async def _define(self, prepared: Prepared, arguments: Sequence[Any], *, alone: bool) -> Execution:
        """alone: it is all of its transaction so far, and waits for the definitions of others
        (`engine.statements.dml.autocommit_retry`)."""
        self._require_may_define(prepared.statement)

        async def run() -> str:
            self._notices.again()
            with self.catalog.one_state():
                return await self._defined(prepared, arguments)

        if not alone:
            return StreamExecution(None, await run())
        waits = not isinstance(prepared.statement, _WRITING)
        return StreamExecution(None, await self._transaction.define(run, waits=waits))

    async def _defined(self, prepared: Prepared, arguments: Sequence[Any]) -> str:
        """Carry out one of `_DEFINING`; the command tag."""
        in_pool, authority = self._engine.in_operation_pool, self.authority()
        match prepared.statement:
            case statement if isinstance(statement, definitions_with_rows.STATEMENTS):
                return await definitions_with_rows.run(self, self._engine, prepared, arguments)
            case statement if isinstance(statement, DEFINITIONS):
                definer = self.definer()
                return await in_pool(lambda: define(statement, definer))
            case s.Truncate() as statement:
                return await mutations.truncate(self, self._engine, statement, self.bind_context((), {})[0])
            case s.CreateForeignTable() as foreign:
                path, roots = self.search_path(), self._engine.roots
                await in_pool(lambda: create_foreign_table(foreign, self.catalog, path, roots, self.notify, authority))
                return "CREATE FOREIGN TABLE"
            case s.Drop() as going:
                await in_pool(lambda: drop(going, self.catalog, self.search_path(), self.notify, authority))
                return f"DROP {going.kind.upper()}"
            case statement:
                return await self._change_roles(statement)

    # -- utility statements --------------------------------------------------------------------------------------

    async def _run_utility(self, statement: s.Statement) -> Execution:
        self._require_may_define(statement)
        match statement:
            case s.Vacuum():
                return StreamExecution(None, await vacuum.run(self, self._engine, statement))
            case s.Analyze():
                return StreamExecution(None, await analyze.run(self, self._engine, statement))
            case s.Lock():
                await lock_tables(self, self._engine, statement)
                return StreamExecution(None, "LOCK TABLE")
            case s.Checkpoint():
                return StreamExecution(None, "CHECKPOINT")
            case s.SetConstraints():
                return await self._set_constraints(statement)
            case s.SetVariable():
                for name, value in ((statement.name, statement.value), *statement.also):
                    self.settings.set(name, value, local=statement.local)
                return StreamExecution(None, "SET")
            case s.ResetVariable():
                if statement.name == "all":
                    self.settings.reset_all()
                else:
                    self.settings.set(statement.name, None)
                return StreamExecution(None, "RESET")
            case _:
                raise FeatureNotSupported(f"not supported: {type(statement).__name__}")

    # -- constraints that are judged later -----------------------------------------------------------------------

    @property
    def deferral(self) -> Deferral:
        """What the transaction has deferred."""
        return self._transaction.deferral

    @deferral.setter
    def deferral(self, now: Deferral) -> None:
        self._transaction.deferral = now

    async def _set_constraints(self, statement: s.SetConstraints) -> Execution:
        tables = list(self.catalog.current().tables())
        named = deferred.named_constraints(statement, tables, self.search_path()) if statement.names else None
        self.deferral = self.deferral.told(named, deferred=statement.deferred)
        await deferred.judge(mutations.SessionGround(self, self._engine, ()), everything=False)
        return StreamExecution(None, "SET CONSTRAINTS")

    async def _judge_deferred(self) -> None:
        """Before a commit."""
        await self.write_kept()
        if self.deferral.events:
            await deferred.judge(mutations.SessionGround(self, self._engine, ()), everything=True)

    async def _change_roles(self, statement: s.Statement) -> str:
        ground = RoleGround(
            self.catalog, self.roles.current, self.roles.session, self.settings, self._input_settings(), self._notices,
            self.search_path(),
        )  # fmt: skip
        return await self._engine.in_operation_pool(lambda: change_roles(statement, ground))

    def _require_may_define(self, statement: s.Statement) -> None:
        """Raises for what changes something on a member, or in a transaction, that may not."""
        self._engine.initiation.require_for_statement(statement)
        if self.settings.get("transaction_read_only") == "on":
            refuse_in_read_only(statement)

    def definer(self) -> Definer:
        """What definitions are made on, as of now."""
        path, settings, members = self.search_path(), self._input_settings(), self._engine.mesh.members()

        def context() -> BindContext:
            catalog = self._recording_catalog(members)
            return BindContext(
                catalog, path, settings, database=self.database, notice=self.notify, find_type=catalog.type_named,
                type_names=functools.partial(catalog.type_names, path),
            )  # fmt: skip

        return Definer(self.catalog, path, self.notify, context, self.sequences, self.authority(), self._debug)

    def _debug(self, message: str) -> None:
        """Tell a client whose client_min_messages is debug1 or less."""
        self._notices(Notice(message, "DEBUG"))

    def _show_columns(self, name: str) -> tuple[ResultColumn, ...]:
        if name == "all":
            return tuple(ResultColumn(n, st.of(t.TEXT)) for n in ("name", "setting", "description"))
        return (ResultColumn(self.settings.canonical_name(name), st.of(t.TEXT)),)

    def _show(self, name: str) -> Execution:
        columns = self._show_columns(name)
        rows: Sequence[Sequence[str]]
        if name == "all":
            rows = [row for row in self.settings.all() if self.roles.may_examine(row[0])]
        else:
            self.roles.require_examined(self.settings.canonical_name(name))
            rows = [(self.settings.get(name),)]
        return StreamExecution(columns, "SHOW", stream=RowsStream(columns, rows))

    # -- transactions --------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._transaction.begin()

    async def commit(self) -> None:
        await self._transaction.commit()

    def rollback(self) -> None:
        self._transaction.rollback()

    def savepoint(self, name: str) -> None:
        self._transaction.savepoint(name)

    def rollback_to(self, name: str) -> None:
        self._transaction.rollback_to(name)

    def release(self, name: str) -> None:
        self._transaction.release(name)

    async def discard(self, target: str) -> None:
        if target in ("all", "temp"):
            self.catalog.discard_temporary()
        if target in ("all", "sequences"):
            self.sequences.discard()
        if target == "all":
            self.locks.release_all()
            self.roles.reset()
            self.settings.reset_all()

    async def close(self) -> None:
        self.locks.close()
        self.catalog.rollback()
        self.catalog.discard_temporary()

    def authority(self) -> Authority:
        """What the role that the session is may do, as of now."""
        snapshot = self.catalog.current()
        if self._judge.rights is not snapshot.rights or self._judge.roles is not snapshot.roles:
            self._judge = Judge(snapshot.rights, snapshot.roles)
        return Authority(self.roles.current, self._judge)

    # -- context -------------------------------------------------------------------------------------------------

    def search_path(self) -> tuple[str, ...]:
        """The effective search path, pg_catalog first unless named."""
        named = self._schemas_named()
        return (*(x for x in _SYSTEM_SCHEMAS if x not in named), *named)

    def _schemas_named(self) -> Sequence[str]:
        """Return the setting's schemas but those that do not exist or may not be used. `$user` is none of the system's: a role of
        that name would else find its relations first, and make its own there."""
        snapshot, authority = self.catalog.current(), self.authority()
        names = [_unquoted(part) for part in self.settings.get("search_path").split(",")]
        own = self.roles.current_name
        users = None if own in _LOOKED_IN else own
        named = [users if name == "$user" else name for name in names if name]
        there = [name for name in named if name is not None and (snapshot.has_schema(name) or name in _LOOKED_IN)]
        if not authority.role.superuser:
            there = [name for name in there if authority.may_use(snapshot, name)]
        return there

    def _input_settings(self) -> InputSettings:
        """How literals are read; made anew only when a setting changed, with the transaction's time each time."""
        if self._input is None or self._input[0] != self.settings.version:
            self._input = (self.settings.version, InputSettings.read(self.settings.get, 0))
        return replace(self._input[1], now=self._transaction.now())

    def context_value(self, name: str) -> Any:
        """What a `ContextRef` of that name stands for now."""
        match name:
            case "now":
                return self._transaction.now()
            case "statement_timestamp":
                return time.time_ns() // 1000
            case "current_user" | "user" | "current_role":
                return self.roles.current_name
            case "session_user":
                return self.roles.session_name
            case "current_database" | "current_catalog":
                return self.database
            case "current_schema":
                return next(iter(self._schemas_named()), None)
            case "pg_backend_pid":
                return self.client.backend_pid
            case "pg_is_in_recovery":
                return self.settings.get("in_hot_standby") == "on"
            case _:
                raise UndefinedObject(f'no such context value: "{name}"')

    def _is_repeatable(self) -> bool:
        return self.settings.get("transaction_isolation") in ("repeatable read", "serializable")

    def notify(self, message: str, detail: str | None = None) -> None:
        """Tell the client something."""
        self._notices(Notice(message, detail=detail))


def _require_same_columns(described: Sequence[ResultColumn], now: Sequence[ResultColumn]) -> None:
    """What Describe told must still hold. A type may have other labels or attributes by now, and what is sent has too."""
    if described is not now and [(c.name, c.type.pg.oid, c.type.typmod) for c in described] != [
        (c.name, c.type.pg.oid, c.type.typmod) for c in now
    ]:
        raise CachedPlanChanged


def _unquoted(part: str) -> str:
    text = part.strip()
    return text[1:-1].replace('""', '"') if text[:1] == '"' == text[-1:] else text.lower()
