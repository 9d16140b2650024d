"""Casts of a text column to a type. Arrow's kernels cast whole columns if they read every text in them as PostgreSQL
does.

A kernel accepts texts that PostgreSQL reads differently or refuses (hexadecimal integers, hours without minutes, the
year 0). So the bytes of a column, the lengths of its texts, or a pattern are checked first, and a column with any such
text is not cast here at all.

`exact` is PostgreSQL's own input function, one value at a time. It is used for columns that neither these kernels nor
the local engine can read, and is called once for each distinct text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.common.sql_type import SqlType
from engine.contracts.output_cast import carrier_of
from wire.copy.exact import read_values
from wire.errors import SqlError
from wire.types import pg_types as t
from wire.types.byte_columns import data_of, lengths_of, offsets_of
from wire.types.carriers import carrier
from wire.types.input import InputSettings, parse_text

_FIRST_DAY: Final = -719_162  # 0001-01-01
_LEAST_NORMAL: Final = float(np.finfo(np.float64).tiny)
_FLOAT: Final = r"^-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][-+]?[0-9]{1,3})?$"
_TIMESTAMP: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$"
_TIMESTAMPTZ: Final = _TIMESTAMP[:-1] + r"[-+](0[0-9]|1[0-4])(:?[0-5][0-9])?$"
_UUID: Final = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
_TRUTHS: Final = pa.array(["t", "true", "1", "f", "false", "0"])


def plain(texts: pa.StringArray, typ: SqlType) -> pa.Array | None:
    """Cast texts with Arrow's kernels. Returns values in the type's carrier, or None if PostgreSQL might read a text
    differently, or refuse it.
    """
    cast = _CASTS.get(typ.pg)
    if cast is None:
        return None
    try:
        return cast(texts, typ)
    except pa.ArrowInvalid:
        return None


def exact(texts: pa.StringArray, typ: SqlType, settings: InputSettings) -> tuple[pa.Array, SqlError | None]:
    """Cast texts one at a time, as PostgreSQL does. Returns the values before the first invalid text, and that text's
    error.
    """
    read = functools.partial(parse_text, typ.pg, typmod=typ.typmod, settings=settings)
    return read_values(texts, read, carrier_of(typ))


# -- what each type's kernel may be given ------------------------------------------------------------------------------


def _of_bytes(texts: pa.StringArray, allowed: bytes) -> bool:
    """Return whether the texts consist of the allowed bytes only."""
    table = np.zeros(256, np.bool_)
    table[list(allowed)] = True
    offsets = offsets_of(texts)
    return bool(table[data_of(texts)[offsets[0] : offsets[-1]]].all())


def _all_match(texts: pa.StringArray, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False


def _integers(texts: pa.StringArray, typ: SqlType) -> pa.Array | None:
    return pc.cast(texts, carrier(typ.pg)) if _of_bytes(texts, b"-0123456789") else None


def _numerics(texts: pa.StringArray, typ: SqlType) -> pa.Array | None:
    if not _of_bytes(texts, b"-.0123456789"):
        return None
    fits = pc.cast(texts, pa.decimal128(typ.precision, typ.scale))
    return pc.cast(fits, carrier(typ.pg, typ.scale))


def _floats(texts: pa.StringArray, typ: SqlType) -> pa.Array | None:
    if not _all_match(texts, _FLOAT):
        return None
    found = pc.cast(texts, carrier(typ.pg))
    size = pc.abs(pc.cast(found, pa.float64()))
    # A value that is too large or too small for the type must not become infinity or zero.
    tiny = pc.and_(pc.less(size, _LEAST_NORMAL), pc.match_substring(texts, "e", ignore_case=True))
    odd = pc.or_(pc.invert(pc.is_finite(found)), tiny)
    return None if pc.any(odd).as_py() else found


def _dates(texts: pa.StringArray, _typ: SqlType) -> pa.Array | None:
    lengths = lengths_of(texts)
    if not _of_bytes(texts, b"-0123456789") or not np.isin(lengths, (0, 10)).all():
        return None
    found = pc.cast(texts, pa.date32())
    return found if _since(found.view(pa.int32()), _FIRST_DAY) else None


def _timestamps(texts: pa.StringArray, typ: SqlType) -> pa.Array | None:
    if not _all_match(texts, _TIMESTAMP if typ.pg is t.TIMESTAMP else _TIMESTAMPTZ) or typ.typmod >= 0:
        return None
    found = pc.cast(texts, carrier(typ.pg))
    # One day later, because the zone may have moved the timestamp.
    return found if _since(found.view(pa.int64()), (_FIRST_DAY + 1) * 86_400_000_000) else None


def _since(numbers: pa.Array, first: int) -> bool:
    least = pc.min(numbers).as_py()
    return least is None or least >= first


def _truths(texts: pa.StringArray, _typ: SqlType) -> pa.Array | None:
    found = pc.index_in(texts, _TRUTHS)
    return pc.less(found, 3) if found.null_count == texts.null_count else None


def _texts(texts: pa.StringArray, _typ: SqlType) -> pa.Array | None:
    return texts


def _within_length(texts: pa.StringArray, typ: SqlType) -> pa.Array | None:
    """Return the texts of a character varying(n), or None if one is too long."""
    if typ.typmod < 0:
        return texts
    longest = pc.max(pc.utf8_length(texts)).as_py()
    return texts if longest is None or longest <= typ.typmod - 4 else None


def _uuids(texts: pa.StringArray, _typ: SqlType) -> pa.Array | None:
    return texts if _all_match(texts, _UUID) else None


_CASTS: Final[dict[t.PgType, Callable[[pa.StringArray, SqlType], pa.Array | None]]] = {
    **dict.fromkeys((t.INT2, t.INT4, t.INT8), _integers),
    t.NUMERIC: _numerics,
    **dict.fromkeys((t.FLOAT4, t.FLOAT8), _floats),
    t.DATE: _dates,
    **dict.fromkeys((t.TIMESTAMP, t.TIMESTAMPTZ), _timestamps),
    t.BOOL: _truths,
    t.TEXT: _texts,
    t.VARCHAR: _within_length,
    t.UUID: _uuids,
}
