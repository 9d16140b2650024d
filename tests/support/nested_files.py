"""A table of structs, maps and lists as they occur in files, and their values as jsonb, as PostgreSQL prints them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

import pyarrow as pa

_UTC: Final = dt.UTC
_MOMENT: Final = dt.datetime(2024, 2, 29, 12, 0, 0, 500000)
_STRUCT: Final = pa.struct(
    [
        ("bb", pa.int64()), ("a", pa.string()), ("f", pa.float64()), ("g", pa.float32()), ("d", pa.date32()),
        ("ts", pa.timestamp("us")), ("tz", pa.timestamp("us", "UTC")), ("n", pa.decimal128(10, 2)), ("b", pa.binary()),
        ("ok", pa.bool_()), ("l", pa.list_(pa.struct([("x", pa.int8())]))), ("t", pa.time64("us")), ("u", pa.uint64()),
        ("ä", pa.dictionary(pa.int32(), pa.string())),
    ]
)  # fmt: skip
_FULL: Final = {
    "bb": 1, "a": 'x"\\\n\x01é', "f": 1e20, "g": -0.0, "d": dt.date(2024, 2, 29), "ts": _MOMENT,
    "tz": _MOMENT.replace(tzinfo=_UTC), "n": Decimal("1.50"), "b": b"\x01\xff", "ok": True, "l": [{"x": 1}, None],
    "t": dt.time(1, 2, 3), "u": 2**64 - 1, "ä": "word",
}  # fmt: skip
_BARE: Final = {"f": float("nan"), "g": 1.5e-7}

NESTED: Final = pa.table(
    {
        "id": [1, 2, 3],
        "s": pa.array([_FULL, None, _BARE], _STRUCT),
        "m": pa.array([[("k", 1), ("a b", None), ("z", 3)], [], None], pa.map_(pa.string(), pa.int32())),
        "days": pa.array(
            [[(dt.date(2024, 1, 2), {"q": [1.5, None]}), (dt.date(2024, 1, 1), None)], [], None],
            pa.map_(pa.date32(), pa.struct([("q", pa.list_(pa.float32()))])),
        ),
        "ll": pa.array([[[1, 2], None], [], None], pa.list_(pa.list_(pa.int32()))),
    }
)  # fmt: skip

_FIELDS: Final = (
    "null::bigint as bb, null::text as a, 'NaN'::float8 as f, 1.5e-7::real as g, null::date as d, null::timestamp as ts,"
    " null::timestamptz as tz, null::numeric as n, null::bytea as b, null::bool as ok, null::int[] as l, null::time as t,"
    ' null::numeric as u, null::text as "ä"'
)
#: By column, an expression of PostgreSQL for each row in the order of `id`.
EXPECTED: Final[Mapping[str, Sequence[str]]] = {
    "s": (
        "select to_jsonb(r) from (select 1 as bb, e'x\"\\\\\\n\\x01é' as a, 1e20::float8 as f, '-0'::real as g,"
        " date '2024-02-29' as d, timestamp '2024-02-29 12:00:00.5' as ts, timestamptz '2024-02-29 12:00:00.5+00' as tz,"
        " 1.50 as n, '\\x01ff'::bytea as b, true as ok, '[{\"x\": 1}, null]'::jsonb as l, time '01:02:03' as t,"
        " 18446744073709551615 as u, 'word' as \"ä\") r",
        "null::jsonb",
        f"select to_jsonb(r) from (select {_FIELDS}) r",
    ),
    "m": ("jsonb_build_object('k', 1, 'a b', null, 'z', 3)", "'{}'::jsonb", "null::jsonb"),
    "days": (
        "jsonb_build_object(date '2024-01-02', jsonb_build_object('q', array[1.5::real, null]), date '2024-01-01', null)",
        "'{}'::jsonb",
        "null::jsonb",
    ),
    "ll": ("'[[1, 2], null]'::jsonb", "'[]'::jsonb", "null::jsonb"),
}  # fmt: skip
