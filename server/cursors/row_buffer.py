"""The rows that a cursor keeps: in memory up to a limit, beyond it in a temporary file of Arrow IPC messages.

They are the rows that a SCROLL cursor has fetched, and those that a WITH HOLD cursor has not given when its transaction
ends. The file is unlinked as soon as it is created, so that nothing is left behind whatever happens to the member. File
I/O runs on a thread of the loop's default pool, never on the loop.

Rejected: Arrow's own file format, which can be read only after its footer is written; here batches are read back while
more are appended, so the index of (first row, offset, length) is kept in memory.
"""

from __future__ import annotations

import asyncio
import bisect
import os
import tempfile
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from engine.common.os_errors import kind_of
from wire.errors import IoError


@dataclass(slots=True)
class _Chunk:
    """One batch. batch: None once it is in the file; then offset and length locate it there."""

    first_row: int
    rows: int
    batch: pa.RecordBatch | None
    offset: int = 0
    length: int = 0


class RowBuffer:
    """Append-only rows with random access. memory_bytes_max: the limit of the rows in memory."""

    def __init__(self, memory_bytes_max: int) -> None:
        self._memory_bytes_max = memory_bytes_max
        self._memory_bytes = 0
        self._chunks: list[_Chunk] = []
        self._schema: pa.Schema | None = None
        self._file: BinaryIO | None = None
        self._file_bytes = 0
        self.rows = 0

    @property
    def file_bytes(self) -> int:
        return self._file_bytes

    def fits(self, batch: pa.RecordBatch) -> bool:
        """Return whether this batch would still fit into memory."""
        return bool(self._memory_bytes + batch.nbytes <= self._memory_bytes_max)

    async def append(self, batch: pa.RecordBatch) -> None:
        """Keep a batch. Raises DiskFull or IoError if it cannot be written to the file."""
        chunk = _Chunk(self.rows, batch.num_rows, batch)
        if self.fits(batch):
            self._memory_bytes += batch.nbytes
        else:
            await asyncio.to_thread(self._spill, chunk)
        self._chunks.append(chunk)
        self.rows += batch.num_rows

    def _spill(self, chunk: _Chunk) -> None:
        assert chunk.batch is not None
        data = chunk.batch.serialize()
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="sluice-cursor-")  # noqa: SIM115
            _write_all(self._file.fileno(), memoryview(data), self._file_bytes)
        except OSError as error:
            raise kind_of(error)(f"could not write to temporary file: {error.strerror}") from error
        self._schema = chunk.batch.schema
        chunk.batch, chunk.offset, chunk.length = None, self._file_bytes, data.size
        self._file_bytes += data.size

    def _load(self, chunk: _Chunk) -> pa.RecordBatch:
        assert self._file is not None
        try:
            # pread shares no file position: after an interrupt, an earlier read may still run on its thread.
            data = os.pread(self._file.fileno(), chunk.length, chunk.offset)
        except OSError as error:
            raise IoError(f"could not read from temporary file: {error.strerror}") from error
        return pa.ipc.read_record_batch(pa.py_buffer(data), self._schema)

    async def _batch(self, chunk: _Chunk) -> pa.RecordBatch:
        if chunk.batch is not None:
            return chunk.batch
        return await asyncio.to_thread(self._load, chunk)

    async def read(self, start: int, count: int) -> pa.RecordBatch:
        """Return rows from `start` on: at least one and at most `count`, as many as are in one chunk. `start` is below
        `rows`.
        """
        chunk = self._chunks[self._chunk_of(start)]
        offset = start - chunk.first_row
        return (await self._batch(chunk)).slice(offset, min(count, chunk.rows - offset))

    async def read_backward(self, start: int, count: int) -> pa.RecordBatch:
        """Return rows start, start - 1 ..., in that order: at least one and at most `count`, as many as are in one
        chunk.
        """
        chunk = self._chunks[self._chunk_of(start)]
        offset = start - chunk.first_row
        first = max(offset - count + 1, 0)
        rows = (await self._batch(chunk)).slice(first, offset - first + 1)
        return rows.take(pa.array(np.arange(rows.num_rows - 1, -1, -1)))

    def _chunk_of(self, row: int) -> int:
        return bisect.bisect_right(self._chunks, row, key=lambda chunk: chunk.first_row) - 1

    def close(self) -> None:
        """Release the rows and the file; idempotent."""
        self._chunks.clear()
        self._memory_bytes = self.rows = 0
        if self._file is not None:
            self._file.close()
            self._file = None


def _write_all(descriptor: int, data: memoryview, offset: int) -> None:
    while data:
        written = os.pwrite(descriptor, data, offset)
        data, offset = data[written:], offset + written
