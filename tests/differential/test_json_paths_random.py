"""Random jsonpaths asked of random small documents: items, existence, predicates and errors are PostgreSQL's.

Paths are made of all that the language has, mostly fitting what documents hold; each is asked silently, and so that it tells its
errors.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from local_member import local_member
from postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

PAIRS = 400
_KEYS = ("a", "b", "cc", "d e")
_TEXTS = ("", "a", "ab", "abc", "1.5", "2020-01-01", "12:30:00", "2020-01-01T12:30:00", "2020-01-01 12:30:00+02", "é")
_NUMBERS = ("0", "1", "-1", "2", "2.50", "3", "0.001", "-7.5", "1e3", "123456789012345678901234567890", "99999.99999")
_VARIABLES = '{"x": 1, "y": [1, 2, "a"], "z": "ab", "o": {"a": {"b": 1}}}'
_METHODS = ("type", "size", "double", "ceiling", "floor", "abs", "keyvalue", "datetime")
_PATTERNS = ("a", "^a", "b$", "a.c", "^.$", "[^a]", "(a|1)+", "A")

Pair = tuple[psycopg.Connection[Any], psycopg.Connection[Any]]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[Pair]:
    folder: Path = tmp_path_factory.mktemp("paths")
    with local_member(folder) as member, member.connect() as ours, psycopg.connect(postgres.dsn) as theirs:
        theirs.autocommit = True
        yield ours, theirs


class _Maker:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def one(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def document(self, depth: int = 3) -> str:
        kind = self.chance.random()
        if depth == 0 or kind < 0.35:
            return self.one("null", "true", "false", *_NUMBERS, *(json.dumps(text) for text in _TEXTS))
        parts = [self.document(depth - 1) for _ in range(self.chance.randint(0, 3))]
        if kind < 0.65:
            return f"[{', '.join(parts)}]"
        members = (f'"{self.one(*_KEYS)}": {part}' for part in parts)
        return f"{{{', '.join(members)}}}"

    def path(self) -> str:
        mode = self.one("", "", "lax ", "strict ", "strict ")
        return mode + (self.condition(2, "$") if self.chance.random() < 0.2 else self.expression(3, "$"))

    def expression(self, depth: int, root: str) -> str:
        kind = self.chance.random()
        if depth == 0 or kind < 0.6:
            return self.accessors(depth, root)
        if kind < 0.7:
            return self.one("-", "+", "- ") + self.factor(depth - 1, root)
        if kind < 0.85:
            sign = self.one("+", "-", "*", "/", "%")
            return f"{self.factor(depth - 1, root)} {sign} {self.factor(depth - 1, root)}"
        if kind < 0.92:
            return f"({self.condition(depth - 1, root)}){self.one('.type()', ' ? (@ == true)', '.size()')}"
        return f"({self.expression(depth - 1, root)}){self.steps(depth - 1)}"

    def factor(self, depth: int, root: str) -> str:
        return f"({self.expression(depth, root)})" if self.chance.random() < 0.4 else self.accessors(depth, root)

    def accessors(self, depth: int, root: str) -> str:
        head = self.one(root, root, root, root, "$", "$x", "$y", "$z", "$o")
        if self.chance.random() < 0.15:
            return self.one(*_NUMBERS[:6], '"ab"', "null", "true", '"2020-01-01"')
        return head + self.steps(depth)

    def steps(self, depth: int) -> str:
        return "".join(self.step(depth) for _ in range(self.chance.choice((0, 1, 1, 2, 2, 3))))

    def step(self, depth: int) -> str:
        kind = self.chance.random()
        if kind < 0.3:
            return f'."{self.one(*_KEYS)}"'
        if kind < 0.4:
            return ".*"
        if kind < 0.55:
            return "[*]"
        if kind < 0.7:
            return f"[{', '.join(self.subscript(depth) for _ in range(self.chance.randint(1, 2)))}]"
        if kind < 0.77:
            return self.one(".**", ".**{1}", ".**{0 to 1}", ".**{1 to last}", ".**{last}", ".**{2}", ".**{0}")
        if kind < 0.88 and depth:
            return f" ? ({self.condition(depth - 1, '@')})"
        return f".{self.one(*_METHODS)}()"

    def subscript(self, depth: int) -> str:
        def bound() -> str:
            if depth and self.chance.random() < 0.15:
                return self.expression(depth - 1, "$")
            return self.one("0", "1", "last", "last - 1", "0.9", "-1", "2", "$x", "last.size()")

        return f"{bound()} to {bound()}" if self.chance.random() < 0.3 else bound()

    def condition(self, depth: int, root: str) -> str:
        kind = self.chance.random()
        if depth and kind < 0.2:
            return f"({self.condition(depth - 1, root)}) {self.one('&&', '||')} ({self.condition(depth - 1, root)})"
        if depth and kind < 0.28:
            return f"!({self.condition(depth - 1, root)})"
        if depth and kind < 0.36:
            return f"({self.condition(depth - 1, root)}) is unknown"
        if kind < 0.5:
            return f"exists ({self.expression(depth, root)})"
        if kind < 0.58:
            initial = self.one('"a"', '""', "$z", "$x", "$y")
            return f"{self.factor(depth, root)} starts with {initial}"
        if kind < 0.66:
            flags = self.one("", ' flag "i"', ' flag "q"', ' flag "sm"')
            return f'{self.factor(depth, root)} like_regex "{self.one(*_PATTERNS)}"{flags}'
        compared = self.one("==", "!=", "<", ">", "<=", ">=")
        return f"{self.factor(depth, root)} {compared} {self.factor(depth, root)}"


def _ask(connection: psycopg.Connection[Any], statement: str, arguments: list[str]) -> Any:
    try:
        return connection.execute(statement.encode(), arguments).fetchall()
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary, error.diag.message_detail, error.diag.message_hint


_SILENT = f"""select jsonb_path_query_array(d, p, '{_VARIABLES}', true)::text, jsonb_path_exists(d, p, '{_VARIABLES}', true),
    jsonb_path_match(d, p, '{_VARIABLES}', true), d @? p, d @@ p from (select %s::jsonb, %s::jsonpath) v(d, p)"""
_RAISING = tuple(
    f"select jsonb_path_{name}(%s::jsonb, %s::jsonpath, '{_VARIABLES}')::text"
    for name in ("query", "exists", "match", "query_first")
)


@pytest.mark.parametrize("seed", range(3))
def test_answers(pair: Pair, seed: int) -> None:
    maker = _Maker(seed)
    found = failed = 0
    for _ in range(PAIRS):
        asked = [maker.document(), maker.path()]
        for statement in (_SILENT, maker.one(*_RAISING)):
            ours, theirs = (_ask(connection, statement, asked) for connection in pair)
            assert ours == theirs, (statement, *asked)
            failed += isinstance(theirs, tuple)
            found += isinstance(theirs, list) and theirs not in ([], [(None,)])
    assert found > PAIRS // 2
    assert failed > PAIRS // 10
