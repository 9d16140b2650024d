"""Schemas of streams, decoded from the messages that carry them in a plan; and batches with these schemas.

A repeated statement has the same edges each time, and decoding a schema costs as much as sending a small batch, so the
schemas of recent plans are cached.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import pyarrow as pa

from engine.exchange.send import schema_fingerprint
from wire.errors import ConnectionFailure

_KEPT: Final = 256


@lru_cache(_KEPT)
def stream_schema(message: bytes) -> pa.Schema:
    """Decode an Arrow IPC schema message."""
    return pa.ipc.read_schema(pa.py_buffer(message))


def received_batch(body: bytes | bytearray, schema: pa.Schema) -> pa.RecordBatch:
    """Decode a peer's Arrow IPC batch message. Raises ConnectionFailure if it is not one.

    Arrow trusts a message's description of its buffers. This function checks that the buffers are as long as the rows
    need, before anybody reads beyond them. The values are not checked, because that would cost as much as computing
    with them; the peer has proved that it is a member.
    """
    try:
        batch = pa.ipc.read_record_batch(pa.py_buffer(body), schema)
        batch.validate()
    except (pa.ArrowException, OSError, EOFError) as error:
        raise ConnectionFailure("a member sent a batch that cannot be read", detail=str(error)) from error
    return batch


@lru_cache(_KEPT)
def stream_fingerprint(message: bytes) -> bytes:
    """Return the fingerprint that stands for a schema where a stream is opened."""
    return schema_fingerprint(message)
