"""Clients leave no objects behind: after many rounds no type of ours has more objects than after a few.

The test does not measure memory, which depends on allocators and caches. Caches are made so small here that they are
soon full.
"""

from __future__ import annotations

import gc
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member
from support.member_process import wait_until

from engine.common.weighted_lru_cache import WeightedLruCache
from engine.executors.local import executor, small_files, statements
from engine.planner.optimizer import footers
from engine.session.context import statement_cache
from engine.sql.parser.lexical import lexer
from engine.statements.shared import statement_parser
from engine.storage import delta
from wire.pg import messages

# Each looks through all objects of the process a few times, of which a whole run of the tests has many.
pytestmark = pytest.mark.long
Connection = psycopg.Connection[Any]
_ROUNDS = 8
_VERSIONS = delta._VERSIONS
_OURS = (
    "engine.",
    "server.",
    "wire.",
    "_asyncio.",
    "asyncio.",
    "builtins.frame",
    "builtins.coroutine",
    "builtins.traceback",
)


@pytest.fixture
def member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalMember]:
    monkeypatch.setattr(statement_cache, "_STATEMENTS", 4)
    monkeypatch.setattr(statement_parser, "_PARSED", 4)
    monkeypatch.setattr(lexer, "_read_once", lru_cache(4)(lexer._read_once.__wrapped__))
    monkeypatch.setattr(messages, "_decode_once", lru_cache(4)(messages._decode))
    monkeypatch.setattr(executor, "_TEXTS", 4)
    monkeypatch.setattr(statements, "_STATEMENTS", WeightedLruCache(4))
    monkeypatch.setattr(small_files, "_name_files", lru_cache(4)(small_files._name_files.__wrapped__))
    monkeypatch.setattr(delta, "_VERSIONS", WeightedLruCache(2))
    monkeypatch.setattr(footers, "_FOOTERS", WeightedLruCache(2))
    # pytest keeps what is logged until the test ends.
    monkeypatch.setattr(logging.getLogger("server.logs.statements"), "disabled", True)
    with local_member(tmp_path, compact_after=0) as member:
        monkeypatch.setattr(member.clients.host.ended.history, "_statements_max", 4)
        statistics = member.clients.registry.statistics
        monkeypatch.setattr(statistics, "_most", 4)
        monkeypatch.setattr(statistics, "_fingerprints", WeightedLruCache(4))
        with member.connect() as connection:
            connection.execute("create table t (a int primary key, b text)")
            connection.execute("insert into t select g, 'text' from generate_series(1, 5000) g")
        yield member


def counted(member: LocalMember) -> Counter[str]:
    """Objects by type, once nobody is connected and what was committed is in the tables' logs."""
    wait_until(lambda: not any(member.engine.store.pending_commits().values()))
    # Who wrote them there has them in hand a moment longer.
    wait_until(lambda: not _objects()["engine.catalog.store.rows.Decision"])
    wait_until(lambda: member.engine.executors.local.statistics()["streams"] == 0)
    # Clients have closed their sockets, of which the server hears a moment later.
    wait_until(lambda: not _objects()["server.pgwire.session.Session"])
    return _objects()


def _objects() -> Counter[str]:
    gc.collect()
    names = (f"{type(thing).__module__}.{type(thing).__qualname__}" for thing in gc.get_objects())
    # The loop forgets timers that were cancelled when it comes to it.
    return Counter(name for name in names if name.startswith(_OURS) and name != "asyncio.events.TimerHandle")


def _short(connection: Connection, number: int) -> None:
    connection.execute("select b from t where a = %s", (number,)).fetchall()


def _prepared(connection: Connection, number: int) -> None:
    connection.execute(f"prepare p{number} as select a from t where a = $1".encode())
    connection.execute(f"execute p{number}(1)".encode()).fetchall()


def _explained(connection: Connection, number: int) -> None:
    connection.execute(f"explain analyze select count(*) from t x join t y using (a) where x.a > {number}".encode())


def _given_up(connection: Connection, number: int) -> None:
    connection.execute("begin")
    connection.execute("declare c cursor for select a, b from t")
    connection.execute("fetch 10 from c")
    if number % 2:
        connection.execute("rollback")


def _wrong(connection: Connection, number: int) -> None:
    for statement in (
        f"select {number} / 0",
        f"select missing{number}",
        "select '",
        "insert into t values (1)",
    ):
        with pytest.raises(psycopg.Error):
            connection.execute(statement.encode())


def _changed(connection: Connection, number: int) -> None:
    connection.execute("insert into t values (%s, 'new')", (100_000 + number,))
    connection.execute("update t set b = 'newer' where a = %s", (100_000 + number,))
    connection.execute("delete from t where a = %s", (100_000 + number,))


def _copied(connection: Connection, number: int) -> None:
    with connection.cursor() as cursor:
        with cursor.copy("copy t from stdin") as rows:
            rows.write_row((200_000 + number, "copied"))
        with cursor.copy("copy (select a, b from t) to stdout") as rows:
            assert sum(1 for _ in rows)
    connection.execute("delete from t where a > 200000")


def _defined(connection: Connection, number: int) -> None:
    connection.execute(f"create table d{number} (a int primary key, b text default 'x')".encode())
    connection.execute(f"create view v{number} as select a from d{number}".encode())
    connection.execute(f"select * from v{number}".encode())
    connection.execute(f"drop table d{number} cascade".encode())


@pytest.mark.parametrize("use", [_short, _prepared, _explained, _given_up, _wrong, _changed, _copied, _defined])
def test_nothing_is_left(member: LocalMember, use: Callable[[Connection, int], None]) -> None:
    def rounds(first: int) -> Counter[str]:
        for number in range(first, first + _ROUNDS):
            with member.connect() as connection:
                use(connection, number)
        return counted(member)

    rounds(0)
    before = rounds(_ROUNDS)
    rounds(2 * _ROUNDS)

    def grown() -> dict[str, int]:
        # One object a round would be as many as rounds.
        return {name: more for name, count in _objects().items() if (more := count - before[name]) >= _ROUNDS}

    # What is on its way out goes a moment later; what is held stays.
    wait_until(lambda: not grown(), found=grown)


def test_of_a_table_that_changes_often_few_lists_of_files_are_kept(
    member: LocalMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each commit makes a version, with a description of each of its files for whoever asks, as what compacts tables does."""
    monkeypatch.setattr(delta, "_VERSIONS", _VERSIONS)
    before = counted(member)["engine.catalog.model.objects.DataFile"]
    with member.connect() as connection:
        connection.execute("create table c (a int)")
        for number in range(40):
            connection.execute("insert into c values (%s)", (number,))
            wait_until(lambda: not any(member.engine.store.pending_commits().values()))
            connection.execute("select files from sluice.tables where name = 'c'")
    # All versions would be 800.
    assert counted(member)["engine.catalog.model.objects.DataFile"] - before <= (delta._OPENED_OF_ONE + 1) * 40
