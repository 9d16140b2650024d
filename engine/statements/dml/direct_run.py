"""Runs INSERTs whose rows are built without an engine (`engine.statements.dml.direct_rows`): the rows are written at
once, or kept by the transaction.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from engine.catalog.model.objects import DataFile, Table
from engine.catalog.snapshot import TEMPORARY
from engine.contracts.memory_share import writer_bytes
from engine.lakes.foreign_files import refresh
from engine.statements.dml.filled_sequences import take_values
from engine.statements.dml.planned_mutation import TAGS, PlannedMutation, require_writable
from engine.statements.dml.run import Outcome
from engine.statements.dml.shown_columns import with_shown
from engine.statements.dml.statement import run_mutation
from engine.storage.kept_rows import KEPT_ROWS_BYTES, kept_size, row_size
from engine.writers.sink import RowSink
from wire.types.output import OutputSettings

if TYPE_CHECKING:
    from engine.session.context.session_context import SessionContext
    from engine.statements.shared.engine_services import EngineServices

#: The number of rows up to which they are made on the loop's thread.
_ROWS_HERE: Final = 64


async def direct_outcome(
    session: SessionContext,
    engine: EngineServices,
    planned: PlannedMutation,
    rows: Sequence[Sequence[Any]],
    *,
    keeps: bool,
) -> Outcome | None:
    """Run an INSERT once for each row of arguments, all at once. Returns None, with nothing done, if its rows cannot be
    made directly. keeps: whether rows that no check depends on may be kept in memory, because the transaction
    continues. On SqlError nothing is changed, except that values may have been taken from sequences.
    """
    assert planned.direct is not None, "asked before"
    change = planned.bound.plan
    keeps = keeps and not (change.keys or change.foreign_keys) and change.table.schema != TEMPORARY
    if keeps and len(rows) == 1 and (row := planned.direct.row(rows[0], session.context_value)) is not None:
        require_writable(session, TAGS[change.kind].split()[0], change.table)
        await _make_room(session, row_size(row))
        session.catalog.pending.keep_row(change.table, row)
        return Outcome(1)
    make = functools.partial(planned.direct.batch, rows, session.context_value, functools.partial(take_values, session))
    aside = planned.direct.takes_numbers or len(rows) * planned.direct.rows > _ROWS_HERE
    batch = await engine.in_operation_pool(make) if aside else make()
    if batch is None:
        return None
    if keeps:
        return await _keep_rows(session, planned, batch)
    present = session.catalog.current().relations[change.table.schema, change.table.name]
    assert isinstance(present, Table), "as it was defined"
    if change.keys or change.foreign_keys:
        # Its rows are checked against the files that the table has now.
        present = await engine.in_operation_pool(functools.partial(refresh, present))
    return await run_mutation(session, engine, planned.over(present), (), batch)


async def _keep_rows(session: SessionContext, planned: PlannedMutation, batch: pa.RecordBatch) -> Outcome:
    """Check the rows, and keep them for the transaction."""
    change = with_shown(planned.bound.plan, session.authority(), planned.requirements)
    require_writable(session, TAGS[change.kind].split()[0], change.table)
    rows = _Collected()
    sink = RowSink(
        change,
        rows,
        functools.partial(take_values, session),
        OutputSettings.read(session.settings.get),
        memory=session.memory,
    )
    sink.write(batch)
    await _make_room(session, kept_size(batch))
    for written in rows.batches:
        session.catalog.pending.keep_rows(change.table, written)
    return Outcome(sink.count, sink.summarize(()).returned)


async def _make_room(session: SessionContext, size: int) -> None:
    """Write the kept rows if others of this size would be too many."""
    if not session.catalog.pending.has_room(size, writer_bytes(session.memory, KEPT_ROWS_BYTES)):
        await session.write_kept()


class _Collected:
    """A writer (`engine.writers.parts.Writer`) that keeps the batches in memory."""

    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)

    def finish(self) -> tuple[DataFile, ...]:
        return ()

    def abandon(self) -> None:
        self.batches.clear()
