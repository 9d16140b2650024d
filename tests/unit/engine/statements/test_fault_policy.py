"""The effect of `sluice.fault_policy` when a member is lost: over real members in one process, of which one leaves."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp
from support.mesh_ground import MeshMember, gathered, mesh, rows
from support.session_server import eventually

from engine.common import sql_type as st
from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext, OutputColumn
from engine.contracts.mesh import Mesh
from engine.contracts.query_id import QueryId
from engine.exchange.listener import DataConnection
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.planner.planner import Choice
from engine.statements.shared.distribution import CompiledQuery, DistributedQuery
from engine.statements.shared.fault_policy import REPEATS_MAX, Policy, RepeatableQuery, Repetition
from engine.statements.shared.terms import Terms
from wire.errors import About, SerializationFailure, SqlError
from wire.types import pg_types as t

_ONE = pa.schema([("c1", pa.int64())])
_TOKENS = itertools.count(1)
_LONG = "select count(*)::bigint as c1 from range(100000000) a, range(1000000) b where a.range % 7 = b.range % 11"
_SHORT = "select 1::bigint as c1"
_TOTAL = "select sum(c1)::bigint c1 from edge_1"
_CHOICE = Choice("local", "")
_TERMS = Terms("local", "always", 1 << 20, 1 << 16)


@pytest.fixture
async def members(tmp_path: Path) -> AsyncIterator[list[MeshMember]]:
    async with mesh(tmp_path, 3) as started:
        yield started


@dataclass
class Asked:
    """A statement on each member and their total, asked on the first. It takes long on the first `long` attempts."""

    members: list[MeshMember]
    policy: Policy
    long: int = 1
    on: Callable[[], Sequence[MeshMember]] | None = None
    pinned: bool = False
    root: str | None = _TOTAL
    statement: str = _SHORT
    spool_limit: int = 1 << 30
    attempts: list[Terms] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def mesh(self) -> Mesh:
        return self.members[0].link

    async def open(self, query: CompiledQuery, context: ExecutionContext) -> BatchStream:
        """Open a query as `engine.engine.Engine` does."""
        first = self.members[0]
        if isinstance(query.runs, CompiledFragment):
            return await first.local.open(query.runs, context)
        runs = query.runs
        return first.runtime.open(str(context.query), runs.shared, runs.members, runs.schema, context.notice)

    async def begin(self) -> BatchStream:
        return await RepeatableQuery(self, self.policy, _TERMS, self.compiled, self.context()).open()

    def context(self) -> ExecutionContext:
        settings = {"spool_limit": self.spool_limit}
        return ExecutionContext(self.new_query_id(), notice=self.notices.append, settings=settings)

    def new_query_id(self) -> QueryId:
        return QueryId("m1", next(_TOKENS))

    async def compiled(self, terms: Terms) -> CompiledQuery:
        self.attempts.append(terms)
        if terms.distribution == "off" and not self.pinned:
            column = OutputColumn("c1", st.of(t.INT8))
            answer = exp.select(exp.alias_(exp.Literal.number(42), "c1"))
            return CompiledQuery(_CHOICE, CompiledFragment("local", answer, (column,)))
        statement = _LONG if len(self.attempts) <= self.long else self.statement
        there = self.on() if self.on is not None else self.members
        shared, specs = gathered(there, statement, _ONE, root=self.root, lasting=terms.lasting)
        return CompiledQuery(_CHOICE, DistributedQuery(shared, specs, _ONE))


async def _lose(members: list[MeshMember], asked: Asked) -> None:
    """The last member goes, as soon as all take part."""
    await eventually(lambda: all(member.runtime.load for member in members))
    lost = members.pop()
    asked.members = members
    await lost.leave()
    await lost.close()


async def _fails(running: Any) -> SqlError:
    with pytest.raises(SqlError) as caught:
        await running
    assert caught.value.sqlstate in ("40001", "57P01")
    return caught.value


#: The end of the notice that under `wait` comes before that of the loss, where the data connection breaks first.
_INTERRUPTED = "the query goes on when it is connected again"


def _repeats(asked: Asked) -> list[str]:
    return [notice for notice in asked.notices if not notice.endswith(_INTERRUPTED)]


def _told(asked: Asked, what: str) -> None:
    """One notice: the loss, in the words of whoever noticed first, and what is done about it."""
    [notice] = _repeats(asked)
    loss, _, then = notice.partition("; ")
    assert "member m3" in loss
    assert then == what


async def test_fail_tells_the_loss(members: list[MeshMember]) -> None:
    asked = Asked(members, "fail")
    running = asyncio.ensure_future(rows(await asked.begin()))
    await _lose(members, asked)
    assert "m3" in str(await _fails(running))
    assert len(asked.attempts) == 1


async def test_retry_begins_again_on_those_that_are_left(members: list[MeshMember]) -> None:
    asked = Asked(members, "retry")
    running = asyncio.ensure_future(rows(await asked.begin()))
    await _lose(members, asked)
    assert await running == [(2,)]
    _told(asked, "it runs again on m1, m2")


async def test_retry_ends(members: list[MeshMember]) -> None:
    """The plan keeps to a member that is gone, as one of tables that only it holds does."""
    everybody = list(members)
    asked = Asked(members, "retry", on=lambda: everybody)
    running = asyncio.ensure_future(rows(await asked.begin()))
    await _lose(members, asked)
    assert "m3" in str(await _fails(running))
    assert len(asked.attempts) == 1 + REPEATS_MAX


@pytest.mark.parametrize("policy", ["retry", "local", "wait"])
async def test_nothing_is_repeated_once_rows_were_given(members: list[MeshMember], policy: Policy) -> None:
    endless = "select range as c1 from range(1000000000000)"
    asked = Asked(members, policy, long=0, root=None, statement=endless)
    stream = await asked.begin()
    assert await stream.next_batch() is not None
    await _lose(members, asked)
    error = await _fails(rows(stream))
    assert "m3" in error.message
    assert f"does not run again (sluice.fault_policy is {policy})" in (error.detail or "")
    assert (error.hint or "").startswith("The statement may be repeated")
    assert len(asked.attempts) == 1


async def test_the_refusal_to_repeat_keeps_what_the_error_says(members: list[MeshMember]) -> None:
    asked = Asked(members, "retry")
    query = RepeatableQuery(asked, "retry", _TERMS, asked.compiled, asked.context())
    error = SerializationFailure("lost", detail="A member is gone.", hint="Wait.", position=7, about=About(table="t"))
    error.context = "COPY t, line 1"
    refusal = Repetition(query, ["m1"]).explain_refusal(error)
    assert type(refusal) is SerializationFailure
    assert (refusal.message, refusal.sqlstate, refusal.position) == ("lost", "40001", 7)
    assert (refusal.about, refusal.context) == (About(table="t"), "COPY t, line 1")
    assert (refusal.detail or "").startswith("A member is gone. Its rows have reached the client")
    assert (error.detail, error.hint) == ("A member is gone.", "Wait.")


async def test_errors_of_the_statement_are_not_repeated(members: list[MeshMember]) -> None:
    asked = Asked(members, "retry", long=0, statement="select error('22012')::bigint as c1")
    with pytest.raises(SqlError):
        await rows(await asked.begin())
    assert len(asked.attempts) == 1


async def test_local_runs_on_the_initiator_alone(members: list[MeshMember]) -> None:
    asked = Asked(members, "local")
    running = asyncio.ensure_future(rows(await asked.begin()))
    await _lose(members, asked)
    assert await running == [(42,)]
    assert [terms.distribution for terms in asked.attempts] == ["always", "off"]
    _told(asked, "it runs again on member m1 alone")


async def test_local_fails_where_only_others_hold_the_tables(members: list[MeshMember]) -> None:
    asked = Asked(members, "local", pinned=True)
    running = asyncio.ensure_future(rows(await asked.begin()))
    await _lose(members, asked)
    assert "m3" in str(await _fails(running))
    assert len(asked.attempts) == 2


@pytest.mark.parametrize("first", ["control", "data"])
async def test_wait_goes_on_when_the_member_is_back(members: list[MeshMember], tmp_path: Path, first: str) -> None:
    """first: the connections that the initiator loses first. Where all break at once, chance decides."""
    asked = Asked(members, "wait")
    running = asyncio.ensure_future(rows(await asked.begin()))
    if first == "data":
        await eventually(lambda: all(member.runtime.load for member in members))
        await eventually(lambda: _break_connections(members[0]) or bool(asked.notices))
        assert asked.notices[0].endswith(_INTERRUPTED)
    await _lose(members, asked)
    await eventually(lambda: bool(_repeats(asked)))
    _told(asked, "it waits for m3")
    assert len(asked.attempts) == 1
    await _start_again(members, tmp_path / "again")
    assert await running == [(3,)]


def _break_connections(member: MeshMember) -> bool:
    """Break the data connections that others have to a member. One that no stream has yet is missed by nobody: False."""
    for connection in list(member.listener._connections):
        if isinstance(connection, DataConnection):
            connection.abort()
    return False


async def _start_again(members: list[MeshMember], folder: Path) -> None:
    back = MeshMember("m3", folder, [members[0].address])
    await back.start()
    members.append(back)


async def test_wait_is_for_all_members_also_while_it_plans(members: list[MeshMember], tmp_path: Path) -> None:
    """A member that is lost again before the next attempt has its plan is waited for, and not left out of it."""
    lost_again = asyncio.Event()

    class LostWhilePlanned(Asked):
        async def compiled(self, terms: Terms) -> CompiledQuery:
            if len(self.attempts) == 1 and not lost_again.is_set():
                lost = members.pop()
                await lost.leave()
                await lost.close()
                await eventually(lambda: members[0].sees(2))
                lost_again.set()
            return await super().compiled(terms)

    asked = LostWhilePlanned(members, "wait")
    running = asyncio.ensure_future(rows(await asked.begin()))
    await _lose(members, asked)
    await eventually(lambda: bool(_repeats(asked)))
    await _start_again(members, tmp_path / "again")
    await lost_again.wait()
    await _start_again(members, tmp_path / "once more")
    assert await running == [(3,)]
    assert [terms.distribution for terms in asked.attempts] == ["always"] * 3


async def test_waiting_ends_with_its_stream(members: list[MeshMember]) -> None:
    asked = Asked(members, "wait")
    stream = await asked.begin()
    running = asyncio.ensure_future(stream.next_batch())
    await _lose(members, asked)
    await eventually(lambda: bool(_repeats(asked)))
    await stream.close()
    with pytest.raises(SqlError) as caught:
        await running
    assert caught.value.sqlstate == "57014"


def _spooling(members: list[MeshMember], limit: int, rows_of_each: int = 1_000_000) -> Asked:
    statement = f"select range as c1 from range({rows_of_each})"
    return Asked(members, "spool", long=0, root=None, statement=statement, spool_limit=limit)


async def test_spool_lets_producers_finish_while_the_consumer_is_away(members: list[MeshMember]) -> None:
    stream = await _spooling(members, 1 << 30).begin()
    first = await stream.next_batch()
    assert first is not None
    await eventually(lambda: not any(member.runtime.load for member in members[1:]))
    assert members[0].spooler.bytes_used > 1 << 20
    found = await rows(stream)
    assert sorted(found + [(x,) for x in first.column(0).to_pylist()]) == sorted([(n,) for n in range(1_000_000)] * 3)
    await eventually(lambda: members[0].spooler.bytes_used == 0)


async def test_spooled_rows_outlive_who_sent_them(members: list[MeshMember]) -> None:
    """A member that is lost once all of its rows are on disk is no loss."""
    stream = await _spooling(members, 1 << 30, 100_000).begin()
    first = await stream.next_batch()
    assert first is not None
    await eventually(lambda: not any(member.runtime.load for member in members[1:]))
    assert members[0].spooler.bytes_used > 0
    for left in (2, 1):
        lost = members.pop()
        await lost.leave()
        await eventually(lambda left=left: members[0].sees(left))
        await lost.close()
    assert first.num_rows + len(await rows(stream)) == 300_000
    await eventually(lambda: members[0].spooler.bytes_used == 0)


async def test_spooling_has_a_limit(members: list[MeshMember]) -> None:
    limit = 1 << 20
    stream = await _spooling(members, limit).begin()
    await eventually(lambda: members[0].spooler.bytes_used > limit // 2 and members[0].waits_to_be_read(3))
    assert members[0].spooler.bytes_used <= limit
    assert all(member.runtime.load for member in members)
    assert len(await rows(stream)) == 3_000_000
