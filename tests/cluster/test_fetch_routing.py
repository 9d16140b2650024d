"""FETCH, MOVE and CLOSE by query id that reach another member than the cursor's: three real members, over sockets.

The cursors are over distributed plans, so that every member holds a part of their state.
"""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from support.local_cluster import LocalCluster
from support.member_process import wait_until
from support.numbers_cluster import ROWS, Connection, declare, members


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with members(tmp_path_factory.mktemp("fetch") / "c") as cluster:
        yield cluster


def run(connection: Connection, statement: str, query: str) -> psycopg.Cursor[tuple[Any, ...]]:
    return connection.execute(sql.SQL(statement).format(sql.Identifier(query)))


def counters(cluster: LocalCluster, member: str) -> dict[str, dict[str, int]]:
    with urllib.request.urlopen(f"http://{cluster.members[member]['console']}/status", timeout=30) as answer:
        told: dict[str, dict[str, int]] = json.load(answer)["counters"]
    return told


def nothing_is_left(cluster: LocalCluster) -> bool:
    for member in cluster.members:
        told = counters(cluster, member)
        if any(told["cursors"].values()) or told["local"]["streams"] or _held(told["mesh"]):
            return False
    return True


def _held(mesh: dict[str, int]) -> bool:
    return any(
        count for name, count in mesh.items() if name in ("early", "running", "finishing", "stopping", "queries")
    )


def test_pages_from_every_member_are_the_answer_once(cluster: LocalCluster) -> None:
    with cluster.connect("m1") as owner, cluster.connect("m2") as second, cluster.connect("m3") as third:
        query = declare(owner)
        wait_until(lambda: all(_held(counters(cluster, member)["mesh"]) for member in cluster.members))
        got: list[Any] = []
        askers = [second, third, owner]
        while page := run(askers[0], "fetch 7001 from {}", query).fetchall():
            got += page
            askers.append(askers.pop(0))
        assert [row[0] for row in got] == list(range(ROWS))
        assert (str(got[77][1]), got[77][2]) == ("77.00", "row 77")
        owner.execute("commit")
    wait_until(lambda: nothing_is_left(cluster))


def test_a_fetch_of_all_is_many_pages(cluster: LocalCluster) -> None:
    with cluster.connect("m1") as owner, cluster.connect("m2") as stranger:
        query = declare(owner)
        stranger.execute("set cursor_buffer_size = '64kB'")
        assert run(stranger, "move 9 from {}", query).statusmessage == "MOVE 9"
        rows = run(stranger, "fetch all from {}", query).fetchall()
        assert [row[0] for row in rows] == list(range(9, ROWS))
        owner.execute("rollback")
        with pytest.raises(psycopg.errors.InvalidCursorName):
            run(stranger, "fetch from {}", query)


def test_prepared_with_binary_results(cluster: LocalCluster) -> None:
    """The extended protocol: columns and formats are told before the first row is asked for."""
    with cluster.connect("m1") as owner, cluster.connect("m2") as stranger:
        query = declare(owner)
        fetch = sql.SQL("fetch 2 from {}").format(sql.Identifier(query))
        got = [stranger.execute(fetch, prepare=True, binary=True).fetchall() for _ in range(3)]
        assert [[row[0] for row in page] for page in got] == [[0, 1], [2, 3], [4, 5]]


def test_close_from_another_member_leaves_nothing_anywhere(cluster: LocalCluster) -> None:
    with cluster.connect("m1") as owner, cluster.connect("m3") as stranger:
        query = declare(owner)
        assert len(run(stranger, "fetch 10 from {}", query).fetchall()) == 10
        assert run(stranger, "close {}", query).statusmessage == "CLOSE CURSOR"
        wait_until(lambda: nothing_is_left(cluster))
        with pytest.raises(psycopg.errors.InvalidCursorName, match='cursor "c" does not exist'):
            owner.execute("fetch c")


def test_a_held_cursor_outlives_its_transaction_and_not_its_client(cluster: LocalCluster) -> None:
    with cluster.connect("m2") as stranger:
        with cluster.connect("m1") as owner:
            query = declare(owner, "with hold")
            run(stranger, "fetch 3 from {}", query)
            owner.execute("commit")
            assert run(stranger, "fetch from {}", query).fetchone() == (3, 3, "row 3")
        wait_until(lambda: nothing_is_left(cluster))
        with pytest.raises(psycopg.errors.InvalidCursorName):
            run(stranger, "fetch from {}", query)


def test_another_user_is_told_no_more_than_of_an_unknown_cursor(cluster: LocalCluster) -> None:
    with cluster.connect("m1") as owner, cluster.connect("m2", user="other") as other:
        query = declare(owner)
        for name in (query, "m1:1", "m9:1"):
            for statement in ("fetch from {}", "move from {}", "close {}"):
                with pytest.raises(psycopg.errors.InvalidCursorName) as raised:
                    run(other, statement, name)
                assert raised.value.diag.message_primary == f'cursor "{name}" does not exist'


def test_a_cursor_whose_session_is_at_work_is_in_use(cluster: LocalCluster) -> None:
    with cluster.connect("m1") as owner, cluster.connect("m2") as stranger, cluster.connect("m1") as watcher:
        query = declare(owner)
        run(stranger, "fetch from {}", query)
        owner.pgconn.send_query(b"select pg_sleep(120)")
        pid = owner.info.backend_pid
        active = sql.SQL("select state from pg_stat_activity where pid = {}").format(sql.Literal(pid))
        wait_until(lambda: watcher.execute(active).fetchone() == ("active",))
        with pytest.raises(psycopg.errors.ObjectInUse):
            run(stranger, "fetch from {}", query)
        assert watcher.execute("select pg_cancel_backend(%s)", (pid,)).fetchone() == (True,)
        while (result := owner.pgconn.get_result()) is not None:
            assert result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"57014"


@pytest.mark.long
def test_an_owner_that_is_stopped_does_not_hold_a_timeout(tmp_path: Path) -> None:
    """Whether it had begun to move when it was told that nobody waits, chance decides; rows are skipped in neither case."""
    with members(tmp_path / "c") as cluster, cluster.connect("m1") as owner, cluster.connect("m2") as stranger:
        query = declare(owner)
        fetch = sql.SQL("fetch 5 from {}").format(sql.Identifier(query))
        assert len(stranger.execute(fetch, prepare=True).fetchall()) == 5
        stranger.execute("set statement_timeout = '1s'")
        stopped = int(cluster.members["m1"]["pid"])
        os.kill(stopped, signal.SIGSTOP)
        try:
            with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
                stranger.execute(fetch, prepare=True)
        finally:
            os.kill(stopped, signal.SIGCONT)
        stranger.execute("set statement_timeout = 0")
        try:
            assert [row[0] for row in stranger.execute(fetch, prepare=True)] == [5, 6, 7, 8, 9]
        except psycopg.errors.ObjectNotInPrerequisiteState:
            run(stranger, "close {}", query)
        owner.execute("rollback")
        wait_until(lambda: nothing_is_left(cluster))


@pytest.mark.long
def test_an_owner_that_is_killed(tmp_path: Path) -> None:
    with members(tmp_path / "c") as cluster, cluster.connect("m2") as stranger:
        owner = cluster.connect("m1")
        query = declare(owner)
        assert len(run(stranger, "fetch 5 from {}", query).fetchall()) == 5
        os.kill(int(cluster.members["m1"]["pid"]), signal.SIGKILL)
        with pytest.raises(psycopg.errors.SerializationFailure, match="member m1, which has the cursor"):
            run(stranger, "fetch 5 from {}", query)
        assert stranger.execute("select 1").fetchone() == (1,)
        owner.close()
