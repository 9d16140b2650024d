"""Casts to and from text of types that are carried as other types (`wire.types.value_codecs`), in the local engine.

Ranges and multiranges of dates and timestamps are left out, because their text form depends on the session
(`engine.executors.local.ranges`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from engine.executors.local.udf import arrow_function
from wire.copy.exact import read_values
from wire.types import pg_types as t
from wire.types.carriers import carrier
from wire.types.input import InputSettings, parse_text
from wire.types.value_codecs import CODECS, text_of

_STORED: Final = {t.TEXT: "VARCHAR", t.BYTEA: "BLOB", t.INT8: "BIGINT"}
#: Types that can be cast from text.
READ: Final = (
    *CODECS, t.INT4RANGE, t.INT8RANGE, t.NUMRANGE, t.INT4MULTIRANGE, t.INT8MULTIRANGE, t.NUMMULTIRANGE,
)  # fmt: skip
#: Types whose text differs from their carrier.
SHOWN: Final = tuple(typ for typ, codec in CODECS.items() if codec.show is not None)


def storage_type(typ: t.PgType) -> str:
    assert typ.carried is not None
    return _STORED[typ.carried]


def reader(typ: t.PgType) -> str:
    return f"sluice_{typ.name}_in"


def writer(typ: t.PgType) -> str:
    return f"sluice_{typ.name}_out"


def _whole(array: Any) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _make_reader(typ: t.PgType) -> Callable[[Any], pa.Array]:
    def read(texts: Any) -> pa.Array:
        found, error = read_values(
            _whole(texts), lambda text: parse_text(typ, text, settings=InputSettings()), carrier(typ)
        )
        if error is not None:
            raise error
        return found

    return read


def _make_writer(typ: t.PgType) -> Callable[[Any], pa.Array]:
    return lambda values: text_of(typ, _whole(values)).join().cast(pa.utf8())


for _typ in READ:
    arrow_function(reader(_typ), [_STORED[t.TEXT]], storage_type(_typ))(_make_reader(_typ))
for _typ in SHOWN:
    arrow_function(writer(_typ), [storage_type(_typ)], _STORED[t.TEXT])(_make_writer(_typ))
