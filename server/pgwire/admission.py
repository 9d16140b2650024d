"""The admission of one client: everything from its startup packet to AuthenticationOk.

Source: PostgreSQL 15, 55.2.1 "Start-up"; `server.pgwire.startup` has the steps, `server.auth.gate` authenticates.
"""

from __future__ import annotations

import asyncio

from server.auth.beginning import Beginning
from server.auth.client_tls import common_name
from server.auth.gate import Visitor
from server.pgwire.client_stream import ClientStream
from server.pgwire.host import Host, too_many
from server.pgwire.lite import LiteDoor, Relay
from server.pgwire.startup import as_fatal, authenticate, check_database, check_startup, read_startup
from wire.errors import CannotConnectNow, InvalidAuthorizationSpecification, InvalidPassword, SqlError
from wire.pg import messages as m


class Admission:
    """See the module's docstring. `run` is called once.

    is_crowded: whether the client exceeds the limits. is_stranger: whether it has been asked to authenticate and has
    not done so.
    """

    def __init__(self, stream: ClientStream, host: Host) -> None:
        self.is_crowded = False
        self.is_stranger = False
        self._stream = stream
        self._host = host

    async def run(self) -> Beginning | Relay | None:
        """Handle everything up to AuthenticationOk. Returns None for a cancel request, which has been executed, and a
        relay for a client that a data member will answer.
        """
        gate, self.is_stranger = self._host.gate, True
        startup = await read_startup(self._stream, gate.access.tls)
        if isinstance(startup, m.CancelRequest):
            self._host.registry.cancel_request(startup.pid, startup.key)
            return None
        if self._host.draining():
            raise CannotConnectNow("the database system is shutting down")
        beginning, negotiation = check_startup(startup)
        if self.is_crowded:
            raise too_many()
        self._host.require_room()
        forwards = self._host.door is not None and self._forwards(self._host.door, beginning)
        if negotiation is not None and not forwards:
            self._stream.send(negotiation)
        visitor = self._visitor(beginning)
        await self._prove(visitor)
        self.is_stranger = False
        if forwards:
            assert self._host.door is not None
            return self._host.door.relay(self._stream, startup)
        superuser = await gate.admit(visitor, self._host.registry.connections_of)
        self._host.require_room(superuser=superuser)
        check_database(beginning.database)
        self._stream.send(m.AuthenticationOk())
        return beginning

    def _visitor(self, beginning: Beginning) -> Visitor:
        stream = self._stream
        peer, certificate = stream.socket.peer, common_name(stream.socket.ssl_object)
        return Visitor(beginning, peer[0] if peer is not None else "", stream.socket.here, stream.tls, certificate)

    async def _prove(self, visitor: Visitor) -> None:
        """Authenticate the client. A failure is reported after a delay, so that guessing passwords takes long."""
        gate = self._host.gate
        machine = await gate.meet(visitor)
        try:
            await authenticate(self._stream, machine, lambda answer: gate.advance(visitor, machine, answer))
        except (InvalidPassword, InvalidAuthorizationSpecification):
            await asyncio.sleep(gate.access.delay)
            raise

    @staticmethod
    def _forwards(door: LiteDoor, beginning: Beginning) -> bool:
        try:
            return door.forwards(beginning.settings)
        except SqlError as error:
            raise as_fatal(error) from None
