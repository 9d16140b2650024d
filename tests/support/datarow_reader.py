"""A decoder of DataRow messages, value by value: the slow and obvious counterpart of the encoder, for tests."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa

from wire.pg.datarow import RowEncoder

#: More rows than the encoder puts together value by value.
_MANY = 17


def encoded_rows(encoder: RowEncoder, batch: pa.RecordBatch) -> list[list[bytes | None]]:
    """Return the rows as the encoder writes them. Asserts that encoding many of them at once gives the same bytes."""
    few = bytes(encoder.encode(batch))
    several: Any = pa.Table.from_batches([batch] * _MANY).combine_chunks().to_batches()
    assert b"".join(bytes(encoder.encode(part)) for part in several) == few * _MANY
    return read_rows(few)


def read_rows(stream: bytes | memoryview) -> list[list[bytes | None]]:
    """Return the values of each row of a stream of DataRow messages. Asserts every length on the way."""
    data = bytes(stream)
    rows, at = [], 0
    while at < len(data):
        kind, size, columns = struct.unpack_from("!cih", data, at)
        assert kind == b"D"
        end, at = at + 1 + size, at + 7
        row: list[bytes | None] = []
        for _ in range(columns):
            (length,) = struct.unpack_from("!i", data, at)
            at += 4
            row.append(None if length == -1 else data[at : at + length])
            at += max(length, 0)
        assert at == end
        rows.append(row)
    return rows
