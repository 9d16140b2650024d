"""Compaction: rewrites the small files of a table as few large ones, in one commit.

The rows are read by a query like any other, on the engine and the members that the planner chooses, and pass through
this member one batch at a time. The commit removes the files that were read and leaves the others alone, so it
conflicts only with a commit that also removes one of them, or that changes the table's definition; rows that are added
meanwhile do not conflict. The old files stay for their readers, until VACUUM.

A small file that is the only small one of its partition is left alone: rewriting it would gain nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.catalog.model.objects import DataFile, Table
from engine.catalog.store.transaction import SessionCatalog
from engine.common.shielded import shielded
from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.contracts.memory_share import writer_bytes
from engine.plan_ir.logical import Root
from engine.planner.codegen import Bindings
from engine.planner.planner import optimise
from engine.statements.dml.write_anew import write_anew
from engine.statements.shared.compiling import compile_aside
from engine.statements.shared.fault_policy import RepeatableQuery
from engine.statements.shared.terms import Terms
from engine.storage import tables
from engine.storage.claims import is_claimed
from engine.storage.in_flight_files import IN_FLIGHT_FILES
from engine.storage.staging import KEPT_BYTES
from wire.dataclass import dataclass
from wire.errors import SerializationFailure

if TYPE_CHECKING:
    from engine.statements.shared.engine_services import EngineServices


@dataclass(frozen=True, slots=True)
class Compacted:
    """The number of files before and after a compaction."""

    before: int = 0
    after: int = 0


def small_files(files: Iterable[DataFile], below: int) -> list[DataFile]:
    """Return the files that are worth rewriting, ordered by name: those smaller than `below` bytes, if their partition
    has several.
    """
    small = [file for file in files if file.size < below]
    partitions = Counter(file.partition for file in small)
    return sorted((file for file in small if partitions[file.partition] > 1), key=lambda file: file.path)


def batch_of(files: Sequence[DataFile], files_max: int, bytes_max: int) -> list[DataFile]:
    """Return a batch of the small files that can be rewritten in a short time. It takes files from the partitions that have the
    most of them first, and at least two from each partition. files_max, bytes_max: limits of the batch, which the first two files
    may exceed."""
    partitions: dict[object, list[DataFile]] = {}
    for file in files:
        partitions.setdefault(file.partition, []).append(file)
    batch, size = list[DataFile](), 0
    for group in sorted(partitions.values(), key=len, reverse=True):
        pair = sum(file.size for file in group[:2])
        if batch and (len(batch) + 2 > files_max or size + pair > bytes_max):
            break
        batch += group[:2]
        size += pair
        for file in group[2:]:
            if len(batch) >= files_max or size + file.size > bytes_max:
                return batch
            batch.append(file)
            size += file.size
    return batch


async def compact(engine: EngineServices, table: Table, terms: Terms, context: ExecutionContext) -> Compacted:
    """Compact a table, as it stands in the catalog. Raises SqlError with nothing changed, and SerializationFailure if
    another commit removed one of the files meanwhile.
    """
    present = await engine.in_operation_pool(lambda: tables.data_files(table).values())
    files = small_files(present, engine.config.small_file_bytes)
    return await compact_files(engine, table, files, terms, context) if files else Compacted()


async def compact_files(
    engine: EngineServices,
    table: Table,
    files: Sequence[DataFile],
    terms: Terms,
    context: ExecutionContext,
    *,
    yielding: bool = False,
    has_turn: bool = False,
) -> Compacted:
    """Rewrite these files of a table. Raises as `compact` does.

    yielding: also raise SerializationFailure if an open transaction, on any member, would fail because of the
    compaction. has_turn: the caller has the table's turn (`engine.statements.dml.autocommit_retry`), and still has it
    when this returns.
    """
    kept = writer_bytes(context.memory, KEPT_BYTES)
    added = await write_anew(
        engine.store.tables, table, files,
        lambda query: _open(engine, query, terms, context), engine.in_writer_pool, kept,
    )  # fmt: skip
    # In the table's turn: no autocommit statement of this member is then running on the table.
    turn = None if has_turn else engine.turns.of(table.oid)
    try:
        if turn is not None:
            await turn.acquire()
    except BaseException:
        _discard(engine, table, added)
        raise
    try:
        await shielded(engine.in_operation_pool(lambda: _record(engine, table, files, added, yielding)))
    finally:
        if turn is not None:
            turn.release()
    return Compacted(len(files), len(added))


def is_contested(table: Table) -> bool:
    """Return whether an open transaction of several statements would fail if the table's files changed. Blocks on the
    disk.
    """
    assert table.storage is not None, "a stored table"
    folder = Path(table.path)
    return (
        table.storage.location in IN_FLIGHT_FILES.contested_folders() or is_claimed(folder) or is_claimed(folder.parent)
    )


def _discard(engine: EngineServices, table: Table, added: Sequence[DataFile]) -> None:
    assert table.storage is not None, "a stored table"
    tables.unlink(tables.folder(engine.store.tables, table.storage), added)


def _record(
    engine: EngineServices, table: Table, files: Sequence[DataFile], added: Sequence[DataFile], yielding: bool
) -> None:
    assert table.storage is not None, "a stored table"
    if yielding and is_contested(table):
        _discard(engine, table, added)
        raise SerializationFailure(f'an open transaction has changed "{table.name}"')
    removed = [file.path for file in files]
    SessionCatalog(engine.store).tables.change_data(table, added, removed, appends_only=False)


async def _open(engine: EngineServices, query: Root, terms: Terms, context: ExecutionContext) -> BatchStream:
    plan, bindings = optimise(query), Bindings({}, {}, context.time_zone)
    return await RepeatableQuery(
        engine.queries,
        "fail",
        terms,
        lambda chosen: compile_aside(engine, plan, chosen, bindings),
        context,
    ).open()
