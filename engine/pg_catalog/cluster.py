"""The schema `sluice`: what this member knows of the cluster, and what it does. Everybody may read it; lite members have it too.

`queries` has those that this member initiated, and not those of the others: a statement's relations are made before it runs,
from what is at hand, and a question to every member (with a deadline, and an answer for those that keep silent) would make each
look at one's own queries as slow as the slowest member. An id is wanted where its cursor was made; whoever looks after a
cluster asks each member, as with pg_stat_activity. What a query of somebody else does is hidden as there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.catalog.snapshot import SLUICE
from engine.contracts.executor import QueryId
from engine.pg_catalog.declared import Row, SystemContext, SystemRelation


def _members(context: SystemContext) -> Iterator[Row]:
    for m in context.members:
        yield m.id, m.mesh, m.client, m.role, m.state, m.load, m.version, m.incarnation, m.local


def _queries(context: SystemContext) -> Iterator[Row]:
    for q in context.client.queries():
        member, started = QueryId.parse(q.query).initiator, round(q.started * 1_000_000)
        if context.may_see(q.user):
            yield q.query, member, q.pid, q.user, q.database, q.cursor, q.statement, q.state, started, q.rows
        else:
            yield q.query, member, q.pid, q.user, q.database, None, "<insufficient privilege>", None, None, None


SYSTEM: Final = (
    SystemRelation(
        15_901,
        "members",
        "id text, address text, client_address text, role text, state text, load int4, version text, incarnation text, "
        "is_local bool",
        _members,
        volatile=True,
        schema=SLUICE,
    ),
    SystemRelation(
        15_902,
        "queries",
        "query_id text, member text, pid int4, usename name, datname name, cursor text, statement text, state text, "
        "started timestamptz, rows int8",
        _queries,
        volatile=True,
        schema=SLUICE,
    ),
)
