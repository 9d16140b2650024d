"""Statements of Trino's clients that are answered with headers, and those that are no statement."""

from __future__ import annotations

import pytest

from server.http.requests import Asked, understand
from wire.errors import SqlSyntaxError

_PREPARED = {"one": "select ?"}


@pytest.mark.parametrize(
    "sql",
    [
        "show",
        "show ;",
        "reset session",
        "reset session a b",
        "reset session a.",
        "reset session 'a'",
        "deallocate",
        "deallocate prepare",
        "deallocate prepare a b",
        "deallocate prepare 'a'",
        "prepare 'a' from select 1",
        "prepare a from",
        "execute",
        "execute one using",
        "execute one using 1 from towns",
        "execute one using 1 union select 2",
        "use a.b.c",
    ],
)
def test_an_incomplete_statement_is_a_syntax_error(sql: str) -> None:
    with pytest.raises(SqlSyntaxError):
        understand(sql, _PREPARED)


@pytest.mark.parametrize(
    ("sql", "header", "value"),
    [
        ("reset session statement_timeout", "Clear-Session", "statement_timeout"),
        ('reset session sluice . "rows_max"', "Clear-Session", "sluice.rows_max"),
        ("deallocate prepare one", "Deallocated-Prepare", "one"),
        ('deallocate prepare "a=b"', "Deallocated-Prepare", "a%3Db"),
        ("prepare two from select 2", "Added-Prepare", "two=select+2"),
        ('prepare "a=b" from select 2', "Added-Prepare", "a%3Db=select+2"),
    ],
)
def test_a_name_is_told_in_a_header(sql: str, header: str, value: str) -> None:
    assert understand(sql, _PREPARED).headers == ((header, value),)


def test_a_reset_setting_is_checked_by_its_name() -> None:
    assert understand('reset session "statement_timeout"', {}).settings == (("statement_timeout", None),)


def test_values_replace_placeholders() -> None:
    assert understand("execute one using 1 + 1", _PREPARED) == Asked("SELECT (1 + 1)")
