"""Sockets between processes, with the behaviour that TCP shows to asyncio's transports.

Bytes of one direction of a connection arrive in order, in pieces of any size, after a latency that differs from piece
to piece; bytes of different connections overtake each other. The faults are those that TCP lets through:

- `cut`: a connection is reset at both ends;
- `part`: between two groups of hosts nothing arrives until `heal`; then all of it does, late;
- a process that dies: its kernel ends its connections, by a FIN or a reset, after the bytes that were sent; a host that
  dies loses the bytes in flight and sends nothing, and a peer that goes on sending to it is reset once it is up again;
- an end that closes, or is closed, with bytes unread resets the other, which may lose what it has not read (RFC 1122,
  4.2.2.13).

A socket accepts up to `_SOCKET_BYTES` from its sender. `close` does not return unsent bytes to anybody: it completes
when they are in flight.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from simulated.world import Process, World

_SOCKET_BYTES: Final = 64 << 10
#: The probability that a reader receives less than has arrived.
_IN_PIECES: Final = 0.15
#: The probability that a fragile connection breaks when it is read.
_BREAKS: Final = 0.25
_RESET: Final = "Connection reset by peer"

Factory = Callable[[], Any]


class Network:
    """The network; see the module's docstring. latency: the minimum and maximum time of a piece in flight, in seconds.
    fragile: connections that have this protocol at one end break again and again.
    """

    def __init__(self, world: World, latency: tuple[float, float]) -> None:
        self.world = world
        self.latency = latency
        self.slow: dict[str, float] = {}
        self.fragile: type | None = None
        #: Connections that were asked for, and what was sent over all of them so far.
        self.calls = self.sent_pieces = self.sent_bytes = 0
        self._listening: dict[tuple[str, int], Server] = {}
        self._ports = itertools.count(7000)
        self._ends: dict[Socket, None] = {}
        self._parted: set[frozenset[str]] = set()
        self._dark: set[str] = set()
        self._held: list[Callable[[], object]] = []

    # -- what processes do ---------------------------------------------------------------------------------------

    def listen(self, process: Process, factory: Factory, host: str, port: int) -> Server:
        address = host, port or next(self._ports)
        if address in self._listening:
            raise OSError(98, "Address already in use")
        server = self._listening[address] = Server(self, process, factory, address)
        return server

    def forget_server(self, server: Server) -> None:
        if self._listening.get(server.address) is server:
            del self._listening[server.address]

    async def connect(self, process: Process, factory: Factory, host: str, port: int) -> tuple[Socket, Any]:
        """Open a connection. Raises ConnectionRefusedError; waits for ever if the host cannot be reached."""
        if process.state == "buried":
            raise ConnectionRefusedError(111, "Connection refused")
        self.calls += 1
        asked = process.create_future()
        self.carry(process.name, host, lambda: self._arrive(asked, process, host, port))
        far = await asked
        if far is None:
            raise ConnectionRefusedError(111, "Connection refused")
        protocol = factory()
        near: Socket = far.peer
        near.begin(protocol)
        return near, protocol

    def _arrive(self, asked: asyncio.Future[Any], process: Process, host: str, port: int) -> None:
        """Handle a connection request that has arrived at its host."""
        server = self._listening.get((host, port))
        if server is None or server.process.state == "killed":
            self.carry(host, process.name, lambda: process.call_soon(_answer, asked, None))
            return
        near, far = Socket(self, process, (host, port)), Socket(self, server.process, (process.name, 0))
        near.peer, far.peer = far, near
        self._ends[near] = self._ends[far] = None
        server.process.call_soon(far.accept, server)
        self.carry(host, process.name, lambda: process.call_soon(_answer, asked, far))

    @property
    def sockets(self) -> int:
        """Return the number of open ends of all connections."""
        return len(self._ends)

    def note_sent(self, count: int) -> None:
        self.sent_pieces += 1
        self.sent_bytes += count

    # -- how bytes travel ----------------------------------------------------------------------------------------

    def carry(self, source: str, target: str, arrive: Callable[[], object]) -> None:
        """Let something arrive after a random latency."""
        seconds = self.world.chance.uniform(*self.latency) * self.slow.get(source, 1.0) * self.slow.get(target, 1.0)
        self.world.after(seconds, lambda: self._pass(source, target, arrive))

    def _pass(self, source: str, target: str, arrive: Callable[[], object]) -> None:
        if self.is_severed(source, target):
            self._held.append(lambda: self._pass(source, target, arrive))
        else:
            arrive()

    def is_severed(self, source: str, target: str) -> bool:
        return frozenset((source, target)) in self._parted or source in self._dark or target in self._dark

    def forget(self, end: Socket) -> None:
        self._ends.pop(end, None)

    # -- what goes wrong -----------------------------------------------------------------------------------------

    def cut(self, one: str, other: str) -> None:
        """Reset every connection between two hosts."""
        for end in [end for end in self._ends if {end.process.name, end.peer.process.name} == {one, other}]:
            end.reset()

    def read(self, end: Socket) -> None:
        """Handle that an end has read: a fragile connection may break now."""
        if self.fragile and isinstance(end.get_protocol(), self.fragile) and self.world.chance.random() < _BREAKS:
            end.peer.reset()
            end.reset()

    def cut_one(self) -> bool:
        """Reset one connection, chosen at random."""
        if not self._ends:
            return False
        end = self.world.chance.choice(list(self._ends))
        end.peer.reset()
        end.reset()
        return True

    def part(self, here: Iterable[str], there: Iterable[str]) -> None:
        far = list(there)
        self._parted |= {frozenset((one, other)) for one in here for other in far}

    def heal(self) -> None:
        """End all partitions; the bytes that were held arrive."""
        self._parted.clear()
        self._release()

    def _release(self) -> None:
        held, self._held = self._held, []
        for arrive in held:
            self.world.after(self.world.chance.uniform(*self.latency), arrive)

    def light(self, host: str) -> None:
        """Give power to a host that had none: processes that sent to it meanwhile receive an answer."""
        if host in self._dark:
            self._dark.discard(host)
            self._release()

    def kill(self, process: Process, *, host: bool) -> None:
        """End a process or its whole host, with its listeners and all its connections."""
        if host:
            self._dark.add(process.name)
        for server in list(self._listening.values()):
            if server.process is process:
                self.forget_server(server)
        for end in list(self._ends):
            if end.process is process:
                end.die(silent=host)


class Server:
    """The stand-in for the listener's `asyncio.Server`."""

    def __init__(self, network: Network, process: Process, factory: Factory, address: tuple[str, int]) -> None:
        self.process = process
        self.factory = factory
        self.address = address
        self._network = network
        self._serving = True

    @property
    def sockets(self) -> tuple[Server, ...]:
        return (self,)

    def getsockname(self) -> tuple[str, int]:
        return self.address

    def fileno(self) -> int:
        return -1

    def is_serving(self) -> bool:
        return self._serving

    def close(self) -> None:
        self._serving = False
        self._network.forget_server(self)

    async def wait_closed(self) -> None:
        await asyncio.sleep(0)


class Socket(asyncio.Transport):
    """One end of a connection. address: the other end's address."""

    peer: Socket

    def __init__(self, network: Network, process: Process, address: tuple[str, int]) -> None:
        super().__init__()
        self.process = process
        self._network = network
        self._address = address
        self._protocol: Any = None
        self._inbox: deque[bytes] = deque()
        self._unread = 0
        self._reading = False
        self._eof = False
        self._reset_after = False
        self._closing = False
        self._over = False
        self._sent: deque[Callable[[], object]] = deque()
        self._under_way = 0

    # -- beginning -----------------------------------------------------------------------------------------------

    def accept(self, server: Server) -> None:
        """Let the listener accept the connection."""
        if server.is_serving():
            self.begin(server.factory())
        elif not self._over:
            self._finish(None)
            self._tell_reset()

    def begin(self, protocol: Any) -> None:
        self._protocol = protocol
        protocol.connection_made(self)
        if self._over:
            # It was over before anybody could be told.
            self.process.call_soon(protocol.connection_lost, ConnectionResetError(104, _RESET))
        self._look()

    # -- asyncio.Transport ---------------------------------------------------------------------------------------

    def set_protocol(self, protocol: Any) -> None:
        self._protocol = protocol

    def get_protocol(self) -> Any:
        return self._protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._address if name == "peername" else default

    def is_closing(self) -> bool:
        return self._closing or self._over

    def get_write_buffer_size(self) -> int:
        return max(self._under_way - _SOCKET_BYTES, 0)

    def write(self, data: Any) -> None:
        if not self._closing and not self._over and data:
            self._send(bytes(data))

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.write(b"".join(list_of_data))

    def close(self) -> None:
        """Send the bytes that were written, then a FIN, or a reset if received bytes are unread."""
        if self._closing or self._over:
            return
        self._closing = True
        if self._unread:
            self._tell_reset()
        else:
            self._travel(self.peer._hear_end)
        self._finish_when_sent()

    def abort(self) -> None:
        if not self._over:
            self._closing = True
            self._tell_reset()
            self._finish(None)

    # -- what arrives --------------------------------------------------------------------------------------------

    def _send(self, data: bytes) -> None:
        self._under_way += len(data)
        self._network.note_sent(len(data))
        self._travel(lambda: self.peer._hear(data))

    def _travel(self, arrive: Callable[[], object]) -> None:
        """Let something arrive in order, behind what was sent before: each arrival delivers the earliest item in
        flight.
        """
        self._sent.append(arrive)
        self._network.carry(self.process.name, self.peer.process.name, self._arrive_next)

    def _arrive_next(self) -> None:
        self._sent.popleft()()

    def _hear(self, data: bytes) -> None:
        self.peer._note_arrival(len(data))
        if self._over or self._closing:
            # Nobody is going to read it.
            self._tell_reset()
            return
        world = self._network.world
        world.note(self.peer.process.name, "->", self.process.name, len(data))
        self._inbox.append(data)
        self._unread += len(data)
        self._look()

    def _hear_end(self) -> None:
        self._eof = True
        self._look()

    def _hear_reset(self) -> None:
        if self._over:
            return
        if self._network.world.chance.random() < 0.5:
            self._inbox.clear()
            self._unread = 0
        if not self._unread or self._closing or self._protocol is None:
            self._finish(ConnectionResetError(104, _RESET))
        else:
            self._eof = True
            self._reset_after = True

    def _look(self) -> None:
        if not self._reading and self._protocol is not None and (self._inbox or self._eof) and not self._over:
            self._reading = True
            self.process.call_soon(self._read)

    def _read(self) -> None:
        self._reading = False
        if self._over or self._closing:
            return
        if not self._inbox:
            if self._reset_after:
                self._finish(ConnectionResetError(104, _RESET))
            elif self._eof and not self._protocol.eof_received():
                self.close()
            return
        data = b"".join(self._inbox)
        if self._network.world.chance.random() < _IN_PIECES:
            data = data[: self._network.world.chance.randint(1, len(data))]
        self._take(len(data))
        self._give(memoryview(data))
        self._network.read(self)
        self._look()

    def _take(self, count: int) -> None:
        self._unread -= count
        while count:
            first = self._inbox.popleft()
            if len(first) > count:
                self._inbox.appendleft(first[count:])
                return
            count -= len(first)

    def _give(self, data: memoryview) -> None:
        while data and not self._over:
            protocol = self._protocol
            if not isinstance(protocol, asyncio.BufferedProtocol):
                protocol.data_received(bytes(data))
                return
            buffer = memoryview(protocol.get_buffer(-1)).cast("B")
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            data = data[count:]
            protocol.buffer_updated(count)

    # -- ending --------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Break the connection, as seen by this end."""
        self.process.call_soon(self._hear_reset)

    def die(self, *, silent: bool) -> None:
        """End the socket with its process; bytes that were written before are in flight."""
        if self._over:
            return
        self._over = True
        self._network.forget(self)
        if silent:
            self._sent = deque([_nothing] * len(self._sent))
        elif self._unread or self._network.world.chance.random() < 0.5:
            self._tell_reset()
        else:
            self._travel(self.peer._hear_end)

    def _tell_reset(self) -> None:
        self._travel(lambda: self.peer.process.call_soon(self.peer._hear_reset))

    def _note_arrival(self, count: int) -> None:
        self._under_way -= count
        if self._closing and not self._over:
            self._finish_when_sent()

    def _finish_when_sent(self) -> None:
        if self._under_way <= _SOCKET_BYTES:
            self.process.call_soon(self._finish, None)

    def _finish(self, error: Exception | None) -> None:
        if self._over:
            return
        self._over = self._closing = True
        self._inbox.clear()
        self._unread = 0
        self._network.forget(self)
        if self._protocol is not None:
            self.process.call_soon(self._protocol.connection_lost, error)


def _nothing() -> None:
    """Deliver nothing: the bytes were lost with their host."""


def _answer(asked: asyncio.Future[Any], far: Socket | None) -> None:
    """Answer a connection request. If nobody waits for it any more, close the connection again."""
    if not asked.done():
        asked.set_result(far)
    elif far is not None:
        far.peer.abort()
