"""Statements with many conditions or values, which take long to parse and to compile: other clients are answered
meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member

from engine.statements.shared import compiling, statement_parser

_CONDITIONS = " or ".join(f"(a = {number} and b <> {number})" for number in range(500))


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("long")) as member:
        with member.connect() as connection:
            connection.execute("create table t (a int, b int)")
            connection.execute("insert into t select i, i % 100 from generate_series(1, 1000) i")
        yield member


class _Held:
    """A function that, when it is called for the first time, goes on only once it is released."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.called, self.released = threading.Event(), threading.Event()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if not self.called.is_set():
            self.called.set()
            assert self.released.wait(60), "nobody was answered while this was waited for"
        return self._function(*arguments, **named)


@pytest.mark.parametrize(("module", "step"), [(statement_parser, "parse"), (compiling, "compile_query")])
def test_others_are_answered(local: LocalMember, monkeypatch: pytest.MonkeyPatch, module: Any, step: str) -> None:
    query = f"select count(*) as {step} from t where {_CONDITIONS}"
    counted: list[Any] = []

    def count(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        counted.append(connection.execute(query.encode()).fetchone())

    with local.connect() as connection, local.connect() as other:
        other.execute("select 1")
        held = _Held(getattr(module, step))
        monkeypatch.setattr(module, step, held)
        asking = threading.Thread(target=count, args=(connection,))
        asking.start()
        try:
            assert held.called.wait(60)
            assert other.execute("select 1").fetchone() == (1,)
        finally:
            held.released.set()
            asking.join()
    assert counted == [(400,)]


def test_what_is_kept_of_a_long_statement_gives_the_same(local: LocalMember) -> None:
    with local.connect() as connection:
        counts = {
            connection.execute(f"select count(*) from t where {_CONDITIONS}".encode()).fetchone() for _ in range(3)
        }
        assert counts == {(400,)}
        rows = connection.execute(f"explain (verbose) select a from t where {_CONDITIONS}".encode()).fetchall()
        assert any("499" in line for (line,) in rows)


def test_a_long_list_of_values(local: LocalMember) -> None:
    values = ", ".join(f"({number}, {-number})" for number in range(2000))
    with local.connect() as connection:
        connection.execute("create table made (a int, b int)")
        assert connection.execute(f"insert into made values {values}".encode()).rowcount == 2000
        assert connection.execute("select sum(a), sum(b), count(*) from made").fetchone() == (1999000, -1999000, 2000)
        connection.execute("drop table made")
