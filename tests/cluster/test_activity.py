"""The activity of all members, queried in SQL on any of them: three real members, over sockets."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.console_client import ConsoleClient
from support.local_cluster import LocalCluster
from support.member_process import wait_until
from support.numbers_cluster import ROWS, Connection, declare, members

from engine.monitor.record import GRAPH_SECONDS


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with members(tmp_path_factory.mktemp("activity") / "c") as cluster:
        yield cluster


def rows(connection: Connection, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
    return connection.execute(sql, arguments).fetchall()


def test_a_statement_is_seen_wherever_it_was_initiated(cluster: LocalCluster) -> None:
    with cluster.connect("m1") as owner, cluster.connect("m2") as watcher:
        query = declare(owner)
        owner.execute("fetch 10 from c")
        [told] = rows(
            watcher,
            "select member, pid, usename, cursor, state, rows, engine from sluice.queries where query_id = %s", query,
        )  # fmt: skip
        assert told == ("m1", owner.info.backend_pid, "tester", "c", "suspended", 10, "distributed")
        fragments = rows(
            watcher,
            "select distinct fragment, member, engine from sluice.fragments where query_id = %s order by 1, 2",
            query,
        )
        assert {member for _, member, _ in fragments} == {"m1", "m2", "m3"}
        assert {engine for *_, engine in fragments} == {"local"}
        owner.execute("close c")
        assert rows(watcher, "select 1 from sluice.queries where query_id = %s", query) == []
        assert rows(watcher, "select state, rows, member from sluice.history where query_id = %s", query) == [
            ("finished", 10, "m1")
        ]
        wait_until(lambda: not rows(watcher, "select 1 from sluice.edges where query_id = %s", query))


def test_credit_falls_while_a_cursor_is_suspended(cluster: LocalCluster) -> None:
    credit = "select sender, credit, window_bytes, backlog_bytes, state from sluice.edges where query_id = %s and member = 'm1'"
    with cluster.connect("m1") as owner, cluster.connect("m3") as watcher:
        query = declare(owner)
        owner.execute("fetch 1 from c")
        wait_until(lambda: any(row[-1] == "waiting" for row in rows(watcher, credit, query)))
        for _, left, window, backlog, state in rows(watcher, credit, query):
            if state == "waiting":
                assert left < window
                assert backlog > 0
        owner.execute("close c")


def scraped(cluster: LocalCluster, member: str) -> dict[str, float]:
    """The gauges of streams in a member's metrics."""
    [status, text] = console(cluster, member).get("/metrics")
    assert status == 200
    families = text_string_to_metric_families(text)
    return {each.name: each.samples[0].value for each in families if each.name.startswith("sluice_edge_")}


def test_metrics_tell_of_senders_without_credit(cluster: LocalCluster) -> None:
    # An earlier test's streams may be closing.
    wait_until(lambda: scraped(cluster, "m1")["sluice_edge_streams_waiting"] == 0)
    with cluster.connect("m1") as owner:
        declare(owner)
        owner.execute("fetch 1 from c")
        told: dict[str, float] = {}

        def waits() -> bool:
            told.update(scraped(cluster, "m1"))
            # For a batch larger than the window, credit is more than that until the batch is there.
            less = told["sluice_edge_credit_bytes"] < told["sluice_edge_window_bytes"]
            return less and told["sluice_edge_streams_waiting"] > 0

        wait_until(waits)
        # All three send to m1, whose cursor takes nothing.
        assert told["sluice_edge_streams_waiting"] <= told["sluice_edge_streams_receiving"] == 3
        assert scraped(cluster, "m2")["sluice_edge_streams_sending"] == 1
        owner.execute("close c")
    wait_until(lambda: scraped(cluster, "m1")["sluice_edge_streams_receiving"] == 0)
    assert scraped(cluster, "m1")["sluice_edge_streams_waiting"] == 0


def test_the_sender_tells_how_long_it_has_waited(cluster: LocalCluster) -> None:
    stalls = "select sum(stalls), sum(stalled_seconds) from sluice.edges where query_id = %s"
    with cluster.connect("m1") as owner, cluster.connect("m2") as watcher:
        query = declare(owner)
        owner.execute("fetch 1 from c")
        wait_until(lambda: (rows(watcher, stalls, query)[0][0] or 0) > 0)
        [(_, first)] = rows(watcher, stalls, query)
        wait_until(lambda: rows(watcher, stalls, query)[0][1] > first)
        owner.execute("close c")


def console(cluster: LocalCluster, member: str) -> ConsoleClient:
    return ConsoleClient(f"http://{cluster.members[member]['console']}/")


def test_the_page_of_a_suspended_statement_at_another_member(cluster: LocalCluster) -> None:
    page = console(cluster, "m2")
    with cluster.connect("m1") as owner, page.live() as live:
        query = declare(owner)
        owner.execute("fetch 1 from c")
        live.follow(query)
        told = live.until("query")
        while not any(edge["state"] == "waiting" and edge["stalls"] for edge in told["graph"]["edges"]):
            told = live.until("query")
        graph = told["graph"]
        assert (told["member"], told["engine"], told["portal"], told["rows"]) == ("m1", "distributed", "c", 1)
        assert {fragment["member"] for fragment in graph["fragments"]} == {"m1", "m2", "m3"}
        names = {fragment["id"] for fragment in graph["fragments"]}
        assert {end for edge in graph["edges"] for end in (edge["from"], edge["to"])} <= names
        waiting = [edge for edge in graph["edges"] if edge["state"] == "waiting"]
        assert all(edge["credit"] < edge["window"] and edge["backlog_bytes"] > 0 for edge in waiting)
        assert any(fragment["operators"] for fragment in graph["fragments"])

        # Of a statement that took less there is no graph.
        wait_until(lambda: time.time() - told["started"] > 2 * GRAPH_SECONDS)
        assert page.cancel(query) == (204, "")
        while (told := live.until("query"))["state"] != "cancelled":
            pass
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            owner.execute("fetch 1 from c")
    with cluster.connect("m3") as watcher:
        sql = "select state, sqlstate, rows from sluice.history where query_id = %s"
        assert rows(watcher, sql, query) == [("cancelled", "57014", 1)]
        wait_until(lambda: not rows(watcher, "select 1 from sluice.fragments where query_id = %s", query))
    # Members tell their last figures after the statement's end.
    wait_until(lambda: page.query(query)[1]["graph"]["edges"])
    finished = page.query(query)[1]["graph"]
    assert {fragment["state"] for fragment in finished["fragments"]} <= {"done", "failed"}


#: Rows go from every member to every member, then to m1.
WINDOWS = "declare g no scroll cursor for select t, row_number() over (partition by t order by n) from numbers"


def between_others(graph: dict[str, Any]) -> list[dict[str, Any]]:
    """The edges of a graph of which no end is at m1."""
    member = {fragment["id"]: fragment["member"] for fragment in graph["fragments"]}
    return [edge for edge in graph["edges"] if "m1" not in (member[edge["from"]], member[edge["to"]])]


def sent_by_fragment(graph: dict[str, Any]) -> dict[str, int]:
    sent: dict[str, int] = {}
    for edge in graph["edges"]:
        sent[edge["from"]] = sent.get(edge["from"], 0) + edge["rows"]
    return sent


def test_figures_between_other_members_stay_when_their_part_is_over(cluster: LocalCluster) -> None:
    page = console(cluster, "m1")
    with cluster.connect("m1") as owner:
        owner.execute("set sluice.distribution = always")
        owner.execute("set sluice.engine = local")
        owner.execute("begin")
        owner.execute(WINDOWS)
        owner.execute("fetch 59999 from g")
        [(query,)] = rows(owner, "select query_id from sluice.queries where pid = pg_backend_pid() and cursor = 'g'")

        def others() -> set[str]:
            return {f["state"] for f in page.query(query)[1]["graph"]["fragments"] if f["member"] != "m1"}

        # All rows are on their way to the client: the others have nothing to do any more, while the cursor stays open.
        wait_until(lambda: others() == {"done"})
        suspended = page.query(query)[1]["graph"]
        owner.execute("fetch all from g")
        owner.execute("commit")
    assert len(between_others(suspended)) == 4
    assert all(edge["rows"] > 0 and edge["bytes"] > 0 for edge in between_others(suspended))
    wait_until(lambda: all(edge["rows"] > 0 for edge in between_others(page.query(query)[1]["graph"])))
    ended = page.query(query)[1]
    graph = ended["graph"]
    assert ended["state"] == "finished"
    assert {f["id"]: f["rows"] for f in graph["fragments"] if f["rows"]}.items() <= sent_by_fragment(graph).items()
    for kind in ("hash", "gather"):
        assert sum(edge["rows"] for edge in graph["edges"] if edge["kind"] == kind and edge["to"] != "client") == ROWS
    assert {edge["state"] for edge in graph["edges"]} == {"done"}


def test_what_others_do_is_hidden_at_every_member(cluster: LocalCluster) -> None:
    with cluster.connect("m1") as owner:
        owner.execute("create role boss superuser login")
        owner.execute("create role stranger login")
    with cluster.connect("m1", user="boss") as owner, cluster.connect("m2", user="stranger") as stranger:
        owner.execute("grant select on numbers to public")
        query = declare(owner, user="boss")
        owner.execute("fetch 1 from c")
        hidden = rows(stranger, "select statement, rows, state from sluice.queries where query_id = %s", query)
        assert hidden == [("<insufficient privilege>", None, None)]
        for relation in ("fragments", "edges"):
            assert rows(stranger, f"select 1 from sluice.{relation} where query_id = %s", query) == []
        owner.execute("rollback")


def test_a_member_that_is_silent_is_said_to_be_missing(cluster: LocalCluster) -> None:
    notices: list[str] = []
    with cluster.connect("m1") as watcher:
        watcher.add_notice_handler(lambda told: notices.append(told.message_primary or ""))
        pid = cluster.members["m3"]["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            rows(watcher, "select * from sluice.queries")
            states = {m["name"]: m["state"] for m in console(cluster, "m1").get("/api/overview")[1]["members"]}
        finally:
            os.kill(pid, signal.SIGCONT)
        assert states["m3"] in ("silent", "lost")
        assert notices == ["member m3 has not answered: what it does is missing"]

        def all_answer() -> bool:
            notices.clear()
            rows(watcher, "select * from sluice.queries")
            return not notices

        wait_until(all_answer)
