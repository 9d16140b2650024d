"""pg_stat_statements and pg_stat_statements_info, which are an extension in PostgreSQL and built in here.

Columns are those of version 1.10, which comes with PostgreSQL 15, followed by `engine`. Planning time is included in
execution time, so plans are 0; so are the columns about blocks, WAL and JIT, which do not exist here. Statements of
other roles are shown as in pg_stat_activity: without text and id.

Both show the sums over all members: processes behind one address are one server to its clients, and a balancer gives
each statement to any member. Members are asked when the rows are made, as in `engine.pg_catalog.cluster`.

Source: PostgreSQL 15, pg_stat_statements.c (pg_stat_statements_internal).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from engine.catalog.model.rights import DATABASE_OID
from engine.contracts.activity import StatementsKept
from engine.pg_catalog.declared import HIDDEN, Row, SystemContext, SystemRelation
from engine.pg_catalog.merged_statements import merge_statements

_COLUMNS: Final = (
    "userid oid, dbid oid, toplevel bool, queryid int8, query text, plans int8, total_plan_time float8, min_plan_time float8, "
    "max_plan_time float8, mean_plan_time float8, stddev_plan_time float8, calls int8, total_exec_time float8, "
    "min_exec_time float8, max_exec_time float8, mean_exec_time float8, stddev_exec_time float8, rows int8, "
    "shared_blks_hit int8, shared_blks_read int8, shared_blks_dirtied int8, shared_blks_written int8, local_blks_hit int8, "
    "local_blks_read int8, local_blks_dirtied int8, local_blks_written int8, temp_blks_read int8, temp_blks_written int8, "
    "blk_read_time float8, blk_write_time float8, temp_blk_read_time float8, temp_blk_write_time float8, wal_records int8, "
    "wal_fpi int8, wal_bytes numeric, jit_functions int8, jit_generation_time float8, jit_inlining_count int8, "
    "jit_inlining_time float8, jit_optimization_count int8, jit_optimization_time float8, jit_emission_count int8, "
    "jit_emission_time float8, engine text"
)
_PLANS: Final = (0, 0.0, 0.0, 0.0, 0.0, 0.0)
_BLOCKS: Final = (*(0,) * 10, *(0.0,) * 4)
_WAL: Final = (0, 0, 0)
_JIT: Final = (0, 0.0) * 4


def _pg_stat_statements(context: SystemContext) -> Iterator[Row]:
    for e in merge_statements(_member_statements(context)):
        shown = context.may_see(e.user)
        query = (e.query_id, e.text) if shown else (None, HIDDEN)
        times = (e.total, e.least, e.most, e.mean, e.deviation)
        user = context.snapshot.roles.of(e.user).oid
        yield user, DATABASE_OID, True, *query, *_PLANS, e.calls, *times, e.rows, *_BLOCKS, *_WAL, *_JIT, e.engine


def _pg_stat_statements_info(context: SystemContext) -> Iterator[Row]:
    kept = _member_statements(context)
    yield sum(each.deallocations for each in kept), round(min(each.since for each in kept) * 1_000_000)


def _member_statements(context: SystemContext) -> Sequence[StatementsKept]:
    """Return the statements of each member, this one first."""
    if all(member.local for member in context.members):
        return [context.client.statement_statistics()]
    told = context.client.cluster("statements").told.values()
    return [answer.kept for answer in told if answer.kept is not None] or [context.client.statement_statistics()]


SYSTEM: Final = (
    SystemRelation(15_920, "pg_stat_statements", _COLUMNS, _pg_stat_statements, volatile=True),
    SystemRelation(
        15_921,
        "pg_stat_statements_info",
        "dealloc int8, stats_reset timestamptz",
        _pg_stat_statements_info,
        volatile=True,
    ),
)
