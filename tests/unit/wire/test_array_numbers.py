"""Long arrays of numbers are parsed like short ones, whichever parser reads them."""

from __future__ import annotations

import random
import struct

import pytest

from wire.errors import SqlError
from wire.pg.values import decode_parameter
from wire.types import pg_types as t
from wire.types.array_numbers import read_numbers, receive_numbers
from wire.types.arrays_input import read_array
from wire.types.input import InputSettings, parse_text

ARRAYS = {typ.name: typ for typ in t.BY_OID.values() if typ.is_array}
INT2, INT4, INT8 = ARRAYS["_int2"], ARRAYS["_int4"], ARRAYS["_int8"]
SETTINGS = InputSettings()


def literal(items: list[str]) -> str:
    return "{" + ",".join(items) + "}"


@pytest.mark.parametrize(("typ", "bits"), [(INT2, 16), (INT4, 32), (INT8, 59)])
def test_integers_in_text(typ: t.PgType, bits: int) -> None:
    chosen, least = random.Random(7), -(2 ** (bits - 1))
    values = [None if chosen.random() < 0.1 else chosen.randint(least, -least - 1) for _ in range(5000)]
    text = literal(["NULL" if value is None else str(value) for value in values])
    element = t.element_of(typ)
    assert read_numbers(text, element) == values == parse_text(typ, text, settings=SETTINGS)
    assert read_array(text, lambda item: parse_text(element, item, settings=SETTINGS)) == values
    whole = literal([str(value or 0) for value in values])
    assert parse_text(typ, whole, settings=SETTINGS) == [value or 0 for value in values]


@pytest.mark.parametrize("odd", ["9223372036854775807", " 7", '"7"', "null", "+7", "007"])
def test_what_is_written_in_other_ways_is_read_by_the_other_reader(odd: str) -> None:
    items = ["1"] * 5000 + [odd]
    read = parse_text(INT8, literal(items), settings=SETTINGS)
    assert read == [1] * 5000 + parse_text(INT8, literal([odd]), settings=SETTINGS)


@pytest.mark.parametrize("wrong", ["2147483648", "x", "", "{1}", "1.5", "7\n8", "--1"])
def test_what_is_wrong_is_told_as_in_a_short_array(wrong: str) -> None:
    told = []
    for items in (["1", wrong], ["1"] * 5000 + [wrong]):
        with pytest.raises(SqlError) as raised:
            parse_text(INT4, literal(items), settings=SETTINGS)
        told.append((raised.value.sqlstate, raised.value.detail))
    assert told[0] == told[1]


def binary(element: int, layout: str, values: list[float | None], lengths: tuple[int, ...]) -> bytes:
    head = struct.pack("!iiI", len(lengths), 1, element) + b"".join(struct.pack("!ii", n, 1) for n in lengths)
    size = struct.calcsize(layout)
    return head + b"".join(
        struct.pack("!i", -1) if value is None else struct.pack("!i", size) + struct.pack(layout, value)
        for value in values
    )


@pytest.mark.parametrize(
    ("name", "layout"), [("_int2", "!h"), ("_int4", "!i"), ("_int8", "!q"), ("_float4", "!f"), ("_float8", "!d")]
)
def test_numbers_in_binary(name: str, layout: str) -> None:
    typ, values = ARRAYS[name], list[float | None](range(-500, 500))
    oid = t.element_of(typ).oid
    data = binary(oid, layout, values, (1000,))
    assert receive_numbers(t.element_of(typ), data, 20, 1000) == values
    assert decode_parameter(typ, 1, data, SETTINGS) == values
    nested = decode_parameter(typ, 1, binary(oid, layout, values, (10, 100)), SETTINGS)
    assert nested == [values[at : at + 100] for at in range(0, 1000, 100)]
    values[77] = None
    assert decode_parameter(typ, 1, binary(oid, layout, values, (1000,)), SETTINGS) == values


def test_a_long_binary_array_that_is_cut_or_too_long() -> None:
    data = binary(23, "!i", list(range(1000)), (1000,))
    for wrong in (data[:-1], data[:-8], data + b"\0"):
        with pytest.raises(SqlError):
            decode_parameter(INT4, 1, wrong, SETTINGS)
