"""PostgreSQL's type input functions: text in, canonical value out.

`parse_text` is the one entry point, for the binder (literals and casts of constants) and for the wire (text
parameters). The readers behind it are grouped by subject: `wire.types.numbers_input`, `wire.types.strings_input`,
`wire.types.datetime_input`, `wire.types.interval_input`, `wire.types.json_input`, `wire.types.arrays_input`,
`wire.types.records_input`. They use neither a clock nor a session; `InputSettings` has what they need of both.

`engine.plan_ir.expr` defines canonical values. Errors are PostgreSQL 15's, with its SQLSTATEs and messages.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from wire.common.digits import is_digits
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t
from wire.types.array_numbers import read_numbers
from wire.types.arrays_input import read_array
from wire.types.datetime_input import read_date, read_time, read_timestamp, read_timetz
from wire.types.enums import read_enum
from wire.types.interval_input import read_interval
from wire.types.json_input import read_json, read_jsonb
from wire.types.multiranges import RANGES, read_multirange
from wire.types.numbers_input import read_bool, read_float, read_integer, read_numeric, read_oid
from wire.types.range_bounds import bound_text
from wire.types.ranges import read_range
from wire.types.records_input import read_record
from wire.types.strings_input import read_bytea, read_string, read_uuid, read_void
from wire.types.text_settings import InputSettings
from wire.types.value_codecs import CODECS

__all__ = ["InputSettings", "parse_text"]

_Reader = Callable[[t.PgType, str, int, InputSettings], Any]

_READERS: Final[dict[t.PgType, _Reader]] = {
    t.BOOL: lambda _t, text, _m, _s: read_bool(text),
    t.BYTEA: lambda _t, text, _m, _s: read_bytea(text),
    t.NUMERIC: lambda _t, text, typmod, _s: read_numeric(text, typmod),
    **dict.fromkeys((t.OID, t.XID, t.CID), lambda _t, text, _m, _s: read_oid(text)),
    t.UUID: lambda _t, text, _m, _s: read_uuid(text),
    t.JSON: lambda _t, text, _m, _s: read_json(text),
    t.JSONB: lambda _t, text, _m, _s: read_jsonb(text),
    t.VOID: lambda _t, text, _m, _s: read_void(text),
    t.DATE: lambda _t, text, _m, settings: read_date(text, settings),
    t.TIME: lambda _t, text, typmod, settings: read_time(text, typmod, settings),
    t.TIMETZ: lambda _t, text, typmod, settings: read_timetz(text, typmod, settings),
    t.INTERVAL: lambda _t, text, typmod, settings: read_interval(text, typmod, settings),
    **dict.fromkeys((t.INT2, t.INT4, t.INT8), lambda typ, text, _m, _s: read_integer(typ, text)),
    **dict.fromkeys((t.FLOAT4, t.FLOAT8), lambda typ, text, _m, _s: read_float(typ, text)),
    **dict.fromkeys((t.TIMESTAMP, t.TIMESTAMPTZ), read_timestamp),
    **dict.fromkeys(
        (t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME, t.CHAR, t.UNKNOWN), lambda typ, text, m, _s: read_string(typ, text, m)
    ),
    **dict.fromkeys(t.REG_TYPES, lambda _t, text, _m, _s: _read_reg(text)),
}

_VECTORS: Final = (22, 30)


def parse_text(typ: t.PgType, text: str, *, typmod: int = -1, settings: InputSettings) -> Any:
    """Return the canonical value of `text` as a `typ`.

    typmod: the type's modifier, or -1; as in PostgreSQL's input functions, a string that is too long for it is an error
    (an explicit cast, which truncates, is a conversion of its own).
    Names of objects (regclass, regtype ...) remain text: code with access to the catalog looks them up.
    Raises SqlError as PostgreSQL does: 22P02, 22003, 22007, 22008, 22001 ...; FeatureNotSupported for a type without
    text input (pseudo-types, anonymous records) and for values that no carrier holds.
    """
    if typ.oid in _VECTORS:
        return [parse_text(t.element_of(typ), word, settings=settings) for word in text.split()]
    if typ.is_array:
        element = t.element_of(typ)
        if (numbers := read_numbers(text, element)) is not None:
            return numbers
        read = partial(parse_text, element, typmod=typmod, settings=settings)
        return read_array(text, read, t.delimiter_of(element))
    if typ.category == "E":
        return read_enum(typ, text)
    if typ.category == "C":
        return read_record(typ, text, lambda item, field: _attribute(item, field, settings))
    if typ.category == "R":
        read_ranges = read_multirange if typ in RANGES else read_range
        return read_ranges(typ, text, lambda sub, bound: parse_text(sub, bound, settings=settings), bound_text)
    if (codec := CODECS.get(typ)) is not None:
        return codec.read(text, typmod)
    reader = _READERS.get(typ)
    if reader is None:
        raise FeatureNotSupported(f"not supported: text input of type {typ.sql_name}")
    return reader(typ, text, typmod, settings)


def _attribute(item: t.Attribute, text: str, settings: InputSettings) -> Any:
    below, typmod = t.attribute_type(item)
    return parse_text(below, text, typmod=typmod, settings=settings)


def _read_reg(text: str) -> int | str:
    """Return an object's OID if the text is a number; a name remains text, for the catalog to look up."""
    if text == "-":
        return 0
    if is_digits(text):
        return read_oid(text)
    return text
