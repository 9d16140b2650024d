"""Passwords are not shown."""

from __future__ import annotations

import pytest

from engine.sql.parser.masking import activity_text, mask_passwords


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select 1", "select 1"),
        ("create role a password 'x' login", "create role a password '***' login"),
        ("ALTER USER a Encrypted PASSWORD E'it\\'s'; select 'b'", "ALTER USER a Encrypted PASSWORD '***'; select 'b'"),
        ("alter role a password /* no */ $x$y$x$", "alter role a password /* no */ '***'"),
        ("alter role a password null", "alter role a password null"),
        ("select password from t", "select password from t"),
        ("create role a password 'never ended", "create role a password '***'"),
    ],
)
def test_masked(sql: str, told: str) -> None:
    assert mask_passwords(sql) == told


def test_a_long_text_is_cut_at_the_word() -> None:
    long = "select 1" + " + 1" * 10_000
    assert mask_passwords(long) == long
    assert mask_passwords(f"/* password */ {long}") == "/* password '***'"


def test_as_much_is_shown_as_postgresql_shows() -> None:
    assert activity_text("select '" + "a" * 2_000) == "select '" + "a" * 1_015
    assert activity_text("select '" + "é" * 2_000) == "select '" + "é" * 507
    assert activity_text("create role a password 'x' --" + "a" * 2_000).startswith("create role a password '***' --aaa")
    assert activity_text("create role a password '" + "x" * 2_000) == "create role a password '***'"
