"""Rows as COPY's binary format has them: a signature, the bodies of DataRow messages, an end (copyto.c).

The same interface as `wire.copying.writer.RowWriter`, for a client (framed: one CopyData message a row) or for a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from wire.copying.binary import SIGNATURE
from wire.pg.datarow import EncodedColumn, OutputSettings, RowEncoder

#: Signature, no flags, no extension.
HEADER: Final = SIGNATURE + bytes(8)
TRAILER: Final = b"\xff\xff"


class BinaryRows:
    """Writes the batches of one COPY. columns: what the batches' columns are."""

    def __init__(self, columns: Sequence[EncodedColumn], settings: OutputSettings, *, framed: bool = True) -> None:
        self._encoder = RowEncoder(columns, (1,), settings, b"d" if framed else None)
        self._framed = framed

    def header(self) -> memoryview:
        return self._message(HEADER)

    def encode(self, batch: pa.RecordBatch) -> memoryview:
        """All rows. Raises SqlError for a type that has no binary format."""
        return self._encoder.encode(batch)

    def trailer(self) -> memoryview:
        return self._message(TRAILER)

    def _message(self, data: bytes) -> memoryview:
        return memoryview(b"d" + (4 + len(data)).to_bytes(4, "big") + data if self._framed else data)
