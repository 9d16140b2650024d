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
from engine.storage import tables
from engine.writers.parts import writer_of
from engine.writers.sink import RowSink
from engine.writers.violations import check_failed, key_exists, null_in
from engine.writers.write_result import Written
from wire.dataclass import dataclass
from wire.errors import SqlError
from wire.types.output import OutputSettings

T = TypeVar("T")


class MutationContext(Protocol):
    """The session, as the execution of a MUTATE uses it."""

    async def open(self, plan: Root, *, here: bool) -> BatchStream:
        """Start a query that is not optimised yet. here: on this member alone."""
        ...

    async def in_writer_pool(self, call: Callable[[], T]) -> T:
        """Run a call that may block for long."""
        ...

    def take(self, sequence: int, count: int) -> npt.NDArray[np.int64]:
        """Take values of a sequence (by OID) for `count` rows. May block."""
        ...

    def postpones(self, key: Constraint) -> bool:
        """Return whether a key is checked later than its statement, and if so record the check."""
        ...

    def wants_moved(self, plan: Mutate) -> bool:
        """Return whether foreign keys need the old and the new key of each row that an UPDATE changes."""
        ...

    async def record(self, table: Table, intents: Intents, *, appends_only: bool, whole: bool) -> None:
        """Record the changes in the session's catalog."""
        ...

    @property
    def output(self) -> OutputSettings:
        """The settings by which messages print values."""
        ...

    @property
    def memory(self) -> MemoryShare | None:
        """The memory share, as in `engine.contracts.executor.ExecutionContext`."""
        ...


class Engines(Protocol):
    """The ways to run a MUTATE's queries, if there is more than one."""

    async def ask(self, plan: Root) -> BatchStream:
        """Start a query about the table's own files, on the engine that will answer first."""
        ...

    async def feed(self, plan: Mutate, query: Root) -> Written | BatchStream:
        """Run the input. Returns the written files if the rows are written where they are produced, otherwise the rows."""
        ...


class Rows(Protocol):
    """A stream of rows that `drain` reads."""

    async def next_batch(self) -> pa.RecordBatch | None: ...


#: Starts a query about the table's files.
Ask = Callable[[Root], Awaitable[BatchStream]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a statement. rows: the number of changed rows. returned: RETURNING's rows, in batches. moved: the
    changed keys, before and after.
    """

    rows: int
    returned: Sequence[pa.RecordBatch] = ()
    moved: Sequence[pa.RecordBatch] = ()


async def run(plan: Mutate, ground: MutationContext, engines: Engines | None = None) -> Outcome:
    """Run the statement. On SqlError and on a cancel nothing is changed.

    engines: None if queries run as the session's settings say, and this member writes.
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
    # From here on the files belong to the catalog: a commit may have taken place even if this fails or is cancelled.
    whole = plan.whole or bool(plan.keys)
    appends_only = plan.kind == "insert" and not whole
    await shielded(ground.record(plan.table, intents, appends_only=appends_only, whole=whole))
    return Outcome(written.rows, written.returned, written.moved)


def told_in_order(plan: Mutate) -> bool:
    """Return whether RETURNING returns rows of the table's files, and so must keep their order."""
    return bool(plan.columns and plan.targets)


async def _input(plan: Mutate, ask: Ask) -> tuple[Node, tuple[str, ...] | None]:
    """Return the input over the files to be rewritten, and these files; None for the files if none are rewritten."""
    if not plan.targets:
        return plan.input, None
    if plan.located is None:
        return plan.input, plan.table.files
    found = await _texts(await ask(Root(plan.located.columns, plan.located)))
    rewritten = names.of_table(plan.table, found)
    return names.only_files(plan.input, plan.targets, rewritten), rewritten


async def _texts(stream: BatchStream) -> list[str]:
    """Read the only column of a stream."""
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
    """Write the input's rows into files, and describe them. On an error no file is left."""
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
    """Pass each batch to `write`; the next batch is produced while one is written."""
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
    """Remove staged files."""
    if added:
        await shielded(ground.in_writer_pool(functools.partial(tables.unlink, Path(table.path), added)))


# -- rows that are offered -------------------------------------------------------------------------------------------


async def _require_allowed(plan: Mutate, ground: MutationContext, ask: Ask) -> None:
    """Raise NotNullViolation or CheckViolation for a row that is proposed to ON CONFLICT."""
    if plan.forbidden is None:
        return
    node, checks, order = plan.forbidden.node, plan.forbidden.checks, plan.forbidden.order
    row = await _first_row(await ask(Root(node.columns, node, order)))
    if row is None or not row.num_rows:
        return
    columns = plan.table.written_columns
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
    """Raise UniqueViolation for a duplicate key."""
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
    """Return the error for the first row, in the order of writing, whose key exists already. The error has the row's
    number in the statement if the files keep the rows' order.
    """
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
