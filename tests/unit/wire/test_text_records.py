"""Row literals: the rows that they denote, and the errors in malformed ones."""

from __future__ import annotations

import pytest

from wire.errors import InvalidTextRepresentation
from wire.pg.values.parameters import decode_parameter
from wire.types import pg_types as t
from wire.types.input import InputSettings, parse_text
from wire.types.user_types import composite_type, type_heard, type_told

PAIR = composite_type(
    16384, 16385, "pair", "pair", (t.Attribute("n", t.INT4, -1, 1), t.Attribute("s", t.TEXT, -1, 3))
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(1,a)", (1, "a")),
        (" ( 2 , b c ) ", (2, " b c ")),
        ("(,)", (None, None)),
        ('(,"")', (None, "")),
        ('("3","x ""y"" \\\\ \\, (z)")', (3, 'x "y" \\ , (z)')),
        ('(4,a"b,c"d\\)e)', (4, "ab,cd)e")),
    ],
)
def test_values(text: str, value: tuple[object, object]) -> None:
    assert parse_text(PAIR, text, settings=InputSettings()) == {"f0": value[0], "f2": value[1]}


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("1,a)", "Missing left parenthesis."),
        ("(1)", "Too few columns."),
        ("(1,a,b)", "Too many columns."),
        ("(1,a", "Unexpected end of input."),
        ('(1,"a)', "Unexpected end of input."),
        ("(1,a) b", "Junk after right parenthesis."),
    ],
)
def test_malformed(text: str, detail: str) -> None:
    with pytest.raises(InvalidTextRepresentation) as error:
        parse_text(PAIR, text, settings=InputSettings())
    assert error.value.detail == detail


def test_binary() -> None:
    data = b"".join(
        (
            (2).to_bytes(4, "big"),
            (23).to_bytes(4, "big"), (4).to_bytes(4, "big"), (7).to_bytes(4, "big"),
            (25).to_bytes(4, "big"), b"\xff\xff\xff\xff",
        )
    )  # fmt: skip
    assert decode_parameter(PAIR, 1, data, InputSettings()) == {"f0": 7, "f2": None}


def test_told_to_another_process() -> None:
    assert type_heard(type_told(PAIR)) is PAIR
    assert type_heard(type_told(t.array_of(PAIR))) is t.array_of(PAIR)
