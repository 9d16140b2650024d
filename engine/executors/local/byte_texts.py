"""Byte strings as texts with one character per byte, and back, for the local engine; see
`engine.sql.functions.byte_strings`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from engine.executors.local.udf import arrow_function
from wire.types.byte_columns import as_binary, binary_array, data_of, offsets_of
from wire.types.client_encodings import column_to_client


def _whole(array: Any) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _validity(array: pa.Array) -> pa.Buffer | None:
    return array.is_valid().buffers()[1] if array.null_count else None


@arrow_function("sluice_byte_text", ["BLOB"], "VARCHAR")
def byte_text(values: Any) -> pa.Array:
    """Encode byte strings as texts. A byte above 127 becomes two bytes of UTF-8, so offsets grow by the number of such
    bytes before them.
    """
    array = _whole(values)
    offsets = offsets_of(array)
    data = data_of(array)[offsets[0] : offsets[-1]]
    wider = np.concatenate(([0], np.cumsum(data >= 0x80)))
    places = offsets - offsets[0]
    text = np.frombuffer(data.tobytes().decode("latin-1").encode(), np.uint8)
    return binary_array(places + wider[places], text, _validity(array)).cast(pa.utf8())


@arrow_function("sluice_text_bytes", ["VARCHAR"], "BLOB")
def text_bytes(values: Any) -> pa.Array:
    return column_to_client(as_binary(_whole(values)), "LATIN1")
