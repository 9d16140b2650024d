"""Expressions that the catalog stores as text: the names in them, and how these follow renames."""

from __future__ import annotations

import pytest

from engine.common.identifiers import quote_ident
from engine.sql.deparse.stored_names import MARK, mark_names
from engine.sql.deparse.stored_text import (
    columns_of,
    nextval,
    sequence_of,
    sequences_of,
    with_column_renamed,
    with_sequences_by_oid,
    with_table_renamed,
)


@pytest.mark.parametrize(
    ("text", "renamed"),
    [
        ("a > 0 and b < a", "c > 0 and b < c"),
        ("t.a > 0", "t.c > 0"),
        ("a(a) = 'a'", "a(c) = 'a'"),
        ('"a" is null or a::text = $$a$$', "c is null or c::text = $$a$$"),
        ("b > 0", "b > 0"),
    ],
)
def test_renaming_a_column(text: str, renamed: str) -> None:
    assert with_column_renamed(text, "a", "c") == renamed


def test_a_name_that_must_be_quoted() -> None:
    assert with_column_renamed("a > 0", "a", "Order by") == '"Order by" > 0'
    assert [quote_ident(name) for name in ("a", "A", "select", "a b", 'a"b', "é", "left", "int", "1a", "")] == [
        "a", '"A"', '"select"', '"a b"', '"a""b"', '"é"', '"left"', '"int"', '"1a"', '""',
    ]  # fmt: skip


def test_renaming_a_table() -> None:
    assert with_table_renamed("t.a > t.b and t > 0", "t", "u") == "u.a > u.b and t > 0"


def test_the_columns_of_a_check() -> None:
    assert columns_of("b > 0 and (a, b) <> (1, 2) and length(t.c) > 0") == ("b", "a", "c")


def test_sequences_are_named_by_oid() -> None:
    stored = with_sequences_by_oid("nextval('s') + nextval('x.S'::regclass) + 1", {"s": 5, "x.S": 6}.__getitem__)
    assert stored == "nextval('5'::regclass) + nextval('6'::regclass) + 1"
    assert sequences_of(stored) == {5, 6}
    shown = mark_names(stored, lambda _schema, _name: None, sequences=True)
    assert shown.replace(MARK, "|") == "nextval(|q5|::regclass) + nextval(|q6|::regclass) + 1"


def test_a_default_that_is_a_sequence_and_nothing_else() -> None:
    assert sequence_of(nextval(7)) == 7
    assert sequence_of("nextval('7'::regclass) + 1") is None
    assert sequence_of("1") is None
    assert sequence_of(None) is None
