"""Long texts are parsed in linear time, or are refused at once."""

from __future__ import annotations

from typing import Any

import pytest

from wire.errors import SqlError
from wire.types import pg_types as t
from wire.types.input import parse_text
from wire.types.text_settings import InputSettings

#: So long that time which grows with the square would be minutes.
_LONG = 300_000

_TYPES = {typ.name: typ for typ in t.BY_OID.values()}


def _read(typ: t.PgType, text: str) -> Any:
    return parse_text(typ, text, settings=InputSettings())


@pytest.mark.parametrize("name", ["int4", "int8", "oid", "float4", "float8", "numeric", "money"])
@pytest.mark.parametrize(
    "text", ["1" * _LONG + "x", "0" * _LONG + "x", " " * _LONG + "x", "1" * _LONG + " 1", "1," * _LONG]
)
def test_numbers(name: str, text: str) -> None:
    with pytest.raises(SqlError):
        _read(_TYPES[name], text)


@pytest.mark.parametrize("name", ["point", "box", "lseg", "path", "polygon", "circle", "line"])
@pytest.mark.parametrize(
    "text", [" " * _LONG + "x", "1" * _LONG + "x", "(1,2)" + " " * _LONG + "x", "1" + " " * _LONG + "1"]
)
def test_shapes(name: str, text: str) -> None:
    with pytest.raises(SqlError):
        _read(_TYPES[name], text)


def test_blanks_behind_a_shape() -> None:
    assert _read(t.BOX, "(3,4),(1,2)" + " " * _LONG) == "(3,4),(1,2)"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("int4", "0" * _LONG + "12", 12),
        ("int8", "-" + "0" * _LONG + "7", -7),
        ("oid", "0" * _LONG + "9", 9),
        ("tid", f"({'0' * _LONG}1,2)", "(1,2)"),
    ],
)
def test_zeros_in_front(name: str, text: str, value: int) -> None:
    assert _read(_TYPES[name], text) == value


@pytest.mark.parametrize(
    ("name", "text", "sqlstate"),
    [
        ("int4", "1" * 5000, "22003"),
        ("money", "1" * 5000, "22003"),
        ("interval", "1" * 5000 + "-1", "22015"),
        ("cidr", "1.2.3.4/" + "3" * 5000, "22P02"),
        ("_int4", "[1:" + "9" * 5000 + "]={1}", "22000"),
        ("timetz", "10:11+" + "1" * 5000, "22009"),
        ("tsquery", "a <" + "1" * 5000 + "> b", "22023"),
    ],
)
def test_digits_beyond_any_range(name: str, text: str, sqlstate: str) -> None:
    with pytest.raises(SqlError) as refused:
        _read(_TYPES[name], text)
    assert refused.value.sqlstate[:2] == sqlstate[:2]
