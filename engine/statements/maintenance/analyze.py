"""Runs ANALYZE: it runs the queries of `engine.statements.maintenance.analyze_statistics`, one table at a time, and
records the statistics in the session's catalog: with its transaction, if one is open.

The member that receives the statement runs the queries alone, on the engine that suits their size: the aggregates of a
sketch cannot be computed in parts, and a sample has few rows.
"""

from __future__ import annotations

import functools
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from engine.catalog.model.objects import Table
from engine.contracts.executor import OutputColumn
from engine.contracts.maintenance_progress import MaintenanceProgress, pages_of
from engine.contracts.output_cast import carrier_schema
from engine.lakes.foreign_files import refresh
from engine.plan_ir.logical import Root
from engine.planner.codegen import Bindings
from engine.planner.planner import optimise
from engine.sql.parser.nodes.statements import Analyze
from engine.statements.maintenance.analyze_statistics import (
    Analyzing,
    Meant,
    count_query,
    meant,
    sample_query,
    statistics,
)
from engine.statements.shared.compiling import compile_aside
from engine.statements.shared.fault_policy import RepeatableQuery
from engine.storage import tables
from wire.errors import Notice

if TYPE_CHECKING:
    from engine.session.context.session_context import SessionContext
    from engine.statements.shared.engine_services import EngineServices


async def run(session: SessionContext, engine: EngineServices, statement: Analyze) -> str:
    """Run an ANALYZE, and return its command tag. Raises SqlError."""
    around = Analyzing(
        session.catalog.current(),
        session.search_path(),
        int(session.settings.get("default_statistics_target")),
        session.client.notice,
        session.authority(),
    )
    for wanted in meant(statement, around):
        progress = MaintenanceProgress(session.client.backend_pid, session.database, wanted.table.oid, "ANALYZE")
        with engine.maintenance.show(progress):
            await _analyze(session, engine, wanted, around, progress, verbose=statement.verbose)
    return "ANALYZE"


async def _analyze(
    session: SessionContext,
    engine: EngineServices,
    of: Meant,
    around: Analyzing,
    progress: MaintenanceProgress,
    *,
    verbose: bool,
) -> None:
    if verbose:
        around.notice(Notice(f'analyzing "{of.table.schema}.{of.table.name}"', "INFO"))
    table = await engine.in_operation_pool(functools.partial(refresh, of.table))
    of = replace(of, table=table)
    size = await engine.in_operation_pool(functools.partial(_size, table))
    progress.pages, progress.phase = pages_of(size), "acquiring sample rows"
    [counted] = (await _run_query(session, engine, count_query(of))).to_batches()
    rows = counted.column(0)[0].as_py()
    sample = await _run_query(session, engine, sample_query(of, rows, around.sample_rows))
    progress.pages_done, progress.phase = progress.pages, "computing statistics"

    def keep() -> None:
        session.catalog.tables.keep_statistics(of.table, statistics(of, counted, sample, _size(table), around.target))

    await engine.in_operation_pool(keep)
    if verbose:
        files = f"scanned {len(table.files)} files, containing {rows} rows"
        around.notice(Notice(f'"{table.name}": {files}; {sample.num_rows} rows in sample', "INFO"))


def _size(table: Table) -> int:
    if table.storage is not None:
        return sum(file.size for file in tables.data_files(table).values())
    return sum(os.path.getsize(file) for file in table.files)


async def _run_query(session: SessionContext, engine: EngineServices, plan: Root) -> pa.Table:
    """Return all rows of a query."""
    context = session.execution_context()
    ready, bindings = optimise(plan), Bindings({}, {}, context.time_zone)
    terms = session.terms().on_this_member()
    stream = await RepeatableQuery(
        engine.queries,
        "fail",
        terms,
        lambda chosen: compile_aside(engine, ready, chosen, bindings),
        context,
    ).open()
    batches = []
    try:
        while (batch := await stream.next_batch()) is not None:
            batches.append(batch)
    finally:
        await stream.close()
    schema = carrier_schema([OutputColumn(column.label, column.type) for column in plan.columns])
    return pa.Table.from_batches(batches, batches[0].schema if batches else schema)
