"""Converts a batch to rows of JSON values, in the forms that Trino's clients read.

The conversion works column by column, with the kernels that write PostgreSQL's texts (`wire.types.output`): a column
becomes an Arrow array of JSON's types (numbers, booleans, strings, lists), so Python handles whole columns only.
Decimals are strings, since most JSON readers take numbers for doubles. Bytes are base64; no library encodes columns, so
all values are encoded at once, each padded to a multiple of three bytes, and the padding becomes `=` afterwards.

Timestamps with time zone are given in UTC, whatever the session's zone: with a zone's name, an hour that the zone
repeats would be ambiguous. A value that Trino's types cannot hold (infinite dates) raises an error instead of becoming
another value.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from buenavista.core import BVType

from engine.common.sql_type import SqlType
from server.http.types import element, family
from server.pgwire.results import encoded_column
from wire.errors import DatetimeFieldOverflow
from wire.types import pg_types as t
from wire.types.byte_columns import as_binary, binary_array, data_of, offsets_of
from wire.types.output import OutputSettings, text_column

_SETTINGS: Final = OutputSettings()
_DIRECT: Final = (BVType.BOOL, BVType.INTEGER, BVType.BIGINT)


def rows(batch: pa.RecordBatch, types: Sequence[SqlType]) -> list[tuple[Any, ...]]:
    """Return the rows of a batch. Raises DatetimeFieldOverflow for values that Trino's types cannot hold."""
    if not types:
        return [()] * int(batch.num_rows)
    columns = [json_column(typ, batch.column(index)).to_pylist() for index, typ in enumerate(types)]
    return list(zip(*columns, strict=True))


def json_column(typ: SqlType, array: pa.Array) -> pa.Array:
    """Convert a column to one whose values are JSON's."""
    kind = family(typ.pg)
    if kind is BVType.ARRAY and pa.types.is_list(array.type):
        return _list(typ, array)
    if kind in _DIRECT:
        return array
    if kind is BVType.BYTES:
        return _only(array, base64_column(array))
    if kind is BVType.FLOAT:
        return _floats(typ, array)
    return _temporal(typ.pg, _text(typ, array))


def _list(typ: SqlType, array: pa.ListArray) -> pa.ListArray:
    """Convert a column of lists, which may be a slice, element by element."""
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    flat = array.flatten()
    inner = typ if pa.types.is_list(flat.type) else element(typ)
    return pa.ListArray.from_arrays(pa.array(offsets), json_column(inner, flat), mask=pc.is_null(array))


def _floats(typ: SqlType, array: pa.Array) -> pa.Array:
    """Return the values as the shortest numbers that denote them; as texts if JSON has no number for some of them."""
    if not pc.all(pc.is_finite(array)).as_py() and array.null_count < len(array):
        return _text(typ, array)
    return _text(typ, array).cast(pa.float64()) if typ.pg is t.FLOAT4 else array


def _text(typ: SqlType, array: pa.Array) -> pa.Array:
    if pa.types.is_null(array.type):
        return array.cast(pa.utf8())
    return _only(array, text_column(encoded_column(typ), array, _SETTINGS).join().cast(pa.utf8()))


def _only(array: pa.Array, texts: pa.Array) -> pa.Array:
    """Return the texts, with null where the array is null."""
    return pc.if_else(pc.is_valid(array), texts, pa.scalar(None, pa.utf8())) if array.null_count else texts


def _temporal(typ: t.PgType, texts: pa.Array) -> pa.Array:
    """Convert PostgreSQL's texts of dates and times to Trino's."""
    if typ in (t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ):
        if pc.any(pc.or_kleene(pc.match_substring(texts, "infinity"), pc.ends_with(texts, "BC"))).as_py():
            raise DatetimeFieldOverflow(
                f"{typ.sql_name} out of range of Trino's type", hint="Cast infinite values and years BC to varchar."
            )
        if typ is t.TIMESTAMPTZ:
            return pc.replace_substring_regex(texts, r"\+00$", " UTC")
    if typ is t.TIMETZ:
        return pc.replace_substring_regex(texts, r"([+-]\d\d)$", r"\1:00")
    return texts


def base64_column(array: pa.Array) -> pa.Array:
    """Return each value's bytes in base64; the content of null rows is undefined."""
    array = as_binary(array)
    offsets = offsets_of(array).astype(np.int64)
    lengths = np.diff(offsets)
    filled = (lengths + 2) // 3 * 3
    ends = np.cumsum(filled)
    starts = np.concatenate(([0], ends[:-1]))
    room = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
    shift = np.repeat(starts - offsets[:-1], lengths)
    room[np.arange(offsets[0], offsets[-1]) + shift] = data_of(array)[offsets[0] : offsets[-1]]
    letters = np.frombuffer(bytearray(base64.b64encode(room.tobytes())), np.uint8)
    for missing in (1, 2):
        letters[ends[filled - lengths >= missing] // 3 * 4 - missing] = ord("=")
    return binary_array(np.concatenate(([0], ends // 3 * 4)), letters).cast(pa.utf8())
