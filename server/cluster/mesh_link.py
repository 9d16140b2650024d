"""A member's links to the others: the sockets of the control connections, driven by `server.cluster.membership`.

`MeshLink` is what the engine knows as `engine.contracts.mesh.Mesh`. It performs the actions of the membership machine, drives
a `wire.mesh.control_channel.ControlChannel` for each connection, and gives both the time. Everything is on the loop's thread;
what it holds is a task for each address that is being dialled, a timer, and the connections. `close` ends them all and
returns when they are gone.

A message is written to the socket's buffer when it is sent. Nothing is kept for later: a member that cannot be reached now
gets nothing, and what a broken connection had under way is lost with it. So messages come in order and at most once.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import field
from random import Random, SystemRandom
from typing import Final, cast

from engine.common.shielded import wait_out
from engine.contracts.mesh import Handler, MemberInfo
from engine.exchange.mesh_tls import MeshTls, UntrustedPeer, explain_failure, require_member
from server.cluster.membership import Membership, Timing
from server.cluster.membership_actions import Action, Actions, Close, Dial, Log, Lost, Proceed, Say
from wire.dataclass import dataclass
from wire.mesh.control_channel import (
    ControlChannel,
    ControlEvent,
    Established,
    Introduced,
    Received,
    Refused,
    State,
)
from wire.mesh.control_messages import (
    NONCE_BYTES,
    ControlMessage,
    Goodbye,
    GoodbyeReason,
    Heartbeat,
    Identity,
    Members,
)
from wire.mesh.framing import RemoteProtocolError

log: Final = logging.getLogger(__name__)
#: How long a connection that is closed may take to send its last bytes.
_FLUSH_SECONDS: Final = 1.0
#: Connections that may be in their handshake at once; further ones are closed unheard.
_STRANGERS_MAX: Final = 256
_OURS: Final = (Heartbeat, Goodbye, Members)

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """cluster, secret: those of the cluster; no connection is made or accepted without a secret. seeds: host and port of members
    to begin with. tls: None: in the clear.
    chance: by which pauses differ, so that members do not dial all at once."""

    cluster: str = "sluice"
    secret: bytes = b""
    seeds: tuple[str, ...] = ()
    timing: Timing = field(default_factory=Timing)
    tls: MeshTls | None = None
    chance: Random = field(default_factory=SystemRandom)


def new_incarnation() -> str:
    """A name for this start of the member."""
    return secrets.token_hex(8)


class MeshLink:
    """See the module's docstring.

    identity: this member; its addresses may be told by `start`, when they are known. load: how many queries it takes part in.
    parse: an address's host and port.
    """

    def __init__(
        self, identity: Identity, options: LinkOptions, load: Callable[[], int], parse: Callable[[str], Address]
    ) -> None:
        self._options = options
        self._load = load
        self._parse = parse
        self._membership = Membership(identity, options.seeds, options.timing, options.chance)
        self._connections: dict[int, ControlConnection] = {}
        self._closing: set[ControlConnection] = set()
        self._dials: dict[int, asyncio.Task[None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._gone: asyncio.Event = asyncio.Event()
        self._on_message: Handler = lambda _member, _message, _body: None
        self._on_lost: Callable[[str], None] = lambda _member: None

    # -- engine.contracts.mesh.Mesh --------------------------------------------------------------------------------

    @property
    def member(self) -> str:
        return self._membership.me.member

    def members(self) -> Sequence[MemberInfo]:
        self._membership.load = self._load()
        return self._membership.members(_now())

    def send(self, member: str, message: ControlMessage, body: bytes = b"") -> bool:
        number = self._membership.known.link_to(member)
        return number is not None and self._connections[number].send(message, body)

    def listen(self, on_message: Handler, on_lost: Callable[[str], None]) -> None:
        self._on_message = on_message
        self._on_lost = on_lost

    # -- this member ---------------------------------------------------------------------------------------------

    def start(self, identity: Identity) -> None:
        """Begin to dial. Connections may be accepted from now on."""
        self._membership.me = identity
        self._perform(self._membership.start(_now()))
        self._set_timer()

    def accept(self) -> ControlConnection | None:
        """The protocol of a connection that has arrived; None: there are too many."""
        if self._membership.links.strangers >= _STRANGERS_MAX:
            return None
        return self._connection(self._membership.links.accept(_now()), dialled=False)

    def drain(self) -> None:
        """Tell the others that this member takes no new queries."""
        self._perform(self._membership.drain())

    async def close(self) -> None:
        """Say goodbye, and end everything."""
        if self._timer is not None:
            self._timer.cancel()
        self._perform(self._membership.leave())
        await wait_out(*self._dials.values())
        while self._connections or self._closing:
            self._gone.clear()
            await self._gone.wait()

    def statistics(self) -> dict[str, int]:
        return {"connections": len(self._connections) + len(self._closing), "dials": len(self._dials)}

    # -- what the connections report -----------------------------------------------------------------------------

    def connection_ready(self, connection: ControlConnection) -> bool:
        """A connection is made. False: it is not wanted any more."""
        wanted = self._membership.links.connect(connection.number)
        if wanted:
            self._connections[connection.number] = connection
        else:
            self._closing.add(connection)
        return wanted

    def heard(self, number: int) -> None:
        self._membership.links.hear(number, _now())

    def handle_event(self, number: int, event: ControlEvent) -> None:
        """An event of a link's channel."""
        match event:
            case Introduced(peer):
                self._perform(self._membership.peer_introduced(number, peer, _now()))
            case Established():
                self._perform(self._membership.link_established(number, _now()))
            case Received(message) if isinstance(message, _OURS):
                self._perform(self._membership.message_received(number, message, _now()))
            case Received(message, body):
                member = self._membership.links.member_of(number)
                if member is not None:
                    self._on_message(member, message, bytes(body))

    def peer_refused(self, connection: ControlConnection, reason: str, level: int) -> None:
        """A connection's peer is not what it should be; the connection ends itself."""
        self._connections.pop(connection.number, None)
        self._closing.add(connection)
        self._close_link(connection.number, reason, level)

    def connection_gone(self, connection: ControlConnection, reason: str) -> None:
        """Nothing is left of a connection."""
        self._close_link(connection.number, reason)
        self._connections.pop(connection.number, None)
        self._closing.discard(connection)
        self._gone.set()

    def _close_link(self, number: int, reason: str, level: int = logging.INFO) -> None:
        self._perform(self._membership.link_closed(number, reason, _now(), level))

    # -- what the membership wants -------------------------------------------------------------------------------

    def _perform(self, actions: Actions) -> None:
        for action in actions:
            self._do(action)

    def _do(self, action: Action) -> None:
        match action:
            case Dial(number, address):
                self._begin_dial(number, address)
            case Proceed(number):
                self._connections[number].proceed()
            case Say(number, message):
                self._connections[number].send(message)
            case Close(number, goodbye):
                self._end(number, goodbye)
            case Lost(member):
                self._tell_lost(member)
            case Log(level, text):
                log.log(level, "%s", text)

    def _tell_lost(self, member: str) -> None:
        try:
            self._on_lost(member)
        except Exception:
            # The actions that follow still end the connection.
            log.exception("the loss of %s could not be dealt with", member)

    def _end(self, number: int, goodbye: Goodbye | None) -> None:
        connection = self._connections.pop(number, None)
        if connection is not None:
            self._closing.add(connection)
            connection.end(goodbye)
        elif (dial := self._dials.get(number)) is not None:
            dial.cancel()

    def _connection(self, number: int, *, dialled: bool) -> ControlConnection:
        options = self._options
        nonce = secrets.token_bytes(NONCE_BYTES)
        channel = ControlChannel(self._membership.me, options.cluster, options.secret, nonce, dialled=dialled)
        return ControlConnection(self, number, channel, certified=options.tls is not None)

    def _begin_dial(self, number: int, address: str) -> None:
        task = asyncio.get_running_loop().create_task(self._dial(number, address))
        self._dials[number] = task
        task.add_done_callback(lambda _task: self._dials.pop(number))

    async def _dial(self, number: int, address: str) -> None:
        host, port = self._parse(address)
        loop = asyncio.get_running_loop()
        tls = self._options.tls
        made: list[ControlConnection] = []

        def protocol() -> ControlConnection:
            made.append(self._connection(number, dialled=True))
            return made[-1]

        try:
            async with asyncio.timeout(self._options.timing.failure_after):
                await loop.create_connection(
                    protocol,
                    host,
                    port,
                    ssl=tls.dialling if tls is not None else None,
                    server_hostname="" if tls is not None else None,
                )
        except TimeoutError:
            self._give_up(number, made, "nobody answers")
        except OSError as error:
            self._give_up(number, made, explain_failure(error))
        except asyncio.CancelledError:
            self._give_up(number, made, "given up")
            raise

    def _give_up(self, number: int, made: Sequence[ControlConnection], reason: str) -> None:
        """An attempt has failed. A connection that it had made is closed by the loop, but uvloop's does not say so."""
        for connection in made:
            connection.end(None)
            self.connection_gone(connection, reason)
        self._close_link(number, reason)

    def _set_timer(self) -> None:
        timing = self._options.timing
        pause = min(timing.heartbeat, timing.failure_after / 2) / 4
        self._timer = asyncio.get_running_loop().call_later(pause, self._tick)

    def _tick(self) -> None:
        self._set_timer()
        self._membership.load = self._load()
        self._perform(self._membership.tick(_now()))


class ControlConnection(asyncio.BufferedProtocol):
    """The socket of one control connection. certified: whether the peer's certificate has to be that of who it says it is."""

    def __init__(self, link: MeshLink, number: int, channel: ControlChannel, *, certified: bool) -> None:
        self.number = number
        self._link = link
        self._channel = channel
        self._certified = certified
        self._transport: asyncio.Transport | None = None
        self._ended = False
        self._flush: asyncio.TimerHandle | None = None

    # -- asyncio's calls -----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not registered as asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        if not self._link.connection_ready(self):
            self.end(None)
        elif self._channel.dialled:
            self._write(self._channel.opening_bytes())

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._channel.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        if self._ended:
            return
        self._link.heard(self.number)
        try:
            for event in self._channel.buffer_updated(nbytes):
                if isinstance(event, Introduced):
                    self._require_certificate(event.identity)
                self._link.handle_event(self.number, event)
                if self._ended:
                    return
            self._write(self._channel.answers())
        except Refused as refused:
            self._fail(str(refused), refused.reason)
        except RemoteProtocolError as error:
            self._fail(str(error))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._flush is not None:
            self._flush.cancel()
        self._ended = True
        self._link.connection_gone(self, _why_lost(exc))

    # -- the link's ----------------------------------------------------------------------------------------------

    def proceed(self) -> None:
        self._write(self._channel.proceed())

    def send(self, message: ControlMessage, body: bytes = b"") -> bool:
        """Write a message. False: the connection is not open."""
        if self._channel.state is not State.OPEN or self._transport is None or self._transport.is_closing():
            return False
        self._transport.writelines(self._channel.send(message, body))
        return True

    def end(self, goodbye: Goodbye | None) -> None:
        """Close the connection: after a last word, for which there is a moment's time, or at once."""
        self._ended = True
        if self._transport is None:
            return
        if goodbye is None:
            self._transport.abort()
            return
        self._write(self._channel.goodbye(goodbye.reason, goodbye.message))
        self._transport.close()
        self._flush = asyncio.get_running_loop().call_later(_FLUSH_SECONDS, self._transport.abort)

    def _require_certificate(self, identity: Identity) -> None:
        """Raises Refused."""
        if not self._certified:
            return
        assert self._transport is not None, "bytes come from a transport"
        try:
            require_member(self._transport.get_extra_info("ssl_object"), identity.member)
        except UntrustedPeer as error:
            raise Refused("name", str(error)) from error

    def _fail(self, reason: str, farewell: GoodbyeReason | None = None) -> None:
        """The peer is not what it should be: that is the end of this connection, and of nothing else."""
        peer = self._transport.get_extra_info("peername") if self._transport is not None else None
        level = logging.ERROR if farewell is not None and self._channel.dialled else logging.WARNING
        self._link.peer_refused(self, f"{reason} (connection with {peer})", level)
        self.end(None if farewell is None else Goodbye(farewell, reason[:1000]))

    def _write(self, data: bytes) -> None:
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)


def _why_lost(error: Exception | None) -> str:
    if error is None:
        return "its connection was closed"
    return explain_failure(error) if isinstance(error, OSError) else str(error)


def _now() -> float:
    return asyncio.get_running_loop().time()
