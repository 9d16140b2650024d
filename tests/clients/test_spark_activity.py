"""Spark's activity for a suspended cursor: its job's tasks, and the credit of the streams that its tasks send."""

from __future__ import annotations

import pytest
from support.console_client import ConsoleClient
from support.member_process import MemberProcess, wait_until

pytestmark = pytest.mark.spark


def test_the_jobs_and_streams_of_a_suspended_cursor(member: MemberProcess) -> None:
    jobs = "select member, stages, tasks, tasks_done < tasks from sluice.spark_jobs where query_id = %s"
    edges = (
        "select edge, streams, credit < window_bytes, backlog_bytes > 0 from sluice.edges"
        " where query_id = %s and state = 'waiting'"
    )
    console = ConsoleClient(member.ready["console"])
    with member.connect(options="-c sluice.engine=spark") as connection, member.connect() as watcher:
        connection.execute("begin")
        connection.execute("declare c cursor for select * from lineitem")
        connection.execute("fetch 1 from c")
        pid = connection.info.backend_pid
        [(query, engine)] = watcher.execute(
            "select query_id, engine from sluice.queries where pid = %s", (pid,)
        ).fetchall()
        assert engine == "spark"
        wait_until(lambda: bool(watcher.execute(edges, (query,)).fetchall()))
        [(edge, streams, spent, backlog)] = watcher.execute(edges, (query,)).fetchall()
        assert (edge, streams > 0, spent, backlog) == (0, True, True, True)
        [(name, stages, tasks, unfinished)] = watcher.execute(jobs, (query,)).fetchall()
        assert (name, stages >= 1, tasks >= 1, unfinished) == ("m1", True, True, True)

        status, told = console.query(query)
        assert status == 200
        assert [edge["state"] for edge in told["graph"]["edges"]] == ["waiting"]
        assert [job["tasks"] for job in told["spark_jobs"]] == [tasks]
        assert [fragment["engine"] for fragment in told["graph"]["fragments"]] == ["spark", ""]
        assert console.cancel(query) == (204, "")
        wait_until(lambda: watcher.execute(jobs, (query,)).fetchall() == [])
        connection.rollback()
    assert console.query(query)[1]["state"] == "cancelled"
