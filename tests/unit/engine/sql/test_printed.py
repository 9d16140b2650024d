"""Statements for the in-process engine: long strings are values of parameters and not part of the text."""

from __future__ import annotations

import duckdb
from sqlglot import exp

from engine.sql.trees.build import call, string
from engine.sql.trees.printed import LONG_STRING, print_statement

LONG = "it's " * LONG_STRING


def test_a_long_string_is_a_value() -> None:
    tree = exp.select(call("LENGTH", string(LONG)), string("short"), call("LENGTH", string(LONG + "x")))
    printed = print_statement(tree, "local")
    assert len(printed.text) < 200
    assert sorted(printed.values.values(), key=len) == [LONG, LONG + "x"]
    with duckdb.connect() as connection:
        found = connection.execute(printed.text, dict(printed.values)).fetchall()
    assert found == [(len(LONG), "short", len(LONG) + 1)]


def test_the_tree_stays_as_it_is() -> None:
    tree = exp.select(string(LONG))
    before = tree.copy()
    print_statement(tree, "local")
    assert tree == before


def test_short_strings_are_literals() -> None:
    printed = print_statement(exp.select(string("it's"), string("x" * LONG_STRING)), "local")
    assert printed.values == {}
    assert "'it''s'" in printed.text
    assert printed.length == len(printed.text)
