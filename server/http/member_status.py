"""The state of a member, from which its console and its metrics are made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from engine.engine import Engine
from engine.monitor.record import SHORT_TEXT, StatementRecord
from server.auth.gate import Gate
from server.cluster.cursor_routing import CursorRouter
from server.cluster.mesh_link import MeshLink
from server.pgwire.listener import Listener

if TYPE_CHECKING:
    from server.http.door import Door


async def read_status(
    engine: Engine, link: MeshLink, gate: Gate, clients: Listener, cursors: CursorRouter, http: Door | None
) -> Mapping[str, Any]:
    """Return the state as JSON values. http: the door for Trino's clients, if there is one."""
    await engine.monitor.observe()
    attempts = gate.attempts
    logins = {"failed": attempts.failed_count, "refused": attempts.refused_count}
    statements = clients.host.statements
    held = {"input_bytes": clients.input.held, "output_bytes": clients.output.held}
    return {
        "member": engine.config.member,
        "pid": os.getpid(),
        "members": [asdict(info) for info in link.members()],
        "engines": engine.monitor.status(),
        "connections": [asdict(activity) for activity in clients.registry.activity()],
        "sockets": clients.connections,
        "http_sessions": len(http.connection) if http is not None else 0,
        "background": engine.background.status(),
        "queries": [_query_told(record) for record in clients.registry.statements() if record.is_query],
        "statements": {
            "durations": {
                command: {"buckets": durations.buckets, "seconds": durations.total}
                for command, durations in statements.durations.items()
            },
            "errors": dict(statements.errors),
            "engines": dict(statements.engines),
        },
        "caches": {name: figures._asdict() for name, figures in engine.monitor.caches().items()},
        "counters": {
            **engine.monitor.statistics(),
            "cursors": cursors.statistics(),
            "clients": held,
            "logins": logins,
        },
    }


def _query_told(record: StatementRecord) -> Mapping[str, Any]:
    """Describe a query whose cursor or portal is open."""
    told = record.report(text_max=SHORT_TEXT)
    return {
        "query": told.id, "pid": told.pid, "user": told.user, "database": told.database, "cursor": told.portal or "",
        "statement": told.sql, "state": told.state, "started": told.started, "rows": told.rows, "engine": told.engine,
    }  # fmt: skip
