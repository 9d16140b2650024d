"""The simulated network against the kernel's: both ends of small conversations must receive the same over both."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest
from simulated.network import Network
from simulated.world import Process, World
from support.session_server import eventually

Heard = list[str]
Act = Callable[["End"], None]


class End(asyncio.Protocol):
    """An end that records what it receives, and acts at the beginning and when it has received enough."""

    def __init__(self, heard: Heard, at_first: Act | None = None, on_data: Act | None = None) -> None:
        self._heard, self._at_first, self._on_data = heard, at_first, on_data
        self.transport: Any = None
        self.data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self._heard.append("made")
        if self._at_first is not None:
            self._at_first(self)

    def data_received(self, data: bytes) -> None:
        self.data += data
        if self.data.endswith(b".") and self._on_data is not None:
            self._on_data(self)

    def eof_received(self) -> None:
        self._heard.append("eof")

    def connection_lost(self, exc: Exception | None) -> None:
        self._heard.append(f"{self.data.decode()} lost {'reset' if isinstance(exc, ConnectionResetError) else exc}")


def _say(end: End) -> None:
    end.transport.write(b"to be, ")
    end.transport.write(b"or not.")


def _answer(end: End) -> None:
    end.transport.write(b"that is.")


def _close(end: End) -> None:
    end.transport.close()


def _say_and_close(end: End) -> None:
    _say(end)
    end.transport.close()


def _answer_and_close(end: End) -> None:
    _answer(end)
    end.transport.close()


def _abort(end: End) -> None:
    sock = end.transport.get_extra_info("socket")
    if sock is not None:
        # What asyncio's abort is on a connection that has nothing unread: a FIN. A reset is meant here.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.transport.abort()


CONVERSATIONS: dict[str, tuple[tuple[Act | None, Act | None], tuple[Act | None, Act | None]]] = {
    "one speaks and closes": ((_say_and_close, None), (None, None)),
    "the other closes when it has heard": ((_say, None), (None, _close)),
    "an answer, and the end": ((_say, None), (None, _answer_and_close)),
    "an answer, and the end by who has asked": ((_say, _close), (None, _answer)),
    "it is reset": ((_say, None), (None, _abort)),
    "nothing is said": ((_close, None), (None, None)),
}


async def _converse(near: tuple[Act | None, Act | None], far: tuple[Act | None, Act | None]) -> tuple[Heard, Heard]:
    """Return what both ends receive, on whatever event loop this runs."""
    loop = asyncio.get_running_loop()
    here: Heard = []
    there: Heard = []
    server = await loop.create_server(lambda: End(there, *far), "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    await loop.create_connection(lambda: End(here, *near), host, port)
    await eventually(lambda: here and there and "lost" in here[-1] and "lost" in there[-1])
    server.close()
    await server.wait_closed()
    return here, there


def _simulated(seed: int, name: str) -> tuple[Heard, Heard]:
    world = World(seed)
    network = Network(world, (1e-5, 1e-3))
    process = Process(world, network, "127.0.0.1")
    task = process.start(_converse(*CONVERSATIONS[name]))
    assert world.run(task.done, 10.0), "the conversation does not end"
    return task.result()


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_what_is_heard_is_what_the_kernel_lets_hear(name: str) -> None:
    real = asyncio.run(_converse(*CONVERSATIONS[name]))
    for seed in range(20):
        assert _simulated(seed, name) == real


def test_nobody_listens() -> None:
    world = World(1)
    process = Process(world, Network(world, (1e-5, 1e-3)), "a")

    async def call() -> str:
        try:
            await asyncio.get_running_loop().create_connection(asyncio.Protocol, "b", 1)
        except ConnectionRefusedError:
            return "refused"
        return "connected"

    task = process.start(call())
    assert world.run(task.done, 1.0)
    assert task.result() == "refused"


def test_a_partition_holds_bytes_and_lets_them_go_in_order() -> None:
    world = World(3)
    network = Network(world, (1e-5, 1e-3))
    here, there = Process(world, network, "here"), Process(world, network, "there")
    heard: Heard = []
    end = End(heard)
    here.do(lambda: network.listen(here, lambda: end, "here", 1))
    made = there.start(there.create_connection(asyncio.Protocol, "here", 1))
    assert world.run(made.done, 1.0)
    transport, _ = made.result()
    network.part(["here"], ["there"])
    for number in range(50):
        there.do(transport.write, b"%d " % number)
    world.run(lambda: False, world.now + 5.0)
    assert end.data == b""
    network.heal()
    world.run(lambda: False, world.now + 1.0)
    assert end.data == b"".join(b"%d " % number for number in range(50))
