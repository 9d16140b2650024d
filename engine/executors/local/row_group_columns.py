"""Columns of Parquet row groups as Arrow arrays in memory, for `engine.executors.local.point_reads`.

A column is held if its file has it as its carrier has it, or in a form that is cast to it without loss. Its size in memory is
bounded while it is decoded, not only afterwards: a file of a few kilobytes may hold gigabytes, since a dictionary stores a text
once however many rows have it. Such texts are read as indices, and their length is computed before they are written out. An
encoding that stores a text as a suffix of the one before it has no such form, so its columns are not held.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.common.sql_type import SqlType
from engine.executors.local.settled_files import FileState
from engine.storage.infinities import with_infinities
from wire.dataclass import dataclass
from wire.types import pg_types as t

_log = logging.getLogger(__name__)
#: The largest number of bytes of one row group's column.
COLUMN_BYTES: Final = 16 << 20
#: Rows that are decoded at a time.
_DECODED_ROWS: Final = 1 << 16
#: The encoding whose texts may be longer than the file, and are not to be had as indices.
_PREFIXES: Final = "DELTA_BYTE_ARRAY"
_DICTIONARIES: Final = frozenset(("PLAIN_DICTIONARY", "RLE_DICTIONARY"))
#: DuckDB does not read this date, and the carrier means -infinity by it.
_LEAST_DATE: Final = -(2**31)
#: Arrow types of a file's columns whose values are those of a type's carrier, or are cast to it without loss.
_ARROW_TYPES: Final[Mapping[t.PgType, Callable[[pa.DataType], bool]]] = {
    t.BOOL: pa.types.is_boolean,
    t.INT2: lambda typ: typ in (pa.int8(), pa.int16()),
    t.INT4: lambda typ: typ in (pa.int8(), pa.int16(), pa.int32()),
    t.INT8: pa.types.is_signed_integer,
    t.FLOAT4: pa.types.is_float32,
    t.FLOAT8: pa.types.is_float64,
    t.TEXT: pa.types.is_string,
    t.VARCHAR: pa.types.is_string,
    t.DATE: pa.types.is_date32,
    t.NUMERIC: pa.types.is_decimal128,
}


@dataclass(frozen=True, slots=True)
class Chunk:
    """A row group of a file. state: of a file that may be replaced under its name. group: its number."""

    file: str
    state: FileState | None
    group: int


class ColumnKey(NamedTuple):
    """A row group's column as a table has it. type: the table's, since tables may declare different types over one file."""

    chunk: Chunk
    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class HeldColumn:
    """A row group's column.

    numbers: its values, where they are whole numbers without nulls; ascends: whether these ascend.
    """

    values: pa.Array
    numbers: np.ndarray[Any, Any] | None
    ascends: bool

    def find(self, value: int | str) -> slice | np.ndarray[Any, Any]:
        """Return the places of the rows whose value this is."""
        if self.numbers is None:
            return np.asarray(pc.indices_nonzero(pc.equal(self.values, pa.scalar(value, self.comparable_type))))
        bounds = np.iinfo(self.numbers.dtype)
        if not bounds.min <= int(value) <= bounds.max:
            return slice(0, 0)
        number = self.numbers.dtype.type(value)
        if self.ascends:
            return slice(int(self.numbers.searchsorted(number)), int(self.numbers.searchsorted(number, "right")))
        return np.flatnonzero(self.numbers == number)

    @property
    def comparable_type(self) -> pa.DataType:
        """The type that holds any value which the column is compared with."""
        return pa.int64() if pa.types.is_integer(self.values.type) else self.values.type


def decode_columns(chunk: Chunk, keys: Iterable[ColumnKey]) -> Iterator[tuple[ColumnKey, HeldColumn | None]]:
    """Decode the columns of a row group that can be held, one at a time. None for a column that turns out to be too large. Blocks.

    Raises OSError and ArrowException.
    """
    with pa.OSFile(chunk.file) as opened:
        metadata = pq.read_metadata(opened)
        if chunk.group >= metadata.num_row_groups:
            return
        row_group = metadata.row_group(chunk.group)
        parts = [row_group.column(number) for number in range(row_group.num_columns)]
        by_name = {part.path_in_schema: part for part in parts}
        # The field of a struct has the path of a column that has a point in its name, and the reader gives both.
        paths = Counter(part.path_in_schema for part in parts)
        wanted = [key for key in keys if paths[key.name] == 1 and _is_bounded(by_name[key.name])]
        texts = [key.name for key in wanted if not _DICTIONARIES.isdisjoint(by_name[key.name].encodings)]
        texts = [name for name in texts if by_name[name].physical_type == "BYTE_ARRAY"]
        with pq.ParquetFile(opened, metadata=metadata, read_dictionary=texts) as file:
            schema = file.schema_arrow
            lowered = Counter(name.lower() for name in schema.names)
            for key in wanted:
                if lowered[key.name.lower()] == 1 and _is_as_carried(
                    _plain_type(schema.field(key.name).type), key.type
                ):
                    yield key, _decode(file, key)


def _is_bounded(part: Any) -> bool:
    """Whether a column's chunk has few bytes, and not an encoding that gives any number of them."""
    return part.total_uncompressed_size <= COLUMN_BYTES and _PREFIXES not in part.encodings


def _plain_type(typ: pa.DataType) -> pa.DataType:
    return typ.value_type if pa.types.is_dictionary(typ) else typ


def _is_as_carried(stored: pa.DataType, typ: SqlType) -> bool:
    """Whether values of a file's type are values of the table's as they are."""
    if not _ARROW_TYPES[typ.pg](stored):
        return False
    return typ.pg is not t.NUMERIC or (stored.scale == typ.scale and stored.precision <= typ.precision)


def _decode(file: pq.ParquetFile, key: ColumnKey) -> HeldColumn | None:
    """Read a column; None if it is too large."""
    arrays: list[pa.Array] = []
    room = COLUMN_BYTES
    for batch in file.iter_batches(_DECODED_ROWS, [key.chunk.group], [key.name], use_threads=False):
        array = batch.column(0)
        room -= _decoded_bytes(array)
        if room < 0:
            _log.debug("column %s is too large to be held", key)
            return None
        arrays.append(array.dictionary_decode() if pa.types.is_dictionary(array.type) else array)
    typ = _plain_type(file.schema_arrow.field(key.name).type)
    # A copy, so that no array holds more than its own values.
    values = pa.concat_arrays(arrays) if arrays else pa.array([], typ)
    values.validate(full=True)
    return _hold(_carry_dates(values) if pa.types.is_date32(typ) else values)


def _decoded_bytes(array: pa.Array) -> int:
    """Return the bytes of a column's values where a dictionary has been replaced by its texts."""
    if not pa.types.is_dictionary(array.type) or not pa.types.is_string(array.type.value_type):
        return int(array.nbytes)
    lengths = pc.take(pc.binary_length(array.dictionary).cast(pa.int64()), array.indices)
    return int(array.indices.nbytes) + (pc.sum(lengths).as_py() or 0)


def _carry_dates(values: pa.Array) -> pa.Array:
    """Return a file's dates with -infinity as the carrier has it. Raises ArrowInvalid for a date that DuckDB does not read."""
    if pc.min(values.view(pa.int32())).as_py() == _LEAST_DATE:
        raise pa.ArrowInvalid("a date out of range")
    return with_infinities(pa.RecordBatch.from_arrays([values], ["dates"])).column(0)


def _hold(values: pa.Array) -> HeldColumn:
    if values.null_count or not pa.types.is_integer(values.type):
        return HeldColumn(values, None, ascends=False)
    numbers = values.to_numpy()
    return HeldColumn(values, numbers, ascends=bool(np.all(numbers[1:] >= numbers[:-1])))
