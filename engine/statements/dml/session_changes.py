"""INSERT, UPDATE, DELETE and MERGE of one session: prepares them, runs them, runs one once for each of many rows of
arguments, and explains them.
"""

from __future__ import annotations

import functools
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Final

from engine.catalog.model.objects import Table
from engine.contracts.materialized_results import explanation
from engine.contracts.sessions import Execution, Prepared, ResultColumn
from engine.runtime.planning_pool import SHORT_CHARACTERS
from engine.session.context.parameter_digits import Digits, digits_of
from engine.session.context.services import SessionServices
from engine.session.context.session_context import SessionContext
from engine.sql.parser.nodes import statements as s
from engine.statements.dml.autocommit_retry import needs_turn
from engine.statements.dml.direct_run import direct_outcome
from engine.statements.dml.explain import explain_change
from engine.statements.dml.planned_mutation import PlannedMutation, answer, plan_mutation
from engine.statements.dml.run import Outcome
from engine.statements.dml.statement import run_mutation
from engine.statements.query.explain import plan_columns
from engine.statements.query.explained_plan import select_summary
from engine.statements.query.run import guard, require_same_columns
from wire.errors import SqlError
from wire.types.text_settings import InputSettings

#: The number of statements for which a session keeps the makers of their rows.
_DIRECT: Final = 32


class SessionChanges:
    """The statements of one session that change rows."""

    def __init__(self, session: SessionContext, engine: SessionServices) -> None:
        self._session = session
        self._engine = engine
        #: The last INSERTs whose rows are made directly, by text and types of parameters.
        self._direct: OrderedDict[tuple[str, tuple[int, ...]], PlannedMutation] = OrderedDict()

    async def prepare(self, statement: s.MutationStatement, parameter_types: tuple[int, ...]) -> Prepared:
        """Bind a statement for Describe. Raises SqlError."""
        change = await self._prepare_mutation(statement, parameter_types)
        return Prepared(statement, change.bound.parameters, change.bound.columns, change)

    async def prepare_explain(self, statement: s.Explain, parameter_types: tuple[int, ...]) -> Prepared:
        """Bind the statement that EXPLAIN explains. Raises SqlError."""
        assert isinstance(statement.inner, s.MutationStatement), "as it was dispatched"
        change = await self._plan(statement.inner, parameter_types, {}, None)
        return Prepared(statement, change.bound.parameters, plan_columns(statement), change)

    async def execute(self, prepared: Prepared, arguments: Sequence[Any]) -> Execution:
        """Run a prepared statement to its end. Raises SqlError."""
        planned, told = await self._run_change(prepared, prepared.statement, prepared.columns or (), arguments)
        return answer(planned, prepared, told)

    async def explain(self, prepared: Prepared, arguments: Sequence[Any]) -> Execution:
        """Run EXPLAIN of a statement; with ANALYZE it also runs the statement. Raises SqlError."""
        statement = prepared.statement
        assert isinstance(statement, s.Explain), "as it was dispatched"
        changing = statement.inner
        assert isinstance(changing, s.MutationStatement), "as it was dispatched"
        started = time.perf_counter()
        oids = tuple(p.oid for p in prepared.parameters)
        planned = await self._plan(changing, oids, digits_of(prepared.parameters, arguments), None)
        self._session.authority().require(planned.requirements)
        actual: dict[str, float | int | str] = {"Planning Time": (time.perf_counter() - started) * 1e3}
        if statement.analyze:
            started = time.perf_counter()
            columns = planned.bound.columns or ()
            _, told = await self._run_change(replace(prepared, plan=planned), changing, columns, arguments)
            actual |= {"Rows": told.rows, "Execution Time": (time.perf_counter() - started) * 1e3}
        actual = select_summary(statement, actual)
        lines = await explain_change(planned.bound.plan, self._session, self._engine, statement, arguments, actual)
        return explanation(prepared.columns or (), lines)

    def takes_rows(self, prepared: Prepared) -> bool:
        """Return whether `execute_rows` may succeed."""
        plan = prepared.plan
        return (
            isinstance(prepared.statement, s.MutationStatement)
            and prepared.columns is None
            and isinstance(plan, PlannedMutation)
            and plan.direct is not None
        )

    async def execute_rows(
        self, prepared: Prepared, rows: Sequence[Sequence[Any]], begin: Callable[[], Awaitable[None]]
    ) -> bool:
        """Run an INSERT once for each row of arguments (`EngineSession.execute_rows`). begin: begins the statement."""
        statement = prepared.statement
        assert isinstance(statement, s.MutationStatement), "asked before"
        # After a failure it is unknown which rows succeeded: all changes are rolled back, and each row runs by itself.
        point, deferral = self._session.catalog.mark(), self._session.transaction.deferral
        try:
            return await self._executed_rows(prepared, statement, rows, begin)
        except SqlError:
            await self._engine.in_operation_pool(functools.partial(self._session.catalog.rollback_to, point))
            self._session.transaction.deferral = deferral
            return False

    async def _executed_rows(
        self,
        prepared: Prepared,
        statement: s.MutationStatement,
        rows: Sequence[Sequence[Any]],
        begin: Callable[[], Awaitable[None]],
    ) -> bool:
        await begin()
        self._engine.initiation.require_for_statement(statement)
        planned = await self._planned_now(prepared, prepared.plan, statement, rows[0])
        if planned.direct is None or planned.bound.columns:
            return False
        self._session.authority().require(planned.requirements)
        if needs_turn(planned.bound.plan):
            await self._claim(planned.bound.plan.table)
        return await direct_outcome(self._session, self._engine, planned, rows, keeps=True) is not None

    async def _run_change(
        self,
        prepared: Prepared,
        statement: s.Statement,
        columns: Sequence[ResultColumn],
        arguments: Sequence[Any],
    ) -> tuple[PlannedMutation, Outcome]:
        """Run a statement to its end. columns: RETURNING's, as Describe reported them. An autocommit statement runs
        again if commits of others conflict with it (`engine.statements.dml.autocommit_retry`).
        """
        assert isinstance(statement, s.MutationStatement), "as it was dispatched"
        alone = self._session.alone
        self._engine.initiation.require_for_statement(statement)
        planned = prepared.plan

        async def outcome() -> Outcome:
            nonlocal planned
            planned = await self._planned_now(prepared, planned, statement, arguments)
            require_same_columns(columns, planned.bound.columns or ())
            self._session.authority().require(planned.requirements)
            if planned.direct is not None:
                told = await direct_outcome(self._session, self._engine, planned, [arguments], keeps=True)
                if told is not None:
                    return told
                await self._session.write_kept()
                planned = await self._planned_now(prepared, planned, statement, arguments, direct=False)
            await guard(self._session, self._engine, planned.bound.locks, planned.rows_of)
            return await run_mutation(self._session, self._engine, planned, arguments)

        if alone and needs_turn(planned.bound.plan):
            await self._session.transaction.take_turn(planned.bound.plan.table)
        elif needs_turn(planned.bound.plan):
            await self._claim(planned.bound.plan.table)
        told = await (self._session.transaction.change(outcome) if alone else outcome())
        return planned, told

    async def _claim(self, table: Table) -> None:
        """Make the commit depend on the table's current state, and load what others have committed. Raises SqlError."""
        await self._engine.in_operation_pool(functools.partial(self._session.catalog.claims.claim, table))
        await self._engine.see_commits()

    async def _prepare_mutation(
        self, statement: s.MutationStatement, parameter_types: tuple[int, ...]
    ) -> PlannedMutation:
        if (found := self._find_direct(statement, parameter_types, self._session.facts.input)) is not None:
            return found
        planned = await self._plan(statement, parameter_types, {}, self._session.facts.input)
        self._keep_direct(statement, parameter_types, planned)
        return planned

    async def _plan(
        self,
        statement: s.MutationStatement,
        parameter_types: tuple[int, ...],
        digits: Digits,
        read_by: InputSettings | None,
    ) -> PlannedMutation:
        context, catalog = self._session.environment.context(parameter_types, digits, read_by)
        key, definitions = self._key(digits, read_by), self._definitions_key(read_by)
        return await plan_mutation(self._engine, statement, context, catalog.reads.values, key, definitions)

    async def _planned_now(
        self,
        prepared: Prepared,
        planned: PlannedMutation,
        statement: s.MutationStatement,
        arguments: Sequence[Any],
        *,
        direct: bool = True,
    ) -> PlannedMutation:
        """Bind a prepared statement again unless its plan is valid now. direct: accept a plan whose rows can be made
        directly; its validity does not depend on the arguments' digits.
        """
        types = tuple(p.oid for p in prepared.parameters)
        if (
            direct
            and planned.direct is not None
            and (found := self._find_direct(statement, types, planned.read_by, planned)) is not None
        ):
            return found
        digits = digits_of(prepared.parameters, arguments)
        if planned.key is not None and planned.key == self._key(digits, planned.read_by):
            fresh = planned.fresh
            if await self._engine.planning.run(fresh) if planned.may_wait else fresh():
                return planned
        found = await self._plan(statement, types, digits, planned.read_by)
        self._keep_direct(statement, types, found)
        return found

    def _definitions_key(self, read_by: InputSettings | None) -> Hashable | None:
        """Return the key under which binding a statement that reads no rows gives the same result, except for the files
        of its table.
        """
        key = self._session.catalog.definition_key()
        return None if key is None else (key, self._session.search_path(), self._session.settings.version, read_by)

    def _key(self, digits: Digits, read_by: InputSettings | None) -> Hashable | None:
        """Return the key under which binding a statement again gives the same result."""
        version = self._session.catalog.cache_key()
        return (
            None
            if version is None
            else (version, self._session.search_path(), self._session.settings.version, tuple(digits.items()), read_by)
        )

    def _find_direct(
        self,
        statement: s.MutationStatement,
        types: tuple[int, ...],
        read_by: InputSettings | None,
        known: PlannedMutation | None = None,
    ) -> PlannedMutation | None:
        """Find an INSERT whose rows are made directly and that was bound under the current definitions. Its table may be
        in an earlier state.
        """
        definitions = self._definitions_key(read_by)
        for planned in (known, self._direct.get((statement.text, types))):
            if planned is not None and definitions is not None and planned.definitions == definitions:
                return planned
        return None

    def _keep_direct(self, statement: s.MutationStatement, types: tuple[int, ...], planned: PlannedMutation) -> None:
        if planned.direct is not None and len(statement.text) <= SHORT_CHARACTERS:
            self._direct[statement.text, types] = planned
            self._direct.move_to_end((statement.text, types))
            if len(self._direct) > _DIRECT:
                self._direct.popitem(last=False)
