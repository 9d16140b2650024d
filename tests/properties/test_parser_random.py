"""For any text the parser returns statements or raises an SqlError, and never reads the same text in two ways."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.common.keywords import AS_LABEL, COLUMN_NAME, RESERVED, TYPE_FUNCTION_NAME
from engine.sql.parser.lexical.lexer import tokenize
from engine.sql.parser.parse import parse
from wire.errors import SqlError

WORDS = sorted(RESERVED | COLUMN_NAME | TYPE_FUNCTION_NAME | AS_LABEL)
PIECES = st.one_of(
    st.sampled_from([*WORDS, "a", "b", "rollup", "rows", "exclude", "ties", "by", "set", "show", "declare", "cursor"]),
    st.sampled_from(["(", ")", ",", ";", ".", "*", "+", "-", "=", "<", "::", "[", "]", ":", "||", "$1", "$$", "'"]),
    st.sampled_from(["1", "1.5", "'x'", "E'\\n'", '"Q"', "U&'\\0041'", "--", "/*", "*/", "\n"]),
)


@given(st.lists(PIECES, max_size=25))
@settings(max_examples=400, deadline=None)
def test_any_words(pieces: list[str]) -> None:
    read(" ".join(pieces))


@given(st.lists(PIECES, max_size=20))
@settings(max_examples=400, deadline=None)
def test_any_words_after_select(pieces: list[str]) -> None:
    read("select " + " ".join(pieces))


@given(st.text(max_size=60))
@settings(max_examples=400, deadline=None)
def test_any_text(text: str) -> None:
    read(text)


def read(sql: str) -> None:
    try:
        statements = parse(sql)
    except SqlError as error:
        at = error.position
        statements = ()
    else:
        at = None
    assert at is None or 1 <= at <= len(sql) + 1
    for statement in statements:
        assert sql[statement.offset :].startswith(statement.text)
        assert len(parse(statement.text)) == 1


@given(st.text(max_size=60))
@settings(max_examples=400, deadline=None)
def test_tokens_cover_the_text_in_order(text: str) -> None:
    try:
        tokens = tokenize(text)
    except SqlError:
        return
    for before, after in pairwise(tokens):
        assert before.start < before.end <= after.start
