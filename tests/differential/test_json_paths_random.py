"""Random jsonpaths on random small documents, numbers and dates: items, existence, predicates and errors are
PostgreSQL's.

Paths use every construct of the language and mostly fit the documents. Each runs in silent mode, and in the mode that
reports errors.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import local_member
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

PAIRS = 250
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


_TEMPLATES = (
    "YYYY-MM-DD", "YYYY-MM-DD HH24:MI:SS", "HH24:MI", "HH24:MI:SS.US", "HH:MI AM", "DD Mon YYYY", "YYYYMMDD", "HH24:MI:SS TZH",
    'YYYY-MM-DD"T"HH24:MI:SSTZH:TZM', "YY/MM/DD", "YYYY-DDD", "IYYY-IW", "J", "HH24:MI:SS.FF3", "MS", "Day DD", "CC", "SSSSS",
    "YYYY-MM-DD HH24:MI:SS.FF2TZH", "FMDD-FMMM-YYYY", "DDth Month YYYY", "YYYY-MM-DDx", "Y,YYY-MM-DD", "YYYY TZM", '"ab"YYYY',
    "YYYY BC", "YYYY:MM;DD", "TZ",
)  # fmt: skip
_MOMENTS = (
    "2017-03-10", "2017-3-1", "17-03-10", "2017-03-10 12:34:56", "12:34", "12:34:56.789012", "24:00:00", "12:60", "10 Mar 2017",
    "20170310", "2017-03-10T12:34:56+05:30", "12:34:56 -08", "12:34:56+16", "2017-069", "2017-10", "2451187", "12:34:56.789",
    "789", "2017-03-10 12:34:56.999+03", "Friday 10", "21", "45296", "1-3-2017", "10th March 2017", "", "2017", "2,017-03-10",
    "ab2017", "0044 BC", "2017-02-30", "9999-12-31 23:59:59.999", "12:34 pm", "2017-03-10 ", " 2017-03-10",
    "2017-03-10T12:34:56.5Z",    "2017-03-10 12:34:56+05:30:15", "294277-01-01", "5874898-01-01", "2017:03;10", "x",
)  # fmt: skip


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_moments(pair: Pair, seed: int) -> None:
    maker = _Maker(seed)
    for _ in range(PAIRS):
        texts = [maker.one(*_MOMENTS) for _ in range(2)]
        read = [maker.one(".datetime()", f".datetime({json.dumps(maker.one(*_TEMPLATES))})") for _ in range(2)]
        path = maker.one(f"$[0]{read[0]}", f"$[0]{read[0]}.type()", f"$[0]{read[0]} <= $[1]{read[1]}")
        asked = [json.dumps(texts), path]
        statement = f"select jsonb_path_query{maker.one('', '_tz')}(%s::jsonb, %s::jsonpath)::text"
        ours, theirs = (_ask(connection, statement, asked) for connection in pair)
        assert ours == theirs, (statement, *asked)


def _number(maker: _Maker) -> str:
    digits = "".join(maker.chance.choices("0123456789", k=maker.chance.choice((1, 2, 3, 4, 5, 8, 12, 20, 40))))
    at = maker.chance.randint(0, len(digits))
    return f"{maker.one('', '-')}{int(digits[:at] or '0')}.{digits[at:] or '0'}{maker.one('', '', 'e-25', 'e7', 'e30')}"


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_numbers(pair: Pair, seed: int) -> None:
    maker = _Maker(seed)
    for _ in range(PAIRS):
        path = maker.one(
            *(f"$[0] {sign} $[1]" for sign in ("+", "-", "*", "/", "%", "<", "==")), "-$[*]", "$[*].floor()",
            "$[*].ceiling()", "$[0] / $[1] / 7", "$[*].double()", "$[1] / 3 * 3",
        )  # fmt: skip
        asked = [f"[{_number(maker)}, {_number(maker)}]", path]
        ours, theirs = (_ask(connection, _SILENT, asked) for connection in pair)
        assert ours == theirs, asked


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
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
