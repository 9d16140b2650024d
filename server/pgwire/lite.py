"""Lite members: they accept clients and store no data, so they run no queries over tables themselves.

A lite member treats a client in one of two ways. With `sluice.lite_routing = refuse` the session is on this member: it
answers statements that read no table, and reports itself as read-only like a hot standby, so that a driver with several
hosts in its URL goes to a data member. With `forward` the member is a door: it relays the connection to a data member,
byte for byte, from the startup packet on. Suspended portals, COPY, notices and the shutdown are then the data member's.
The client gets the data member's process id and key, by which a cancel request that reaches the door is routed
(`server.cluster.routing`).

The door authenticates the client first, by its own rules; the data member sees the door's address and has to trust it
(`trust`). The startup packet or the configuration decides between the two ways, which cannot be changed later.

Rejected: forwarding statement by statement. It needs a second session that mirrors the first one's transaction,
settings, prepared statements and portals, and would be wrong wherever the mirror is incomplete.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import Mapping
from typing import Final, cast

from engine.contracts.mesh import MemberInfo, Mesh
from engine.settings.session_settings import SETTINGS
from engine.statements.shared.initiation import initiators
from server.config.address import Address
from server.pgwire.client_stream import WRITE_WINDOW_BYTES, ClientStream
from wire.errors import CannotConnectNow
from wire.pg import messages as m

log: Final = logging.getLogger(__name__)
ROUTING: Final = "sluice.lite_routing"
#: Seconds for a data member to answer before the next one is tried.
_CONNECT_SECONDS: Final = 5.0
#: Seconds for one side to read the pending data after the other side has closed.
_CLOSE_SECONDS: Final = 5.0


class _Side(asyncio.Protocol):
    """One of the two sockets of a relay. The other one writes what this one reads; it reads no faster than the other
    can write. closed: set at the end of the connection.
    """

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: _Side | None = None
        self.closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=WRITE_WINDOW_BYTES)

    def data_received(self, data: bytes) -> None:
        if (sink := self._other_end()) is not None:
            sink.write(data)

    def pause_writing(self) -> None:
        if (source := self._other_end()) is not None:
            source.pause_reading()

    def resume_writing(self) -> None:
        if (source := self._other_end()) is not None:
            source.resume_reading()

    def _other_end(self) -> asyncio.Transport | None:
        transport = self.other.transport if self.other is not None else None
        return None if transport is None or transport.is_closing() else transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the other socket after its pending output is written. The protocol has no use for a half-closed
        connection.
        """
        self.closed.set()
        if (sink := self._other_end()) is not None:
            sink.close()


class Relay:
    """One client's connection relayed to a data member. `run` returns when both sockets are closed."""

    def __init__(self, client: ClientStream, startup: bytes, members: list[MemberInfo]) -> None:
        self._client = client
        self._startup = startup
        self._members = members
        self._sides: list[_Side] = []

    async def run(self) -> None:
        """Relay until the end. Raises CannotConnectNow if no data member accepts the connection; the client can still
        be told.
        """
        far = await self._reach()
        near = _Side()
        self._sides.append(near)
        taken = self._client.hand_over()
        assert far.transport is not None
        if taken is None:
            far.transport.abort()
            await far.closed.wait()
            return
        transport, rest = taken
        near.other, far.other = far, near
        transport.set_protocol(near)
        near.connection_made(transport)
        far.transport.write(self._startup + rest)
        far.transport.resume_reading()
        try:
            await self._wait_for_end()
        finally:
            self._abort()

    async def _reach(self) -> _Side:
        """Connect to the first data member that accepts."""
        for member in self._members:
            address = Address.parse(member.client)
            try:
                side = await _connect(address)
            except (OSError, TimeoutError) as error:
                log.warning("member %s at %s does not take a client's connection: %s", member.id, address, error)
                continue
            self._sides.append(side)
            return side
        raise CannotConnectNow("no data member can be reached", hint="Connect again when one is up.")

    async def _wait_for_end(self) -> None:
        """Wait until one side has closed, and then for a limited time until the other has taken its pending data."""
        waiting = [asyncio.ensure_future(side.closed.wait()) for side in self._sides]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait(waiting, timeout=_CLOSE_SECONDS)
        finally:
            for task in waiting:
                task.cancel()

    def _abort(self) -> None:
        for side in self._sides:
            if side.transport is not None:
                side.transport.abort()


async def _connect(address: Address) -> _Side:
    """Connect to a data member. The connection is not read before its other side is connected. Raises OSError.

    The side is this attempt's own: an attempt that is given up may close its connection only later.
    """
    side = _Side()
    async with asyncio.timeout(_CONNECT_SECONDS):
        transport, _ = await asyncio.get_running_loop().create_connection(lambda: side, address.host, address.port)
    transport.pause_reading()
    transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return side


class LiteDoor:
    """A lite member's treatment of new clients. mesh: knows the data members. default: the configuration's
    `sluice.lite_routing`.
    """

    def __init__(self, mesh: Mesh, default: str) -> None:
        self._mesh = mesh
        self._default = default

    def forwards(self, settings: Mapping[str, str]) -> bool:
        """Return whether a client with these startup settings is relayed. Raises InvalidParameterValue."""
        asked = next((value for name, value in settings.items() if name.lower() == ROUTING), self._default)
        return SETTINGS[ROUTING].read(asked) == "forward"

    def relay(self, client: ClientStream, startup: m.Startup) -> Relay:
        """Return a relay to the data member with the least load, or to the others if it does not answer."""
        return Relay(client, _packet(startup), sorted(initiators(self._mesh), key=lambda member: member.load))


def _packet(startup: m.Startup) -> bytes:
    """Return the startup packet in its original form; its strings are UTF-8 (`wire.pg.messages.decode_startup`)."""
    major, minor = startup.protocol
    words = [word for pair in startup.parameters.items() for word in pair]
    body = struct.pack("!HH", major, minor) + b"".join(word.encode() + b"\0" for word in words) + b"\0"
    return struct.pack("!i", len(body) + 4) + body
