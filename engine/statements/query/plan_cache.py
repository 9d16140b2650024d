"""Generic and custom plans of a query with parameters, and the choice between them.

A custom plan is compiled for the values of one execution: files that cannot hold a matching row are left out, and the
engine is chosen for the files that remain. A generic plan is compiled once, and the local engine receives the values as
those of its own parameters. DuckDB still uses them when it plans, so it skips row groups and orders joins by them; it
cannot leave files out.

The choice is PostgreSQL's: five custom plans, then a generic one if it costs less than these did on average, including
the time it takes to make them; `plan_cache_mode` overrides. Plan costs are in milliseconds. Since both kinds read the
same row groups, only the number of opened files counts. For queries over the system catalog by OIDs, the first plan is
generic already.

There is no generic plan if something depends on a value (`engine.sql.trees.parameters`), if the query's files are so
large that Spark or several members may have to run it, or if a topology assigns files to members; nor, in any mode, for
an execution with long values, or with a value that can only be written as an expression.

Counts belong to the text of a statement, not to a name that a session has given it: drivers that prepare anew each time
profit too. A change of the catalog, of a setting by which literals are read, or of a table's files starts with a new
plan and new counts.

Source: PostgreSQL 15, plancache.c (choose_custom_plan, cached_plan_cost).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from engine.catalog.model.objects import Table
from engine.planner.codegen import Bindings
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.session.context.services import SessionServices
from engine.session.context.statement_cache import PlanCosts, PlannedQuery
from engine.sql.trees.parameters import NO_VALUES, ValueNeeded, scalar_of
from engine.sql.trees.unsupported import Unsupported
from engine.statements.shared.compiling import PlanSizes, compile_aside
from engine.statements.shared.distribution import CompiledQuery
from engine.statements.shared.terms import Terms
from wire.errors import SqlError

if TYPE_CHECKING:
    from engine.plan_ir import logical

CUSTOM_PLANS: Final = 5
#: The costs of opening a file whose footer the engine does not know, of compiling a plan, and of each of its nodes.
_FILE_MS: Final = 0.15
_PLANNING_MS: Final = 0.5
_NODE_MS: Final = 0.02


def may_be_generic(planned: PlannedQuery, mode: str) -> bool:
    """Return whether the generic plan of a query with parameters may be used: it is chosen, or has to be made because
    its cost is unknown.
    """
    costs = planned.costs
    if mode != "auto":
        return mode == "force_generic_plan"
    if planned.is_by_number:
        return costs.generic != math.inf
    return costs.custom >= CUSTOM_PLANS and (costs.generic is None or _is_cheaper(costs))


async def generic_plan(
    engine: SessionServices,
    planned: PlannedQuery,
    arguments: Sequence[Any],
    terms: Terms,
    mode: str,
    key: Hashable,
    bound: Callable[[], tuple[logical.Root, Bindings]],
) -> CompiledQuery | None:
    """Return the generic plan with these values set; None if the query must be compiled for them. mode:
    `plan_cache_mode`. key: everything that the plan depends on. bound: makes the plan with the values that are in the
    key.
    """
    if key in planned.generic:
        query = planned.generic[key]
    else:
        query = await _compile(engine, planned, terms, *bound())
        engine.statements.remember_generic(planned, key, query)
    costs = planned.costs
    if costs.generic is None and (query is not None or terms.wish == "auto"):
        costs.generic = math.inf if query is None else _run_cost(query)
    if query is None or (mode == "auto" and not planned.is_by_number and not _is_cheaper(costs)):
        return None
    assert isinstance(query.runs, CompiledFragment), "no other is kept"
    wanted = query.runs.parameters.items()
    try:
        values = {name: scalar_of(arguments[number - 1], typ) for name, (number, typ) in wanted}
    except (ValueNeeded, Unsupported, SqlError):
        # The compilation for these values raises the error of an invalid value.
        return None
    return replace(query, values=values)


def note_custom(planned: PlannedQuery, query: CompiledQuery, terms: Terms) -> None:
    """Record that a custom plan runs the query."""
    costs = planned.costs
    costs.custom += 1
    costs.custom_total += _run_cost(query) + _PLANNING_MS + _NODE_MS * planned.size
    is_local = isinstance(query.runs, CompiledFragment) and query.runs.engine == "local"
    if terms.wish == "auto" and not is_local:
        costs.generic = math.inf


def _is_cheaper(costs: PlanCosts) -> bool:
    return costs.generic is not None and costs.generic < costs.custom_total / costs.custom


def _run_cost(query: CompiledQuery) -> float:
    if not isinstance(query.runs, CompiledFragment):
        return 0.0
    return _FILE_MS * sum(len(table.files) for table in query.runs.tables if isinstance(table, Table))


async def _compile(
    engine: SessionServices, planned: PlannedQuery, terms: Terms, plan: logical.Root, bindings: Bindings
) -> CompiledQuery | None:
    if engine.config.topology is not None:
        return None
    try:
        sizes = PlanSizes(planned.size, planned.files, planned.paths)
        query = await compile_aside(engine, plan, terms, replace(bindings, parameters=NO_VALUES), sizes=sizes)
    except (ValueNeeded, SqlError):
        return None
    return query if isinstance(query.runs, CompiledFragment) and query.runs.engine == "local" else None
