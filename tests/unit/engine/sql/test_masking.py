"""Passwords are not shown."""

from __future__ import annotations

import pytest

from engine.sql.masking import masked


@pytest.mark.parametrize(
    ("sql", "shown"),
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
def test_masked(sql: str, shown: str) -> None:
    assert masked(sql) == shown
