"""Schemas of streams, from the messages that carry them in a plan.

A statement that is repeated has the same edges each time, and to read a schema costs as much as to send a small batch; so those
of the last plans are remembered.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import pyarrow as pa

from engine.operators.send import schema_fingerprint

_KEPT: Final = 256


@lru_cache(_KEPT)
def stream_schema(message: bytes) -> pa.Schema:
    """The schema in an Arrow IPC schema message."""
    return pa.ipc.read_schema(pa.py_buffer(message))


@lru_cache(_KEPT)
def stream_fingerprint(message: bytes) -> bytes:
    """What stands for it where a stream is opened."""
    return schema_fingerprint(message)
