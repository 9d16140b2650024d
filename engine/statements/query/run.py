"""The way of a query: it is planned (`plan`), bound to its arguments, compiled for its engine, and started
(`run_planned`).

Binding runs on an operation thread, unless the statement cache has the plan. A query is bound at Parse for Describe; at
Execute it is looked up again in the catalog of that moment, so that a statement that was prepared before a view was
replaced runs the new definition, or fails (0A000 cached plan must not change result type).
"""

from __future__ import annotations

import functools
import time
from collections.abc import Hashable, Sequence
from typing import Any, Final, cast

from engine.catalog.model.objects import Relation, Table
from engine.catalog.snapshot import TEMPORARY
from engine.contracts.materialized_results import StreamExecution
from engine.contracts.sessions import Execution, Prepared, ResultColumn
from engine.planner.codegen import Bindings
from engine.planner.planner import optimise
from engine.runtime.planning_pool import SHORT_CHARACTERS, SHORT_NODES
from engine.session.context import functions
from engine.session.context.parameter_digits import Digits, digits_of
from engine.session.context.row_calls import RowCallStream
from engine.session.context.services import SessionServices
from engine.session.context.session_context import SessionContext
from engine.session.context.statement_cache import PlannedQuery
from engine.session.context.system_rows import with_rows_of_now
from engine.sql.binder import bind_query
from engine.sql.binder.scope import RowLock
from engine.sql.parser.nodes import statements as s
from engine.statements.query.compile_planned import Bound, compile_planned
from engine.statements.query.lifted_literals import lift_literals
from engine.statements.shared.fault_policy import Policy, RepeatableQuery
from engine.statements.shared.text_styles import check_styles
from wire.errors import CachedPlanChanged, ReadOnlySqlTransaction, SqlError

#: Replaces the catalog's version in the key of plans that stay valid as long as the catalog gives the same answers.
_ANY_VERSION: Final = "any"


async def prepare(
    session: SessionContext, engine: SessionServices, query: s.Query, parameter_types: tuple[int, ...]
) -> Prepared:
    """Plan a query for Describe. Raises SqlError."""
    if not parameter_types and (lifted := await _plan_lifted(session, engine, query)) is not None:
        planned, _ = lifted
        return Prepared(query, (), planned.columns, planned)
    planned = await plan(session, engine, query, parameter_types, {})
    return Prepared(query, planned.parameters, planned.columns, planned)


async def execute(
    session: SessionContext, engine: SessionServices, prepared: Prepared, arguments: Sequence[Any]
) -> Execution:
    """Start a prepared query, or the query of a cursor. Raises SqlError."""
    statement = prepared.statement
    query = statement.query if isinstance(statement, s.DeclareCursor) else cast("s.Query", statement)
    return await run_query(session, engine, prepared, query, arguments)


async def run_query(
    session: SessionContext,
    engine: SessionServices,
    prepared: Prepared,
    query: s.Query,
    arguments: Sequence[Any],
    *,
    trusted: bool = False,
) -> Execution:
    """Start a query that was prepared earlier. trusted: the server generated it, so that privileges are not checked.
    Raises InsufficientPrivilege.
    """
    planned, values = await _replan(session, engine, prepared, query, arguments)
    require_same_columns(prepared.plan.columns, planned.columns)
    if not trusted:
        session.authority().require(planned.requirements)
    return await run_planned(session, engine, planned, values)


async def _replan(
    session: SessionContext, engine: SessionServices, prepared: Prepared, query: s.Query, arguments: Sequence[Any]
) -> tuple[PlannedQuery, Sequence[Any]]:
    """Return the prepared query in its current plan, for the digits of this execution's numeric parameters, and the
    values of its parameters.
    """
    before = prepared.plan
    if not prepared.parameters and (lifted := await _plan_lifted(session, engine, query, before)) is not None:
        return lifted
    oids = tuple(p.oid for p in prepared.parameters)
    return await plan(session, engine, query, oids, digits_of(prepared.parameters, arguments), before), arguments


async def _plan_lifted(
    session: SessionContext, engine: SessionServices, query: s.Query, before: PlannedQuery | None = None
) -> tuple[PlannedQuery, Sequence[Any]] | None:
    """Plan a query with its literals replaced by parameters. Returns the plan and the values, or None if it must be
    planned as it is.
    """
    lifted = lift_literals(query)
    if lifted is None:
        return None
    try:
        planned = await plan(session, engine, lifted.query, lifted.types, {}, before)
    except SqlError:
        return None
    arguments = lifted.arguments(planned.parameters, session.facts.input)
    return None if arguments is None or (planned.reads_system and not lifted.numbers) else (planned, arguments)


async def plan(
    session: SessionContext,
    engine: SessionServices,
    query: s.Query,
    parameter_types: tuple[int, ...],
    digits: Digits,
    before: PlannedQuery | None = None,
) -> PlannedQuery:
    """Bind and optimise the query against the current catalog. before: an earlier plan; it is used again if nothing
    that it depends on has changed, even if the cache no longer has it.
    """
    settings, path = session.facts.input, session.search_path()
    read_by = settings if before is None else before.read_by
    version = session.catalog.cache_key()

    def key_of(types: tuple[int, ...], seen: Hashable) -> Hashable:
        return (
            query.text, types, tuple(digits.items()), seen, path, session.database,
            settings.date_order, settings.time_zone, settings.interval_style, read_by,
        )  # fmt: skip

    key = key_of(parameter_types, version)
    own = (key, session.roles.session_name)
    kept = engine.statements
    found = None if version is None else kept.find(key) or kept.find(own)
    if found is None and before is not None and version is not None and not before.keys.isdisjoint((key, own)):
        found = before
    if found is not None and await _is_fresh(engine, found):
        for schema in found.schemas:
            session.authority().require_usage(session.catalog.current(), schema)
        return await with_current_rows(session, engine, found) if found.of_session else found
    lasting = key_of(parameter_types, _ANY_VERSION)
    found = kept.find(lasting)
    if found is None and before is not None and lasting in before.keys:
        found = before
    if found is not None and _holds(session, found, None if version is None else own):
        for schema in found.schemas:
            session.authority().require_usage(session.catalog.current(), schema)
        return found
    context, catalog = session.environment.context(parameter_types, digits, read_by)
    record = session.record

    def bind() -> PlannedQuery:
        begun = time.monotonic()
        with context.statement_binding():
            bound = bind_query(query, context)
        read = time.monotonic()
        planned = PlannedQuery(
            optimise(bound.plan), tuple(bound.columns), tuple(bound.parameters), tuple(catalog.reads.values()),
            bound.locks, context.accesses.to_requirements(), frozenset(catalog.names.schemas), length=len(query.text),
            of_session=catalog.volatile, primary_keys=bound.primary_keys, read_by=read_by, answers=catalog.answers,
        )  # fmt: skip
        planned.survey()
        if record is not None:
            record.bind, record.plan = read - begun, time.monotonic() - read
        return planned

    planned = await engine.planning.run(bind, long=len(query.text) > SHORT_CHARACTERS)
    lasts = not catalog.reads and planned.reads_system
    if context.stable and (lasts or version is not None):
        seen = _ANY_VERSION if lasts else version
        found_types = tuple(parameter.oid for parameter in planned.parameters)
        keys = [own if planned.of_session and not lasts else key_of(parameter_types, seen)]
        if found_types != parameter_types and (lasts or not planned.of_session):
            # It is executed with the inferred types of the parameters that the client left open.
            keys.append(key_of(found_types, seen))
            kept.keep(keys[-1], planned.with_plan(planned.plan))
        planned.keys = frozenset(keys)
        kept.keep(keys[0], planned)
    if planned.size > SHORT_NODES:
        engine.planning.dispose_with(planned, [planned.plan], planned.size, cached=planned.kept)
    return planned


async def _is_fresh(engine: SessionServices, planned: PlannedQuery) -> bool:
    """Return whether the files are still those for which the query was planned. If that may take long, the check blocks
    no other session.
    """
    if not planned.tables:
        return True
    return await engine.planning.run(planned.fresh) if planned.may_wait else planned.fresh()


def _holds(session: SessionContext, planned: PlannedQuery, now: Hashable) -> bool:
    """Return whether binding a query over system relations now would give the same result. now: identifies the state of
    the catalog; None if it has no identity.
    """
    if now is not None and planned.holds_at == now:
        return True
    if not session.environment.catalog().answers_alike(planned.answers):
        return False
    planned.holds_at = now
    return True


async def with_current_rows(session: SessionContext, engine: SessionServices, planned: PlannedQuery) -> PlannedQuery:
    """Return a planned query with the system relations' rows as this session sees them now: for callers that inspect
    the plan, or run it together with other relations.
    """
    if not planned.of_session and not planned.reads_system:
        return planned
    find = session.environment.catalog().read_again if planned.reads_system else session.environment.catalog().of_now
    plan = await engine.planning.run(functools.partial(with_rows_of_now, planned.plan, find))
    return planned if plan is planned.plan else planned.with_plan(plan)


async def run_planned(
    session: SessionContext, engine: SessionServices, planned: PlannedQuery, arguments: Sequence[Any]
) -> Execution:
    """Start a query that has just been planned, and whose privileges have been checked."""
    engine.initiation.require_for_query(planned.reads)
    await guard(session, engine, planned.locks, planned.reads)
    parameters = dict(enumerate(arguments, 1))
    if planned.calls_session:
        await functions.wait(planned.split.plan, session, parameters)
    context = session.execution_context()

    def bind() -> Bound:
        return bind_arguments(session, engine, planned, arguments)

    # Session functions may have side effects, so they are called once, however often the query is repeated.
    bound = functools.cache(bind) if planned.calls_session else bind
    repeatable = RepeatableQuery(
        engine.queries,
        cast("Policy", session.settings.get("sluice.fault_policy")),
        session.terms(),
        lambda terms: compile_planned(session, engine, planned, arguments, bound, terms),
        context,
        session.record,
    )
    stream = await repeatable.open()
    if planned.calls_session and planned.split.calls:
        stream = RowCallStream(stream, planned.split, session, parameters, engine.in_operation_pool)
    return StreamExecution(planned.columns, "SELECT", counted=True, stream=stream, query=context.query)


async def guard(
    session: SessionContext, engine: SessionServices, locks: Sequence[RowLock], reads: Sequence[Relation]
) -> None:
    """Make the transaction depend on the rows of these tables: for FOR UPDATE, and at SERIALIZABLE. reads: the tables
    with all their columns, even if a view shows fewer.
    """
    is_serializable = session.is_serializable
    if not locks and not is_serializable:
        return
    for lock in locks:
        if lock.relation.schema != TEMPORARY and session.settings.get("transaction_read_only") == "on":
            raise ReadOnlySqlTransaction(f"cannot execute SELECT {lock.strength} in a read-only transaction")
    asked = {lock.relation.oid for lock in locks}
    for table in reads:
        if not isinstance(table, Table) or table.storage is None:
            continue
        if is_serializable:
            await engine.in_operation_pool(
                functools.partial(session.catalog.tables.guard, table, whole=True, serializable=True)
            )
        if table.oid in asked:
            await engine.in_operation_pool(functools.partial(session.catalog.tables.guard, table))


def bind_arguments(
    session: SessionContext,
    engine: SessionServices,
    planned: PlannedQuery,
    arguments: Sequence[Any],
    *,
    effects: bool = True,
) -> Bound:
    """Return the plan with the values that only this session knows at this moment. effects: whether functions have
    their side effects, as in a run.
    """
    parameters, plan = dict(enumerate(arguments, 1)), planned.plan
    if planned.calls_session:
        plan = functions.evaluate(planned.split.plan, session, parameters, effects=effects)
    check_styles(plan, session.settings)
    values = {name: session.context_value(name) for name in planned.context_names}
    return plan, Bindings(parameters, values, session.settings.get("TimeZone"))


def require_same_columns(described: Sequence[ResultColumn], now: Sequence[ResultColumn]) -> None:
    """Raise CachedPlanChanged if the columns that Describe reported have changed. A type may have got other labels or
    attributes; it still counts as the same, and values are sent in its current form.
    """
    if described is not now and [(c.name, c.type.pg.oid, c.type.typmod) for c in described] != [
        (c.name, c.type.pg.oid, c.type.typmod) for c in now
    ]:
        raise CachedPlanChanged
