"""The activity of this session and of others: pg_stat_activity, pg_cursors, pg_prepared_statements,
pg_stat_progress_copy, _vacuum, _analyze and _cluster, and `sluice.connections`, the addresses of the two ends of each
session's connection.

pg_stat_activity and the progress of statements cover all members, which are asked when the rows are made, as in
`engine.pg_catalog.cluster`; the others cover this member.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Final

from engine.catalog.model.rights import DATABASE_OID
from engine.catalog.snapshot import SLUICE
from engine.contracts.activity import Answer, Part
from engine.contracts.copy_progress import CopyProgress
from engine.contracts.maintenance_progress import MaintenanceProgress
from engine.contracts.sessions import Activity
from engine.pg_catalog.declared import HIDDEN, Row, SystemContext, SystemRelation, postgres
from wire.errors import InvalidTextRepresentation
from wire.types import pg_types as t
from wire.types.network import read_address

#: When this member started, in microseconds: its process imports this module at the start.
_STARTED: Final = time.time_ns() // 1000
#: The columns from the client's address on, for a session that the current role may not see.
_HIDDEN: Final = (*(None,) * 13, HIDDEN, None)


def _micros(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1_000_000)


def _address(text: str | None) -> bytes | None:
    """Encode an address in inet's carrier; None for text that is no address (a socket in a folder)."""
    try:
        return read_address(t.INET, text.partition("%")[0]) if text else None
    except InvalidTextRepresentation:
        return None


def _pg_stat_activity(context: SystemContext) -> Iterator[Row]:
    for a in (*context.client.activity(), *_sessions_elsewhere(context)):
        user = context.snapshot.roles.of(a.user).oid
        if not context.may_see(a.user):
            yield DATABASE_OID, a.database, a.pid, None, user, a.user, a.application_name, *_HIDDEN
            continue
        yield (
            DATABASE_OID, a.database, a.pid, None, user, a.user, a.application_name, _address(a.client_address), None,
            a.client_port, _micros(a.backend_start), _micros(a.transaction_start), _micros(a.query_start),
            _micros(a.state_change), None, None, a.state, None, None, None, a.query, "client backend",
        )  # fmt: skip


def _sessions_elsewhere(context: SystemContext) -> Iterator[Activity]:
    """Return the sessions of the other members."""
    return _sessions_of(_answers_elsewhere(context, "sessions"))


def _sessions_of(answers: Iterable[Answer]) -> Iterator[Activity]:
    for told in (session for answer in answers for session in answer.sessions):
        yield Activity(
            told.pid, told.user, told.database, told.application_name, told.client, told.client_port, told.state,
            told.query, told.begun or told.since, told.transaction_start, told.query_start, told.since,
        )  # fmt: skip


def _answers_elsewhere(context: SystemContext, *parts: Part) -> list[Answer]:
    """Return the answers of the other members. If there are none, no request is made."""
    own = {member.id for member in context.members if member.local}
    if len(context.members) <= len(own):
        return []
    return [answer for member, answer in context.client.cluster(*parts).told.items() if member not in own]


def _progress(context: SystemContext) -> tuple[list[CopyProgress], list[MaintenanceProgress], set[int]]:
    """Return the running COPY, VACUUM and ANALYZE statements of all members, and the process ids of sessions whose
    activity the role may see.
    """
    answers = _answers_elsewhere(context, "sessions", "progress")
    return (
        [*context.copies(), *(copy for answer in answers for copy in answer.copies)],
        [*context.maintenance(), *(table for answer in answers for table in answer.maintenance)],
        {a.pid for a in (*context.client.activity(), *_sessions_of(answers)) if context.may_see(a.user)},
    )


def _pg_cursors(context: SystemContext) -> Iterator[Row]:
    for c in context.client.cursors():
        yield c.name, c.statement, c.holdable, c.binary, c.scrollable, _micros(c.created)


def _pg_prepared_statements(context: SystemContext) -> Iterator[Row]:
    for p in context.client.prepared_statements():
        types = [typ.oid for typ in p.parameters]
        yield p.name, p.statement, _micros(p.prepared_at), types, p.from_sql, 0, 0


def _pg_stat_progress_copy(context: SystemContext) -> Iterator[Row]:
    """Yield the progress of each running COPY. For the COPY of a session whose activity the role may not see, only the
    process and the database are shown; the other columns are null (pgstatfuncs.c, pg_stat_get_progress_info).
    """
    copies, _, shown = _progress(context)
    for c in copies:
        if c.pid in shown:
            yield c.pid, DATABASE_OID, c.database, c.relation, c.command, c.type, c.bytes, c.size, c.rows, c.excluded
        else:
            yield c.pid, DATABASE_OID, c.database, *(None,) * 7


def _maintenance(context: SystemContext, command: str, width: int) -> Iterator[tuple[MaintenanceProgress, Row | None]]:
    """Yield the tables that statements of a kind are processing, each with the row to show if the role may not see the
    rest, else None. width: of a row.
    """
    _, tables, shown = _progress(context)
    for found in tables:
        if found.command == command:
            hidden = found.pid, DATABASE_OID, found.database, *(None,) * (width - 3)
            yield found, None if found.pid in shown else hidden


def _pg_stat_progress_vacuum(context: SystemContext) -> Iterator[Row]:
    for m, hidden in _maintenance(context, "VACUUM", 11):
        yield hidden or (
            m.pid, DATABASE_OID, m.database, m.relation, m.phase, m.pages, m.pages_done, m.pages_done, 0, 0, 0
        )  # fmt: skip


def _pg_stat_progress_analyze(context: SystemContext) -> Iterator[Row]:
    for m, hidden in _maintenance(context, "ANALYZE", 12):
        yield hidden or (
            m.pid, DATABASE_OID, m.database, m.relation, m.phase, m.pages, m.pages_done, 0, 0, 0, 0, 0
        )  # fmt: skip


def _pg_stat_progress_cluster(context: SystemContext) -> Iterator[Row]:
    for m, hidden in _maintenance(context, "VACUUM FULL", 12):
        yield hidden or (
            m.pid, DATABASE_OID, m.database, m.relation, m.command, m.phase, 0, m.rows, m.rows, m.pages, m.pages_done, 0
        )  # fmt: skip


def _connections(context: SystemContext) -> Iterator[Row]:
    for a in context.client.activity():
        if context.may_see(a.user):
            client = _address(a.client_address), a.client_port
            yield a.pid, _address(a.server_address), a.server_port, _STARTED, *client


SYSTEM: Final = (
    SystemRelation(
        15_908,
        "connections",
        "pid int4, server_addr inet, server_port int4, server_start timestamptz, client_addr inet, client_port int4",
        _connections,
        volatile=True,
        schema=SLUICE,
    ),
    postgres("pg_stat_activity", _pg_stat_activity, volatile=True),
    postgres("pg_cursors", _pg_cursors, volatile=True),
    postgres("pg_prepared_statements", _pg_prepared_statements, volatile=True),
    postgres("pg_stat_progress_copy", _pg_stat_progress_copy, volatile=True),
    postgres("pg_stat_progress_vacuum", _pg_stat_progress_vacuum, volatile=True),
    postgres("pg_stat_progress_analyze", _pg_stat_progress_analyze, volatile=True),
    postgres("pg_stat_progress_cluster", _pg_stat_progress_cluster, volatile=True),
)
