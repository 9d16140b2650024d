"""Delta's statistics of a data file: rows, nulls, least and greatest values, as JSON, by which every Delta reader
prunes.

They are gathered batch by batch with Arrow's kernels. A bound may be wider than the values, never narrower: texts are
cut to 32 characters, with the highest character appended to the greatest; timestamps are cut to milliseconds, the
greatest rounded up. Values that a bound cannot express are left out: floats with NaN (which is greatest in PostgreSQL
and not ordered elsewhere), infinite dates, structures, lists, bytes.

Source: the Delta protocol, per-file statistics; the limit of 32 characters is that of delta-rs and of Delta for Spark.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from decimal import Context, Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_TEXT_MAX: Final = 32
_LAST_CHARACTER: Final = "\U0010ffff"
_JSON: Final = msgspec.json.Encoder(decimal_format="number")
_EPOCH: Final = dt.date(1970, 1, 1)
#: The days since 1970 of the years 1 to 9999, which ISO text can express.
_DAYS: Final = range(-719_162, 2_932_897)
_DAY_MILLIS: Final = 86_400_000
_EXACT: Final = Context(prec=38)


class FileStatistics:
    """The statistics of one file, gathered while it is written. leave_out: the partition columns, which have no
    statistics.
    """

    def __init__(self, schema: pa.Schema, leave_out: Iterable[str] = ()) -> None:
        left_out = frozenset(leave_out)
        self.rows = 0
        self._columns = [
            _Column(field.name, index, field.type)
            for index, field in enumerate(schema)
            if field.name not in left_out and not pa.types.is_nested(field.type)
        ]

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        for column in self._columns:
            column.add(batch.column(column.index))

    def add_groups(self, footer: pq.FileMetaData) -> None:
        """Add the statistics in the footer of a file that another writer has written, without NaN among its floats."""
        places = {footer.schema.column(index).path: index for index in range(footer.num_columns)}
        self.rows += footer.num_rows
        for column in self._columns:
            for number in range(footer.num_row_groups):
                column.add_chunk(footer.row_group(number).column(places[column.name]))

    @property
    def nulls(self) -> Mapping[str, int]:
        """The number of nulls by column."""
        return {column.name: column.nulls for column in self._columns}

    def json(self) -> str:
        bounds = {column.name: found for column in self._columns if (found := column.bounds()) is not None}
        told = {
            "numRecords": self.rows,
            "minValues": {name: least for name, (least, _) in bounds.items()},
            "maxValues": {name: greatest for name, (_, greatest) in bounds.items()},
            "nullCount": {column.name: column.nulls for column in self._columns},
        }
        return _JSON.encode(told).decode()


class _Column:
    def __init__(self, name: str, index: int, typ: pa.DataType) -> None:
        self.name = name
        self.index = index
        self.nulls = 0
        self._type = typ
        self._least: Any = None
        self._greatest: Any = None
        self._bounded = not (pa.types.is_binary(typ) or pa.types.is_boolean(typ))

    def add(self, array: pa.Array) -> None:
        self.nulls += array.null_count
        if not self._bounded or array.null_count == len(array):
            return
        if pa.types.is_floating(self._type) and pc.any(pc.is_nan(array)).as_py():
            self._bounded = False
            return
        found = pc.min_max(_as_integers(array))
        self._extend(found["min"].as_py(), found["max"].as_py())

    def add_chunk(self, chunk: pq.ColumnChunkMetaData) -> None:
        told = chunk.statistics
        assert told is not None, "its writer tells statistics"
        assert told.has_null_count, "its writer counts nulls"
        self.nulls += told.null_count
        if not self._bounded or told.null_count == chunk.num_values:
            return
        if not told.has_min_max:
            self._bounded = False
            return
        self._extend(_of_footer(told.min_raw, self._type), _of_footer(told.max_raw, self._type))

    def _extend(self, least: Any, greatest: Any) -> None:
        self._least = least if self._least is None else min(self._least, least)
        self._greatest = greatest if self._greatest is None else max(self._greatest, greatest)

    def bounds(self) -> tuple[Any, Any] | None:
        """Return (least, greatest) as JSON values; None if there are none, or a bound cannot express them."""
        if not self._bounded or self._least is None:
            return None
        least, greatest = _least(self._least, self._type), _greatest(self._greatest, self._type)
        return None if least is None or greatest is None else (least, greatest)


def _as_integers(array: pa.Array) -> pa.Array:
    """Convert dates and timestamps to integers, because Python's dates have a smaller range."""
    if pa.types.is_date32(array.type):
        return array.view(pa.int32())
    return array.view(pa.int64()) if pa.types.is_timestamp(array.type) else array


def _of_footer(value: Any, typ: pa.DataType) -> Any:
    """Convert a bound of a footer to the value that the column's kernels would return."""
    if pa.types.is_decimal(typ):
        unscaled = int.from_bytes(value, "big", signed=True) if isinstance(value, bytes) else value
        return Decimal(unscaled).scaleb(-typ.scale, _EXACT)
    return value.decode() if isinstance(value, bytes) else value


def _least(value: Any, typ: pa.DataType) -> Any:
    if isinstance(value, str):
        return value[:_TEXT_MAX]
    if pa.types.is_timestamp(typ):
        return _timestamp(value // 1000, typ)
    return _plain(value, typ)


def _greatest(value: Any, typ: pa.DataType) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _TEXT_MAX else value[:_TEXT_MAX] + _LAST_CHARACTER
    if pa.types.is_timestamp(typ):
        return _timestamp(-(-value // 1000), typ)
    return _plain(value, typ)


def _plain(value: Any, typ: pa.DataType) -> int | float | Decimal | str | None:
    if pa.types.is_date32(typ):
        return _date(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    assert isinstance(value, (int, float, Decimal))
    return value


def _date(days: int) -> str | None:
    return (_EPOCH + dt.timedelta(days=days)).isoformat() if days in _DAYS else None


def _timestamp(millis: int, typ: pa.DataType) -> str | None:
    day, rest = divmod(millis, _DAY_MILLIS)
    date = _date(day)
    if date is None:
        return None
    seconds, milli = divmod(rest, 1000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{milli:03}"
    return f"{date}T{clock}{'Z' if typ.tz else ''}"
