"""What the session and its neighbours are doing: pg_settings, pg_stat_activity, pg_cursors, pg_prepared_statements,
pg_stat_progress_copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.catalog.system.declared import Row, SystemContext, SystemRelation

#: What is shown of another role's session from its client's address on, to who is neither of that role nor a superuser.
_HIDDEN: Final = (*(None,) * 9, "<insufficient privilege>", None)


def _micros(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1_000_000)


def _pg_settings(context: SystemContext) -> Iterator[Row]:
    for name, value, description in context.settings.all():
        yield name, value, None, description, "user", "session"


def _pg_stat_activity(context: SystemContext) -> Iterator[Row]:
    for a in context.client.activity():
        user = context.snapshot.roles.of(a.user).oid
        if not context.may_see(a.user):
            yield 5, a.database, a.pid, user, a.user, a.application_name, *_HIDDEN
            continue
        yield (
            5, a.database, a.pid, user, a.user, a.application_name, a.client_address, a.client_port, _micros(a.backend_start),
            _micros(a.transaction_start), _micros(a.query_start), _micros(a.state_change), None, None, a.state, a.query,
            "client backend",
        )  # fmt: skip


def _pg_cursors(context: SystemContext) -> Iterator[Row]:
    for c in context.client.cursors():
        yield c.name, c.statement, c.holdable, c.binary, c.scrollable, _micros(c.created)


def _pg_prepared_statements(context: SystemContext) -> Iterator[Row]:
    for p in context.client.prepared_statements():
        types = [typ.sql_name for typ in p.parameters]
        yield p.name, p.statement, _micros(p.prepared_at), types, p.from_sql


def _pg_stat_progress_copy(context: SystemContext) -> Iterator[Row]:
    for c in context.copies():
        yield c.pid, 5, c.database, c.relation, c.command, c.type, c.bytes, c.size, c.rows, c.excluded


SYSTEM: Final = (
    SystemRelation(
        12_101,
        "pg_settings",
        "name text, setting text, unit text, short_desc text, context text, source text",
        _pg_settings,
        volatile=True,
    ),
    SystemRelation(
        12_102,
        "pg_stat_activity",
        "datid oid, datname name, pid int4, usesysid oid, usename name, application_name text, client_addr text, "
        "client_port int4, backend_start timestamptz, xact_start timestamptz, query_start timestamptz, "
        "state_change timestamptz, wait_event_type text, wait_event text, state text, query text, backend_type text",
        _pg_stat_activity,
        volatile=True,
    ),
    SystemRelation(
        12_103,
        "pg_cursors",
        "name text, statement text, is_holdable bool, is_binary bool, is_scrollable bool, creation_time timestamptz",
        _pg_cursors,
        volatile=True,
    ),
    SystemRelation(
        12_104,
        "pg_prepared_statements",
        "name text, statement text, prepare_time timestamptz, parameter_types text[], from_sql bool",
        _pg_prepared_statements,
        volatile=True,
    ),
    SystemRelation(
        12_112,
        "pg_stat_progress_copy",
        "pid int4, datid oid, datname name, relid oid, command text, type text, bytes_processed int8, bytes_total int8, "
        "tuples_processed int8, tuples_excluded int8",
        _pg_stat_progress_copy,
        volatile=True,
    ),
)
