"""Compiles a planned query for one execution: it finds a kept compilation, uses the generic plan, or compiles it for
the execution's values.

`engine.statements.query.run` is the whole way of a SELECT; this is the part between its plan and its fragments.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Final

from engine.catalog.model.objects import SystemTable, Table
from engine.common.value_sizes import are_long
from engine.contracts.materialized_results import ConstantRows
from engine.plan_ir.logical import Root
from engine.planner.codegen import Bindings
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.planner.optimizer.footers import awaits_footers
from engine.runtime.planning_pool import SHORT_NODES
from engine.session.context.services import SessionServices
from engine.session.context.session_context import SessionContext
from engine.session.context.statement_cache import PlannedQuery
from engine.statements.query.plan_cache import generic_plan, may_be_generic, note_custom
from engine.statements.shared.compiling import PlanSizes, compile_aside
from engine.statements.shared.distribution import CompiledQuery, data_members
from engine.statements.shared.terms import Terms

#: Values of the session that differ with each execution.
_MOMENTS: Final = ("now", "statement_timestamp")
#: The length of the values' texts up to which a compilation is kept.
_VALUES_LENGTH: Final = 4096
Bound = tuple[Root, Bindings]


async def compile_planned(
    session: SessionContext,
    engine: SessionServices,
    planned: PlannedQuery,
    arguments: Sequence[Any],
    bound: Callable[[], Bound],
    terms: Terms,
) -> CompiledQuery:
    """Compile the query, with the current rows of the system relations that it reads."""
    query = await _compile_names(session, engine, planned, arguments, bound, terms)
    return await _read_system(session, engine, query) if planned.reads_system else query


async def _compile_names(
    session: SessionContext,
    engine: SessionServices,
    planned: PlannedQuery,
    arguments: Sequence[Any],
    bound: Callable[[], Bound],
    terms: Terms,
) -> CompiledQuery:
    """Compile the query. The result is kept for the next execution with the same values under the same terms."""
    begun, key = time.monotonic(), None
    shared = key_for_any_values(session, engine, planned, arguments, terms)
    if shared is not None:
        if generic := await find_generic(session, engine, planned, arguments, terms, shared, bound):
            _note_compiled(session, planned, generic, time.monotonic() - begun)
            return generic
        values = tuple(map(repr, arguments))
        if sum(map(len, values)) <= _VALUES_LENGTH:
            key = (shared, values)
            if found := planned.compiled.get(key):
                note_custom(planned, found, terms)
                _note_compiled(session, planned, found)
                return found
    plan, bindings = bound()
    query = await compile_aside(
        engine, plan, terms, bindings, sizes=PlanSizes(planned.size, planned.files, planned.paths)
    )
    note_custom(planned, query, terms)
    _note_compiled(session, planned, query, time.monotonic() - begun)
    if key is not None and not _awaits_footers(query):
        if planned.is_constant and isinstance(query.runs, CompiledFragment) and query.runs.engine == "local":
            query = replace(query, constant=ConstantRows())
        engine.statements.remember(planned, key, query)
    return query


def _awaits_footers(query: CompiledQuery) -> bool:
    """Return whether a later compilation may leave out more files, because it will know more of their footers."""
    if not isinstance(query.runs, CompiledFragment):
        return False
    return any(isinstance(table, Table) and awaits_footers(table) for table in query.runs.tables)


def key_for_any_values(
    session: SessionContext, engine: SessionServices, planned: PlannedQuery, arguments: Sequence[Any], terms: Terms
) -> Hashable | None:
    """Return everything that a compilation of the query depends on except its parameters' values. Returns None if that
    changes with each execution, or if the values are long: they would be kept as the key and in the compiled query, and
    printing them takes long.
    """
    if planned.calls_session or not planned.context_names.isdisjoint(_MOMENTS) or are_long(arguments):
        return None
    facts = session.facts
    context = tuple(map(session.context_value, sorted(planned.context_names)))
    return (terms, data_members(engine.mesh), facts.time_zone, facts.foreign_styles, context)


async def find_generic(
    session: SessionContext,
    engine: SessionServices,
    planned: PlannedQuery,
    arguments: Sequence[Any],
    terms: Terms,
    key: Hashable,
    bound: Callable[[], Bound],
) -> CompiledQuery | None:
    """Return the query compiled for any values, with these ones set, if `plan_cache_mode` and the costs of its plans
    choose it.
    """
    if not arguments or not may_be_generic(planned, mode := str(session.settings.get("plan_cache_mode"))):
        return None
    return await generic_plan(engine, planned, arguments, terms, mode, key, bound)


def _note_compiled(session: SessionContext, planned: PlannedQuery, query: CompiledQuery, seconds: float = 0.0) -> None:
    if session.record is not None:
        session.record.record_plan(planned.plan if planned.size <= SHORT_NODES else None, query, seconds)


async def _read_system(session: SessionContext, engine: SessionServices, query: CompiledQuery) -> CompiledQuery:
    """Return a compiled query over system relations alone with their rows as this session sees them now."""
    catalog, runs = session.environment.catalog(), query.runs
    assert isinstance(runs, CompiledFragment), "no other member has the rows"

    def read() -> tuple[SystemTable, ...]:
        return tuple(map(catalog.read_again, runs.tables))

    tables = read() if all(map(catalog.has_rows, runs.tables)) else await engine.planning.run(read)
    return replace(query, runs=replace(runs, tables=tables))
