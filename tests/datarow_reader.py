"""Reads DataRow messages back, value by value: the slow and obvious counterpart of the encoder, for tests."""

from __future__ import annotations

import struct


def read_rows(stream: bytes | memoryview) -> list[list[bytes | None]]:
    """The values of each row of a stream of DataRow messages; asserts every length on the way."""
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
