"""The text of EXPLAIN: a query's plan with its estimates and, after ANALYZE, the counted rows and times."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from engine.catalog.model.objects import Table
from engine.contracts.executor import ExecutionContext
from engine.contracts.mesh import Members, MembersNow
from engine.contracts.profile import by_files, table_source, with_sources
from engine.plan_ir import logical
from engine.plan_ir.expr import Const, Expr, InList, Node, Parameters, ParamRef
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
from engine.sql.parser.nodes import statements as s
from engine.statements.query.measured_run import MeasuredRun, run_measured
from engine.statements.shared.distribution import CompiledQuery, DistributedQuery, physical_plan
from engine.statements.shared.fragment_texts import fragment_texts
from engine.statements.shared.terms import Terms
from wire.dataclass import dataclass

if TYPE_CHECKING:
    from engine.statements.shared.engine_services import EngineServices


#: The figures that the option SUMMARY controls.
_SUMMARY: Final = ("Planning Time", "Execution Time")


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """The query to explain, and how: `statement` has the options. query: as it would run. bindings: without the
    parameters' values if the plan is generic.
    """

    plan: logical.Root
    terms: Terms
    bindings: Bindings
    statement: s.Explain
    context: ExecutionContext
    query: CompiledQuery


async def explain(request: ExplainRequest, engine: EngineServices, started: float) -> list[str]:
    """Return the lines of the answer (one for JSON). started: when planning began, in seconds of `time.perf_counter`."""
    planning_ms = (time.perf_counter() - started) * 1e3
    run = (
        await run_measured(request.query, engine, request.context) if request.statement.analyze else MeasuredRun({}, {})
    )
    # It reads footers for the estimates.
    return await engine.planning.run(
        functools.partial(_lines, request, engine, MembersNow.of(engine.mesh), run, planning_ms)
    )


def _lines(
    request: ExplainRequest, engine: EngineServices, mesh: Members, run: MeasuredRun, planning_ms: float
) -> list[str]:
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


def _files(plan: Node) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the files of each table, with the name that the table has as a source."""
    tables = (node.table for node in walk_all(plan) if isinstance(node, TableReader))
    return ((table_source(table.oid), table.files) for table in tables if isinstance(table, Table))


def _physical(
    request: ExplainRequest,
    query: CompiledQuery,
    engine: EngineServices,
    mesh: Members,
    totals: Mapping[str, float | int | str],
    run: MeasuredRun,
) -> list[str]:
    statement = request.statement
    plan = physical_plan(request.plan, query, request.terms, request.bindings, mesh, engine.config.topology)
    analysis = replace(analysis_of(run.members, totals), timing=statement.timing)
    statements = fragment_texts(query, engine) if statement.verbose else None
    told = rows_of_physical(plan, request.bindings.parameters, analysis, costs=statement.costs)
    if statement.format != "text":
        return [format_document(physical.json_text(plan, analysis, statements, told), statement.format)]
    return physical.text_lines(plan, analysis, statements, told)


def with_values(plan: logical.Root, parameters: Mapping[int, Any]) -> logical.Root:
    """Return the plan as PostgreSQL shows it, with parameters replaced by their values."""

    def with_value(expr: Expr) -> Expr:
        if isinstance(expr, InList) and isinstance(expr.items, Parameters):
            return replace(expr, items=tuple(map(with_value, expr.items)))
        if not isinstance(expr, ParamRef) or expr.index not in parameters:
            return expr
        return Const(expr.type, parameters[expr.index])

    shown = rewrite_plan(plan, lambda node: map_expressions(node, lambda expr: rewrite_expr(expr, with_value)))
    return cast("logical.Root", shown)


def select_summary(statement: s.Explain, told: Mapping[str, float | int | str]) -> dict[str, float | int | str]:
    """Return the part of the summary, which is printed below the plan, that the options ask for."""
    summary = statement.analyze if statement.summary is None else statement.summary
    left_out = {*(() if summary else _SUMMARY), *(() if statement.timing and summary else ("First Batch",))}
    return {name: value for name, value in told.items() if name not in left_out}
