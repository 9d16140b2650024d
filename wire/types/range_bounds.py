"""Bounds of ranges and multiranges: values to the texts that `wire.types.ranges` keeps and back, and to the texts that
a session prints.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from wire.types import pg_types as t
from wire.types.byte_columns import ByteColumn, of_array
from wire.types.carriers import carrier
from wire.types.datetime_input import read_date, read_timestamp
from wire.types.multiranges import RANGES, all_rewritten
from wire.types.numbers_input import read_integer, read_numeric
from wire.types.output_times import date_text, timestamp_text
from wire.types.ranges import SUBTYPES, rewrite_bounds
from wire.types.text_settings import InputSettings, OutputSettings
from wire.types.value_codecs import each

_NUMBERS = (t.INT4, t.INT8, t.NUMERIC)


def bound_text(subtype: t.PgType, value: Any, settings: OutputSettings | None = None) -> str:
    """Return a bound as text. settings: ISO style and UTC if not given."""
    if subtype in _NUMBERS:
        return f"{value:f}" if subtype is t.NUMERIC else str(value)
    write = date_text if subtype is t.DATE else timestamp_text
    shown = write(pa.array([value], carrier(subtype)), settings or OutputSettings()).join()[0].as_py()
    return bytes(shown).decode()


def read_bound(subtype: t.PgType, text: str) -> Any:
    """Return the canonical value of a text that `bound_text` made."""
    if subtype is t.NUMERIC:
        return read_numeric(text, -1)
    if subtype is t.DATE:
        return read_date(text, InputSettings())
    if subtype in _NUMBERS:
        return read_integer(subtype, text)
    return read_timestamp(subtype, text, -1, InputSettings())


def range_text(typ: t.PgType, array: pa.Array, settings: OutputSettings) -> ByteColumn:
    """Return a column of ranges, or of multiranges, as text in the session's styles."""
    subtype = SUBTYPES[RANGES.get(typ, typ)]
    restyled = all_rewritten if typ in RANGES else rewrite_bounds
    as_kept = settings.date_format == "ISO" and (subtype is not t.TIMESTAMPTZ or settings.time_zone == "UTC")
    if as_kept or subtype in _NUMBERS:
        return of_array(array)
    return each(
        array,
        lambda text: restyled(typ, text, read_bound, lambda sub, value: bound_text(sub, value, settings)).encode(),
    )
