"""The two ends of one data connection: bytes in, events out. The caller owns the socket.

A data connection carries exactly one whole stream, so TCP's order is the stream's order:

    sender                       receiver
      PREFACE Open  ----------->
                    <-----------  Ok(granted, window)   or Deny
      Batch ...     ----------->
                    <-----------  FlowControl
      Batch(last)   ----------->

Either end may send Cancel. After Cancel, and after `last`, nothing follows. The states, and the messages allowed in
each:

| | sender says | receiver says |
|---|---|---|
| OPENING | Open | Ok -> OPEN, Deny -> CLOSED |
| OPEN | Batch, Oversize, Batch(last) -> DONE, Cancel -> CLOSED | FlowControl, Cancel -> CLOSED |
| DONE | nothing | FlowControl, Cancel -> CLOSED |
| CLOSED | nothing | nothing |

Messages that the sender sent before it received a Cancel or Deny are ignored; they are not protocol violations.

A sender that is out of credit keeps exactly one pending batch: `offer` takes it, and accepts no other batch until it
has been sent.

**A stream that outlives its connections** (`Open.kept`). The sender keeps the batches that the receiver has not
confirmed (`wire.mesh.backlog`). Grants confirm batches, and so does the receiver's last message, which follows `last`.
If the connection breaks, the sender opens another one with a higher attempt number and the same backlog. `Ok` says how
many batches the receiver has; the sender continues after them:

    sender                       receiver
      Open(attempt 0, kept 0)  ->
      Batch 0, 1, 2 ...        ->  0 and 1 arrive, the connection breaks
      Open(attempt 1, kept 0)  ->
                               <-  Ok(batches 2)
      Batch 2 ...              ->
      Batch(last)              ->
                               <-  FlowControl(batches 4)   and closes: everything is here

Considered and rejected: many streams on one connection (TCP's head-of-line blocking then lets one stream block all),
and a message for each change of credit (`ReceiveCredits.due` says when a message is worth it).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Final

from wire.dataclass import dataclass
from wire.mesh.backlog import Backlog, BacklogError, Outgoing
from wire.mesh.credits import CreditError, ReceiveCredits, SendCredits
from wire.mesh.error_fields import ErrorFields
from wire.mesh.framing import PREFACE, Frame, FrameReader, LocalProtocolError, RemoteProtocolError
from wire.mesh.messages import (
    VERSION,
    Batch,
    Cancel,
    Deny,
    DenyReason,
    FlowControl,
    Message,
    Ok,
    Open,
    Oversize,
    decode,
    encode,
)


class State(enum.Enum):
    OPENING = "opening"
    OPEN = "open"
    DONE = "done"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class BatchArrived:
    """A batch (`rows` > 0), or the end of the stream without a batch. cost: the bytes to pass to `release` once the
    batch has left.
    """

    body: bytearray
    rows: int
    last: bool
    cost: int


#: The events of `DataReceiver`: the request to open, batches, the sender's own failure.
ReceiverEvent = Open | BatchArrived | Cancel
#: The events of `DataSender`: permission to send, refusal or cancellation, new credit.
SenderEvent = Ok | Deny | Cancel | FlowControl

_Chunks = tuple[bytes | memoryview, ...]
_SENDER_HEARS: Final[dict[State, tuple[type[Message], ...]]] = {
    State.OPENING: (Ok, Deny, Cancel),
    State.OPEN: (FlowControl, Cancel),
    State.DONE: (FlowControl, Cancel),
    State.CLOSED: (),
}
_RECEIVER_HEARS: Final[dict[State, tuple[type[Message], ...]]] = {
    State.OPENING: (Open, Cancel),
    State.OPEN: (Batch, Oversize, Cancel),
    State.DONE: (),
    State.CLOSED: (),
}


class DataSender:
    """The sending end of one stream. backlog: the backlog of a stream that outlives its connections; None: the sender
    makes its own.
    """

    def __init__(self, opening: Open, backlog: Backlog | None = None) -> None:
        self.state = State.OPENING
        self.credits = SendCredits()
        self._open = opening
        self._window = 0
        self._reader = FrameReader(preface=False)
        self._backlog = Backlog() if backlog is None else backlog
        self._announced = -1

    def opening_bytes(self) -> bytes:
        """Return the connection's first bytes."""
        return PREFACE + encode(self._open)

    @property
    def has_pending(self) -> bool:
        """Whether a batch waits for credit. If so, no other batch may be offered."""
        return self._backlog.has_pending

    @property
    def is_confirmed(self) -> bool:
        """Whether the receiver has confirmed the whole stream."""
        return self.state is State.DONE and self._backlog.is_confirmed

    def offer(self, body: memoryview | bytes, rows: int, *, last: bool = False) -> _Chunks:
        """Send a batch, or keep it as the pending one. Returns the bytes to write now."""
        if self.state is not State.OPEN or self.has_pending:
            raise LocalProtocolError(f"a batch was offered while {self.state.value}, pending: {self.has_pending}")
        self._backlog.add(Outgoing(memoryview(body).cast("B"), rows, last))
        return self.send_pending()

    def send_pending(self) -> _Chunks:
        """Return the frames of the pending batches that credit now covers, and the announcement of a batch larger than
        the window. The owner calls this after each Ok and FlowControl.
        """
        chunks: list[bytes | memoryview] = []
        while self.state is State.OPEN and self.has_pending:
            size = len(self._backlog.peek().body)
            if not self.credits.covers(size):
                if size > self._window and self._announced != self._backlog.sent:
                    self._announced = self._backlog.sent
                    chunks.append(encode(Oversize(size)))
                break
            chunks += self._send(self._backlog.pop())
        return tuple(chunks)

    def _send(self, batch: Outgoing) -> _Chunks:
        body, rows, last = batch
        self.credits.spend(len(body))
        if last:
            self.state = State.DONE
        o = self._open
        header = Batch(o.edge, o.partition, o.attempt, rows, last, self.credits.remaining_credit)
        return (encode(header, len(body)), body) if body else (encode(header),)

    def cancel(
        self, sqlstate: str, message: str, detail: str = "", hint: str = "", fields: ErrorFields | None = None
    ) -> bytes:
        """Cancel the stream with an error. Returns the frame; empty if the stream has ended already."""
        if self.state in (State.DONE, State.CLOSED):
            return b""
        self.state = State.CLOSED
        return encode(Cancel(sqlstate, message, detail, hint, fields))

    def receive_data(self, data: bytes) -> list[SenderEvent]:
        """Return the receiver's messages in `data`. Raises RemoteProtocolError."""
        return [self._receive(item) for item in self._reader.feed(data)]

    def _receive(self, item: Frame) -> SenderEvent:
        message = decode(item.kind, item.header)
        if not isinstance(message, _SENDER_HEARS[self.state]):
            raise RemoteProtocolError(f"{type(message).__name__} while {self.state.value}")
        match message:
            case Ok():
                self._begin(message)
                return message
            case FlowControl(granted, batches):
                self._grant(granted)
                self._confirm(batches)
                return message
            case Deny() | Cancel():
                self.state = State.CLOSED
                return message
        raise AssertionError("the table of messages and the match disagree")

    def _begin(self, message: Ok) -> None:
        if not 0 <= message.held <= message.granted:
            raise RemoteProtocolError(f"{message.held} bytes held of {message.granted} granted")
        self.state = State.OPEN
        self._window = message.window
        self.credits = SendCredits(message.granted, message.held)
        if message.batches is None:
            self._backlog.keep_nothing()
            return
        try:
            self._backlog.resume(message.batches)
        except BacklogError as error:
            raise RemoteProtocolError(str(error)) from error

    def _grant(self, granted: int) -> None:
        try:
            self.credits.grant(granted)
        except CreditError as error:
            raise RemoteProtocolError(str(error)) from error

    def _confirm(self, batches: int) -> None:
        if not self._backlog.keeps:
            return
        try:
            self._backlog.confirm(batches)
        except BacklogError as error:
            raise RemoteProtocolError(str(error)) from error


class DataReceiver:
    """The receiving end of one stream. Its owner answers an `Open` event with `accept` or `deny`."""

    def __init__(self) -> None:
        self.state = State.OPENING
        self.opening: Open | None = None
        self.credits: ReceiveCredits | None = None
        self._batches = 0
        self._reader = FrameReader(preface=True)
        self._stopped = False

    def accept(self, window: int, *, batches: int = 0, held: int = 0) -> bytes:
        """Let the sender begin, with `window` bytes of credit.

        batches: the number of batches that earlier connections of the stream have delivered. held: how many of their
        bytes are still in memory.
        """
        if self.state is not State.OPENING or self.opening is None:
            raise LocalProtocolError(f"accepted while {self.state.value}")
        self.state = State.OPEN
        self._batches = batches
        self.credits = ReceiveCredits(window, held)
        self._reader.body_limit = self.credits.available
        return encode(Ok(self.credits.granted, window, None if self.opening.kept is None else batches, held))

    def deny(self, reason: DenyReason, message: str) -> bytes:
        if self.state is not State.OPENING:
            raise LocalProtocolError(f"denied while {self.state.value}")
        self.state = State.CLOSED
        self._stopped = True
        return encode(Deny(reason, message))

    def cancel(self, sqlstate: str, message: str) -> bytes:
        """Stop the sender. Returns the frame; empty if there is nothing to stop."""
        if self.state not in (State.OPENING, State.OPEN):
            return b""
        self.state = State.CLOSED
        self._stopped = True
        return encode(Cancel(sqlstate, message))

    def release(self, cost: int) -> bytes:
        """Note that a batch of this cost has left (consumed, dropped or spooled). Returns the grant to send, if one is
        due.
        """
        if self.credits is None:
            raise LocalProtocolError("released before the stream was open")
        self.credits.release(cost)
        return self._announcement(self.credits)

    def buffer(self) -> memoryview:
        """Return the buffer for the next bytes; see `buffer_updated`."""
        return self._reader.buffer()

    def buffer_updated(self, count: int) -> Iterator[ReceiverEvent]:
        """Return the events in the `count` bytes written to `buffer()`. Raises RemoteProtocolError."""
        return self._events(self._reader.buffer_updated(count))

    def receive_data(self, data: bytes) -> Iterator[ReceiverEvent]:
        """Return the events in `data`. The caller exhausts them before the next call. Raises RemoteProtocolError."""
        return self._events(self._reader.feed(data))

    def answers(self) -> bytes:
        """Return the frames that the protocol itself sends after events: the grant for an oversize batch."""
        if self.state is not State.OPEN or self.credits is None:
            return b""
        return self._announcement(self.credits)

    def confirmation(self) -> bytes:
        """Return the last message on a stream that outlives its connections: all of it has arrived."""
        if self.state is not State.DONE or self.credits is None or self.opening is None or self.opening.kept is None:
            return b""
        return encode(FlowControl(self.credits.announced, self._batches))

    def _announcement(self, account: ReceiveCredits) -> bytes:
        granted = account.due()
        self._reader.body_limit = max(0, account.available)
        if granted is None or self.state is not State.OPEN or self.opening is None:
            return b""
        return encode(FlowControl(granted, 0 if self.opening.kept is None else self._batches))

    def _events(self, frames: Iterator[Frame]) -> Iterator[ReceiverEvent]:
        for item in frames:
            event = None if self._stopped else self._receive(item)
            if event is not None:
                yield event

    def _receive(self, item: Frame) -> ReceiverEvent | None:
        message = decode(item.kind, item.header)
        if not isinstance(message, _RECEIVER_HEARS[self.state]) or (isinstance(message, Open) and self.opening):
            raise RemoteProtocolError(f"{type(message).__name__} while {self.state.value}")
        if item.body and not isinstance(message, Batch):
            raise RemoteProtocolError(f"{type(message).__name__} with a body")
        match message:
            case Open():
                return self._accept_open(message)
            case Batch():
                return self._batch(message, item.body)
            case Oversize(size):
                self._oversize(size)
                return None
            case Cancel():
                self.state = State.CLOSED
                return message
        raise AssertionError("the table of messages and the match disagree")

    def _accept_open(self, message: Open) -> Open:
        if message.version != VERSION:
            raise VersionMismatch(f"protocol version {message.version} where {VERSION} is spoken")
        self.opening = message
        return message

    def _batch(self, message: Batch, body: bytearray) -> BatchArrived:
        o, account = self.opening, self.credits
        assert o is not None
        assert account is not None
        if (message.edge, message.partition, message.attempt) != (o.edge, o.partition, o.attempt):
            raise RemoteProtocolError("a batch of another stream")
        if bool(body) != (message.rows > 0) or not (body or message.last):
            raise RemoteProtocolError("a batch's rows and its body do not fit")
        try:
            account.receive(len(body))
        except CreditError as error:
            raise RemoteProtocolError(str(error)) from error
        if message.remaining > account.available:
            raise RemoteProtocolError("the sender counts more credit than it was given")
        self._batches += 1
        if message.last:
            self.state = State.DONE
        self._reader.body_limit = account.available
        return BatchArrived(body, message.rows, message.last, len(body))

    def _oversize(self, size: int) -> None:
        assert self.credits is not None
        try:
            self.credits.announce_oversize(size)
        except CreditError as error:
            raise RemoteProtocolError(str(error)) from error


class VersionMismatch(RemoteProtocolError):
    """The peer speaks another protocol version. The answer is Deny("version")."""
