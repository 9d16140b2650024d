"""No text of a client costs more than linear work at any place that reads it: runs `fuzzing.cost` in a separate
process.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.campaigns import PARTS
from support.local_member import local_member

from engine.sql.parser.lexical.lexer import Kind, tokenize
from wire.errors import ProgramLimitExceeded, SqlSyntaxError, StatementTooComplex
from wire.regex.grammar import Options, read
from wire.types.arrays_input import read_array
from wire.types.jsonpath import read_jsonpath


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with local_member(tmp_path_factory.mktemp("depth")) as member, member.connect() as connection:
        connection.autocommit = True
        yield connection


_TESTS = Path(__file__).parents[1]
_LONG_TEXT = 64_000 if PARTS == 1 else 32_000


@pytest.mark.parametrize("size", [2_000, pytest.param(_LONG_TEXT, marks=pytest.mark.long)])
def test_all_of_it_ends(size: int) -> None:
    """Few characters reveal exponential or cubic cost, many reveal quadratic cost. The process ends itself: its
    processor time is limited, whatever other processes do.
    """
    run = [sys.executable, "-m", "fuzzing.cost", str(size)]
    done = subprocess.run(run, cwd=_TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-5_000:]


@pytest.mark.parametrize("dashes", ["-" * 2_000, "-- " * 1_000, "--\t-" * 1_000])
def test_a_comment_of_dashes_after_a_string(dashes: str) -> None:
    """Each pair of dashes may begin a comment, and only the first one does."""
    for sql in (f"select 'a' --{dashes}", f"select U&'a' --{dashes}"):
        assert [token.text for token in tokenize(sql)] == ["select", "a", ""]
    assert [token.text for token in tokenize(f"select 'a' --{dashes}\n 'b'")] == ["select", "ab", ""]


def test_uescape_in_a_comment_is_none() -> None:
    assert [token.text for token in tokenize("U&'!0041' -- uescape '!'")] == ["!0041", ""]
    assert [token.text for token in tokenize("U&'!0041' -- a\n uescape -- b\n '!'")] == ["A", ""]


@pytest.mark.parametrize(
    ("sql", "symbols"),
    [("+-+", "+ - +"), ("*+-", "* + -"), ("<=-+-1", "<= - + - 1"), ("@-+", "@-+"), ("=+*-2", "=+* - 2"), ("+ +-/**/+", "+ + - +"),
     ("<-+--", "< - +")],
)  # fmt: skip
def test_signs_after_an_operator(sql: str, symbols: str) -> None:
    """scan.l: an operator of several characters ends in a sign only if it has one of ~ ! @ # ^ & | ` ? %."""
    tokens = tokenize(sql)
    assert " ".join(token.text for token in tokens[:-1]) == symbols
    assert all(token.kind in (Kind.OPERATOR, Kind.INTEGER) for token in tokens[:-1])
    assert all(sql[token.start : token.end] == token.text for token in tokens)


def test_bounds_beyond_six_dimensions() -> None:
    with pytest.raises(ProgramLimitExceeded, match=r"number of array dimensions \(7\)"):
        read_array("[1:1]" * 100_000 + "={1}", int)


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("select " + "upper(" * 300 + "'a'" + ")" * 300, id="calls"),
        pytest.param("select " + "array[" * 300 + "1" + "]" * 300, id="arrays"),
        pytest.param("select " + "row(" * 300 + "1" + ")" * 300, id="rows"),
        pytest.param("select 1" + " union all select 1" * 2_500, id="unions"),
    ],
)
def test_a_statement_that_nests_too_deeply(connection: psycopg.Connection[tuple[Any, ...]], sql: str) -> None:
    """The statement is run or refused, and the session continues."""
    with contextlib.suppress(psycopg.errors.StatementTooComplex, psycopg.errors.ProgramLimitExceeded):
        connection.execute(sql.encode())
    assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("opened", ["(", "(?:", "(?=", "a|("])
def test_a_regular_expression_that_nests_too_deeply(opened: str) -> None:
    with pytest.raises(StatementTooComplex):
        read(opened * 7_000 + "a" + ")" * 7_000, Options())


def test_a_comment_of_jsonpath_without_an_end() -> None:
    with pytest.raises(SqlSyntaxError, match="unexpected end of comment"):
        read_jsonpath("$ /*")
