"""The schema `sluice`: this member's knowledge of the cluster, and the activity of all members. Every role may read it;
lite members have it too.

When the rows are made, each member is asked for its activity (`server.cluster.activity_routing`), for a bounded time. A
member that is lost or does not answer is missing from the rows, and the client receives a WARNING. The statements of
other roles are hidden as in pg_stat_activity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from engine.catalog.snapshot import SLUICE
from engine.contracts.activity import ClusterReport, StatementReport
from engine.contracts.spark_host import host_of
from engine.pg_catalog.declared import HIDDEN, Row, SystemContext, SystemRelation
from engine.pg_catalog.merged_edges import merge_edges


def _members(context: SystemContext) -> Iterator[Row]:
    for m in context.members:
        host = host_of(context.members, m.spark.key) if m.spark.key else None
        yield (
            m.id, m.mesh, m.client, m.role, m.state, m.load, m.version, m.incarnation, m.local,
            None if host is None else host.id,
        )  # fmt: skip


def _queries(context: SystemContext) -> Iterator[Row]:
    for answer in context.client.cluster("running").told.values():
        for told in answer.running:
            # The statement for which these rows are made is left out.
            if told.state != "planning" or told.pid != context.client.backend_pid:
                yield _statement(context, told)


def _history(context: SystemContext) -> Iterator[Row]:
    for answer in context.client.cluster("finished").told.values():
        for told in answer.finished:
            shown = context.may_see(told.user)
            ended = (_micros(told.ended), told.sqlstate, told.error) if shown else (None, None, None)
            yield *_statement(context, told), *ended


def _statement(context: SystemContext, told: StatementReport) -> Row:
    whose = told.id, told.member, told.pid, told.user, told.database
    if not context.may_see(told.user):
        return *whose, None, HIDDEN, *(None,) * 12
    return (
        *whose, told.portal or "", told.sql, told.state, _micros(told.started), told.rows, told.engine, told.reason,
        *msgspec.structs.astuple(told.phases),
    )  # fmt: skip


def _micros(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1_000_000)


def _visible(context: SystemContext, told: ClusterReport) -> Callable[[str], bool]:
    """Return a function that tells whether the current role may see a query's fragments, streams and jobs: it must be
    allowed to see the statement's owner, or all statements if the owner is unknown.
    """
    owners = {s.query: s.user for answer in told.told.values() for s in answer.running if s.query is not None}
    return lambda query: context.may_see(owners.get(query, ""))


def _fragments(context: SystemContext) -> Iterator[Row]:
    told = context.client.cluster("running", "fragments")
    visible = _visible(context, told)
    for answer in told.told.values():
        for f in answer.fragments:
            if visible(f.query):
                yield f.query, f.fragment, f.instance, f.member, f.engine, f.state, f.rows, f.seconds


def _edges(context: SystemContext) -> Iterator[Row]:
    told = context.client.cluster("running", "edges")
    visible = _visible(context, told)
    for e in merge_edges(edge for answer in told.told.values() for edge in answer.edges):
        if visible(e.query):
            yield (
                e.query, e.edge, e.sender, e.receiver, e.member, e.streams, e.rows, e.bytes, e.credit, e.window,
                e.backlog_bytes, e.stalls, e.stalled_seconds, e.spooled_bytes, e.state,
            )  # fmt: skip


def _spark(context: SystemContext) -> Iterator[Row]:
    for answer in context.client.cluster("spark_jobs").told.values():
        if answer.spark is not None:
            yield msgspec.structs.astuple(answer.spark)


def _spark_jobs(context: SystemContext) -> Iterator[Row]:
    told = context.client.cluster("running", "spark_jobs")
    visible = _visible(context, told)
    for answer in told.told.values():
        for j in answer.spark_jobs:
            if visible(j.query):
                yield j.query, j.member, j.id, j.name, j.stages, j.tasks, j.tasks_done, j.tasks_failed, j.url


_STATEMENT: Final = (
    "query_id text, member text, pid int4, usename name, datname name, cursor text, statement text, state text, "
    "started timestamptz, rows int8, engine text, reason text, parse_seconds float8, bind_seconds float8, "
    "plan_seconds float8, compile_seconds float8, start_seconds float8, first_row_seconds float8, run_seconds float8"
)

SYSTEM: Final = (
    SystemRelation(
        15_901,
        "members",
        "id text, address text, client_address text, role text, state text, load int4, version text, incarnation text, "
        "is_local bool, spark_member text",
        _members,
        volatile=True,
        schema=SLUICE,
    ),
    SystemRelation(15_902, "queries", _STATEMENT, _queries, volatile=True, schema=SLUICE),
    SystemRelation(
        15_910,
        "history",
        f"{_STATEMENT}, ended timestamptz, sqlstate text, error text",
        _history,
        volatile=True,
        schema=SLUICE,
    ),
    SystemRelation(
        15_911,
        "fragments",
        "query_id text, fragment int4, instance int4, member text, engine text, state text, rows int8, seconds float8",
        _fragments,
        volatile=True,
        schema=SLUICE,
    ),
    SystemRelation(
        15_912,
        "edges",
        "query_id text, edge int4, sender int4, receiver int4, member text, streams int4, rows int8, bytes int8, credit int8, "
        "window_bytes int8, backlog_bytes int8, stalls int8, stalled_seconds float8, spooled_bytes int8, state text",
        _edges,
        volatile=True,
        schema=SLUICE,
    ),
    SystemRelation(
        15_913,
        "spark_jobs",
        "query_id text, member text, job_id int4, name text, stages int4, tasks int4, tasks_done int4, tasks_failed int4, url text",
        _spark_jobs,
        volatile=True,
        schema=SLUICE,
    ),
    SystemRelation(
        15_914,
        "spark",
        "member text, master text, state text, waits_for text, wait_seconds float8, executors int4, start_seconds float8",
        _spark,
        volatile=True,
        schema=SLUICE,
    ),
)
