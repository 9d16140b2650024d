"""COPY TO of a folder. Its parts are written where the rows are produced; either all parts appear or none.

The statement runs as an INSERT of the rows into a table that has no name and never gets one (`engine.statements.dml`).
So participants and Spark's tasks write as they write tables, into the statement's own folder below the members' tables:
Parquet files, or rows of text (`engine.writers.parts`). The files that they report are moved into a new folder beside
the target, which is renamed to the target when it is complete.

In Parquet, an interval or a time with a time zone is written as text, and the query has to make that text, because a
stored table has a form of its own for these types.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow.parquet as pq

from engine.catalog.model.objects import DataFile, Storage, Table, TableColumn
from engine.common.shielded import shielded
from engine.contracts.copy_progress import CopyProgress
from engine.contracts.materialized_results import RowsStream
from engine.contracts.sessions import ResultColumn
from engine.plan_ir.logical import Mutate, Root
from engine.plan_ir.part_form import PartForm
from engine.statements.copy.file_target import no_parquet
from engine.statements.copy.options import CopyFormat
from engine.statements.dml.run import write_rows
from engine.statements.dml.statement import SessionMutationContext
from engine.storage.durable import sync
from engine.storage.types import OUR_FORMS, file_schema
from engine.writers.parts import SUFFIXES, PartWriter
from engine.writers.write_result import Written
from wire.errors import FeatureNotSupported, IoError

if TYPE_CHECKING:
    from engine.contracts.batch_stream import BatchStream
    from engine.contracts.query_id import QueryId
    from engine.session.context.services import SessionServices
    from engine.session.context.session_context import SessionContext


class CopiedFolder:
    """An `engine.contracts.sessions.Execution` that writes rows into a folder. It returns no rows. shown: the path as
    the statement gives it.

    Raises FeatureNotSupported for a format that cannot be written into a folder.
    """

    query: QueryId | None = None

    def __init__(
        self,
        session: SessionContext,
        engine: SessionServices,
        plan: Root,
        columns: tuple[ResultColumn, ...],
        target: Path,
        shown: str,
        form: CopyFormat,
        progress: CopyProgress,
    ) -> None:
        self.stream: BatchStream = RowsStream((), ())
        self.columns: tuple[ResultColumn, ...] | None = None
        self._ground = SessionMutationContext(session, engine)
        self._engine = engine
        self._target = target
        self._shown = shown
        parts = _part_form(form, columns)
        self._suffix = "parquet" if parts is None else SUFFIXES[parts.form]
        self._plan = _insert(plan, columns, engine.tables / uuid4().hex, parts)
        self._progress = engine.copies.begin(progress)

    async def write(self) -> int:
        """Write all rows. Returns their number. On SqlError and on a cancel no file is left."""
        in_pool, folder = self._engine.in_writer_pool, Path(self._plan.table.path)
        try:
            await shielded(in_pool(lambda: folder.mkdir(parents=True)))
            written = await write_rows(self._plan, self._plan.input, self._ground, self._ground.queries, follows=False)
            await shielded(in_pool(lambda: self._publish(folder, written)))
        except OSError as error:
            raise IoError(f'could not write folder "{self._shown}": {error.strerror or error}') from error
        finally:
            await shielded(in_pool(lambda: shutil.rmtree(folder, ignore_errors=True)))
        self._progress.rows = written.rows
        return written.rows

    def _publish(self, folder: Path, written: Written) -> None:
        """Move the parts into a folder with the target's name. Raises OSError with nothing there."""
        partial = self._target.with_name(f".{self._target.name[:200]}-{uuid4().hex}")
        partial.mkdir()
        try:
            for number, file in enumerate(written.files):
                _move(folder, file, partial / self._name(number))
            if not written.files:
                self._write_empty(partial)
            sync(partial)
            # The rename replaces an empty folder, and fails for anything else.
            partial.rename(self._target)
        except BaseException:
            with suppress(OSError):
                shutil.rmtree(partial)
            raise

    def _write_empty(self, partial: Path) -> None:
        """Write a part without rows, which declares the columns as far as its format can."""
        if self._plan.parts is None:
            schema = file_schema(self._plan.table.columns)
            pq.write_table(schema.empty_table(), partial / self._name(0))
            return
        writer = PartWriter(partial, self._plan.table.columns, self._plan.parts, self._ground.output)
        writer.begin()
        [file] = writer.finish()
        _move(partial, file, partial / self._name(0))

    def _name(self, number: int) -> str:
        return f"part-{number:05}.{self._suffix}"

    def tag(self, rows: int) -> str:
        return f"COPY {rows}"

    async def close(self) -> None:
        self._engine.copies.end(self._progress)
        await self.stream.close()


def _move(folder: Path, file: DataFile, named: Path) -> None:
    """Move a file, also to another file system, to which its bytes are copied."""
    shutil.move(folder / file.path, named)
    sync(named)


def require_folder_form(form: str, columns: tuple[ResultColumn, ...]) -> None:
    """Check that a format can be written into a folder. Raises FeatureNotSupported."""
    if form == "binary":
        raise FeatureNotSupported(
            "not supported: COPY TO a folder in format binary", hint="Use FORMAT parquet, csv, json or text."
        )
    if form != "parquet":
        return
    for column in columns:
        if column.type.pg in OUR_FORMS:
            raise no_parquet(column, "a folder of Parquet files")


def _part_form(form: CopyFormat, columns: tuple[ResultColumn, ...]) -> PartForm | None:
    """Return the format of the parts; None for files like those of stored tables."""
    if form.form == "parquet":
        return None
    assert form.form != "binary", "refused"
    digits = tuple((column.type.display, column.type.minimum) for column in columns)
    return PartForm(form.form, form.layout, form.encoding, digits)


def _insert(plan: Root, columns: tuple[ResultColumn, ...], folder: Path, parts: PartForm | None) -> Mutate:
    """Return the INSERT into a table of these columns."""
    named = tuple(TableColumn(column.name, column.type, number) for number, column in enumerate(columns, 1))
    table = Table(0, "", folder.name, named, "parquet", str(folder), (), storage=Storage(folder.name, 0))
    return Mutate((), "insert", table, plan.input, plan.columns, requirement=plan.requirement, parts=parts)
