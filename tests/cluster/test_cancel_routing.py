"""Cancel requests that reach another member than the session's."""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Iterator

import psycopg
import pytest
from support.local_cluster import LocalCluster
from support.member_process import wait_until
from support.session_server import RawClient, raw_to

from server.session.cancel import member_bits, names_member

SLEEP = "select pg_sleep(120)"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("cancel") / "c", 2, 1, "--lite-routing", "forward") as cluster:
        yield cluster


async def begin(client: RawClient, protocol: int = 0x30000) -> None:
    client.startup(protocol, user="tester", database="sluice")
    await client.until("Z")


async def wait_active(cluster: LocalCluster, member: str, pid: int) -> None:
    """Until the session runs its statement."""

    def active() -> bool:
        with cluster.connect(member) as connection:
            asked = connection.execute("select state from pg_stat_activity where pid = %s", (pid,)).fetchone()
            return asked == ("active",)

    await asyncio.to_thread(wait_until, active)


async def request_cancel(port: int, pid: int, key: bytes) -> None:
    """Send a cancel request as a driver does: over a new connection, and wait until it is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(struct.pack("!iiI", 12 + len(key), 80877102, pid) + key)
    assert await reader.read() == b""
    writer.close()


@pytest.mark.parametrize("protocol", [0x30000, 0x30002])
async def test_a_cancel_request_finds_its_session_on_another_member(cluster: LocalCluster, protocol: int) -> None:
    async with raw_to("127.0.0.1", cluster.port_of("m1")) as client:
        await begin(client, protocol)
        assert names_member(client.pid, "m1")
        client.query(SLEEP)
        await client.writer.drain()
        await wait_active(cluster, "m1", client.pid)
        await request_cancel(cluster.port_of("m2"), client.pid, client.key)
        await client.until("Z")
        assert client.error["C"] == "57014"


async def test_a_wrong_key_cancels_nothing_there_either(cluster: LocalCluster) -> None:
    """Messages from one member to another arrive in order: when the second cancellation has arrived, the first one has."""
    where = "127.0.0.1", cluster.port_of("m1")
    async with raw_to(*where) as client, raw_to(*where) as fence:
        for each in (client, fence):
            await begin(each)
            each.query(SLEEP)
            await each.writer.drain()
            await wait_active(cluster, "m1", each.pid)
        wrong = bytes([client.key[0] ^ 1]) + client.key[1:]
        await request_cancel(cluster.port_of("m2"), client.pid, wrong)
        await request_cancel(cluster.port_of("m2"), fence.pid, fence.key)
        await fence.until("Z")
        assert fence.error["C"] == "57014"
        await wait_active(cluster, "m1", client.pid)


async def test_functions_reach_sessions_of_other_members(cluster: LocalCluster) -> None:
    async with raw_to("127.0.0.1", cluster.port_of("m1")) as client:
        await begin(client)
        with cluster.connect("m2") as connection:
            client.query(SLEEP)
            await client.writer.drain()
            await wait_active(cluster, "m1", client.pid)
            assert connection.execute("select pg_cancel_backend(%s)", (client.pid,)).fetchone() == (True,)
            await client.until("Z")
            assert client.error["C"] == "57014"
            assert connection.execute("select pg_terminate_backend(%s)", (client.pid,)).fetchone() == (True,)
            assert await client.until_closed() == ["E"]
            assert client.error["C"] == "57P01"


def test_a_number_that_is_no_members_is_nobodys(cluster: LocalCluster) -> None:
    taken = {member_bits(name) for name in cluster.members}
    free = next(bits for bits in range(1, 2048) if bits not in taken) << 20 | 7
    with cluster.connect("m2") as connection:
        assert connection.execute("select pg_cancel_backend(%s)", (free,)).fetchone() == (False,)


def test_a_client_that_was_carried_on_cancels_through_the_door(cluster: LocalCluster) -> None:
    """libpq sends its cancel request where it connected: to the lite member, which has no such session."""
    with cluster.connect("l1") as connection:
        pid = connection.info.backend_pid
        home = next(name for name in ("m1", "m2") if names_member(pid, name))

        def cancel() -> None:
            asyncio.run(wait_active(cluster, home, pid))
            connection.cancel_safe()

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(SLEEP)
        thread.join()
