"""Rows in COPY's binary format: a signature, the bodies of DataRow messages, and a trailer (copyto.c).

The interface is that of `wire.copy.writer.RowWriter`, for a client (framed: one CopyData message for each row) or for a
file.

For a client, the signature is part of the message of the first row, or of the trailer if there is no row, as in
PostgreSQL. ADBC and connectorx read a row from every message but the last; a message without a row is a broken row to
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from wire.copy.binary import SIGNATURE
from wire.pg.datarow import EncodedColumn, OutputSettings, RowEncoder

#: Signature, no flags, no extension.
HEADER: Final = SIGNATURE + bytes(8)
TRAILER: Final = b"\xff\xff"


class BinaryRows:
    """Writes the batches of one COPY. columns: descriptions of the batches' columns."""

    def __init__(self, columns: Sequence[EncodedColumn], settings: OutputSettings, *, framed: bool = True) -> None:
        self._encoder = RowEncoder(columns, (1,), settings, b"d" if framed else None)
        self._bodies = RowEncoder(columns, (1,), settings, None)
        self._framed = framed
        self._unsaid = b""

    def header(self) -> memoryview:
        if not self._framed:
            return memoryview(HEADER)
        self._unsaid = HEADER
        return memoryview(b"")

    def encode(self, batch: pa.RecordBatch) -> memoryview:
        """Return all rows of a batch. Raises SqlError for a type that has no binary format."""
        if not self._unsaid or not batch.num_rows:
            return self._encoder.encode(batch)
        first, rest = self._bodies.encode(batch.slice(0, 1)), self._encoder.encode(batch.slice(1))
        return memoryview(b"".join((self._with_unsaid(first), rest)))

    def trailer(self) -> memoryview:
        return memoryview(self._with_unsaid(TRAILER) if self._framed else TRAILER)

    def _with_unsaid(self, data: bytes | memoryview) -> bytes:
        """Return a message, with the signature in front of it if that has not been sent yet."""
        head, self._unsaid = self._unsaid, b""
        return b"".join((b"d", (4 + len(head) + len(data)).to_bytes(4, "big"), head, data))
