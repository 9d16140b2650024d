"""A member's links to the other members: the sockets of the control connections, driven by
`server.cluster.membership`.

`MeshLink` implements `engine.contracts.mesh.Mesh`. It performs the actions of the membership machine, drives a
`wire.mesh.control_channel.ControlChannel` for each connection, and gives both the time. Everything runs on the loop's
thread. A link owns a task for each address that is being dialled, a timer, and the connections; `close` ends them all
and returns when they are gone.

A message is written to the socket's buffer when it is sent. Nothing is queued beyond that: a member that is unreachable
receives nothing, and messages in flight on a broken connection are lost with it. So messages arrive in order and at
most once.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import field
from random import Random, SystemRandom
from typing import Final

from engine.contracts.mesh import Handler, MemberInfo
from engine.contracts.shared_spark import UNSHARED, SharedSpark
from engine.exchange.mesh_tls import MeshTls
from server.cluster.control_connection import ControlConnection
from server.cluster.dials import Address, Dials
from server.cluster.membership import Membership, Timing
from server.cluster.membership_actions import Action, Actions, Close, Dial, Log, Lost, Proceed, Say
from wire.dataclass import dataclass
from wire.mesh.control_channel import ControlChannel, ControlEvent, Established, Introduced, Received
from wire.mesh.control_messages import NONCE_BYTES, ControlMessage, Goodbye, Heartbeat, Identity, Members

log: Final = logging.getLogger(__name__)
#: The number of connections in their handshake; further ones are closed at once.
_STRANGERS_MAX: Final = 256
_OURS: Final = (Heartbeat, Goodbye, Members)


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """cluster, secret: the cluster's name and secret; no connection is made or accepted without a secret. seeds: host
    and port of members to dial first. tls: None: without encryption. chance: randomizes pauses, so that members do not
    all dial at once.
    """

    cluster: str = "sluice"
    secret: bytes = b""
    seeds: tuple[str, ...] = ()
    timing: Timing = field(default_factory=Timing)
    tls: MeshTls | None = None
    chance: Random = field(default_factory=SystemRandom)


def new_incarnation() -> str:
    """Return a new name for this start of the member."""
    return secrets.token_hex(8)


class MeshLink:
    """See the module's docstring.

    identity: this member; `start` may set its addresses, when they are known. load: the number of queries in which it
    takes part. parse: an address's host and port. spark: the state of the Spark that it shares.
    """

    def __init__(
        self,
        identity: Identity,
        options: LinkOptions,
        load: Callable[[], int],
        parse: Callable[[str], Address],
        spark: Callable[[], SharedSpark] = lambda: UNSHARED,
    ) -> None:
        self._options = options
        self._load = load
        self._spark = spark
        self._membership = Membership(identity, options.seeds, options.timing, options.chance)
        self._connections: dict[int, ControlConnection] = {}
        self._closing: set[ControlConnection] = set()
        self._dials = Dials(parse, options.tls, options.timing.failure_after, self._dialled_connection, self._give_up)
        self._timer: asyncio.TimerHandle | None = None
        self._gone: asyncio.Event = asyncio.Event()
        self._on_message: Handler = lambda _member, _message, _body: None
        self._on_lost: Callable[[str], None] = lambda _member: None

    # -- engine.contracts.mesh.Mesh --------------------------------------------------------------------------------

    @property
    def member(self) -> str:
        return self._membership.me.member

    def members(self) -> Sequence[MemberInfo]:
        self._membership.load, self._membership.spark = self._load(), self._spark()
        return self._membership.members(_now())

    def send(self, member: str, message: ControlMessage, body: bytes = b"") -> bool:
        number = self._membership.known.link_to(member)
        return number is not None and self._connections[number].send(message, body)

    def listen(self, on_message: Handler, on_lost: Callable[[str], None]) -> None:
        self._on_message = on_message
        self._on_lost = on_lost

    # -- this member ---------------------------------------------------------------------------------------------

    def start(self, identity: Identity) -> None:
        """Start to dial. From now on connections may be accepted."""
        self._membership.me = identity
        self._perform(self._membership.start(_now()))
        self._set_timer()

    def accept(self) -> ControlConnection | None:
        """Return the protocol of a connection that has arrived; None if there are too many."""
        if self._membership.links.strangers >= _STRANGERS_MAX:
            return None
        return self._connection(self._membership.links.accept(_now()), dialled=False)

    def drain(self) -> None:
        """Tell the others that this member takes no new queries."""
        self._perform(self._membership.drain())

    async def close(self) -> None:
        """Say goodbye to all members and close all connections."""
        if self._timer is not None:
            self._timer.cancel()
        self._perform(self._membership.leave())
        await self._dials.close()
        while self._connections or self._closing:
            self._gone.clear()
            await self._gone.wait()

    def statistics(self) -> dict[str, int]:
        return {"connections": len(self._connections) + len(self._closing), "dials": len(self._dials.tasks)}

    # -- reports of the connections ------------------------------------------------------------------------------

    def connection_ready(self, connection: ControlConnection) -> bool:
        """Take over an established connection. Returns False if it is no longer wanted."""
        wanted = self._membership.links.connect(connection.number)
        if wanted:
            self._connections[connection.number] = connection
        else:
            self._closing.add(connection)
        return wanted

    def heard(self, number: int) -> None:
        self._membership.links.hear(number, _now())

    def handle_event(self, number: int, event: ControlEvent) -> None:
        """Handle an event of a link's channel."""
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
        """Note that a connection has refused its peer; the connection ends itself."""
        self._connections.pop(connection.number, None)
        self._closing.add(connection)
        self._close_link(connection.number, reason, level)

    def connection_gone(self, connection: ControlConnection, reason: str) -> None:
        """Note that a connection is closed and released."""
        self._close_link(connection.number, reason)
        self._connections.pop(connection.number, None)
        self._closing.discard(connection)
        self._gone.set()

    def _close_link(self, number: int, reason: str, level: int = logging.INFO) -> None:
        self._perform(self._membership.link_closed(number, reason, _now(), level))

    # -- actions of the membership machine -----------------------------------------------------------------------

    def _perform(self, actions: Actions) -> None:
        for action in actions:
            self._do(action)

    def _do(self, action: Action) -> None:
        match action:
            case Dial(number, address):
                self._dials.begin(number, address)
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
            # Logged only: the following actions must still end the connection.
            log.exception("the loss of %s could not be dealt with", member)

    def _end(self, number: int, goodbye: Goodbye | None) -> None:
        connection = self._connections.pop(number, None)
        if connection is not None:
            self._closing.add(connection)
            connection.end(goodbye)
        else:
            self._dials.cancel(number)

    def _connection(self, number: int, *, dialled: bool) -> ControlConnection:
        options = self._options
        nonce = secrets.token_bytes(NONCE_BYTES)
        channel = ControlChannel(self._membership.me, options.cluster, options.secret, nonce, dialled=dialled)
        return ControlConnection(self, number, channel, certified=options.tls is not None)

    def _dialled_connection(self, number: int) -> ControlConnection:
        return self._connection(number, dialled=True)

    def _give_up(self, number: int, made: Sequence[ControlConnection], reason: str) -> None:
        """Report a failed attempt. The loop closes a connection that the attempt had made, but uvloop does not report
        that.
        """
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
        self._membership.load, self._membership.spark = self._load(), self._spark()
        self._perform(self._membership.tick(_now()))


def _now() -> float:
    return asyncio.get_running_loop().time()
