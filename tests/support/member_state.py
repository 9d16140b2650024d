"""A member's resources, as seen from outside: its console's counters, its sockets and threads, its files."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from support.member_process import MemberProcess, wait_until

#: Counters of what is cached for later and not in use.
_KEPT = {
    ("statements", "cached"),
    ("statements", "cached_bytes"),
    ("local", "idle_cursors"),
    ("local", "role_databases"),
    ("local", "small_tables"),
    ("local", "small_table_bytes"),
    ("local", "point_reads"),
    ("local", "held_columns"),
    ("local", "held_column_bytes"),
    ("local", "cached_answers"),
    ("local", "cached_results"),
    ("local", "cached_result_bytes"),
    # Of statements that are no more, until a full collection finds their trees.
    ("planning", "live_nodes"),
    ("planning", "interrupted"),
    ("planning", "refused"),
    ("spool", "bytes_max"),
    ("spool", "written_bytes"),
    ("edges", "sent_bytes"),
    ("edges", "sent_batches"),
    ("edges", "stalls"),
    ("edges", "stalled_ms"),
    ("tables", "commits"),
    ("tables", "commit_conflicts"),
    ("tables", "publish_rounds"),
    # Commits are published in the background, long after a failure: nobody waits for it.
    ("tables", "publish_pending"),
    ("tables", "publish_lag_ms"),
    # Of Spark as it stands there, for whatever comes next.
    ("spark", "executors"),
    ("spark", "slots"),
    ("spark", "memory_bytes"),
    ("spark", "tasks_done"),
    ("spark", "tasks_failed"),
}
#: Packages whose counters are about the past, or about the process as a whole.
_PAST = {"logins", "stalls", "memory"}


def status(member: MemberProcess) -> Mapping[str, Any]:
    """Return the console's /status."""
    with urllib.request.urlopen(member.ready["console"] + "status", timeout=30) as answer:
        return dict(json.load(answer))


def in_use(member: MemberProcess) -> dict[str, int]:
    """Return the counts of what the member holds for its clients right now, by name; empty if it is idle."""
    told = status(member)
    held = {"connections": len(told["connections"]), "sockets": told["sockets"]}
    for room, counters in told["counters"].items():
        for name, value in counters.items():
            if room not in _PAST and (room, name) not in _KEPT:
                held[f"{room}.{name}"] = value
    return {name: value for name, value in held.items() if value}


def client_sockets(member: MemberProcess) -> list[Any]:
    """Return the member's sockets on its PostgreSQL port, except the listening one."""
    return [
        connection
        for connection in psutil.Process(member.pid).net_connections("tcp")
        if connection.laddr.port == member.port and connection.status != psutil.CONN_LISTEN
    ]


def spool_files(member: MemberProcess) -> list[Path]:
    """Return the files of results that are spooled to disk."""
    return [path for path in Path(member.ready["data"]).glob(".sluice/spool/**/*") if path.is_file()]


def wait_idle(member: MemberProcess) -> None:
    """Wait until the member holds nothing for any client."""
    wait_until(lambda: not in_use(member), found=lambda: in_use(member))
    wait_until(lambda: not client_sockets(member))
    assert spool_files(member) == []
