"""The stream that feeds the INSERT of a COPY FROM: it turns blocks of text into rows of the table.

Three steps run concurrently, each one block behind the step before it: gathering what the client sends (on the event
loop), splitting and casting it (on a thread), and writing it (by the consumer of the batches). Only a few blocks are in
memory.

A text column is converted by the cheapest of three methods that can read all of it: Arrow's kernels; the local engine,
with the casts that read a text column elsewhere; PostgreSQL's own input functions, one value at a time
(`engine.statements.copy.casts`). If the input functions refuse a value too, the rows before it are delivered first: as
in PostgreSQL, the error reported is that of the first invalid row, and in that row that of the first column. Then the
local engine computes defaults, checks and WHERE, if there are any.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.common.shielded import shielded, stop_task
from engine.contracts.batch_stream import BatchStream
from engine.contracts.copy_progress import CopyProgress
from engine.plan_ir.expr import Column, ColumnRef, Const, Expr, Node
from engine.plan_ir.logical import Evaluator
from engine.plan_ir.physical import Receive
from engine.sql.binder.mutations.copying import BoundCopy
from engine.statements.copy import casts
from engine.statements.copy.source import RowSource
from wire.copy.binary import BinaryReader
from wire.copy.reader import BLOCK_BYTES, RowReader
from wire.copy.text_columns import Block, context
from wire.dataclass import dataclass
from wire.errors import FatalError, SqlError, UniqueViolation
from wire.types.carriers import carrier
from wire.types.pg_types import PgType
from wire.types.text_settings import InputSettings

T = TypeVar("T")

#: Seconds without data from the client after which the rows that have arrived are a block, however few they are: errors
#: in them are then reported while the client is still busy with the next ones.
_PAUSE: Final = 0.05
#: The number of blocks whose lines can still be shown: the one that is being written, and those read ahead of it.
_REMEMBERED: Final = 4


#: Reads a column in the binary format. Returns the values before the first invalid one, and its error. Arguments: the
#: column, its type and modifier, a numeric's precision and scale, settings, an array's dimensions.
ReceiveColumn = Callable[
    [pa.BinaryArray, PgType, int, tuple[int, int], InputSettings, int], tuple[pa.Array, SqlError | None]
]


class Runs(Protocol):
    """The work of a COPY that runs on the local engine or on threads."""

    def casts(self, texts: pa.RecordBatch, wanted: Sequence[tuple[Column, Expr]]) -> BatchStream:
        """Compute the values of these columns from a block's texts."""
        ...

    def rows(self, values: pa.RecordBatch) -> BatchStream:
        """Compute the rows of the INSERT from the values of a block."""
        ...

    def in_pool(self, call: Callable[[], T]) -> Awaitable[T]:
        """Run a call of some tens of milliseconds on a thread."""
        ...


@dataclass(frozen=True, slots=True)
class _Received:
    """Bytes that the client has sent. paused: whether it has sent nothing more for a while."""

    pieces: Sequence[bytes | memoryview]
    paused: bool


@dataclass(frozen=True, slots=True)
class _Cast:
    """A block, and the values of those of its columns that the kernels could read. fault: the first row with an error,
    and the error.
    """

    block: Block
    values: Sequence[pa.Array | None]
    fault: tuple[int, SqlError] | None = None


@dataclass(frozen=True, slots=True)
class _Taken:
    """The blocks that were split from some bytes. error: the error after the last block."""

    blocks: Sequence[_Cast]
    error: SqlError | None = None


@dataclass(frozen=True, slots=True)
class _Lines:
    """The origin of delivered rows. first: the number of the first one. numbers: their positions in the block; None if
    rows and block correspond one to one.
    """

    first: int
    count: int
    block: Block
    numbers: pa.Array | None


@dataclass(frozen=True, slots=True)
class _Origin:
    """The input lines of delivered rows, kept as long as a duplicate key may be found. first, count, numbers: as in
    `_Lines`. lines: as `Block.numbers`.
    """

    first: int
    count: int
    lines: int | npt.NDArray[np.int64]
    numbers: pa.Array | None

    def line(self, at: int) -> int:
        row = at if self.numbers is None else self.numbers[at].as_py()
        return self.lines + row if isinstance(self.lines, int) else int(self.lines[row])


class CopiedRows:
    """A `BatchStream` of the rows that a client sends. progress: kept up to date. receive: reads columns in the binary
    format.
    """

    def __init__(
        self,
        source: RowSource,
        reader: RowReader | BinaryReader,
        bound: BoundCopy,
        runs: Runs,
        progress: CopyProgress,
        receive: ReceiveColumn | None = None,
    ) -> None:
        self._receive = receive
        self._progress = progress
        self._source = source
        self._reader = reader
        self._bound = bound
        self._runs = runs
        self._arrangement = find_arrangement(bound.plan.input)
        self._rest: memoryview | None = None
        self._lines: deque[_Lines] = deque(maxlen=_REMEMBERED)
        self._origins: list[_Origin] = []
        self._batches = self._all()

    async def next_batch(self) -> pa.RecordBatch | None:
        return await anext(self._batches, None)

    async def close(self) -> None:
        await self._batches.aclose()

    def statistics(self) -> Mapping[str, int]:
        return {"rows": self._progress.rows, "bytes": self._progress.bytes, "batches": 0}

    def with_line(self, error: SqlError) -> SqlError:
        """Return the error of a row with its line of the input. Keys are checked when the lines are gone, as in
        PostgreSQL: their errors name only the line's number.
        """
        if isinstance(error, UniqueViolation):
            return self._with_line_number(error)
        if error.row is not None and error.context is None:
            for lines in self._lines:
                at = error.row - lines.first
                if 0 <= at < lines.count:
                    row = at if lines.numbers is None else lines.numbers[at].as_py()
                    error.context = context(self._bound.plan.table.name, *lines.block.line(row))
        return error

    def _with_line_number(self, error: UniqueViolation) -> SqlError:
        for origin in self._origins if error.row is not None else ():
            assert error.row is not None, "asked above"
            if 0 <= error.row - origin.first < origin.count:
                error.context = context(self._bound.plan.table.name, origin.line(error.row - origin.first))
        return error

    # -- steps ---------------------------------------------------------------------------------------------------

    async def _all(self) -> AsyncGenerator[pa.RecordBatch, None]:
        following = asyncio.ensure_future(self._next_block())
        try:
            more = True
            while more:
                data = await following
                more = data is not None
                if more:
                    following = asyncio.ensure_future(self._next_block())
                taken = await shielded(self._runs.in_pool(lambda data=data: self._taken_apart(data)))  # type: ignore[misc]
                for cast in taken.blocks:
                    async for batch in self._rows(cast):
                        yield batch
                if taken.error is not None:
                    raise taken.error
        finally:
            # Its result and its error are dropped: another error is reported.
            await stop_task(following)

    async def _next_block(self) -> _Received | None:
        """Read about a block's worth of what the client sends, less if it pauses; None at the end."""
        pieces: list[bytes | memoryview] = []
        size, paused = 0, False
        while size < BLOCK_BYTES:
            piece: bytes | memoryview | None = self._rest
            self._rest = None
            if piece is None:
                piece = await self._source.next_piece(_PAUSE if pieces else None)
            if piece is None:
                break
            if not piece and pieces:
                paused = True
                break
            if len(piece) > BLOCK_BYTES:
                piece, self._rest = memoryview(piece)[:BLOCK_BYTES], memoryview(piece)[BLOCK_BYTES:]
            pieces.append(piece)
            size += len(piece)
        self._progress.bytes += size
        return _Received(pieces, paused) if pieces else None

    def _taken_apart(self, data: _Received | None) -> _Taken:
        """Split bytes into blocks. data: None at the end, which returns the last blocks."""
        found: list[_Cast] = []
        try:
            for block in self._reader.finish() if data is None else self._split(data):
                found.append(
                    self._cast_binary(block) if self._receive is not None else _Cast(block, self._plainly(block))
                )
        except SqlError as error:
            return _Taken(found, error)
        return _Taken(found)

    def _split(self, data: _Received) -> Iterator[Block]:
        yield from self._reader.feed(b"".join(data.pieces))
        if data.paused:
            yield from self._reader.flush()

    def _plainly(self, block: Block) -> list[pa.Array | None]:
        return [
            casts.plain(texts, column.type) for texts, column in zip(block.columns, self._bound.targets, strict=True)
        ]

    def _cast_binary(self, block: Block) -> _Cast:
        """Read the columns of a block in the binary format."""
        assert self._receive is not None, "asked for"
        values: list[pa.Array | None] = []
        fault: tuple[int, SqlError] | None = None
        for target, data in zip(self._bound.targets, block.columns, strict=True):
            typ = target.type
            digits, settings = (typ.precision, typ.scale), self._bound.settings
            found, error = self._receive(data, typ.pg, typ.typmod, digits, settings, typ.dimensions)
            values.append(found)
            if error is not None and (fault is None or len(found) < fault[0]):
                error.context = (
                    f"{context(self._bound.plan.table.name, block.line(len(found))[0])}, column {target.name}"
                )
                fault = len(found), error
        return _Cast(block, values, fault)

    async def _rows(self, cast: _Cast) -> AsyncGenerator[pa.RecordBatch, None]:
        block = cast.block
        if block.count:
            values, fault = await self._values(cast)
            good = block.count if fault is None else fault[0]
            batch, wrong = await self._complete_rows(
                self._batch([array.slice(0, good) for array in values], good), block
            )
            if batch is not None and batch.num_rows:
                self._remember(batch, block)
                self._progress.rows += batch.num_rows
                yield batch
            self._progress.excluded += 0 if batch is None or wrong is not None else good - batch.num_rows
            if wrong is not None:
                raise wrong
            if fault is not None:
                raise fault[1]
        if block.error is not None:
            raise await self._before(block) or block.error

    # -- values --------------------------------------------------------------------------------------------------

    async def _values(self, cast: _Cast) -> tuple[Sequence[pa.Array], tuple[int, SqlError] | None]:
        """Compute the values of all columns. Also returns the first row with an error, and the error."""
        values = {i: array for i, array in enumerate(cast.values) if array is not None}
        left = [i for i, array in enumerate(cast.values) if array is None]
        if not left:
            return list(values.values()), cast.fault
        texts = pa.RecordBatch.from_arrays(
            list(cast.block.columns), names=[column.label for column in self._bound.texts]
        )
        wanted = [(self._bound.values[i], expr) for i in left if (expr := self._bound.casts[i]) is not None]
        if len(wanted) < len(left):
            return await self._exactly(cast)
        try:
            read = _one(await _read_all(self._runs.casts(texts, wanted)))
        except FatalError:
            raise
        except SqlError:
            return await self._exactly(cast)
        assert read is not None, "as many rows as texts"
        values |= dict(zip(left, read.columns, strict=True))
        return [values[i] for i in range(len(values))], None

    async def _exactly(self, cast: _Cast) -> tuple[Sequence[pa.Array], tuple[int, SqlError] | None]:
        """Compute the values as `_values` does, if the engine refuses a value or has no cast for it."""
        found: list[pa.Array] = []
        fault: tuple[int, SqlError] | None = None
        for target, texts, known in zip(self._bound.targets, cast.block.columns, cast.values, strict=True):
            if known is not None:
                found.append(known)
                continue
            good, error = await shielded(
                self._runs.in_pool(lambda: casts.exact(texts, target.type, self._bound.settings))  # noqa: B023
            )
            found.append(good)
            if error is not None and (fault is None or len(good) < fault[0]):
                line, _ = cast.block.line(len(good))
                error.context = context(self._bound.plan.table.name, line, texts[len(good)].as_py(), target.name)
                fault = len(good), error
        return found, fault

    async def _before(self, block: Block) -> SqlError | None:
        """Return the error of the fields before the missing ones, in a row with too few fields."""
        for target, texts in zip(self._bound.targets, block.cut.columns if block.cut is not None else (), strict=False):
            _, error = await shielded(
                self._runs.in_pool(lambda: casts.exact(texts, target.type, self._bound.settings))  # noqa: B023
            )
            if error is not None:
                assert block.cut is not None, "it has these fields"
                error.context = context(self._bound.plan.table.name, block.cut.line, texts[0].as_py(), target.name)
                return error
        return None

    def _batch(self, values: Sequence[pa.Array], count: int) -> pa.RecordBatch:
        """Return the values under the labels of the columns that the INSERT receives."""
        arrays = list(values)
        if self._bound.number is not None:
            arrays.append(pa.array(range(count), pa.int64()))
        names = [column.label for column in self._bound.received_columns]
        return pa.RecordBatch.from_arrays(arrays, names=names) if arrays else _without_columns(count)

    # -- rows ----------------------------------------------------------------------------------------------------

    async def _complete_rows(
        self, values: pa.RecordBatch, block: Block
    ) -> tuple[pa.RecordBatch | None, SqlError | None]:
        """Compute the rows of the INSERT. Returns them, and the error of the row after them."""
        if self._arrangement is not None:
            return _arrange(values, self._arrangement, self._bound.plan.input.columns), None
        try:
            return _one(await _read_all(self._runs.rows(values))), None
        except FatalError:
            raise
        except SqlError as error:
            return await self._upto_fault(values, block, error)

    async def _upto_fault(
        self, values: pa.RecordBatch, block: Block, error: SqlError
    ) -> tuple[pa.RecordBatch | None, SqlError]:
        """Compute the rows before the first one that fails, which is found by bisection."""
        good, bad, read = 0, values.num_rows, []
        while bad - good > 1:
            middle = (good + bad) // 2
            try:
                read += await _read_all(self._runs.rows(values.slice(good, middle - good)))
                good = middle
            except FatalError:
                raise
            except SqlError as again:
                error, bad = again, middle
        error.context = context(self._bound.plan.table.name, *block.line(good))
        return _one(read), error

    def _remember(self, batch: pa.RecordBatch, block: Block) -> None:
        """Record the input lines of a batch's rows."""
        first, count, numbers = self._progress.rows, batch.num_rows, self._numbers(batch)
        self._lines.append(_Lines(first, count, block, numbers))
        if self._bound.plan.keys:
            self._origins.append(_Origin(first, count, block.numbers(), numbers))

    def _numbers(self, batch: pa.RecordBatch) -> pa.Array | None:
        number = self._bound.number_given
        if number is None:
            return None
        return batch.column([column.id for column in self._bound.plan.input.columns].index(number.id))


async def _read_all(stream: BatchStream) -> list[pa.RecordBatch]:
    found = []
    try:
        while (batch := await stream.next_batch()) is not None:
            found.append(batch)
    finally:
        await stream.close()
    return found


def _one(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch | None:
    if len(batches) < 2:
        return batches[0] if batches else None
    return pa.concat_batches(batches)


# -- rows of which nothing is computed ----------------------------------------------------------------------------------


def find_arrangement(node: Node) -> tuple[Column | None, ...] | None:
    """Return, for each column of a node, the received column that it passes through, or None for a null. Returns None
    if the node computes anything.
    """
    if isinstance(node, Receive):
        return tuple(node.columns)
    if not isinstance(node, Evaluator) or node.filter is not None:
        return None
    below = find_arrangement(node.input)
    if below is None:
        return None
    shown = dict(zip((column.id for column in node.input.columns), below, strict=True))
    found: list[Column | None] = []
    for expr in node.emit:
        if isinstance(expr, ColumnRef) and expr.column.id in shown:
            found.append(shown[expr.column.id])
        elif isinstance(expr, Const) and expr.value is None:
            found.append(None)
        else:
            return None
    return tuple(found)


def _arrange(values: pa.RecordBatch, arrangement: Sequence[Column | None], columns: Sequence[Column]) -> pa.RecordBatch:
    if not columns:
        return _without_columns(values.num_rows)
    arrays = [
        pa.nulls(values.num_rows, carrier(column.type.pg, column.type.scale)) if shown is None else values.column(shown.label)
        for column, shown in zip(columns, arrangement, strict=True)
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(arrays, names=[column.label for column in columns])


def _without_columns(count: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))
