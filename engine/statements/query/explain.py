"""EXPLAIN: compiles a query as it would run, runs it if ANALYZE asks for it, and describes it.

`EXPLAIN` shows the logical plan with the engine and the reason for it; `EXPLAIN (DISTSQL)` shows the physical plan:
fragments, members, edges, and why the plan is distributed or is not. ANALYZE adds the counters, for a distributed plan
those of all members.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from engine.common import sql_type as st
from engine.contracts.materialized_results import explanation
from engine.contracts.sessions import Execution, Prepared, ResultColumn
from engine.session.context.parameter_digits import digits_of
from engine.session.context.services import SessionServices
from engine.session.context.session_context import SessionContext
from engine.sql.parser.nodes import statements as s
from engine.sql.trees.parameters import NO_VALUES
from engine.statements.query.compile_planned import find_generic, key_for_any_values
from engine.statements.query.explained_plan import ExplainRequest, explain
from engine.statements.query.plan_cache import note_custom
from engine.statements.query.run import bind_arguments, guard, plan, with_current_rows
from engine.statements.shared.compiling import compile_aside
from wire.types import pg_types as t

if TYPE_CHECKING:
    pass


async def prepare(
    session: SessionContext, engine: SessionServices, statement: s.Explain, parameter_types: tuple[int, ...]
) -> Prepared:
    """Plan the query that EXPLAIN explains. Raises SqlError."""
    inner = statement.inner
    query = inner.query if isinstance(inner, s.DeclareCursor) else cast("s.Query", inner)
    planned = await plan(session, engine, query, parameter_types, {})
    return Prepared(statement, planned.parameters, plan_columns(statement), planned)


async def execute(
    session: SessionContext, engine: SessionServices, prepared: Prepared, arguments: Sequence[Any]
) -> Execution:
    """Run EXPLAIN of a query; with ANALYZE it also runs the query. Raises SqlError."""
    statement = prepared.statement
    assert isinstance(statement, s.Explain), "as it was dispatched"
    started = time.perf_counter()
    inner = statement.inner
    query = inner.query if isinstance(inner, s.DeclareCursor) else cast("s.Query", inner)
    planned = await plan(
        session, engine, query, tuple(p.oid for p in prepared.parameters), digits_of(prepared.parameters, arguments)
    )
    session.authority().require(planned.requirements)
    planned = await with_current_rows(session, engine, planned)
    tree, bindings = bind_arguments(session, engine, planned, arguments, effects=statement.analyze)
    terms, compiled = session.terms(), None
    key = key_for_any_values(session, engine, planned, arguments, terms)
    if key is not None:
        compiled = await find_generic(session, engine, planned, arguments, terms, key, lambda: (tree, bindings))
    if compiled is not None:
        bindings = replace(bindings, parameters=NO_VALUES)
    else:
        compiled = await compile_aside(engine, tree, terms, bindings, analyze=statement.analyze)
        note_custom(planned, compiled, terms)
    request = ExplainRequest(tree, terms, bindings, statement, session.execution_context(), compiled)
    if statement.analyze:
        engine.initiation.require_for_query(planned.reads)
        await guard(session, engine, planned.locks, planned.reads)
    told = await explain(request, engine, started)
    return explanation(prepared.columns or (), told)


def plan_columns(statement: s.Explain) -> tuple[ResultColumn, ...]:
    """Return the column of EXPLAIN's result."""
    types = {"json": t.JSON, "xml": t.XML}
    return (ResultColumn("QUERY PLAN", st.of(types.get(statement.format, t.TEXT))),)
