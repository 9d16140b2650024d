"""The data listener: the address that it announces to senders, and the members' connections that it accepts or refuses."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket

import pytest

from engine.exchange.listener import DataListener
from wire.mesh.control_messages import NONCE_BYTES, Hello, Identity, encode
from wire.mesh.framing import PREFACE
from wire.mesh.messages import VERSION


async def test_a_listener_on_every_interface_is_reached_by_a_name() -> None:
    listener = DataListener("0.0.0.0", 0)
    await listener.start()
    _, port = listener.address
    assert listener.address_from_here == ("127.0.0.1", port)
    listener.advertised = ("member.example", 7432)
    assert listener.address_from_afar == ("member.example", 7432)
    assert listener.address_from_here == ("127.0.0.1", port)
    await listener.close()


async def test_a_listener_on_one_address_is_reached_there() -> None:
    listener = DataListener("127.0.0.1", 0)
    await listener.start()
    assert listener.address_from_here == listener.address_from_afar == listener.address
    await listener.close()


async def test_it_is_started_once_whoever_asks_for_it() -> None:
    listener = DataListener("127.0.0.1", 0)
    await asyncio.gather(*(listener.start() for _ in range(8)))
    address = listener.address
    await listener.start()
    assert listener.address == address
    await listener.close()


async def test_a_member_is_not_heard_where_nobody_admits_members() -> None:
    listener = DataListener("127.0.0.1", 0)
    await listener.start()
    reader, writer = await asyncio.open_connection(*listener.address)
    nobody = Identity("m9", "1", "127.0.0.1:1", "127.0.0.1:2", "data", "9")
    writer.write(PREFACE + encode(Hello(VERSION, "sluice", b"n" * NONCE_BYTES, nobody)))
    with contextlib.suppress(ConnectionResetError):
        assert await reader.read() == b""
    writer.close()
    await listener.close()


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_accepted_before_the_close_is_closed(turns: int) -> None:
    """Whichever turn of the loop it has got to; the loop ends with the close, and so no turn comes after it."""

    async def connect_and_close() -> socket.socket:
        listener = DataListener("127.0.0.1", 0)
        await listener.start()
        client = socket.create_connection(listener.address, timeout=10)
        for _ in range(turns):
            await asyncio.sleep(0)
        await listener.close()
        return client

    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(connect_and_close())
    loop.close()
    with client, contextlib.suppress(ConnectionResetError):
        assert client.recv(1) == b""
    gc.collect()
