"""COPY's fast paths against its exact ones: rows that Arrow's reader splits, columns that Arrow's kernels cast."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from engine.common import sql_type as st
from engine.statements.copy import casts
from wire.copy.binary import BinaryReader
from wire.copy.options import Layout
from wire.copy.reader import RowReader
from wire.copy.text_columns import Block
from wire.types import pg_types as t
from wire.types.carriers import carrier
from wire.types.input import InputSettings, parse_text

CSV = Layout(csv=True, delimiter=b",", null=b"")
LAYOUTS = (CSV, replace(CSV, null=b"N", delimiter=b"|"), Layout(), Layout(null=b"a", delimiter=b","))
_PIECES = (
    "a",
    "N",
    ",",
    "\t",
    "|",
    '"',
    '""',
    "\n",
    "\n",
    "\r\n",
    "\r",
    "\\",
    "\\N",
    "\\.",
    ".",
    "\u00e9",
    "\0",
    "\ufeff",
)


def read(layout: Layout, data: bytes, width: int, size: int, *, pauses: bool = False) -> list[tuple[Any, Any]]:
    """Every row with its line; and the error behind them. pauses: the client pauses after each piece."""
    return _rows_of(RowReader(layout, "t", [f"c{i}" for i in range(width)], "UTF8"), data, size, pauses=pauses)


def _rows_of(reader: RowReader | BinaryReader, data: bytes, size: int, *, pauses: bool) -> list[tuple[Any, Any]]:
    blocks: list[Block] = []
    for i in range(0, len(data), size):
        blocks += reader.feed(data[i : i + size])
        blocks += reader.flush() if pauses else ()
    found: list[tuple[Any, Any]] = []
    for block in (*blocks, *reader.finish()):
        rows = zip(*(column.to_pylist() for column in block.columns), strict=True)
        found += [(row, block.line(number)) for number, row in enumerate(rows)]
        if block.error is not None:
            found.append((block.error.message, block.error.context))
    return found


@settings(max_examples=400, deadline=None)
@given(
    some.sampled_from(LAYOUTS),
    some.lists(some.sampled_from(_PIECES), max_size=24).map("".join),
    some.integers(1, 3),
)
def test_plain_rows_are_what_the_exact_reader_makes_of_them(layout: Layout, text: str, width: int) -> None:
    data = text.encode()
    # A column that is not there keeps the reader from the fast way, and means nothing else.
    exact = replace(layout, force_not_null=frozenset((99,)))
    assert read(layout, data, width, 1 << 20) == read(exact, data, width, 1 << 20)


@settings(max_examples=400, deadline=None)
@given(
    some.sampled_from((*LAYOUTS, replace(CSV, header="present"), Layout(header="match"))),
    some.lists(some.sampled_from(_PIECES), max_size=24).map("".join),
    some.integers(1, 3),
    some.integers(1, 9),
)
def test_rows_do_not_depend_on_pauses(layout: Layout, text: str, width: int, size: int) -> None:
    data = text.encode()
    assert read(layout, data, width, size, pauses=True) == read(layout, data, width, 1 << 20)


_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_FIELDS = (b"\0\2", b"\0\0\0\1x", b"\0\0\0\2yz", b"\xff\xff\xff\xff", b"\xff\xff\xff\xfe", b"\xff\xff", b"\0\3")


@settings(max_examples=400, deadline=None)
@given(
    some.lists(some.sampled_from((b"\0\2\0\0\0\1x\0\0\0\2yz", *_FIELDS)), max_size=12).map(b"".join),
    some.integers(1, 40),
    some.sampled_from((bytes(0), b"\0\0\0\0\0\0\0\3abc")),
)
def test_binary_rows_do_not_depend_on_pauses(rows: bytes, size: int, extension: bytes) -> None:
    data = _HEAD[: len(_HEAD) - len(extension[:8])] + extension + rows

    def found(size: int, *, pauses: bool) -> list[tuple[Any, Any]]:
        return _rows_of(BinaryReader("t", ("a", "b")), data, size, pauses=pauses)

    assert found(size, pauses=True) == found(1 << 20, pauses=False)


_TYPES = [
    st.of(t.INT2), st.of(t.INT4), st.of(t.INT8), st.of(t.NUMERIC), st.of(t.NUMERIC, ((6 << 16) | 2) + 4), st.of(t.FLOAT4),
    st.of(t.FLOAT8), st.of(t.DATE), st.of(t.TIMESTAMP), st.of(t.TIMESTAMPTZ), st.of(t.BOOL), st.of(t.VARCHAR, 9),
    st.of(t.UUID),
]  # fmt: skip
_SEEDS = (
    "2020-01-01", "1999-12-31 10:11:12", "0000-12-31", "0001-01-01 00:00:00+14", "2020-01-01 10:00:00.123456+05:30",
    "2020-01-01 24:00:00", "1.5e10", "1e-320", "1e39", "1e309", "12345.678", "-0", "t", "true", "99999", "2147483648",
    "0x1F", "1.", ".5", "1e-46", "123456789012345678", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    some.sampled_from(_TYPES),
    some.sampled_from(_SEEDS),
    some.lists(some.tuples(some.integers(0, 40), some.sampled_from(["", *"0123456789-.+eE: tx"])), max_size=3),
)
def test_plain_values_are_what_input_functions_make_of_them(
    typ: st.SqlType, text: str, changes: list[tuple[int, str]]
) -> None:
    for at, letter in changes:
        text = text[: at % (len(text) + 1)] + letter + text[at % (len(text) + 1) + (not letter) :]
    found = casts.plain(pa.array([None, text]), typ)
    if found is not None:
        value = parse_text(typ.pg, text, typmod=typ.typmod, settings=InputSettings())
        assert found.equals(pa.array([None, value], carrier(typ.pg, typ.scale)))


def test_exact_values_end_before_the_first_that_is_wrong() -> None:
    values, error = casts.exact(
        pa.array(["3 days", None, "3 days", "1 h", "x", "1 h"]), st.of(t.INTERVAL), InputSettings()
    )
    assert [value and value.days for value in values.to_pylist()] == [3, None, 3, 0]
    assert error is not None
    assert error.sqlstate == "22007"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_longer_than_a_block(layout: Layout) -> None:
    long = b"x" * (5 << 20)
    rows = [b"1", b"2", long, b"4"]
    data = b"".join(row + layout.delimiter + b"z\n" for row in rows)
    found = read(layout, data, 2, 1 << 20)
    assert [len(row[0]) for row, _ in found] == [len(row) for row in rows]
