"""The parsing and planning of statements: interrupts, turns, memory (`engine.runtime.planning_pool`)."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlglot import exp
from support.local_member import LocalMember, local_member
from support.member_process import wait_until
from support.session_server import eventually

from engine.common.interrupts import check_for_interrupts
from engine.runtime.operation_pool import OperationPool
from engine.runtime.planning_pool import PlanningPool
from engine.sql.parser.parse import parse
from wire.errors import OutOfMemory

_ROOM = 1 << 40


@pytest.fixture
def operations() -> Iterator[OperationPool]:
    pool = OperationPool(2)
    yield pool
    pool.close()


def _endless(began: threading.Event) -> None:
    began.set()
    while True:
        check_for_interrupts()


async def _wait(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, 30)


async def test_cancelled_work_ends_and_gives_its_turn_back(operations: OperationPool) -> None:
    planning = PlanningPool(operations, _ROOM)
    began = threading.Event()
    task = asyncio.ensure_future(planning.run(lambda: _endless(began), long=True))
    await _wait(began)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(30):
        assert await planning.run(lambda: "next", long=True) == "next"
    assert planning.statistics()["interrupted"] == 1
    assert operations.statistics()["queued"] == 0


async def test_work_that_cannot_begin_gives_its_turn_back() -> None:
    pool = OperationPool(2)
    planning = PlanningPool(pool, _ROOM)
    await asyncio.to_thread(pool.close)
    async with asyncio.timeout(30):
        for _ in range(2):
            with pytest.raises(RuntimeError, match="the operation pool is closed"):
                await planning.run(lambda: None, long=True)


async def test_long_statements_leave_a_thread_to_short_ones(operations: OperationPool) -> None:
    planning = PlanningPool(operations, _ROOM)
    began = threading.Event()
    tasks = [asyncio.ensure_future(planning.run(lambda: _endless(began), long=True)) for _ in range(5)]
    await _wait(began)
    async with asyncio.timeout(30):
        assert await planning.run(lambda: "short") == "short"
    assert planning.statistics()["waiting"] == 4
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert planning.statistics()["waiting"] == 0


async def test_turns_are_given_in_their_order(operations: OperationPool) -> None:
    planning = PlanningPool(operations, _ROOM)
    order: list[int] = []
    async with asyncio.timeout(30):
        await asyncio.gather(*(planning.run(lambda i=i: order.append(i), long=True) for i in range(10)))  # type: ignore[misc]
    assert order == list(range(10))


async def test_above_the_limit_long_statements_are_refused_and_short_ones_are_not(operations: OperationPool) -> None:
    planning = PlanningPool(operations, 1000, resident=lambda: 1001)
    long = "select " + "+".join("1" * 20_000)
    with pytest.raises(OutOfMemory) as refused:
        await planning.run(lambda: parse(long), long=True)
    assert refused.value.sqlstate == "53200"
    assert planning.statistics()["refused"] == 1
    assert await planning.run(lambda: parse("select 1"))


class _Owner:
    """Whatever takes weak references."""


class _Part:
    def __init__(self, freed: list[str], name: str) -> None:
        self.freed, self.name = freed, name

    def __del__(self) -> None:
        self.freed.append(self.name)


async def test_what_an_owner_had_is_taken_apart_after_it(operations: OperationPool) -> None:
    planning = PlanningPool(operations, _ROOM)
    freed: list[str] = []
    owner, kept = _Owner(), _Part(freed, "kept")
    planning.dispose_with(owner, [[_Part(freed, "freed")], kept], 100)
    assert planning.live_nodes == 100
    assert freed == []
    del owner
    await eventually(lambda: planning.live_nodes == 0)
    assert freed == ["freed"]
    await planning.close()


async def test_live_nodes_are_those_of_long_work_under_way(operations: OperationPool) -> None:
    planning = PlanningPool(operations, _ROOM)
    began = threading.Event()
    task = asyncio.ensure_future(planning.run(lambda: _endless(began), long=True))
    await _wait(began)
    await eventually(lambda: planning.live_nodes > 1000)
    task.cancel()
    await eventually(lambda: planning.live_nodes == 0)


def _nodes() -> int:
    return sum(isinstance(thing, exp.Expression) for thing in gc.get_objects())


@pytest.mark.table
@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from few where a in (" + ", ".join(map(str, range(2_500))) + ")",
        "select " + ", ".join(f"a as c{i}" for i in range(1_500)) + " from few limit 1",
        "insert into few values " + ", ".join(f"({i})" for i in range(1_200)),
        ";".join(["select 1"] * 500),
    ],
    ids=["list", "columns", "rows", "statements"],
)
def test_a_long_statement_leaves_no_garbage(member: LocalMember, sql: str) -> None:
    """Its trees are freed though they are cycles, and nothing looks for cycles meanwhile."""
    with member.connect() as connection:
        connection.execute(sql.encode())
        gc.collect()
        gc.disable()
        try:
            before = _nodes()
            # Another text, which no cache has.
            connection.execute(f"{sql} -- again".encode())
            connection.execute("select 1")
            wait_until(lambda: member.engine.planning.live_nodes == 0)
            assert _nodes() - before < 500
        finally:
            gc.enable()


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("planning")) as running:
        with running.connect() as connection:
            connection.execute("create table few (a int)")
        yield running


def test_the_clock_runs_while_a_query_string_is_read(member: LocalMember) -> None:
    """The syntax error at its end is never met: reading took longer than the statement may."""
    with member.connect() as connection:
        connection.execute("set statement_timeout = '100ms'")
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute(b"select " + b"1+" * 400_000)
        connection.execute("set statement_timeout = 0")
        assert connection.execute("select 1").fetchall() == [(1,)]
    wait_until(lambda: member.engine.monitor.statistics()["operations"]["running"] == 0)


@pytest.mark.table
@pytest.mark.parametrize(
    "statement",
    [
        "select count(*) from generate_series(1, 2) g where " + " or ".join(f"g % {i} = 3" for i in range(1, 10_000)),
        "select " + ", ".join(f"{i} as c{i}" for i in range(20_000)),
    ],
    ids=["or", "columns"],
)
def test_a_timeout_ends_the_planning(member: LocalMember, statement: str) -> None:
    before = member.engine.monitor.statistics()["planning"]["interrupted"]
    with member.connect() as connection:
        connection.execute("set statement_timeout = '150ms'")
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute(statement.encode())
    assert member.engine.monitor.statistics()["planning"]["interrupted"] == before + 1


def test_a_member_without_room_refuses_long_statements_only(tmp_path: Path) -> None:
    with local_member(tmp_path, memory_bytes=1 << 20) as member, member.connect() as connection:
        with pytest.raises(psycopg.errors.OutOfMemory) as refused:
            connection.execute(b"select " + b" + ".join([b"1"] * 5_000))
        assert "the limit is 1 MB" in (refused.value.diag.message_detail or "")
        assert connection.execute("select 1").fetchall() == [(1,)]
        with pytest.raises(psycopg.errors.OutOfMemory):
            connection.execute(b"set my.own = '" + b"x" * (1 << 18) + b"'")
