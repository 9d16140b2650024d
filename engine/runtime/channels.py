"""Channels between instances of queries: the address of each stream, the admission of senders, and the streams that
this member's instances open.

A start message tells each sender where its stream connects. A sender that was refused there, or that has to wait for
its turn, asks the receiver's member (`OpenChannel`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from engine.contracts.mesh import Mesh
from engine.exchange.inbound_stream import Denied
from engine.exchange.listener import DataListener
from engine.exchange.mesh_tls import TlsPeer
from engine.exchange.outbound import (
    ConnectionBroken,
    LastingStream,
    LoopbackStream,
    OutboundStream,
    RemoteStream,
    open_remote,
    refusal,
)
from engine.exchange.schemas import stream_fingerprint
from engine.plan_ir.spec import EdgeSpec, SharedSpec
from engine.runtime.mailboxes import Mailbox, Mailboxes
from engine.runtime.queries import ChannelState
from engine.runtime.query_steps import QuerySteps
from engine.runtime.requests import Requests
from engine.runtime.run_inputs import RunInputs
from wire.mesh.backlog import Backlog
from wire.mesh.control_messages import (
    ChannelDeny,
    ChannelOk,
    ControlMessage,
    OpenChannel,
    Produced,
)
from wire.mesh.messages import VERSION, Open


class TellingRun(Protocol):
    """A running query (`engine.runtime.query_run.QueryRun`), reduced to the channels that its start names."""

    shared: SharedSpec

    inputs: RunInputs


class Channels:
    """See the module's docstring. find_run: finds a query that runs here. spawn: runs a task in the background."""

    def __init__(
        self,
        mesh: Mesh,
        listener: DataListener,
        mailboxes: Mailboxes,
        steps: QuerySteps,
        find_run: Callable[[str], TellingRun | None],
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self.mailboxes = mailboxes
        self._mesh = mesh
        self._listener = listener
        self._steps = steps
        self._find_run = find_run
        self._spawn = spawn
        self._requests: Requests[ChannelOk] = Requests(_not_connected)
        self._closing = False

    @property
    def address(self) -> tuple[str, int]:
        """The address that streams of other members connect to."""
        return self._listener.address_from_afar

    @property
    def pending_requests(self) -> int:
        """The number of requests to other members that have no answer yet."""
        return len(self._requests)

    async def open_stream(self, query: str, edge: EdgeSpec, sender: int, receiver: int) -> OutboundStream:
        """Open the stream from instance `sender` to instance `receiver` of an edge. Raises as `edge_output.Opener`
        says.
        """
        if edge.receivers[receiver] == self._mesh.member:
            mailbox = await self._own_mailbox(query, edge, sender, receiver)
            try:
                return LoopbackStream(mailbox.receiver, _open_message(edge, sender, mailbox.channel, mailbox.token))
            except Denied as denied:
                raise refusal(denied.reason, str(denied)) from denied
        run = self._find_run(query)
        if run is not None and run.shared.lasting:
            return await LastingStream.open(functools.partial(self._connect, query, edge, sender, receiver))
        return await self._connect(query, edge, sender, receiver)

    async def _connect(
        self, query: str, edge: EdgeSpec, sender: int, receiver: int, attempt: int = 0, backlog: Backlog | None = None
    ) -> RemoteStream:
        """Open a data connection for a stream. attempt, backlog: as in `outbound.Connector`."""
        run = self._find_run(query)
        told = run.inputs.told_channel(edge.id, sender, receiver) if run is not None else None
        found = told or await self.find_channel(query, edge, sender, receiver)
        tls, member = self._listener.tls, edge.receivers[receiver]
        kept = None if backlog is None else backlog.first
        opening = _open_message(edge, sender, found.channel, found.token, attempt, kept)
        return await open_remote(found.host, found.port, opening, tls=tls, member=member, backlog=backlog)

    def tls_peer(self, member: str) -> TlsPeer | None:
        """Return how Spark's tasks connect to a member by TLS; None: without TLS."""
        return self._listener.tls.peer(member) if self._listener.tls is not None else None

    async def find_channel(self, query: str, edge: EdgeSpec, sender: int, receiver: int) -> ChannelOk:
        """Return the channel that the stream is to connect to. Raises as `edge_output.Opener` says."""
        member = edge.receivers[receiver]
        if member != self._mesh.member:
            return await self._ask_channel(member, query, edge.id, sender, receiver)
        mailbox = await self._own_mailbox(query, edge, sender, receiver)
        # The listener of a member without other members starts only when its own Spark tasks need it.
        await self._listener.start()
        return ChannelOk(0, mailbox.channel, mailbox.token, *self._listener.address_from_afar)

    async def _own_mailbox(self, query: str, edge: EdgeSpec, sender: int, receiver: int) -> Mailbox:
        """Return the mailbox of an instance that runs here, once it is the sender's turn."""
        mailbox = self.mailboxes.find_or_make((query, edge.id, receiver))
        if mailbox.in_turn:
            await mailbox.receiver.order.turn(sender)
        return mailbox

    def announce_streams(self, query: str, edge: EdgeSpec, sender: int, receiver: int, rows: Mapping[int, int]) -> None:
        """Tell a receiver which streams it receives from a producer in total, and how many rows each has."""
        member = edge.receivers[receiver]
        if member == self._mesh.member:
            self.mailboxes.find_or_make((query, edge.id, receiver)).receiver.confirm(rows)
        else:
            self._mesh.send(member, Produced(query, edge.id, sender, receiver, tuple(rows.items())))

    async def _ask_channel(self, member: str, query: str, edge: int, sender: int, receiver: int) -> ChannelOk:
        with self._requests.open(member) as request:
            if not self._mesh.send(member, OpenChannel(request.number, query, edge, sender, receiver)):
                raise _not_connected(member)
            return await request.answer

    def on_message(self, member: str, message: OpenChannel | Produced | ChannelOk | ChannelDeny) -> None:
        """Handle another member's message about channels."""
        match message:
            case OpenChannel() | Produced():
                # In the query's turn, decide whether the sender's stream is accepted here.
                self._steps.find_channel_state(message.query, functools.partial(self._answer, member, message))
            case ChannelOk(request):
                self._requests.answer(member, request, message)
            case ChannelDeny(request, reason, words):
                self._requests.refuse(member, request, refusal(reason, words))

    def on_lost(self, member: str) -> None:
        """Fail the requests to a member that is lost."""
        self._requests.member_lost(member)

    def _answer(self, member: str, message: OpenChannel | Produced, state: ChannelState) -> None:
        answer: ControlMessage
        if state in ("running", "early") and not self._closing:
            mailbox = self.mailboxes.find_or_make((message.query, message.edge, message.receiver))
            if isinstance(message, Produced):
                mailbox.receiver.confirm(dict(message.rows))
            else:
                self._spawn(self._offer(member, message, mailbox))
            return
        if isinstance(message, Produced):
            return
        if state == "unknown":
            answer = ChannelDeny(message.request, "unknown", "too many queries have not started yet")
        else:
            answer = ChannelDeny(message.request, "closed", "the query is over")
        self._mesh.send(member, answer)

    async def _offer(self, member: str, message: OpenChannel, mailbox: Mailbox) -> None:
        """Answer with the channel's address; if streams are read one after another, only once it is the sender's turn."""
        if mailbox.in_turn:
            await mailbox.receiver.order.turn(message.sender)
        where = self._listener.address_from_afar
        self._mesh.send(member, ChannelOk(message.request, mailbox.channel, mailbox.token, *where))

    def refuse(self) -> None:
        """Refuse all further streams, because the member shuts down."""
        self._closing = True


def _open_message(
    edge: EdgeSpec, sender: int, channel: str, token: bytes, attempt: int = 0, kept: int | None = None
) -> Open:
    return Open(VERSION, channel, token, edge.id, sender, attempt, 0, stream_fingerprint(edge.schema), kept)


def _not_connected(member: str) -> ConnectionBroken:
    return ConnectionBroken(f"the connection to member {member} was lost")
