"""Runs a statement whose WITH changes rows: its parts one after the other, in the order in which they were written.

Unique and foreign keys are checked when all parts have run, as PostgreSQL's triggers do: a row may reference a key that
a later part inserts. If several parts change rows, their keys are checked as deferred ones are
(`engine.statements.dml.deferred`), because each part was bound before the others' files existed.

RETURNING's rows are kept in memory, and only the engine of this member reads them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from engine.catalog.model.objects import SystemTable, Table
from engine.contracts.sessions import Execution, Prepared
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Mutate, TableReader
from engine.plan_ir.rewrite import rewrite_plan, walk_all
from engine.planner.planner import optimise
from engine.runtime.planning_pool import SHORT_CHARACTERS
from engine.session.context.statement_cache import PlannedQuery
from engine.sql.binder.bind import BoundQuery
from engine.sql.binder.mutations import BoundMutation
from engine.sql.parser.nodes.statements import WithChanges
from engine.statements.dml import deferred
from engine.statements.dml.autocommit_retry import needs_turn
from engine.statements.dml.planned_mutation import PlannedMutation, answer, require_writable
from engine.statements.dml.run import Outcome, run
from engine.statements.dml.shown_columns import with_shown
from engine.statements.dml.statement import SessionMutationContext
from engine.statements.dml.with_changes import BoundWith, bind_with_changes
from engine.statements.query import run as query_run

if TYPE_CHECKING:
    from engine.session.context.parameter_digits import Digits
    from engine.session.context.services import SessionServices
    from engine.session.context.session_context import SessionContext

_TAGS: Final = {"insert": "INSERT", "update": "UPDATE", "delete": "DELETE", "merge": "MERGE"}
#: A plan that reads other rows is another plan.
_VERSIONS: Final = itertools.count(1)
_Plan = TypeVar("_Plan", bound=Node)
#: The RETURNING rows of each part, by the OID of their relation.
_Rows = dict[int, SystemTable]


async def bind(
    session: SessionContext,
    engine: SessionServices,
    statement: WithChanges,
    parameter_types: Sequence[int],
    digits: Digits,
) -> BoundWith:
    """Bind all parts against the current catalog."""
    context, _ = session.environment.context(parameter_types, digits)
    long = len(statement.text) > SHORT_CHARACTERS
    return await engine.planning.run(lambda: bind_with_changes(statement, context), long=long)


async def execute(
    session: SessionContext,
    engine: SessionServices,
    statement: WithChanges,
    prepared: Prepared,
    arguments: Sequence[Any],
    digits: Digits,
) -> Execution:
    """Run all parts, and return the result of the last one. On SqlError the transaction's rollback undoes the parts
    that have run.
    """
    oids = tuple(p.oid for p in prepared.parameters)
    bound = await bind(session, engine, statement, oids, digits)
    command = _TAGS[bound.last.plan.kind] if isinstance(bound.last, BoundMutation) else "SELECT"
    for change in bound.mutations:
        require_writable(session, command, change.plan.table)
        if needs_turn(change.plan):
            await engine.in_operation_pool(functools.partial(session.catalog.claims.claim, change.plan.table))
    await engine.see_commits()
    bound = await bind(session, engine, statement, oids, digits)
    session.authority().require(bound.requirements)
    return await _Running(session, engine, bound, tuple(arguments)).run(prepared)


class _Running:
    def __init__(
        self, session: SessionContext, engine: SessionServices, bound: BoundWith, arguments: tuple[Any, ...]
    ) -> None:
        self._session = session
        self._engine = engine
        self._bound = bound
        self._arguments = arguments
        self._rows: _Rows = {}
        self._judged: list[tuple[Mutate, SessionMutationContext, Outcome]] = []

    async def run(self, prepared: Prepared) -> Execution:
        for change, table in self._bound.changes:
            told = await self._change(change)
            self._rows[table.oid] = _with_rows(table, told)
        last = self._bound.last
        if isinstance(last, BoundMutation):
            told = await self._change(last)
            await self._judge()
            return answer(PlannedMutation(last, None, ()), prepared, told)
        await self._judge()
        return await self._query(last)

    async def _change(self, change: BoundMutation) -> Outcome:
        plan = _substitute_rows(change.plan, self._rows)
        plan = with_shown(plan, self._session.authority(), self._bound.requirements)
        await query_run.guard(self._session, self._engine, change.locks, _tables(plan))
        ground = SessionMutationContext(
            self._session, self._engine, self._arguments, judges_later=len(self._bound.mutations) > 1
        )
        told = await run(plan, ground, ground.queries)
        self._judged.append((plan, ground, told))
        return told

    async def _judge(self) -> None:
        for plan, ground, told in self._judged:
            await ground.judge(plan, told.moved)
        for _, ground, _ in self._judged:
            await deferred.judge_events(ground.later, ground)

    async def _query(self, last: BoundQuery) -> Execution:
        plan = _substitute_rows(last.plan, self._rows)
        ready = await self._engine.planning.run(lambda: optimise(plan))
        planned = PlannedQuery(ready, tuple(last.columns), self._bound.parameters, tuple(_tables(plan)), last.locks)
        return await query_run.run_planned(self._session, self._engine, planned, self._arguments)


def _tables(plan: Node) -> list[Table]:
    """Return the tables that a plan reads."""
    return [node.table for node in walk_all(plan) if isinstance(node, TableReader) and isinstance(node.table, Table)]


def _substitute_rows(plan: _Plan, rows: _Rows) -> _Plan:
    """Return the plan with the RETURNING rows in place."""

    def put(node: Node) -> Node:
        if isinstance(node, TableReader) and node.table.oid in rows:
            return replace(node, table=rows[node.table.oid])
        return node

    made = rewrite_plan(plan, put)
    if isinstance(made, Mutate) and made.forbidden is not None:
        made = replace(made, forbidden=replace(made.forbidden, node=rewrite_plan(made.forbidden.node, put)))
    assert isinstance(made, type(plan)), "only readers are changed"
    return made


def _with_rows(table: SystemTable, told: Outcome) -> SystemTable:
    rows = table.rows
    if told.returned:
        rows = pa.Table.from_batches(told.returned).rename_columns(rows.schema.names)
    return replace(table, rows=rows, version=next(_VERSIONS))
