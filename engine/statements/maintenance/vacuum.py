"""The VACUUM statement: maintenance of stored tables, with the work that FULL and ANALYZE add."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Literal

from engine.catalog.model.objects import Table
from engine.contracts.maintenance_progress import MaintenanceProgress, Phase
from engine.sql.parser.nodes.statements import Vacuum
from engine.statements.maintenance import analyze
from engine.statements.maintenance.compaction import compact
from engine.statements.maintenance.vacuum_tables import (
    Vacuuming,
    table_pages,
    tables_to_vacuum,
    tell_compacted,
    vacuum,
)

if TYPE_CHECKING:
    from engine.session.context.session_context import SessionContext
    from engine.statements.shared.engine_services import EngineServices


async def run(session: SessionContext, engine: EngineServices, statement: Vacuum) -> str:
    """Run a VACUUM, which cannot be rolled back, and return its command tag. Raises SqlError."""
    around = Vacuuming(
        session.catalog.current(),
        session.search_path(),
        session.database,
        session.settings.time_ms("sluice.vacuum_retention") / 1000,
        session.client.notice,
        session.authority(),
    )
    meant = tables_to_vacuum(statement, around)
    for table in meant if statement.full else ():
        with engine.maintenance.show(await _progress(session, engine, table, "VACUUM FULL", "writing new heap")):
            await _compact(session, engine, table, statement, around)
    with contextlib.ExitStack() as shown:
        progress = await _progress(session, engine, meant[0], "VACUUM", "vacuuming heap") if meant else None
        if progress is not None:
            shown.enter_context(engine.maintenance.show(progress))
        await engine.in_writer_pool(lambda: vacuum(statement, meant, engine.store, around, progress))
    if statement.analyze is not None:
        await analyze.run(session, engine, statement.analyze)
    return "VACUUM"


async def _progress(
    session: SessionContext,
    engine: EngineServices,
    table: Table,
    command: Literal["VACUUM", "VACUUM FULL"],
    phase: Phase,
) -> MaintenanceProgress:
    pages = await engine.in_operation_pool(functools.partial(table_pages, table))
    return MaintenanceProgress(session.client.backend_pid, session.database, table.oid, command, phase, pages)


async def _compact(
    session: SessionContext, engine: EngineServices, table: Table, statement: Vacuum, around: Vacuuming
) -> None:
    """Compact the table as it was committed: in a pipeline the session may have uncommitted changes."""
    committed = next((found for found in engine.store.snapshot.tables() if found.oid == table.oid), None)
    if committed is None:
        return
    done = await compact(engine, committed, session.terms(), session.execution_context())
    if statement.verbose:
        tell_compacted(table, done.before, done.after, around)
