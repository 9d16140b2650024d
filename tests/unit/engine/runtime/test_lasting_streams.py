"""Streams that outlive their connections (`sluice.fault_policy = wait`): members in one process, whose data connections are cut."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.mesh_ground import MeshMember, gathered, mesh, rows
from support.session_server import eventually

from engine.exchange.listener import DataConnection
from engine.exchange.outbound import ConnectionBroken
from engine.runtime import channels
from engine.runtime.distributed_stream import DistributedStream

_ONE = pa.schema([("c1", pa.int64())])
_KEYED = pa.schema([("c1", pa.int64()), ("sort_key", pa.binary())])
_TOKENS = itertools.count(1)
_ENDLESS = "select range as c1 from range(1000000000000)"


@pytest.fixture
async def members(tmp_path: Path) -> AsyncIterator[list[MeshMember]]:
    async with mesh(tmp_path, 3) as started:
        yield started


def _open(
    members: list[MeshMember], statement: str, schema: pa.Schema = _ONE, notices: list[str] | None = None, **more: Any
) -> DistributedStream:
    shared, specs = gathered(members, statement, schema, lasting=True, **more)
    told = [] if notices is None else notices
    return members[0].runtime.open(f"m1:{next(_TOKENS)}", shared, specs, schema, told.append)


def _cut(member: MeshMember) -> int:
    """Reset the data connections to a member. How many there were."""
    broken = [link for link in member.listener._connections if isinstance(link, DataConnection)]
    for link in broken:
        link.abort()
    return len(broken)


def _carried(member: MeshMember) -> int:
    """How many streams into a member have a connection that they were admitted over."""
    [mailbox] = member.runtime.mailboxes._mailboxes.values()
    links = [stream._link for stream in mailbox.receiver.streams.by_partition.values()]
    return len([link for link in links if link in member.listener._connections])


async def _numbers(stream: DistributedStream, member: MeshMember, cuts: int) -> tuple[list[int], int]:
    """All rows of a query whose connections are cut after batches, so often; how many connections that were."""
    found: list[int] = []
    broken = 0
    try:
        while (batch := await stream.next_batch()) is not None:
            found += batch.column(0).to_pylist()
            # A connection over which no stream has been admitted yet is made again without a word.
            if cuts and _carried(member) and (count := _cut(member)):
                cuts, broken = cuts - 1, broken + count
        return found, broken
    finally:
        await stream.close()


@pytest.mark.parametrize("cuts", [1, 1000])
async def test_every_row_arrives_once(members: list[MeshMember], cuts: int) -> None:
    notices: list[str] = []
    statement = "select range as c1 from range($number * 200000, $number * 200000 + 200000)"
    found, broken = await _numbers(_open(members, statement, notices=notices), members[0], cuts)
    assert broken
    assert sorted(found) == list(range(600_000))
    assert any("a data connection from member m" in notice for notice in notices)


async def test_merged_streams_keep_their_order(members: list[MeshMember]) -> None:
    key = "create_sort_key(range, 'DESC NULLS LAST') as sort_key"
    statement = f"select range as c1, {key} from range($number, 300000, 3) order by 1 desc"
    found, broken = await _numbers(_open(members, statement, _KEYED, synchronizer="ordered"), members[0], 1000)
    assert broken
    assert found == list(range(299_999, -1, -1))


async def test_sequential_streams_keep_their_order(members: list[MeshMember]) -> None:
    statement = "select range as c1 from range($number * 100000, $number * 100000 + 100000)"
    found, broken = await _numbers(_open(members, statement, synchronizer="sequential"), members[0], 1000)
    assert broken
    assert found == list(range(300_000))


async def test_batches_larger_than_the_window(members: list[MeshMember]) -> None:
    statement = "select range * 100000 + $number as c1 from range(20000)"
    found, broken = await _numbers(_open(members, statement, page_bytes=1 << 10), members[0], 1000)
    assert broken
    assert sorted(found) == sorted(n * 100_000 + m for n in range(20_000) for m in range(3))


async def test_a_suspended_portal_holds_no_more_than_its_windows(members: list[MeshMember]) -> None:
    """However often its connections break."""
    stream = _open(members, _ENDLESS)
    most, window = [], 2 * (1 << 16)
    try:
        assert await stream.next_batch() is not None
        for _ in range(10):
            await eventually(lambda: _carried(members[0]) == 2 and members[0].waits_to_be_read(3))
            most.append(members[0].runtime.statistics()["held_bytes"])
            _cut(members[0])
    finally:
        await stream.close()
    assert max(most) <= 3 * (window + (1 << 17))


async def test_closing_ends_the_attempts_to_connect(members: list[MeshMember], monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then the query waits. (That nothing is left is the fixture's to see.)"""
    attempts: list[str] = []

    async def fails(*_arguments: object, member: str, **_more: object) -> None:
        attempts.append(member)
        raise ConnectionBroken("there is no way")

    stream = _open(members, _ENDLESS)
    try:
        assert await stream.next_batch() is not None
        await eventually(lambda: _carried(members[0]) == 2)
        monkeypatch.setattr(channels, "open_remote", fails)
        assert _cut(members[0]) == 2
        await eventually(lambda: len(attempts) > 4)
        assert set(attempts) == {"m1"}
        running = asyncio.ensure_future(rows(stream))
        await eventually(lambda: len(attempts) > 6)
        assert not running.done()
        running.cancel()
    finally:
        await stream.close()
