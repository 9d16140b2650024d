"""EXPLAIN: a query compiled as it would run, run if ANALYZE asks for it, and described.

`EXPLAIN` shows the logical plan with the engine and why; `EXPLAIN (DISTSQL)` the physical one: fragments, members, edges, and
why the plan is distributed or is not. With ANALYZE what was counted is added, for a distributed plan on all members.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from engine.catalog.model.objects import Table
from engine.common import sql_type as st
from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.contracts.materialized_results import explanation
from engine.contracts.mesh import Members, MembersNow
from engine.contracts.profile import Operator, by_files, table_source, with_sources
from engine.contracts.sessions import Execution, Prepared, ResultColumn
from engine.executors.local.executor import LocalStream
from engine.executors.spark.stream import SparkStream
from engine.plan_ir import logical
from engine.plan_ir.expr import Const, Expr, Node, ParamRef
from engine.plan_ir.logical import TableReader
from engine.plan_ir.rewrite import map_expressions, rewrite_expr, rewrite_plan, walk_all
from engine.planner.codegen import Bindings
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.planner.explain import physical
from engine.planner.explain.formats import format_document
from engine.planner.explain.logical import Summary, json_text, text_lines
from engine.planner.explain.row_counts import rows_of_physical, rows_of_plan
from engine.planner.optimizer.file_order import in_file_order
from engine.planner.optimizer.pruning import prune_files
from engine.runtime.analysis import analysis_of
from engine.runtime.distributed_stream import DistributedStream
from engine.session.context.parameter_digits import digits_of
from engine.session.context.services import SessionServices
from engine.session.context.session_context import SessionContext
from engine.sql.parser.nodes import statements as s
from engine.sql.trees.parameters import NO_VALUES
from engine.statements.query.plan_cache import note_custom
from engine.statements.query.run import bind_arguments, find_generic, guard, key_for_any_values, plan
from engine.statements.shared.compiling import compile_aside
from engine.statements.shared.distribution import CompiledQuery, DistributedQuery, Terms, physical_plan
from engine.statements.shared.fragment_texts import fragment_texts
from wire.dataclass import dataclass
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.statements.shared.engine_services import EngineServices


#: What the option SUMMARY is about.
_SUMMARY: Final = ("Planning Time", "Execution Time")


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """The query to explain, and how: `statement` has the options. query: as it would run. bindings: without the parameters' values,
    if that is the plan for any."""

    plan: logical.Root
    terms: Terms
    bindings: Bindings
    statement: s.Explain
    context: ExecutionContext
    query: CompiledQuery


@dataclass(slots=True)
class _Run:
    """The counts of a run for ANALYZE: the stream's counters, each member's, times in milliseconds. operators: what the engine
    of a query that ran here counted."""

    counters: Mapping[str, float | int | str]
    members: Mapping[str, int]
    operators: Operator | None = None


async def explain(request: ExplainRequest, engine: EngineServices, started: float) -> list[str]:
    """The lines of the answer (JSON: one). started: when planning began, in seconds of `time.perf_counter`."""
    planning_ms = (time.perf_counter() - started) * 1e3
    run = await _run(request.query, engine, request.context) if request.statement.analyze else _Run({}, {})
    # Footers are read for the estimates.
    return await engine.planning.run(
        functools.partial(_lines, request, engine, MembersNow.of(engine.mesh), run, planning_ms)
    )


def _lines(request: ExplainRequest, engine: EngineServices, mesh: Members, run: _Run, planning_ms: float) -> list[str]:
    statement, query = request.statement, request.query
    request = replace(request, plan=prune_files(request.plan, request.bindings.parameters))
    actual = select_summary(statement, {"Planning Time": planning_ms, **run.counters})
    if statement.distsql:
        return _physical(request, query, engine, mesh, actual, run)
    sql = None
    if statement.verbose and not isinstance(query.runs, DistributedQuery):
        sql = engine.executors.find(query.choice.engine).sql(query.runs)
    if isinstance(query.runs, CompiledFragment) and query.runs.engine == "local":
        request = replace(request, plan=in_file_order(request.plan))
    plan = with_values(request.plan, request.bindings.parameters)
    summary = Summary(query.choice.engine, query.choice.reason, sql, actual)
    counted = actual.get("Rows")
    rows = counted if isinstance(counted, int) else None
    operators = None if run.operators is None else with_sources(run.operators, by_files(_files(plan)))
    told = rows_of_plan(plan, request.bindings.parameters, rows, operators, costs=statement.costs)
    if statement.format != "text":
        return [format_document(json_text(plan, summary, told), statement.format)]
    return text_lines(plan, summary, told)


def with_values(plan: logical.Root, parameters: Mapping[int, Any]) -> logical.Root:
    """The plan as PostgreSQL shows it: a parameter that has a value is that constant."""

    def with_value(expr: Expr) -> Expr:
        if not isinstance(expr, ParamRef) or expr.index not in parameters:
            return expr
        return Const(expr.type, parameters[expr.index])

    shown = rewrite_plan(plan, lambda node: map_expressions(node, lambda expr: rewrite_expr(expr, with_value)))
    return cast("logical.Root", shown)


def select_summary(statement: s.Explain, told: Mapping[str, float | int | str]) -> dict[str, float | int | str]:
    """Return the part of the summary below a plan that the options ask for."""
    summary = statement.analyze if statement.summary is None else statement.summary
    left_out = {*(() if summary else _SUMMARY), *(() if statement.timing and summary else ("First Batch",))}
    return {name: value for name, value in told.items() if name not in left_out}


def _files(plan: Node) -> Iterator[tuple[str, Sequence[str]]]:
    """The files of each table, by the name that it has as a source."""
    tables = (node.table for node in walk_all(plan) if isinstance(node, TableReader))
    return ((table_source(table.oid), table.files) for table in tables if isinstance(table, Table))


def _physical(
    request: ExplainRequest,
    query: CompiledQuery,
    engine: EngineServices,
    mesh: Members,
    totals: Mapping[str, float | int | str],
    run: _Run,
) -> list[str]:
    statement = request.statement
    plan = physical_plan(request.plan, query, request.terms, request.bindings, mesh, engine.config.topology)
    analysis = replace(analysis_of(run.members, totals), timing=statement.timing)
    statements = fragment_texts(query, engine) if statement.verbose else None
    told = rows_of_physical(plan, request.bindings.parameters, analysis, costs=statement.costs)
    if statement.format != "text":
        return [format_document(physical.json_text(plan, analysis, statements, told), statement.format)]
    return physical.text_lines(plan, analysis, statements, told)


async def _run(query: CompiledQuery, engine: EngineServices, context: ExecutionContext) -> _Run:
    """Run the query, throw its rows away, and give what was counted."""
    started = time.perf_counter()
    first: float | None = None
    stream: BatchStream = await engine.queries.open(query, replace(context, analyze=True))
    try:
        while await stream.next_batch() is not None:
            first = first or (time.perf_counter() - started) * 1e3
        members = await stream.collect_counters() if isinstance(stream, DistributedStream) else {}
        counted = stream.statistics()
        operators = stream.operators if isinstance(stream, (LocalStream, SparkStream)) else None
    finally:
        await stream.close()
    told: dict[str, float | int | str] = {name.capitalize(): value for name, value in counted.items()}
    if first is not None:
        told["First Batch"] = first
    told["Execution Time"] = (time.perf_counter() - started) * 1e3
    return _Run(told, members, operators)


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
    """EXPLAIN of a query, which ANALYZE runs. Raises SqlError."""
    statement = prepared.statement
    assert isinstance(statement, s.Explain), "as it was dispatched"
    started = time.perf_counter()
    inner = statement.inner
    query = inner.query if isinstance(inner, s.DeclareCursor) else cast("s.Query", inner)
    planned = await plan(
        session, engine, query, tuple(p.oid for p in prepared.parameters), digits_of(prepared.parameters, arguments)
    )
    session.authority().require(planned.requirements)
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
    """The column of EXPLAIN's result."""
    types = {"json": t.JSON, "xml": t.XML}
    return (ResultColumn("QUERY PLAN", st.of(types.get(statement.format, t.TEXT))),)
