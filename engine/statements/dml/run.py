"""Runs a MUTATE to its end: the initiator's part.

The statement is complete when this returns: PostgreSQL, too, runs a statement with RETURNING to its end before it
returns the first row (portals of the kind PORTAL_ONE_RETURNING). The input is a query like any other, on the engine and
the members that the planner chooses. Its batches arrive here one at a time, and the next one is produced while one is
written; there is no other read-ahead, so a large input passes in constant memory. Only RETURNING's rows are kept. Rows
that Spark's tasks can write themselves do not pass through this member at all (`engine.statements.dml.tasks`).
"""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.catalog.model.objects import Constraint, DataFile, Table
from engine.common.shielded import shielded, stop_task
from engine.contracts.batch_stream import BatchStream
from engine.contracts.memory_share import MemoryShare
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Mutate, Root
from engine.statements.dml.intents import Intents
from engine.statements.dml.unique import doubles, first_double, key_types
from engine.statements.shared import plan_files as names
from engine.writers.parts import writer_of
from engine.writers.sink import RowSink
from engine.writers.violations import check_failed, key_exists, null_in
from engine.writers.write_result import Written
from wire.dataclass import dataclass
from wire.errors import SqlError
from wire.types.output import OutputSettings

T = TypeVar("T")


class MutationContext(Protocol):
    """The session as a MUTATE needs it."""

    async def open(self, plan: Root, *, here: bool) -> BatchStream:
        """Begin to run a query, not yet optimised. here: on this member alone."""
        ...

    async def in_writer_pool(self, call: Callable[[], T]) -> T:
        """Run a call that may block for long."""
        ...

    def take(self, sequence: int, count: int) -> npt.NDArray[np.int64]:
        """The values of a sequence (by OID) for so many rows. May block."""
        ...

    def postpones(self, key: Constraint) -> bool:
        """Whether a key is judged later than with the statement; that it is to be is noted."""
        ...

    def wants_moved(self, plan: Mutate) -> bool:
        """Whether foreign keys ask which key an UPDATE made of which."""
        ...

    async def record(self, table: Table, intents: Intents, *, appends_only: bool, whole: bool) -> None:
        """Make it the session's."""
        ...

    @property
    def output(self) -> OutputSettings:
        """How values are written in messages."""
        ...

    @property
    def memory(self) -> MemoryShare | None:
        """The memory share, as in `engine.contracts.executor.ExecutionContext`."""
        ...


class Engines(Protocol):
    """How a MUTATE's queries may run where there is more than one way."""

    async def ask(self, plan: Root) -> BatchStream:
        """Begin to run a question about the table's own files, on the engine that will have the answer first."""
        ...

    async def feed(self, plan: Mutate, query: Root) -> Written | BatchStream:
        """Have a MUTATE's rows written where they are made, or open them: what was written, or the rows."""
        ...


class Rows(Protocol):
    """The rows to drain."""

    async def next_batch(self) -> pa.RecordBatch | None: ...


#: Begins to run a question.
Ask = Callable[[Root], Awaitable[BatchStream]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """rows: how many changed. returned: RETURNING's, in batches. moved: keys that changed, before and after."""

    rows: int
    returned: Sequence[pa.RecordBatch] = ()
    moved: Sequence[pa.RecordBatch] = ()


async def run(plan: Mutate, ground: MutationContext, engines: Engines | None = None) -> Outcome:
    """Carry the statement out. Raises SqlError, with nothing changed; so does a cancel.

    engines: None: what is opened runs as was wished, and the member writes.
    """
    ask = engines.ask if engines is not None else functools.partial(ground.open, here=True)
    await _require_allowed(plan, ground, ask)
    input_, rewritten = await _input(plan, ask)
    if rewritten is not None and not rewritten and plan.kind in ("update", "delete"):
        return Outcome(0)
    follows = bool(plan.before) and ground.wants_moved(plan)
    written = await write_rows(plan, input_, ground, None if follows else engines, follows=follows)
    added = written.files
    intents = Intents(added, tuple(names.below(plan.table, file) for file in rewritten or ()), written.rows)
    try:
        if written.rows:
            await _require_unique(plan, intents, rewritten or (), ground, ask)
    except BaseException:
        await _remove_staged(plan.table, added, ground)
        raise
    if not written.rows:
        await _remove_staged(plan.table, added, ground)
        return Outcome(0, written.returned)
    # From here on the files are the catalog's: a commit may have taken place though this fails or is cancelled.
    whole = plan.whole or bool(plan.keys)
    appends_only = plan.kind == "insert" and not whole
    await shielded(ground.record(plan.table, intents, appends_only=appends_only, whole=whole))
    return Outcome(written.rows, written.returned, written.moved)


def told_in_order(plan: Mutate) -> bool:
    """Whether RETURNING tells of the rows of the table's files, and so has their order."""
    return bool(plan.columns and plan.targets)


async def _input(plan: Mutate, ask: Ask) -> tuple[Node, tuple[str, ...] | None]:
    """The input over the files that are to be written anew, and those; None where none are."""
    if not plan.targets:
        return plan.input, None
    if plan.located is None:
        return plan.input, plan.table.files
    found = await _texts(await ask(Root(plan.located.columns, plan.located)))
    rewritten = names.of_table(plan.table, found)
    return names.only_files(plan.input, plan.targets, rewritten), rewritten


async def _texts(stream: BatchStream) -> list[str]:
    """A stream's only column."""
    found: list[str] = []
    try:
        while (batch := await stream.next_batch()) is not None:
            found += batch.column(0).to_pylist()
    finally:
        await stream.close()
    return found


# -- writing ----------------------------------------------------------------------------------------------------------


async def write_rows(
    plan: Mutate, input_: Node, ground: MutationContext, engines: Engines | None, *, follows: bool
) -> Written:
    """The input's rows in files, and what is told of them; no files are left where something goes wrong."""
    query = Root(input_.columns, input_, plan.requirement)
    writer = writer_of(plan, Path(plan.table.path), ground.output, ground.memory)
    sink = RowSink(plan, writer, ground.take, ground.output, follows=follows, memory=ground.memory)
    if engines is None:
        stream = await ground.open(query, here=told_in_order(plan))
    else:
        fed = await engines.feed(plan, query)
        if isinstance(fed, Written):
            return fed
        stream = fed
    try:
        try:
            await drain(stream, sink.write, ground.in_writer_pool)
        finally:
            await stream.close()
        return sink.summarize(await shielded(ground.in_writer_pool(writer.finish)))
    except BaseException:
        await shielded(ground.in_writer_pool(writer.abandon))
        raise


async def drain(
    stream: Rows,
    write: Callable[[pa.RecordBatch], None],
    in_pool: Callable[[Callable[[], None]], Awaitable[None]],
) -> None:
    """Hand each batch on; while one is written the next is made."""
    batch = await stream.next_batch()
    while batch is not None:
        following = asyncio.ensure_future(stream.next_batch())
        try:
            await shielded(in_pool(lambda batch=batch: write(batch)))  # type: ignore[misc]
            batch = await following
        except BaseException:
            await stop_task(following)
            raise


async def _remove_staged(table: Table, added: Sequence[DataFile], ground: MutationContext) -> None:
    """Take staged files away again."""

    def unlink() -> None:
        for file in added:
            Path(names.absolute(table, file.path)).unlink(missing_ok=True)

    if added:
        await shielded(ground.in_writer_pool(unlink))


# -- rows that are offered -------------------------------------------------------------------------------------------


async def _require_allowed(plan: Mutate, ground: MutationContext, ask: Ask) -> None:
    """Raises NotNullViolation or CheckViolation for a row that ON CONFLICT was offered."""
    if plan.forbidden is None:
        return
    node, checks, order = plan.forbidden.node, plan.forbidden.checks, plan.forbidden.order
    row = await _first_row(await ask(Root(node.columns, node, order)))
    if row is None or not row.num_rows:
        return
    columns = plan.table.columns
    rows = row.select(range(len(columns)))
    for column, values in zip(columns, rows.columns, strict=True):
        if not column.nullable and not values[0].is_valid:
            raise null_in(plan.table, column, rows, 0, ground.output, plan.shown)
    truths = row.columns[len(columns) :]
    for (constraint, _), truth in zip(checks, truths, strict=False):
        if not truth[0].as_py():
            raise check_failed(plan.table, constraint, rows, 0, ground.output, plan.shown)


# -- keys -------------------------------------------------------------------------------------------------------------


async def _require_unique(
    plan: Mutate, intents: Intents, rewritten: Sequence[str], ground: MutationContext, ask: Ask
) -> None:
    """Raises UniqueViolation for a key that would be there twice."""
    gone = frozenset(rewritten)
    kept = tuple(file for file in plan.table.files if file not in gone)
    added = tuple(names.absolute(plan.table, file.path) for file in intents.added)
    rows = sum(file.rows for file in intents.added)
    keys = [key for key in plan.keys if not ground.postpones(key)]
    for key in keys:
        query = await ground.in_writer_pool(lambda key=key: doubles(plan.table, key, added, kept, rows))  # type: ignore[misc]
        found = None if query is None else await _first_row(await ask(query))
        if found is not None:
            raise await _first_of(plan, keys, intents, kept, ground, ask)


async def _first_of(
    plan: Mutate, keys: Sequence[Constraint], intents: Intents, kept: Sequence[str], ground: MutationContext, ask: Ask
) -> SqlError:
    """Return the error for the first row, in the order in which they were written, that has a key which is there already. Which
    row of the statement that was is told where files keep their order."""
    storage = plan.table.storage
    assert storage is not None, "a stored table"
    in_order = not (storage.sort_by or storage.partition_by)
    added = tuple(names.absolute(plan.table, file.path) for file in intents.added)
    before = dict(zip(added, itertools.accumulate((file.rows for file in intents.added), initial=0), strict=False))
    errors: list[tuple[int, SqlError]] = []
    for key in keys:
        query = await ground.in_writer_pool(lambda key=key: first_double(plan.table, key, added, kept))  # type: ignore[misc]
        row = await _first_row(await ask(query))
        if row is not None and row.num_rows:
            file, number = (column[0].as_py() for column in row.columns[-2:])
            error = key_exists(plan.table, key, key_types(plan.table, key), row, ground.output, plan.shown)
            at = before[names.of_table(replace(plan.table, files=added), [file])[0]] + number
            error.row = at if in_order else None
            errors.append((at, error))
    return min(errors, key=lambda found: found[0])[1]


async def _first_row(stream: BatchStream) -> pa.RecordBatch | None:
    try:
        return await stream.next_batch()
    finally:
        await stream.close()
