"""Rewrites the rows of some of a table's files into new files, by a query: for compaction and for transactions of many
INSERTs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.catalog.model.objects import DataFile, Table
from engine.common.shielded import shielded
from engine.lakes.foreign_files import refresh
from engine.plan_ir.expr import Column
from engine.plan_ir.logical import Root, TableReader, names_in_files
from engine.planner.optimizer.pruning import with_files
from engine.statements.dml.collector import InPool
from engine.statements.dml.run import Ask, drain
from engine.statements.shared.plan_files import absolute
from engine.storage import tables
from engine.storage.staging import TableWriter
from wire.errors import InternalError


async def write_anew(
    root: Path, table: Table, files: Sequence[DataFile], ask: Ask, in_pool: InPool, kept_bytes: int
) -> tuple[DataFile, ...]:
    """Write the rows of these files into new files, which no commit names yet. On an error no new file is left.

    root: the folder of tables. table: the table of the files. ask: starts a query. kept_bytes: as in `TableWriter`.
    Raises SqlError, and InternalError if the number of rows has changed, which no later check would find.
    """
    assert table.storage is not None, "a stored table"
    writer = TableWriter(Path(table.path), table.written_columns, table.storage, kept_bytes)
    try:
        stream = await ask(_rows_of(table, files))
        try:
            await drain(stream, writer.write, in_pool)
        finally:
            await stream.close()
        added: tuple[DataFile, ...] = await shielded(in_pool(writer.finish))
    except BaseException:
        await shielded(in_pool(writer.abandon))
        raise
    before, after = sum(file.rows for file in files), sum(file.rows for file in added)
    if before != after:
        tables.unlink(tables.folder(root, table.storage), added)
        raise InternalError(f'{before} rows of table "{table.name}" were to be written anew, and {after} were')
    return added


def _rows_of(table: Table, files: Sequence[DataFile]) -> Root:
    paths = [absolute(table, file.path) for file in files]
    columns = tuple(Column(number, c.name, c.type) for number, c in enumerate(table.written_columns, 1))
    names = names_in_files(table.written_columns)
    return Root(columns, TableReader(columns, with_files(refresh(table).in_files(), paths), names))
