"""A server of two processes behind one address: to which process clients are assigned, and that the server looks like
one to them.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import psutil
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.child_processes import is_alive
from support.member_process import MemberProcess, wait_until

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemberProcess]:
    folder = tmp_path_factory.mktemp("processes")
    environment = {
        "SLUICE_SPARK__START": "lazy", "SLUICE_MAX_CONNECTIONS": "12", "SLUICE_SUPERUSER_RESERVED_CONNECTIONS": "0",
        "SLUICE_CLUSTER__HEARTBEAT": "0.1",
    }  # fmt: skip
    with MemberProcess(folder, "--processes", "2", environment=environment, log=folder / "log") as server:
        wait_until(lambda: len(_members(server)) == 2)
        yield server


def _members(server: MemberProcess) -> list[str]:
    """The members that are up, by the one that answers."""
    with server.connect() as connection:
        return [row[0] for row in connection.execute("select id from sluice.members where state = 'up' order by id")]


def _member(connection: Connection) -> str:
    """The member that a connection was handed to."""
    row = connection.execute("select id from sluice.members where is_local").fetchone()
    assert row is not None
    return str(row[0])


@pytest.fixture
def both(server: MemberProcess) -> Iterator[tuple[Connection, Connection]]:
    """A connection to the first process, and one to the other. A process may still have to close those of an earlier test, until
    when the other one is handed clients."""
    with ExitStack() as stack:
        by_member: dict[str, Connection] = {}

        def are_both_found() -> bool:
            with ExitStack() as found:
                for _ in range(4):
                    connection = found.enter_context(server.connect())
                    by_member.setdefault(_member(connection), connection)
                if len(by_member) < 2:
                    by_member.clear()
                    return False
                stack.push(found.pop_all())
            return True

        wait_until(are_both_found)
        yield by_member["m1"], by_member["m1.2"]


def _count_of_ten(server: MemberProcess) -> Counter[str]:
    """How many of ten connections each member is handed."""
    with ExitStack() as stack:
        return Counter([_member(stack.enter_context(server.connect())) for _ in range(10)])


def test_clients_are_spread_evenly(server: MemberProcess) -> None:
    """They are as soon as the connections of earlier tests are closed."""
    wait_until(lambda: _count_of_ten(server) == {"m1": 5, "m1.2": 5})


def test_a_table_that_one_makes_the_other_has(both: tuple[Connection, Connection]) -> None:
    first, second = both
    first.execute("create table shared (a int primary key)")
    second.execute("insert into shared values (1), (2)")
    assert first.execute("select sum(a) from shared").fetchone() == (3,)
    assert second.execute("select sum(a) from shared").fetchone() == (3,)


def _series(console: str) -> dict[str, dict[str, float]]:
    """Return the value of each series of a scrape by its process, summed over further labels."""
    with urllib.request.urlopen(f"{console}metrics", timeout=60) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    assert len({family.name for family in families}) == len(families)
    found: dict[str, dict[str, float]] = {}
    for sample in (sample for family in families for sample in family.samples):
        by_process = found.setdefault(sample.name, {})
        by_process[sample.labels["process"]] = by_process.get(sample.labels["process"], 0) + sample.value
    return found


def _consoles(server: MemberProcess) -> list[str]:
    """The addresses of the processes' consoles. The log has those of an earlier process, too."""
    assert server.log is not None
    processes = psutil.Process(server.pid).children()
    held = [
        each for process in processes for each in process.net_connections("tcp") if each.status == psutil.CONN_LISTEN
    ]
    ports = {each.laddr.port for each in held}
    told = dict.fromkeys(re.findall(r"console=(http\S+)", server.log.read_text()))
    return [console for console in told if urlsplit(console).port in ports]


def test_a_scrape_has_the_metrics_of_all_processes(server: MemberProcess, both: tuple[Connection, Connection]) -> None:
    consoles = _consoles(server)
    assert len(consoles) == 2
    before = _series(server.ready["console"])["sluice_statement_seconds_count"]
    for connection, count in zip(both, (3, 5), strict=True):
        for _ in range(count):
            connection.execute("select 1")
    for console in consoles:
        # Each process has the series of the other.
        told = _series(console)
        for process, count in (("1", 3), ("2", 5)):
            assert told["sluice_statement_seconds_count"][process] >= before.get(process, 0) + count
            assert told["sluice_sessions"][process] >= 1
            assert told["process_resident_memory_bytes"][process] > 1 << 20
        assert told["sluice_info"] == {"1": 1.0, "2": 1.0}
        assert told.keys() >= {"sluice_edge_streams_waiting", "sluice_member_up", "sluice_cache_hits_total"}
        assert all(values.keys() <= {"1", "2"} for values in told.values())


def test_statements_of_all_processes_are_counted_together(both: tuple[Connection, Connection]) -> None:
    first, second = both
    second.execute("select pg_stat_statements_reset()")
    counted = "select 'x'::text || g from generate_series(1, 3) as g"
    for connection, count in zip(both, (2, 3), strict=True):
        for _ in range(count):
            connection.execute(counted)
    shown = (
        "select calls, rows, engine, abs(total_exec_time / calls - mean_exec_time) < 0.001, "
        "min_exec_time <= mean_exec_time, mean_exec_time <= max_exec_time, queryid "
        "from pg_stat_statements where query = 'select $1::text || g from generate_series($2, $3) as g'"
    )
    [row] = first.execute(shown).fetchall()
    assert row[:6] == (5, 15, "local", True, True, True)
    assert second.execute(shown).fetchall() == [row]
    info = "select dealloc, stats_reset from pg_stat_statements_info"
    assert first.execute(info).fetchall() == second.execute(info).fetchall()
    first.execute("select pg_stat_statements_reset(0, 0, %s)", (row[6],))
    assert second.execute(shown).fetchall() == []
    assert first.execute("select count(*) > 0 from pg_stat_statements").fetchone() == (True,)
    before = first.execute(info).fetchone()
    # In WHERE no answer is waited for.
    second.execute("select 1 where pg_stat_statements_reset() is null")
    wait_until(lambda: first.execute(info).fetchone() != before)
    after = first.execute(info).fetchone()
    assert before is not None
    assert after is not None
    assert before[1] < after[1]


def test_the_progress_of_a_copy_is_seen_in_all_processes(both: tuple[Connection, Connection]) -> None:
    first, second = both
    second.execute("create table copied (a int)")
    shown = "select pid, command, type from pg_stat_progress_copy where relid = 'copied'::regclass"
    with second.cursor() as cursor, cursor.copy("copy copied from stdin") as copy:
        copy.write("1\n")
        wait_until(lambda: bool(first.execute(shown).fetchall()))
        assert first.execute(shown).fetchall() == [(second.info.backend_pid, "COPY FROM", "PIPE")]
    assert first.execute(shown).fetchall() == []
    assert first.execute("select a from copied").fetchall() == [(1,)]


def test_max_connections_holds_for_all_processes(server: MemberProcess) -> None:
    with ExitStack() as stack:
        for _ in range(12):
            stack.enter_context(server.connect())
        with pytest.raises(psycopg.OperationalError, match="too many clients"):
            server.connect()
    wait_until(lambda: _has_room(server))


def _has_room(server: MemberProcess) -> bool:
    try:
        server.connect().close()
    except psycopg.OperationalError:
        return False
    return True


def test_a_cancel_request_finds_its_session(both: tuple[Connection, Connection]) -> None:
    """A cancel request comes on a connection of its own, which any process may be handed."""
    for connection in both:
        for _ in range(3):
            connection.execute("set statement_timeout = '60s'")
            connection.pgconn.send_query(b"select pg_sleep(50)")
            connection.cancel()
            while (result := connection.pgconn.get_result()) is not None:
                assert b"due to user request" in result.error_message
            assert connection.execute("select 1").fetchone() == (1,)


def test_notifications_and_advisory_locks(both: tuple[Connection, Connection]) -> None:
    first, second = both
    first.execute("listen news")
    second.execute("notify news, 'heard'")
    [notification] = first.notifies(timeout=30, stop_after=1)
    assert notification.payload == "heard"
    assert first.execute("select pg_try_advisory_lock(4711)").fetchone() == (True,)
    assert second.execute("select pg_try_advisory_lock(4711)").fetchone() == (False,)
    first.execute("select pg_advisory_unlock(4711)")


def test_activity_has_the_sessions_of_both(both: tuple[Connection, Connection]) -> None:
    first, second = both
    pids = [first.info.backend_pid, second.info.backend_pid]
    second.execute("begin")
    second.execute("set application_name = 'the other'")
    for connection in both:
        rows = connection.execute(
            "select pid, application_name, state, client_addr::text, client_port is not null,"
            " backend_start <= xact_start from pg_stat_activity where pid = any(%s)",
            (pids,),
        ).fetchall()
        found = {row[0]: row[1:] for row in rows}
        assert found.keys() == set(pids)
        expected = "active" if connection is second else "idle in transaction"
        assert found[pids[1]] == ("the other", expected, "127.0.0.1/32", True, True)
    for connection in both:
        connection.rollback()
        answer = connection.execute("select inet_client_addr()::text, inet_client_port() is not null").fetchone()
        assert answer == ("127.0.0.1/32", True)


def _has_client(process: psutil.Process, client: Connection) -> bool:
    """Whether a process has the other end of a client's connection."""
    with socket.socket(fileno=os.dup(client.fileno())) as ours:
        address = ours.getsockname()
    return any(each.raddr == address for each in process.net_connections("tcp"))


def test_a_process_that_dies_is_started_again(server: MemberProcess, both: tuple[Connection, Connection]) -> None:
    first, second = both
    dispatcher = psutil.Process(server.pid)
    before = {child.pid for child in dispatcher.children()}
    [killed] = [child for child in dispatcher.children() if _has_client(child, second)]
    killed.kill()
    with pytest.raises(psycopg.OperationalError):
        second.execute("select 1")
    assert first.execute("select 1").fetchone() == (1,)
    wait_until(lambda: len({child.pid for child in dispatcher.children()} - before) == 1)
    wait_until(lambda: _members(server) == ["m1", "m1.2"])

    def is_spread() -> bool:
        with server.connect() as one, server.connect() as other, server.connect() as third:
            return {_member(one), _member(other), _member(third)} == {"m1", "m1.2"}

    wait_until(is_spread)


def test_without_the_dispatcher_the_members_end(tmp_path: Path) -> None:
    environment = {"SLUICE_SPARK__START": "lazy", "SLUICE_CLUSTER__DRAIN_SECONDS": "1"}
    with MemberProcess(tmp_path, "--processes", "2", environment=environment, log=tmp_path / "log") as server:
        members = psutil.Process(server.pid).children()
        assert len(members) == 2
        server.kill()
        psutil.wait_procs(members, timeout=60)
        assert not any(map(is_alive, members))


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / ".sluice").write_text("a file where the members' folder belongs")
    command = [sys.executable, "-m", "server.cli.main", "serve", "--processes", "2", "--listen", "127.0.0.1:0"]
    command += ["--console", "127.0.0.1:0", "--data", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stdout == ""
    assert str(tmp_path / ".sluice") in done.stderr


#: Arrays and rows whose carriers differ from what an engine stores, beside nulls and empty arrays.
_NESTED: Final = """create table nested as select g as id, n, array[g, null, -g] as i, array[g::text, '', null] as s,
    array[g * 1.50, null]::numeric(20, 3)[] as d, array[date '2024-02-29' + g, 'infinity', null] as days,
    array[timestamptz '2024-03-31 01:30+00', '-infinity'] as moments, array[time '23:59:59.999999', '24:00'] as times,
    array[make_interval(g, 0, 0, g, 0, 0, 0.25), null] as spans, array[[g, 2], [null, 4]] as matrix,
    array[g > 1, null] as flags, array['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid] as uuids,
    array['\\x00ff'::bytea, null] as bytes, array[1.5e300, 'NaN', '-infinity']::float8[] as floats
    from generate_series(1, 40) g, lateral (select case when g % 2 = 0 then '{}'::int[] end as n) x"""


def texts(connection: Connection, query: str) -> list[list[bytes | None]]:
    """Return the rows of a query as PostgreSQL's text."""
    result = connection.execute(query.encode()).pgresult
    assert result is not None
    return [[result.get_value(row, column) for column in range(result.nfields)] for row in range(result.ntuples)]


def compare_nested(first: Connection, second: Connection) -> None:
    """Arrays and rows come from another member's Spark as this member's own engine returns them."""
    first.execute(_NESTED.encode())
    for query in (
        "select * from nested order by id",
        "select id, row(id, s, days, row(spans, d)), row(null, n) from nested order by id desc limit 7",
        "select id % 3, array_agg(id order by id), array_agg(matrix order by id) from nested group by 1 order by 1",
        "select array_agg(id) filter (where id < 0), array[]::date[] from nested",
    ):
        second.execute("set sluice.engine = spark")
        plan = "\n".join(row[0] for row in second.execute(f"explain (distsql) {query}".encode()))
        assert 'it runs on the Spark of member "m1"' in plan, query
        found = texts(second, query)
        second.execute("set sluice.engine = local")
        assert found == texts(second, query), query
    second.execute("set sluice.engine = spark")
    assert second.execute("insert into nested select * from nested where id < 4").statusmessage == "INSERT 0 3"
    second.execute("set sluice.engine = local")
    assert second.execute("select count(*) from (select distinct * from nested) n").fetchone() == (40,)


@pytest.mark.long
@pytest.mark.spark
def test_both_use_one_spark(server: MemberProcess, both: tuple[Connection, Connection]) -> None:
    first, second = both
    first.execute("create table numbers as select g as a, 'text ' || g as b from generate_series(1, 5000) g")
    second.execute("set sluice.engine = spark")
    plan = "\n".join(row[0] for row in second.execute("explain (distsql) select b from numbers order by a"))
    assert 'it runs on the Spark of member "m1"' in plan
    rows = second.execute("select b from numbers order by a limit 4000").fetchall()
    assert rows == [(f"text {number}",) for number in range(1, 4001)]
    assert second.execute("select count(*), max(a) from numbers where a > %s", (1000,)).fetchone() == (4000, 5000)
    second.execute("create table halves as select a / 2 as half, b from numbers where a % 2 = 0")
    assert first.execute("select count(*), sum(half) from halves").fetchone() == (2500, 3126250)
    assert second.execute("update halves set b = 'none' where half > 2000").statusmessage == "UPDATE 500"
    assert first.execute("select count(*) from halves where b = 'none'").fetchone() == (500,)
    compare_nested(first, second)
    drivers = [child for child in psutil.Process(server.pid).children(recursive=True) if child.name() == "java"]
    assert len(drivers) == 1, "one Spark for both"
