"""A stored table with a column of every type that files can store, its values as carrier types, limits and nulls
included.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from engine.catalog.model.objects import Table, TableColumn
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.contracts.output_cast import carrier_of
from engine.lakes.foreign_files import refresh
from engine.storage.staging import TableWriter
from wire.types import pg_types as t

_DAY: Final = 86_400_000_000
_LEAST_DAY, _LAST_DAY = -(2**31), 2**31 - 1
_LEAST, _LAST = -(2**63), 2**63 - 1
_UUID: Final = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"


def _dates(*days: int | None) -> pa.Array:
    return pa.array(days, pa.int32()).cast(pa.date32())


def _moments(typ: pa.DataType, *micros: int | None) -> pa.Array:
    return pa.array(micros, pa.int64()).cast(typ)


def _intervals(*values: tuple[int, int, int] | None) -> pa.Array:
    return pa.array(values, pa.month_day_nano_interval())


def _lists(elements: pa.Array) -> pa.Array:
    """Return lists of the elements: two of them, none, null instead of a list, and the other two."""
    return pa.ListArray.from_arrays(pa.array([0, 2, None, 2, 4], pa.int32()), elements)


_DAYS: Final = pa.array([[0], [], None, [None, 20_000]], pa.list_(pa.int32())).cast(pa.list_(pa.date32()))
#: By the column's name: its type, and four values in the carrier.
VALUES: Final[dict[str, tuple[SqlType, Any]]] = {
    "flag": (st.of(t.BOOL), [True, False, None, True]),
    "small": (st.of(t.INT2), [-32768, 32767, None, 0]),
    "whole": (st.of(t.INT4), [-(2**31), 2**31 - 1, None, 0]),
    "big": (st.of(t.INT8), [_LEAST, _LAST, None, 0]),
    "number": (st.of(t.OID), [0, 4_294_967_295, None, 1]),
    "real": (st.of(t.FLOAT4), [1.5, float("nan"), None, float("-inf")]),
    "double": (st.of(t.FLOAT8), [-0.0, float("nan"), None, float("inf")]),
    "money": (st.of(t.NUMERIC, t.numeric_typmod(15, 2)), [Decimal("-0.01"), Decimal("9999999999999.99"), None, Decimal("0.00")]),
    "exact": (st.of(t.NUMERIC), [Decimal("1.5"), Decimal("-1E-16"), None, Decimal(10) ** 21]),
    "text": (st.of(t.TEXT), ["", "é'\\\"\n\u2028", None, "x" * 100]),
    "short": (st.of(t.VARCHAR, 9), ["", "abcde", None, " b "]),
    "fixed": (st.of(t.BPCHAR, 7), ["   ", "abc", None, "a  "]),
    "named": (st.of(t.NAME), ["pg", "", None, "x"]),
    "letter": (st.of(t.CHAR), ["r", "", None, "v"]),
    "json": (st.of(t.JSON), ['{"a": [1, null]}', "null", None, '"x"']),
    "jsonb": (st.of(t.JSONB), ['{"a": 1}', "null", None, "[]"]),
    "uuid": (st.of(t.UUID), [_UUID, _UUID.replace("a", "0"), None, _UUID]),
    "bytes": (st.of(t.BYTEA), [b"", b"\x00\xff'", None, b"x"]),
    "day": (st.of(t.DATE), _dates(_LEAST_DAY, _LAST_DAY, None, -719_528)),
    "time": (st.of(t.TIME), pa.array([0, _DAY, None, 1], pa.time64("us"))),
    "time_zone": (
        st.of(t.TIMETZ),
        [{"micros": 0, "zone": -3600}, {"micros": _DAY, "zone": 57_540}, None, {"micros": 1, "zone": 0}],
    ),
    "moment": (st.of(t.TIMESTAMP), _moments(pa.timestamp("us"), _LEAST, _LAST, None, -62_135_596_800_000_001)),
    "instant": (st.of(t.TIMESTAMPTZ), _moments(pa.timestamp("us", "UTC"), _LEAST, _LAST, None, 1_700_000_000_123_456)),
    "span": (st.of(t.INTERVAL), _intervals((-1, 40, -1000), (2**31 - 1, -(2**31), 2**62 // 1000 * 1000), None, (0, 0, 0))),
    "numbers": (st.of(t.array_of(t.INT4)), [[], [1, None, -1], None, [0]]),
    "texts": (st.of(t.array_of(t.TEXT)), [["", "é"], [None], None, []]),
    "moneys": (
        st.of(t.array_of(t.NUMERIC), t.numeric_typmod(9, 3)),
        [[Decimal("1.500"), None], [], None, [Decimal("-0.001")]],
    ),
    "days": (st.of(t.array_of(t.DATE)), _DAYS),
    "times": (st.of(t.array_of(t.TIME)), _lists(pa.array([0, _DAY, None, 1], pa.time64("us")))),
    "times_zone": (
        st.of(t.array_of(t.TIMETZ)),
        [[{"micros": 0, "zone": -3600}, None], [], None, [{"micros": _DAY, "zone": 57_540}]],
    ),
    "spans": (st.of(t.array_of(t.INTERVAL)), _lists(_intervals((-1, 40, -1000), (0, 0, 0), None, (2**31 - 1, 0, 1000)))),
}  # fmt: skip
COLUMNS: Final = tuple(TableColumn(name, typ, i) for i, (name, (typ, _)) in enumerate(VALUES.items(), 1))
ROWS: Final = pa.RecordBatch.from_arrays(
    [a if isinstance(a, pa.Array) else pa.array(a, carrier_of(typ)) for typ, a in VALUES.values()], names=list(VALUES)
)


def written(folder: Path) -> Table:
    """Write the table with `ROWS`, in its own catalog below `folder`."""
    store = CatalogStore(folder / "catalog.sqlite")
    catalog = SessionCatalog(store)
    table = catalog.tables.create_table(
        Table(catalog.objects.new_oid(), "public", "stored", COLUMNS, "parquet", "", ())
    )
    assert table.storage is not None
    writer = TableWriter(Path(table.path), COLUMNS, table.storage)
    writer.write(ROWS)
    catalog.tables.change_data(table, writer.finish(), (), appends_only=True)
    found = store.snapshot.resolve("public", "stored", ())
    store.close()
    assert isinstance(found, Table)
    return refresh(found)


def comparable(rows: pa.RecordBatch) -> dict[str, list[Any]]:
    """Return the values in a form that can be compared: dates and timestamps as numbers, floats as text."""
    return {name: _comparable(array) for name, array in zip(rows.schema.names, rows.columns, strict=True)}


def _comparable(array: pa.Array) -> list[Any]:
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(array.type) or pa.types.is_time64(array.type):
        array = array.view(pa.int64())
    values = array.to_pylist()
    return [repr(v) if isinstance(v, float) else v for v in values]
