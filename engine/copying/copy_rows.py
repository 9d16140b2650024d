"""Blocks of text as rows of the table: the stream that feeds the INSERT of a COPY FROM.

Each block is one short run of one statement on this member's local engine, so that what is in memory is a few blocks. Where a
run fails, the row at fault is looked for, by halving, and then its column: the rows before it are given first, since of what
is wrong in several rows PostgreSQL tells the first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from engine.catalog.objects import TableColumn
from engine.copying.source import RowSource
from engine.executor import BatchStream
from engine.sql.binder.mutations.copying import BoundCopy
from engine.sql.expr import Column, Expr
from wire.copying.reader import Block, RowReader, context
from wire.errors import FatalError, FeatureNotSupported, SqlError
from wire.text_input import parse_text

#: Blocks whose lines can still be shown: the one that is written, and those made ahead of it.
_REMEMBERED: Final = 4

#: Runs expressions over the texts: the values of these columns, or all that the INSERT wants.
Run = Callable[[pa.RecordBatch, Sequence[tuple[Column, Expr]] | None], BatchStream]


@dataclass(frozen=True, slots=True)
class _Lines:
    first: int
    block: Block


class CopiedRows:
    """A `BatchStream` over what a client sends. table: its name, for errors."""

    def __init__(self, source: RowSource, reader: RowReader, bound: BoundCopy, run: Run) -> None:
        self._source = source
        self._reader = reader
        self._bound = bound
        self._run = run
        self._given = 0
        self._lines: deque[_Lines] = deque(maxlen=_REMEMBERED)
        self._batches = self._all()

    async def next_batch(self) -> pa.RecordBatch | None:
        return await anext(self._batches, None)

    async def close(self) -> None:
        await self._batches.aclose()

    def statistics(self) -> Mapping[str, int]:
        return {"rows": self._given, "bytes": 0, "batches": 0}

    def placed(self, error: SqlError) -> SqlError:
        """The error of a row with the line that the row was on."""
        if error.row is not None and error.context is None:
            for lines in self._lines:
                at = error.row - lines.first
                if 0 <= at < lines.block.count:
                    rows = lines.block.rows
                    error.context = context(self._bound.plan.table.name, int(rows.lines[at]), rows.line(at))
        return error

    async def _all(self) -> AsyncGenerator[pa.RecordBatch, None]:
        while (piece := await self._source.next_piece()) is not None:
            for block in self._reader.feed(piece):
                async for batch in self._rows(block):
                    yield batch
        for block in self._reader.finish():
            async for batch in self._rows(block):
                yield batch

    async def _rows(self, block: Block) -> AsyncGenerator[pa.RecordBatch, None]:
        self._lines.append(_Lines(self._given, block))
        if block.count:
            texts = pa.RecordBatch.from_arrays(
                list(block.columns), names=[column.label for column in self._bound.texts]
            ) if block.columns else _without_columns(block.count)  # fmt: skip
            try:
                batches = await self._read(texts)
                fault = None
            except FatalError:
                raise
            except SqlError as error:
                batches, fault = await self._upto_fault(texts, block, error)
            for batch in batches:
                self._given += batch.num_rows
                yield batch
            if fault is not None:
                raise fault
        if block.error is not None:
            raise block.error

    async def _read(
        self, texts: pa.RecordBatch, only: Sequence[tuple[Column, Expr]] | None = None
    ) -> list[pa.RecordBatch]:
        stream = self._run(texts, only)
        found = []
        try:
            while (batch := await stream.next_batch()) is not None:
                found.append(batch)
        finally:
            await stream.close()
        return found

    # -- what is wrong -------------------------------------------------------------------------------------------

    async def _upto_fault(
        self, texts: pa.RecordBatch, block: Block, error: SqlError
    ) -> tuple[list[pa.RecordBatch], SqlError]:
        """The rows before the first that fails, and what is wrong with that."""
        good, bad, read = 0, texts.num_rows, []
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                read += await self._read(texts.slice(good, middle - good))
                good = middle
            except FatalError:
                raise
            except SqlError as again:
                error, bad = again, middle
        return read, await self._fault(texts.slice(good, 1), block, good, error)

    async def _fault(self, row: pa.RecordBatch, block: Block, at: int, error: SqlError) -> SqlError:
        """The error of the first column of the row that fails, with its place."""
        bound, line = self._bound, int(block.rows.lines[at])
        table = bound.plan.table.name
        for number, (column, value) in enumerate(zip(bound.texts, bound.values, strict=True)):
            try:
                await self._read(row, [(column, value)])
            except SqlError as own:
                target, text = bound.targets[number], row.column(number)[0].as_py()
                told = self._exactly(own, target, text)
                told.context = context(table, line, text, target.name)
                return told
        error.context = context(table, line, block.rows.line(at))
        return error

    def _exactly(self, error: SqlError, target: TableColumn, text: str | None) -> SqlError:
        """What the type's own reader says of a value, which has details that an engine's cast has not."""
        if text is not None and not isinstance(error, FeatureNotSupported):
            try:
                parse_text(target.type.pg, text, typmod=target.type.typmod, settings=self._bound.settings)
            except FeatureNotSupported:
                return error
            except SqlError as told:
                return told
        return error


def _without_columns(count: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))
