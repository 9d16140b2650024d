"""EXPLAIN: a query compiled as it would run, run if ANALYZE asks for it, and described.

`EXPLAIN` shows the logical plan with the engine and why; `EXPLAIN (DISTSQL)` the physical one: fragments, members, edges, and
why the plan is distributed or is not. With ANALYZE what was counted is added, for a distributed plan on all members.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.distribution import CompiledQuery, DistributedQuery, Terms, compile_query, physical_plan
from engine.executor import BatchStream, CompiledFragment, ExecutionContext
from engine.plan import explain_physical, logical
from engine.plan.compile import Bindings
from engine.plan.explain import Summary, json_text, text_lines
from engine.plan.explain_rows import rows_of_physical, rows_of_plan
from engine.plan.file_order import in_file_order
from engine.plan.pruning import pruned
from engine.plan.spec import SharedSpec
from engine.runtime.analysis import analysis_of
from engine.runtime.runtime import DistributedStream
from engine.sql import statements as s

if TYPE_CHECKING:
    from engine.engine import Engine


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """What is to be explained, and how: `statement` has the options."""

    plan: logical.Final
    terms: Terms
    bindings: Bindings
    statement: s.Explain
    context: ExecutionContext


@dataclass(slots=True)
class _Run:
    """What a run for ANALYZE gave: the stream's counters, each member's, times in milliseconds."""

    counters: Mapping[str, float | int | str]
    members: Mapping[str, int]


async def explain(request: ExplainRequest, engine: Engine, started: float) -> list[str]:
    """The lines of the answer (JSON: one). started: when planning began, in seconds of `time.perf_counter`."""
    statement = request.statement
    request = replace(request, plan=pruned(request.plan, request.bindings.parameters))
    query = compile_query(
        request.plan, request.terms, request.bindings, engine.mesh, engine.config.topology, analyze=statement.analyze
    )
    actual: dict[str, float | int | str] = {"Planning Time": (time.perf_counter() - started) * 1e3}
    run = await _run(query, engine, request.context) if statement.analyze else _Run({}, {})
    actual |= run.counters
    if statement.distsql:
        return _physical(request, query, engine, actual, run)
    sql = None
    if statement.verbose and not isinstance(query.runs, DistributedQuery):
        sql = engine.executor(query.choice.engine).sql(query.runs)
    if isinstance(query.runs, CompiledFragment) and query.runs.engine == "local":
        request = replace(request, plan=in_file_order(request.plan))
    summary = Summary(query.choice.engine, query.choice.reason, sql, actual)
    counted = actual.get("Rows")
    rows = counted if isinstance(counted, int) else None
    told = rows_of_plan(request.plan, request.bindings.parameters, rows, costs=statement.costs)
    if statement.format == "json":
        return [json_text(request.plan, summary, told)]
    return text_lines(request.plan, summary, told)


def _physical(
    request: ExplainRequest, query: CompiledQuery, engine: Engine, totals: Mapping[str, float | int | str], run: _Run
) -> list[str]:
    statement = request.statement
    plan = physical_plan(request.plan, query, request.terms, request.bindings, engine.mesh, engine.config.topology)
    analysis = analysis_of(run.members, totals)
    statements = statements_of(query, engine) if statement.verbose else None
    told = rows_of_physical(plan, request.bindings.parameters, analysis, costs=statement.costs)
    if statement.format == "json":
        return [explain_physical.json_text(plan, analysis, statements, told)]
    return explain_physical.text_lines(plan, analysis, statements, told)


def statements_of(query: CompiledQuery, engine: Engine) -> Mapping[int, str]:
    """The SQL given to the engines, by fragment."""
    if not isinstance(query.runs, DistributedQuery):
        return {1: engine.executor(query.choice.engine).sql(query.runs)}
    shared = SharedSpec.decoded(query.runs.shared)
    return {fragment.id: fragment.statement for fragment in shared.fragments if fragment.statement is not None}


async def _run(query: CompiledQuery, engine: Engine, context: ExecutionContext) -> _Run:
    """Run the query, throw its rows away, and give what was counted."""
    started = time.perf_counter()
    first: float | None = None
    stream: BatchStream = await engine.open(query, context)
    try:
        while await stream.next_batch() is not None:
            first = first or (time.perf_counter() - started) * 1e3
        members = await stream.counted() if isinstance(stream, DistributedStream) else {}
        counted = stream.statistics()
    finally:
        await stream.close()
    told: dict[str, float | int | str] = {name.capitalize(): value for name, value in counted.items()}
    if first is not None:
        told["First Batch"] = first
    told["Execution Time"] = (time.perf_counter() - started) * 1e3
    return _Run(told, members)
