"""Queries over members in one process: rows arrive, errors report their cause, and nothing is left however a query
ends.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from support.mesh_ground import MeshMember, gathered, mesh, rows
from support.session_server import eventually

from engine.plan_ir.spec import ChannelSpec, EdgeSpec, FragmentSpec, InstanceSpec, MemberSpec, RouterSpec, SharedSpec
from engine.runtime.distributed_stream import DistributedStream
from engine.runtime.run_inputs import RunInputs
from server.cluster.mesh_link import MeshLink
from wire.errors import SqlError
from wire.mesh.control_messages import CheckResponse, ControlMessage, OpenChannel, Start

_ONE = pa.schema([("c1", pa.int64())])
_KEYED = pa.schema([("c1", pa.int64()), ("sort_key", pa.binary())])
_TOKENS = itertools.count(1)


@pytest.fixture
async def members(tmp_path: Path) -> AsyncIterator[list[MeshMember]]:
    async with mesh(tmp_path, 3) as started:
        yield started


def _open(members: list[MeshMember], plan: tuple[bytes, object], schema: pa.Schema = _ONE) -> DistributedStream:
    shared, specs = plan
    return members[0].runtime.open(f"m1:{next(_TOKENS)}", shared, specs, schema)  # type: ignore[arg-type]


async def test_rows_of_all_members_arrive(members: list[MeshMember]) -> None:
    plan = gathered(members, "select range as c1 from range($number * 100000, $number * 100000 + 100000)", _ONE)
    found = await rows(_open(members, plan))
    assert sorted(found) == [(n,) for n in range(300_000)]


async def test_a_statement_over_what_arrived(members: list[MeshMember]) -> None:
    plan = gathered(
        members, "select sum(range)::bigint as c1 from range(1000)", _ONE, root="select sum(c1)::bigint c1 from edge_1"
    )
    assert await rows(_open(members, plan)) == [(3 * 499_500,)]


async def test_ordered_streams_are_merged(members: list[MeshMember]) -> None:
    key = "create_sort_key(range, 'DESC NULLS LAST') as sort_key"
    statement = f"select range as c1, {key} from range($number, 30000, 3) order by 1 desc"
    plan = gathered(members, statement, _KEYED, synchronizer="ordered")
    assert await rows(_open(members, plan)) == [(n,) for n in range(29_999, -1, -1)]


async def test_sequential_streams_come_one_after_another(members: list[MeshMember]) -> None:
    statement = "select range as c1 from range($number * 1000, $number * 1000 + 1000)"
    plan = gathered(members, statement, _ONE, synchronizer="sequential")
    assert await rows(_open(members, plan)) == [(n,) for n in range(3000)]


async def test_a_stream_whose_turn_is_far_is_not_begun(members: list[MeshMember]) -> None:
    statement = "select range as c1 from range($number * 1000000000, $number * 1000000000 + 1000000000)"
    stream = _open(members, gathered(members, statement, _ONE, synchronizer="sequential", count=10))
    assert await stream.next_batch() is not None
    await eventually(lambda: members[0].waits_to_be_read(2))
    assert members[2].local.statistics()["streams"] == 0
    assert await rows(stream) == []


async def test_a_limit_stops_its_producers(members: list[MeshMember]) -> None:
    endless = "select range as c1 from range(1000000000000)"
    plan = gathered(members, endless, _ONE, skip=5, count=10_000)
    assert len(await rows(_open(members, plan))) == 10_000


async def test_an_error_tells_its_cause(members: list[MeshMember]) -> None:
    overflow = "case when $number = 2 and range = 5000 then 9223372036854775807 + range else range end"
    statement = f"select {overflow} as c1 from range(1000000)"
    with pytest.raises(SqlError) as caught:
        await rows(_open(members, gathered(members, statement, _ONE)))
    assert caught.value.sqlstate == "22003"


async def test_a_portal_that_is_closed_early_leaves_nothing(members: list[MeshMember]) -> None:
    stream = _open(members, gathered(members, "select range as c1 from range(1000000000000)", _ONE))
    assert await stream.next_batch() is not None
    await stream.close()


async def test_a_stopped_consumer_holds_no_more_than_its_windows(members: list[MeshMember]) -> None:
    stream = _open(members, gathered(members, "select range as c1 from range(1000000000000)", _ONE))
    assert await stream.next_batch() is not None
    await eventually(lambda: members[0].waits_to_be_read(3))
    window = 2 * (1 << 16)
    assert members[0].runtime.statistics()["held_bytes"] <= 3 * (window + (1 << 17))
    await stream.close()


async def test_many_suspended_queries_hold_no_thread(members: list[MeshMember]) -> None:
    endless = gathered(members, "select range as c1 from range(1000000000000)", _ONE, page_bytes=1 << 14)
    suspended = [_open(members, endless) for _ in range(40)]
    for stream in suspended:
        assert await stream.next_batch() is not None
    assert await rows(_open(members, gathered(members, "select 1::bigint as c1", _ONE))) == [(1,)] * 3
    for stream in suspended:
        await stream.close()


async def test_hash_exchange_between_all(members: list[MeshMember]) -> None:
    names = tuple(member.name for member in members)
    schema = pa.schema([("c1", pa.int64())])
    sums = pa.schema([("c1", pa.int64()), ("c2", pa.int64())])
    edges = (
        EdgeSpec(1, schema.serialize().to_pybytes(), RouterSpec("hash"), "unsynchronized", names, names),
        EdgeSpec(2, sums.serialize().to_pybytes(), RouterSpec("single"), "unsynchronized", names, names[:1]),
    )
    leaf = "select (range % 1000)::bigint as c1, (hash(range % 1000) % 3)::int as bucket from range(100000)"
    middle = "select c1, count(*)::bigint as c2 from edge_1 group by c1"
    fragments = (
        FragmentSpec(1, "local", leaf, (), 1),
        FragmentSpec(2, "local", middle, (1,), 2),
        FragmentSpec(3, "local", None, (2,), None),
    )
    shared = msgspec.msgpack.encode(SharedSpec(edges, fragments, "UTC", 1 << 16))
    specs = {
        name: MemberSpec(
            msgspec.Raw(shared),
            (InstanceSpec(1, n), InstanceSpec(2, n), *([InstanceSpec(3, 0)] if n == 0 else [])),
        )
        for n, name in enumerate(names)
    }
    found = await rows(_open(members, (shared, specs), sums))
    assert sorted(found) == [(n, 300) for n in range(1000)]


async def test_a_lost_participant_fails_the_query_with_its_name(members: list[MeshMember]) -> None:
    stream = _open(members, gathered(members, "select range as c1 from range(1000000000000)", _ONE))
    assert await stream.next_batch() is not None
    lost = members.pop()
    await lost.runtime.close()
    await lost.leave()
    with pytest.raises(SqlError) as caught:
        await rows(stream)
    assert caught.value.sqlstate in ("40001", "57P01")
    await lost.close()
    await eventually(lambda: not any(members[0].held().values()))


async def test_a_member_that_is_lost_after_all_of_its_rows_came_is_no_loss(members: list[MeshMember]) -> None:
    """They are with the initiator, whose portal has given some of them."""
    stream = _open(members, gathered(members, "select range as c1 from range(5000)", _ONE))
    await eventually(lambda: stream.is_whole and not members[1].runtime.load and not members[2].runtime.load)
    first = await stream.next_batch()
    assert first is not None
    lost = members.pop()
    await lost.leave()
    await eventually(lambda: members[0].sees(2))
    assert first.num_rows + len(await rows(stream)) == 3 * 5000
    await lost.close()
    await eventually(lambda: not any(members[0].held().values()))


async def test_a_lost_initiator_ends_its_queries_everywhere(members: list[MeshMember]) -> None:
    stream = _open(members, gathered(members, "select range as c1 from range(1000000000000)", _ONE))
    assert await stream.next_batch() is not None
    assert members[1].runtime.load == 1
    await members[0].leave()
    await eventually(lambda: not any(members[1].held().values()) and not any(members[2].held().values()))
    await stream.close()


async def test_a_member_may_leave_when_no_query_needs_it(members: list[MeshMember]) -> None:
    """Its part is over and all its rows are with the initiator, whose portal has not given them yet."""
    stream = _open(members, gathered(members, "select range as c1 from range(1000)", _ONE))
    await eventually(lambda: members[0].runtime.statistics()["held_bytes"] >= 3 * 8 * 1000)
    await eventually(lambda: members[1].runtime.load == 0)
    leaving = asyncio.ensure_future(members[1].runtime.idle())
    assert await stream.next_batch() is not None
    assert not leaving.done()
    assert len(await rows(stream)) > 0
    await leaving
    await members[0].runtime.idle()


async def test_only_the_initiator_may_say_that_a_leaving_member_is_not_needed(members: list[MeshMember]) -> None:
    """The part of m2 is over; those of m1 and m3 are not."""
    endless = "select range as c1 from range(case $number when 1 then 300000 else 1000000000000 end)"
    shared, specs = gathered(members, endless, _ONE)
    query = f"m1:{next(_TOKENS)}"
    stream = members[0].runtime.open(query, shared, specs, _ONE)
    await eventually(lambda: members[1].runtime.load == 1)
    while members[1].runtime.load:
        assert await stream.next_batch() is not None
    leaving = asyncio.ensure_future(members[1].runtime.idle())
    assert members[2].link.send("m2", CheckResponse((query,)))
    # What the same member starts afterwards runs when the message has been read.
    others = members[:0:-1]
    shared, specs = gathered(others, "select range as c1 from range(10)", _ONE)
    assert len(await rows(others[0].runtime.open(f"m3:{next(_TOKENS)}", shared, specs, _ONE))) == 2 * 10
    await eventually(lambda: members[1].runtime.load == 0)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(leaving), 0.1)
    await stream.close()
    await leaving


async def test_a_plan_that_cannot_be_read_is_refused(members: list[MeshMember]) -> None:
    shared, specs = gathered(members, "select 1::bigint as c1", _ONE)
    broken = {**specs, "m2": MemberSpec(msgspec.Raw(b"\xc1"), ())}
    with pytest.raises(SqlError, match="plan could not be read"):
        await rows(_open(members, (shared, broken)))


async def test_where_the_initiator_receives_is_told_by_the_start(
    members: list[MeshMember], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[type[ControlMessage]] = []
    send = MeshLink.send

    def heard(link: MeshLink, member: str, message: ControlMessage, body: bytes = b"") -> bool:
        said.append(type(message))
        return send(link, member, message, body)

    monkeypatch.setattr(MeshLink, "send", heard)
    assert await rows(_open(members, gathered(members, "select 1::bigint as c1", _ONE))) == [(1,)] * 3
    assert said == [Start, Start]
    in_turn = gathered(members, "select $number::bigint as c1", _ONE, synchronizer="sequential")
    assert await rows(_open(members, in_turn)) == [(0,), (1,), (2,)]
    assert said.count(OpenChannel) == 2


async def test_a_stream_that_is_refused_where_the_start_said_asks(
    members: list[MeshMember], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = (ChannelSpec(1, 0, "mesh/0", b"nobody's"),)
    monkeypatch.setattr(RunInputs, "own_channels", lambda _run: elsewhere)
    assert await rows(_open(members, gathered(members, "select 1::bigint as c1", _ONE))) == [(1,)] * 3
    assert members[0].listener.denied == 2
