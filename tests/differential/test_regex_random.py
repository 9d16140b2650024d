"""Random patterns over a small alphabet: where the translation decides that the first match is the longest, DuckDB
finds PostgreSQL's match. Our own matcher finds it for any pattern, with look-around, back references and the groups of
the last iteration.

`PATTERNS=2000 SEED=9 pytest tests/differential/test_regex_random.py -k own` compares that many patterns.
"""

from __future__ import annotations

import os
import random

import duckdb
import psycopg
import pyarrow as pa
import pytest
from support.postgres_server import PostgresServer

from engine.sql.regex.agreement import longest_first, same_groups, same_span
from engine.sql.regex.matching import Budget, TextMatcher
from engine.sql.regex.render import render
from wire.errors import InvalidRegularExpression
from wire.regex.grammar import Options, Pattern, read

pytestmark = pytest.mark.postgres
PATTERNS = 400
TEXTS = 40
_QUANTIFIERS = ("*", "+", "?", "*?", "+?", "??", "{1,2}", "{2}")


def _pattern(chance: random.Random, depth: int) -> str:
    kind = chance.random()
    if depth == 0 or kind < 0.35:
        return chance.choice(["a", "b", "c", ".", "[ab]", "[^a]"])
    if kind < 0.6:
        return "".join(_pattern(chance, depth - 1) for _ in range(chance.randint(2, 3)))
    if kind < 0.72:
        return f"({_pattern(chance, depth - 1)}|{_pattern(chance, depth - 1)})"
    if kind < 0.8:
        return f"({_pattern(chance, depth - 1)})"
    opening = "(" if chance.random() < 0.6 else "(?:"
    return f"{opening}{_pattern(chance, depth - 1)}){chance.choice(_QUANTIFIERS)}"


def _anchored(chance: random.Random) -> str:
    start, end = (mark if chance.random() < 0.3 else "" for mark in "^$")
    return start + _pattern(chance, 3) + end


def _judged(pattern: Pattern) -> Pattern | None:
    for tree in (pattern.tree, longest_first(pattern.tree)):
        if same_span(tree):
            return Pattern(tree, pattern.groups, pattern.options)
    return None


@pytest.mark.parametrize("seed", range(4))
def test_matches_and_groups(postgres: PostgresServer, seed: int) -> None:
    chance = random.Random(seed)
    texts = ["".join(chance.choice("abcab") for _ in range(chance.randint(0, 7))) for _ in range(TEXTS)]
    rows = pa.table({"s": texts})
    compared = 0
    with psycopg.connect(postgres.dsn, autocommit=True) as oracle, duckdb.connect() as local:
        local.register("texts", rows)
        for _ in range(PATTERNS):
            written = _anchored(chance)
            try:
                pattern = _judged(read(written, Options()))
            except InvalidRegularExpression:
                continue
            if pattern is None:
                continue
            compared += 1
            groups = [f", regexp_extract(s, $p, {n})" for n in range(1, pattern.groups + 1)]
            ours = local.execute(
                f"select regexp_matches(s, $p), regexp_extract(s, $p, 0){''.join(groups)} from texts",
                {"p": render(pattern, "re2")},
            ).fetchall()
            theirs = oracle.execute(
                "select substring(s from '(' || %s || ')'), regexp_match(s, %s) from unnest(%s::text[]) s",
                (written, written, texts),
            ).fetchall()
            told = pattern.groups and same_groups(pattern.tree)
            for text, (found, whole, *parts), (span, match) in zip(texts, ours, theirs, strict=True):
                assert (whole if found else None) == span, f"{written} in {text!r}"
                if found and told:
                    assert parts == [part or "" for part in match], f"groups of {written} in {text!r}"
    assert compared > PATTERNS // 2


_ATOMS = ("a", "b", "c", ".", "[ab]", "[^a]", "\\w")
_CONDITIONS = ("^", "$", r"\m", r"\M", r"\y", r"\Y")
_LOOKS = ("(?=", "(?!", "(?<=", "(?<!")
_MORE_QUANTIFIERS = (*_QUANTIFIERS, "{1,1}?", "{0,2}?", "{2}?", "{1,1}", "{0}", "{2,3}")


def _any_pattern(chance: random.Random, depth: int, looking: bool = False) -> str:
    """looking: within a look-around, where PostgreSQL has its own idea of the conditions."""
    kind = chance.random()
    if depth == 0 or kind < 0.3:
        return chance.choice(_CONDITIONS if not looking and chance.random() < 0.1 else _ATOMS)

    def part() -> str:
        return _any_pattern(chance, depth - 1, looking)

    if kind < 0.55:
        return "".join(part() for _ in range(chance.randint(2, 3)))
    if kind < 0.7:
        return f"({part()}|{part()})" if chance.random() < 0.6 else f"(?:{part()}|{part()}|)"
    if kind < 0.78:
        return f"({part()})"
    if kind < 0.83:
        return f"{chance.choice(_LOOKS)}{_any_pattern(chance, depth - 1, True)})"
    if kind < 0.88 and not looking:
        return f"\\{chance.randint(1, 2)}"
    return f"{chance.choice(('(', '(?:'))}{part()}){chance.choice(_MORE_QUANTIFIERS)}"


def _own_matches(pattern: Pattern, text: str) -> list[list[str | None]]:
    matcher, place, found = TextMatcher(pattern, text, Budget()), 0, []
    while place <= len(text) and (spans := matcher.search(place)) is not None:
        groups = range(1, pattern.groups + 1) if pattern.groups else (0,)
        found.append([text[slice(*spans[n])] if n in spans else None for n in groups])
        begin, end = spans[0]
        place = end + (begin == end)
    return found


@pytest.mark.parametrize("seed", [int(os.environ.get("SEED", "4"))])
def test_own_matches_are_postgresqls(postgres: PostgresServer, seed: int) -> None:
    chance = random.Random(seed)
    compared = 0
    with psycopg.connect(postgres.dsn, autocommit=True) as oracle:
        for _ in range(int(os.environ.get("PATTERNS", "300"))):
            written = _any_pattern(chance, 4)
            texts = ["".join(chance.choice("abcab ") for _ in range(chance.randint(0, 7))) for _ in range(8)]
            asked = "select t, array(select to_json(m) from regexp_matches(t, %s, 'g') m) from unnest(%s::text[]) t"
            try:
                pattern = read(written, Options())
            except InvalidRegularExpression:
                with pytest.raises(psycopg.errors.InvalidRegularExpression):
                    oracle.execute(asked, (written, texts))
                continue
            for text, matches in oracle.execute(asked, (written, texts)).fetchall():
                assert _own_matches(pattern, text) == matches, f"{written} in {text!r}"
                compared += 1
    assert compared > 1000
