"""One client's engine side (`engine.session.engine_session.EngineSession`): the dispatch of its statements, and its transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.contracts.progress import Progress
from engine.contracts.query_id import QueryId
from engine.contracts.sessions import Client, Execution, Prepared
from engine.monitor.record import StatementRecord
from engine.session import own_statements
from engine.session.context.parameter_digits import digits_of
from engine.session.context.permissions import require_permitted
from engine.session.context.services import SessionServices
from engine.session.context.session_context import SessionContext
from engine.session.engine_session import EngineSession
from engine.session.progress import read_progress
from engine.session.transaction import SessionTransaction
from engine.settings.session_settings import SessionSettings
from engine.sql.binder import regnames
from engine.sql.parser.lexical.plain_strings import with_escape_strings
from engine.sql.parser.nodes import statements as s
from engine.sql.parser.nodes.copy import CopyFrom, CopyTo
from engine.statements.copy.copy_from import copy_from
from engine.statements.copy.copy_to import copy_rows_to, copy_to
from engine.statements.ddl import run as ddl
from engine.statements.ddl.definitions import refuse_in_read_only
from engine.statements.dml import deferred, with_running
from engine.statements.dml.planned_mutation import PlannedMutation
from engine.statements.dml.session_changes import SessionChanges
from engine.statements.dml.statement import SessionMutationContext
from engine.statements.query import explain
from engine.statements.query import run as query


class Session(EngineSession):
    """See `engine.contracts.sessions`. Created by `Engine.session`."""

    def __init__(
        self, engine: SessionServices, *, user: str, database: str, settings: SessionSettings, client: Client
    ) -> None:
        self.settings = settings
        self.context = SessionContext(engine, user=user, database=database, settings=settings, client=client)
        self._engine = engine
        self._transaction = SessionTransaction(
            engine, settings, self.context.catalog, self.context.locks, self._judge_deferred
        )
        self.context.transaction = self._transaction
        self._changes = SessionChanges(self.context, engine)
        #: The client's message for which commits were loaded, until a statement has used that.
        self._seen: float | None = None
        #: The client's message in which the last statement began.
        self._begun_in: float | None = None

    @property
    def record(self) -> StatementRecord | None:
        return self.context.record

    @record.setter
    def record(self, now: StatementRecord | None) -> None:
        self.context.record = now

    def new_query_id(self) -> QueryId:
        return self._engine.queries.new_query_id()

    # -- statements ----------------------------------------------------------------------------------------------

    async def parse(self, sql: str) -> Sequence[s.Statement]:
        is_standard = self.context.settings.get("standard_conforming_strings") == "on"
        return await self._engine.parser.parse(sql if is_standard else with_escape_strings(sql))

    async def prepare(self, statement: s.Statement, parameter_types: Sequence[int]) -> Prepared:
        await self._see_commits()
        await self._claim_snapshot()
        if not isinstance(statement, s.MutationStatement):
            await self.context.write_kept()
        types = tuple(parameter_types)
        match statement:
            case s.Query():
                return await query.prepare(self.context, self._engine, statement, types)
            case s.MutationStatement():
                return await self._changes.prepare(statement, types)
            case s.WithChanges():
                parts = await with_running.bind(self.context, self._engine, statement, types, {})
                return Prepared(statement, parts.parameters, parts.last.columns, parts)
            case s.DeclareCursor() | s.CreateTableAs():
                planned = await query.plan(self.context, self._engine, statement.query, types, {})
                return Prepared(statement, planned.parameters, None, planned)
            case s.Explain(inner=s.MutationStatement()):
                return await self._changes.prepare_explain(statement, types)
            case s.Explain(inner=s.Query() | s.DeclareCursor()):
                return await explain.prepare(self.context, self._engine, statement, types)
            case s.ShowVariable():
                return Prepared(statement, (), own_statements.show_columns(self.context, statement.name))
            case _:
                return Prepared(statement, (), None)

    async def execute(self, prepared: Prepared, arguments: Sequence[Any], *, single: bool = False) -> Execution:
        session, engine, statement = self.context, self._engine, prepared.statement
        session.alone = self._transaction.executes(single=single, query=isinstance(statement, s.Query))
        await self._begin_statement(prepared)
        arguments = regnames.with_oids(prepared.parameters, arguments, lambda: session.environment.context((), {})[0])
        match statement:
            case s.Query() | s.DeclareCursor():
                return await query.execute(session, engine, prepared, arguments)
            case s.MutationStatement():
                return await self._changes.execute(prepared, arguments)
            case s.WithChanges():
                engine.initiation.require_for_statement(statement)
                digits = digits_of(prepared.parameters, arguments)
                return await with_running.execute(session, engine, statement, prepared, arguments, digits)
            case s.Explain(inner=s.MutationStatement()):
                return await self._changes.explain(prepared, arguments)
            case s.Explain():
                return await explain.execute(session, engine, prepared, arguments)
            case s.ShowVariable():
                return await own_statements.execute(session, engine, statement)
            case CopyFrom():
                engine.initiation.require_for_statement(statement)
                return await copy_from(session, engine, statement)
            case CopyTo():
                return await copy_to(session, engine, statement)
        self._require_may_define(statement)
        if isinstance(statement, ddl.DEFINING):
            return await ddl.execute(session, engine, prepared, arguments)
        return await own_statements.execute(session, engine, statement)

    def copy_rows(self, statement: CopyTo, rows: Execution) -> Execution:
        return copy_rows_to(self.context, self._engine, statement, rows)

    async def progress(self) -> Progress:
        return await read_progress(self._engine, self.context.underway, self.context.client.backend_pid)

    def takes_rows(self, prepared: Prepared) -> bool:
        return self._changes.takes_rows(prepared)

    async def execute_rows(self, prepared: Prepared, rows: Sequence[Sequence[Any]]) -> bool:
        async def begin() -> None:
            self.context.alone = self._transaction.executes(single=False, query=False)
            await self._begin_statement(prepared)

        return await self._changes.execute_rows(prepared, rows, begin)

    async def _begin_statement(self, prepared: Prepared) -> None:
        """Load what others have committed, and write kept rows that the statement may read. Raises SqlError."""
        if self._seen != self.context.client.turn:
            await self._see_commits()
        self._seen, self._begun_in = None, self.context.client.turn
        self.context.underway.clear()
        self.context.notices.begin()
        await self._claim_snapshot()
        require_permitted(prepared.statement, self.context.authority)
        if not self._only_appends(prepared):
            await self.context.write_kept()

    async def _see_commits(self) -> None:
        """Load what others have committed. A statement that follows another of the same message also sees what was
        committed while that one ran.
        """
        turn = self.context.client.turn
        await self._engine.see_commits(None if turn == self._begun_in else turn)
        self._seen = turn

    async def _claim_snapshot(self) -> None:
        if self.context.catalog.claims.needs_snapshot:
            await self._engine.in_operation_pool(self.context.catalog.claims.claim_snapshot)

    @staticmethod
    def _only_appends(prepared: Prepared) -> bool:
        """Return whether a statement reads no rows that the transaction has kept; only tables without keys have kept
        rows.
        """
        plan = prepared.plan
        return isinstance(plan, PlannedMutation) and plan.direct is not None and not plan.bound.plan.foreign_keys

    def _require_may_define(self, statement: s.Statement) -> None:
        """Raise an error if the member or the transaction may not change definitions."""
        self._engine.initiation.require_for_statement(statement)
        if self.settings.get("transaction_read_only") == "on":
            refuse_in_read_only(statement)

    async def _judge_deferred(self) -> None:
        """Check deferred constraints before a commit."""
        if self._transaction.deferral.events or not self.context.catalog.pending.only_keeps_rows:
            await self.context.write_kept()
        if self._transaction.deferral.events:
            await deferred.judge(SessionMutationContext(self.context, self._engine), everything=True)

    # -- transactions --------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._transaction.begin()

    async def commit(self) -> None:
        await self._transaction.commit()

    async def rollback(self) -> None:
        await self._transaction.rollback()

    def savepoint(self, name: str) -> None:
        self._transaction.savepoint(name)

    async def rollback_to(self, name: str) -> None:
        await self._transaction.rollback_to(name)

    def release(self, name: str) -> None:
        self._transaction.release(name)

    async def discard(self, target: str) -> None:
        if target in ("all", "temp"):
            await self.context.discard_temporary()
        if target in ("all", "sequences"):
            self.context.sequences.discard()
        if target == "all":
            self.context.locks.release_all()
            self.context.roles.reset()
            self.settings.reset_all()

    async def close(self) -> None:
        try:
            await self._transaction.rollback()
            await self.context.discard_temporary()
        finally:
            self.context.locks.close()
            # Their values may be long, and the objects of a session refer to each other until a full collection.
            self.settings.reset_all()
