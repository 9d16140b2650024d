"""Members with defaults on one standalone master: they share one Spark application, and another member takes over when
its host is lost.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg
import pytest
from support.member_process import MemberProcess, wait_until
from support.standalone_spark import StandaloneSpark

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

_NAMES: Final = ("m1", "m2", "m3")
_ROWS: Final = 100_000


class Members:
    """Members of one cluster over one catalog. shared: whether they use one application. cores: of each application."""

    def __init__(self, folder: Path, stack: ExitStack, *, shared: bool = True, cores: str = "") -> None:
        self._folder = folder
        self._stack = stack
        self._shared = shared
        self._spark = stack.enter_context(StandaloneSpark(folder / "spark"))
        self._conf = self._spark.conf | ({"spark.cores.max": cores} if cores else {})

    def start(self, name: str, *seeds: MemberProcess, **variables: str) -> MemberProcess:
        """Start a member. variables: of its environment."""
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        conf = "\n".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in self._conf.items())
        config = folder / "sluice.toml"
        config.write_text(
            f'member = "{name}"\nbase = "{self._folder}"\ncatalog = "{self._folder}/catalog.sqlite"\n'
            f'[spark]\nmaster = "{self._spark.master}"\ndriver_memory = "600m"\nshare = {json.dumps(self._shared)}\n'
            f"[spark.conf]\n{conf}\n"
        )
        environment = {"SLUICE_CLUSTER__SECRET": "of the test", **variables}
        if seeds:
            environment["SLUICE_CLUSTER__SEEDS"] = ",".join(f"{seed.host}:{seed.mesh[1]}" for seed in seeds)
        member = MemberProcess(folder, "--config", str(config), environment=environment, log=folder / "log")
        return self._stack.enter_context(member)

    def applications(self) -> int:
        """Return how many applications have an executor."""
        lines = [process.cmdline() for process in self._spark.executors()]
        return len({line[line.index("--app-id") + 1] for line in lines})


def connect(member: MemberProcess) -> psycopg.Connection[tuple[Any, ...]]:
    return member.connect(options="-c sluice.engine=spark")


def hosts(member: MemberProcess) -> dict[str, str]:
    """Return the member on whose Spark each one's statements run, as this one sees it."""
    with member.connect() as connection:
        rows = connection.execute("select id, spark_member from sluice.members where state = 'up'").fetchall()
        return dict(rows)


def query(member: MemberProcess) -> float:
    """Run a query on Spark and check its rows. Returns the seconds that it took."""
    with connect(member) as connection:
        begun = time.monotonic()
        [row] = connection.execute("select count(*), sum(a)::bigint from numbers").fetchall()
        rows = connection.execute("select a from numbers where a <= 5000 order by a").fetchall()
        seconds = time.monotonic() - begun
    assert row == (_ROWS, _ROWS * (_ROWS + 1) // 2)
    assert rows == [(a,) for a in range(1, 5001)]
    return seconds


def plan(member: MemberProcess, statement: str = "select a from numbers") -> str:
    with connect(member) as connection:
        return "\n".join(row[0] for row in connection.execute(f"explain (distsql) {statement}".encode()))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def fill(member: MemberProcess) -> None:
    with member.connect() as connection:
        connection.execute(f"create table numbers as select a::bigint from generate_series(1, {_ROWS}) a".encode())


def wait_hosted(host: str, *members: MemberProcess) -> None:
    """Wait until each of these knows all members, and their host."""
    for member in members:
        wait_until(partial(_knows, member, dict.fromkeys(_NAMES, host)), 60)


def _knows(member: MemberProcess, expected: dict[str, str]) -> bool:
    return hosts(member) == expected


@pytest.mark.long
def test_three_members_with_defaults_share_one_application(tmp_path: Path, stack: ExitStack) -> None:
    ground = Members(tmp_path, stack)
    first = ground.start("m1")
    second, third = ground.start("m2", first), ground.start("m3", first)
    fill(first)
    wait_hosted("m1", first, second, third)
    for member in (third, first, second):
        print(f"{member.ready['data']}: {query(member):.1f} s")
    assert ground.applications() == 1
    for member in (second, third):
        assert 'it runs on the Spark of member "m1"' in plan(member)

    # What the host's Spark cannot run for a member is computed by its local engine, not by a second application.
    with connect(second) as connection:
        arrays = "select array_agg(a order by a) from numbers where a < 4"
        assert connection.execute(arrays.encode()).fetchall() == [([1, 2, 3],)]
        assert 'it runs on the Spark of member "m1"' in plan(second, arrays)
        notices: list[str | None] = []
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        documents = """select (('{"a": ' || a || '}')::json -> 'a')::text from numbers where a < 4 order by 1"""
        assert connection.execute(documents.encode()).fetchall() == [("1",), ("2",), ("3",)]
        reason = 'the Spark of member "m1" cannot run it for this member'
        assert notices == [f"the query runs on this member's DuckDB, because {reason}"]
        for form in ("explain", "explain (distsql)"):
            assert reason in "\n".join(row[0] for row in connection.execute(f"{form} {documents}".encode()))
        # Writes and statements that change rows run there, too.
        connection.execute("create table evens as select a, a / 2 as half from numbers where a % 2 = 0")
        assert connection.execute("update evens set half = 0 where a <= 10").statusmessage == "UPDATE 5"
        connection.execute("analyze evens")
        with third.connect() as other:
            counted = "select count(*), count(*) filter (where half = 0) from evens"
            assert other.execute(counted.encode()).fetchall() == [(_ROWS // 2, 5)]

    # The host is killed while a cursor of another member reads from it: the cursor fails, and the next query is answered.
    with connect(third) as connection:
        connection.execute("begin")
        connection.execute("declare c cursor for select a, repeat('x', 1000) from numbers")
        connection.execute("fetch 10 from c")
        first.kill()
        with pytest.raises(psycopg.errors.SerializationFailure):
            connection.execute("fetch all from c")
        print(f"after the loss: {query(third):.1f} s")
    assert hosts(third) == dict.fromkeys(("m2", "m3"), "m2")
    print(f"the new host itself: {query(second):.1f} s")
    assert ground.applications() == 1

    # The former host returns and uses the application of its successor.
    again = ground.start("m1", second)
    wait_hosted("m2", again, second, third)
    assert query(again) > 0
    assert 'it runs on the Spark of member "m2"' in plan(again)
    assert ground.applications() == 1


@pytest.mark.long
def test_a_host_that_cannot_start_spark_is_replaced(tmp_path: Path, stack: ExitStack) -> None:
    """The member that is to host Spark has no Java."""
    ground = Members(tmp_path, stack)
    first = ground.start("m1", JAVA_HOME=str(tmp_path / "nowhere"))
    second, third = ground.start("m2", first), ground.start("m3", first)
    fill(first)
    wait_hosted("m2", first, second, third)
    for member in (first, third, second):
        query(member)
    assert ground.applications() == 1
    assert 'it runs on the Spark of member "m2"' in plan(first)
    with third.connect() as connection:
        states = connection.execute("select member, state from sluice.spark order by member").fetchall()
    assert states == [("m1", "on member m2"), ("m2", "ready"), ("m3", "on member m2")]


@pytest.mark.long
def test_members_with_an_application_each_take_turns(tmp_path: Path, stack: ExitStack) -> None:
    ground = Members(tmp_path, stack, shared=False)
    first = ground.start("m1")
    second = ground.start("m2", first)
    fill(first)
    for member in (first, second, first):
        print(f"{member.ready['data']}: {query(member):.1f} s")
    assert hosts(first) == {"m1": None, "m2": None}


def java_children(member: MemberProcess) -> list[psutil.Process]:
    return [child for child in psutil.Process(member.pid).children(recursive=True) if child.name() == "java"]


@pytest.mark.long
def test_a_start_that_waits_for_cores_is_given_up(tmp_path: Path, stack: ExitStack) -> None:
    """Two members that do not know each other start an application; when they meet, the one that has cores stays."""
    ground = Members(tmp_path, stack)
    second = ground.start("m2")
    fill(second)
    query(second)
    first = ground.start("m1")
    wait_until(lambda: drivers(first) == 1, 60)
    third = ground.start("m3", first, second)
    wait_hosted("m2", first, second, third)
    wait_until(lambda: drivers(first) == 0, 60)
    for member in (first, second, third):
        query(member)
    assert (drivers(first), ground.applications()) == (0, 1)


@pytest.mark.long
def test_of_two_applications_one_ends_when_it_is_idle(tmp_path: Path, stack: ExitStack) -> None:
    ground = Members(tmp_path, stack, cores="1")
    second = ground.start("m2")
    fill(second)
    query(second)
    with connect(second) as connection:
        connection.execute("begin")
        connection.execute("declare c cursor for select a, repeat('x', 1000) from numbers")
        connection.execute("fetch 10 from c")
        first = ground.start("m1")
        query(first)
        third = ground.start("m3", first, second)
        wait_hosted("m1", first, second, third)
        # The cursor is read to its end on the application on which it began.
        assert len(connection.execute("fetch all from c").fetchall()) == _ROWS - 10
        connection.execute("commit")
    wait_until(lambda: drivers(second) == 0, 60)
    for member in (first, second, third):
        query(member)
    assert (drivers(second), ground.applications()) == (0, 1)


def drivers(member: MemberProcess) -> int:
    return sum(child.name() == "java" for child in psutil.Process(member.pid).children(recursive=True))
