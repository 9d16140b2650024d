"""LISTEN and NOTIFY: the state of a session as a value; what clients see, on one member and on two."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import psycopg
import pytest
from support.paired_mesh import PairedMesh, paired_meshes
from support.session_server import Server, connect, eventually, raw, serve

from server.cluster.notification_routing import NotificationRouter
from server.cluster.routing import ServerMesh
from server.pgwire.listener import ListenerOptions
from server.session import notifications as heard_bounds
from server.session.notifications import Notification, Notifications
from wire.errors import InvalidParameterValue

Connection = psycopg.AsyncConnection[tuple[Any, ...]]

# -- the state ---------------------------------------------------------------------------------------------------------


def test_listening_begins_and_ends_with_the_commit() -> None:
    one = Notifications()
    one.listen("a")
    one.listen("b")
    assert not one.channels
    one.commit()
    assert list(one.channels) == ["a", "b"]
    one.unlisten("a")
    one.rollback()
    assert list(one.channels) == ["a", "b"]
    one.unlisten(None)
    one.listen("c")
    one.commit()
    assert list(one.channels) == ["c"]


def test_what_is_said_twice_in_a_transaction_is_said_once() -> None:
    one = Notifications()
    for channel, payload in (("a", "1"), ("a", "2"), ("b", "1"), ("a", "1")):
        one.notify(channel, payload)
    assert one.commit() == (("a", "1"), ("a", "2"), ("b", "1"))
    one.notify("a", "1")
    assert one.commit() == (("a", "1"),)
    assert one.commit() == ()


def test_savepoints_undo_what_came_after_them() -> None:
    one = Notifications()
    one.notify("a", "1")
    one.savepoint()
    one.notify("a", "2")
    one.listen("x")
    one.savepoint()
    one.notify("a", "3")
    one.rollback_to(0)
    one.notify("a", "4")
    one.savepoint()
    one.notify("a", "5")
    one.release(1)
    assert one.commit() == (("a", "1"), ("a", "4"), ("a", "5"))
    assert not one.channels


def test_a_listener_hears_its_channels_only_and_in_order() -> None:
    one = Notifications()
    one.listen("a")
    one.commit()
    assert one.hear(7, [("a", "1"), ("b", "2"), ("a", "3")])
    assert not one.hear(7, [("b", "2")])
    assert 0 < one.fullness < 1
    assert [one.take(), one.take(), one.take()] == [Notification(7, "a", "1"), Notification(7, "a", "3"), None]
    assert one.fullness == 0


@pytest.mark.parametrize(
    ("channel", "payload", "message"),
    [
        ("", "", "channel name cannot be empty"),
        ("é" * 32, "", "channel name too long"),
        ("a", "x" * 8000, "payload string too long"),
    ],
)
def test_bounds_are_postgresqls(channel: str, payload: str, message: str) -> None:
    with pytest.raises(InvalidParameterValue, match=message):
        Notifications().notify(channel, payload)
    Notifications().notify("é" * 31, "x" * 7999)


# -- clients -----------------------------------------------------------------------------------------------------------


async def _listening(server: Server, *channels: str) -> Connection:
    connection = await connect(server, autocommit=True)
    for channel in channels:
        await connection.execute(f"listen {channel}")
    return connection


async def _told(connection: Connection, count: int) -> list[tuple[int, str, str]]:
    """As many notifications, which come by themselves."""
    return [(n.pid, n.channel, n.payload) async for n in connection.notifies(stop_after=count)]


async def test_an_idle_client_is_told_at_commit() -> None:
    async with serve() as server, await _listening(server, "a") as listener, await connect(server) as speaker:
        await speaker.execute("notify a, '1'")
        await speaker.execute("notify b, '2'")
        await speaker.execute("notify a, '3'")
        await speaker.commit()
        pid = speaker.info.backend_pid
        assert await _told(listener, 2) == [(pid, "a", "1"), (pid, "a", "3")]
        await speaker.execute("notify a, 'never'")
        await speaker.rollback()
        await speaker.execute("notify a")
        await speaker.commit()
        assert await _told(listener, 1) == [(pid, "a", "")]


async def test_own_notifications_come_before_ready_for_query() -> None:
    async with serve() as server, raw(server) as client:
        client.query("listen a; notify a, 'x'; notify a, 'x'")
        assert await client.until("Z") == ["C", "C", "C", "A", "Z"]


async def test_within_a_transaction_nothing_is_told() -> None:
    async with serve() as server, await connect(server) as listener, await _listening(server) as speaker:
        await listener.execute("listen a")
        await listener.commit()
        await listener.execute("select 1")
        await speaker.execute("notify a, '1'")
        told: list[psycopg.Notify] = []
        listener.add_notify_handler(told.append)
        await listener.execute("select 2")
        assert told == []
        await listener.commit()
        assert [n.payload for n in told] == ["1"]


async def test_who_listens_no_more_is_told_nothing() -> None:
    async with serve() as server, await _listening(server, "a", "b", "c") as listener:
        told: list[psycopg.Notify] = []
        listener.add_notify_handler(told.append)
        await listener.execute("unlisten b")
        await listener.execute("notify b")
        await listener.execute("notify a")
        await listener.execute("discard all")
        await listener.execute("notify c")
        assert [n.channel for n in told] == ["a"]


async def test_a_listener_who_does_not_read_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heard_bounds, "HEARD_BYTES_MAX", 1000)
    async with serve() as server, await connect(server) as listener, await _listening(server) as speaker:
        await listener.execute("listen a")
        await listener.commit()
        await listener.execute("select 1")
        for number in range(20):
            await speaker.execute(f"notify a, '{number}'")
        await eventually(lambda: len(server.listener.registry) == 1)
        with pytest.raises(psycopg.OperationalError, match="too many notifications wait for this connection"):
            await listener.execute("select 2")


async def test_asyncpg_listens() -> None:
    async with serve() as server:
        connection = await asyncpg.connect(host=server.host, port=server.port, user="ann", database="sluice", ssl=False)
        told: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

        def on_told(_connection: object, _pid: int, channel: str, payload: object) -> None:
            told.put_nowait((channel, str(payload)))

        await connection.add_listener("a", on_told)
        await connection.execute("notify a, 'x'")
        assert await told.get() == ("a", "x")
        await connection.remove_listener("a", on_told)
        await connection.close()


# -- two members -------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _two() -> AsyncIterator[tuple[Server, Server, tuple[PairedMesh, PairedMesh]]]:
    async with serve(ListenerOptions(member="m1")) as near, serve(ListenerOptions(member="m2")) as far:
        meshes = paired_meshes(("m1", "m2", "m3"))
        for mesh, server in zip(meshes, (near, far), strict=True):
            NotificationRouter(ServerMesh(mesh), server.listener.registry)
        yield near, far, meshes


async def test_listeners_of_another_member_are_told() -> None:
    async with _two() as (near, far, meshes), await _listening(far, "a") as listener, await connect(near) as speaker:
        for number in range(30):
            await speaker.execute(f"notify a, '{number:>7000}'")
        await speaker.commit()
        told = await _told(listener, 30)
        assert [int(payload) for _pid, _channel, payload in told] == list(range(30))
        assert {pid for pid, _channel, _payload in told} == {speaker.info.backend_pid}
        assert meshes[0].sent == ["Notified"] * len(meshes[0].sent)
        assert 1 < len(meshes[0].sent) < 30
        assert meshes[1].sent == []


async def test_a_member_that_is_away_misses_what_is_said() -> None:
    async with _two() as (near, far, meshes), await _listening(far, "a") as listener, await _listening(near) as speaker:
        meshes[0].peer = None
        await speaker.execute("notify a, 'missed'")
        meshes[0].peer = meshes[1]
        await speaker.execute("notify a, 'told'")
        assert [payload for _pid, _channel, payload in await _told(listener, 1)] == ["told"]
