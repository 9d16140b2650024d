"""The Arrow carrier of each PostgreSQL type: the contract between the code that produces batches and the code that
encodes them.

Every batch that leaves an executor, crosses an edge of the mesh or is encoded for a client holds these Arrow types and
no others. Executors cast to them at their boundary; `wire.pg.datarow` relies on them.

| PostgreSQL | Arrow carrier | note |
|---|---|---|
| bool | bool_ | |
| int2 / int4 / int8 | int16 / int32 / int64 | |
| oid and the reg* types; xid, cid | int64 | text output of the reg* types is the binder's: it casts to text |
| float4 / float8 | float32 / float64 | |
| numeric | decimal128(38, s) | s: `ResultColumn.scale`; see `NumericScale` for how many digits are printed |
| numeric NaN, infinities, more than 38 digits | utf8 | as numeric_out writes it |
| text, varchar, bpchar, name, "char", unknown, json, jsonb, uuid | utf8 | bpchar padded already; uuid in its canonical 36 letters |
| pg_node_tree | utf8 | any text |
| anyarray | utf8 | a column of the system catalog; as array_out writes it |
| bytea | binary | |
| date | date32 | int32 max / min are infinity / -infinity |
| time | time64[us] | 24:00:00 is 86_400_000_000 |
| timetz | struct<micros: int64, zone: int32> | zone: seconds *west* of Greenwich, as PostgreSQL stores it |
| timestamp, timestamptz | timestamp[us] / timestamp[us, UTC] | int64 max / min are infinity / -infinity |
| interval | month_day_nano_interval | microsecond multiples; see PostgreSQL's three independent fields |
| T[] | list<carrier of T> | nested lists for several dimensions, which must be rectangular |
| void | null | |
| enums | int64 | the label's number, which is in the enum's order (`wire.types.enums`) |
| record, composite types | struct of carriers, `PgType.field` | a numeric attribute without modifier has `UNKNOWN_SCALE` |

A column is never dictionary-encoded, large (`large_utf8`) or a view (`utf8_view`).
"""

from __future__ import annotations

import enum
from typing import Final

import pyarrow as pa

from wire.types import pg_types as t

#: PostgreSQL's `date` counts from 2000-01-01, Arrow's from 1970-01-01.
PG_EPOCH_DAYS: Final = 10_957
PG_EPOCH_MICROS: Final = PG_EPOCH_DAYS * 86_400_000_000


class NumericScale(enum.Enum):
    """The rule for how many fractional digits of a numeric carrier are printed (PostgreSQL keeps a display scale in
    each value).

    FIXED: all of the carrier's scale. Columns, sums, products: the planner knows their scale.
    TRIMMED: without trailing zeros beyond `minimum`, as after a cast from float8 or from text of unknown scale.
    QUOTIENT: PostgreSQL's select_div_scale: at least 16 significant digits, in base-10000 groups, so that the scale
        depends on the value: 20 digits below 1, 16 below 10^4, 12 below 10^8 and so on; never fewer than `minimum`.
    ROOT: numeric_sqrt's scale, 15 digits below 100, 13 below 10^4 and so on; never fewer than `minimum`.
    POWER: the scale of exp, ln and power: 16 digits less the value's decimal weight; never fewer than `minimum`.
    """

    FIXED = "fixed"
    TRIMMED = "trimmed"
    QUOTIENT = "quotient"
    ROOT = "root"
    POWER = "power"


_CARRIERS: Final[dict[t.PgType, pa.DataType]] = {
    t.BOOL: pa.bool_(),
    t.INT2: pa.int16(),
    t.INT4: pa.int32(),
    t.INT8: pa.int64(),
    t.FLOAT4: pa.float32(),
    t.FLOAT8: pa.float64(),
    t.BYTEA: pa.binary(),
    t.DATE: pa.date32(),
    t.TIME: pa.time64("us"),
    t.TIMETZ: pa.struct([("micros", pa.int64()), ("zone", pa.int32())]),
    t.TIMESTAMP: pa.timestamp("us"),
    t.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    t.INTERVAL: pa.month_day_nano_interval(),
    t.VOID: pa.null(),
    **dict.fromkeys(t.UNSIGNED, pa.int64()),
    **dict.fromkeys(
        (t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME, t.CHAR, t.UNKNOWN, t.JSON, t.JSONB, t.UUID, t.PG_NODE_TREE, t.ANYARRAY),
        pa.utf8(),
    ),
}


#: The scale of a numeric whose scale is unknown.
UNKNOWN_SCALE: Final = 16


def carrier(typ: t.PgType, scale: int = 0) -> pa.DataType:
    """Return the Arrow type that carries `typ`; `scale` is for numeric and arrays of it.

    Raises KeyError for types that no batch may hold (pseudo-types; record, whose fields only the binder knows).
    """
    if typ is t.NUMERIC:
        return pa.decimal128(38, scale)
    if typ.is_array:
        return pa.list_(carrier(t.element_of(typ), scale))
    if typ.category == "C":
        return pa.struct([pa.field(item.field, _attribute(item)) for item in typ.attributes])
    return _CARRIERS[typ.carried or typ]


def nested_lists(element: pa.DataType, dimensions: int) -> pa.DataType:
    """Return the carrier of arrays with this number of dimensions, over the carrier of their elements."""
    for _ in range(dimensions):
        element = pa.list_(element)
    return element


def _attribute(item: t.Attribute) -> pa.DataType:
    typ, typmod = t.attribute_type(item)
    scale = UNKNOWN_SCALE if typmod == -1 else max(t.numeric_precision_scale(typmod)[1], 0)
    return carrier(typ, scale)
