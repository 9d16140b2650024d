"""The two ends of one data connection: bytes in, events out. Someone else owns the socket.

A data connection carries one stream and the whole of it, so order is TCP's:

    sender                       receiver
      PREFACE Open  ----------->
                    <-----------  Ok(granted, window)   or Deny
      Batch ...     ----------->
                    <-----------  FlowControl
      Batch(last)   ----------->

Either end may say Cancel; then, and after `last`, nothing follows. The states and what may happen in each:

| | sender says | receiver says |
|---|---|---|
| OPENING | Open | Ok -> OPEN, Deny -> CLOSED |
| OPEN | Batch, Oversize, Batch(last) -> DONE, Cancel -> CLOSED | FlowControl, Cancel -> CLOSED |
| DONE | nothing | FlowControl, Cancel -> CLOSED |
| CLOSED | nothing | nothing |

What the sender sent before it heard a Cancel or Deny is passed over, not blamed on it.

A sender that is out of credit keeps exactly one pending batch: `offer` takes it, and takes no other until it has gone.

Considered and rejected: many streams on one connection (TCP then blocks all for one), and a message per credit change
(`ReceiveCredits.due` says when one is worth it).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Final

from wire.dataclass import dataclass
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
    """A batch (`rows` > 0) or the bare end of the stream. `cost`: the bytes to `release` once it has left."""

    body: bytearray
    rows: int
    last: bool
    cost: int


#: What `DataReceiver` reports: the request to open, batches, the sender's own failure.
ReceiverEvent = Open | BatchArrived | Cancel
#: What `DataSender` reports: that it may send, that it was refused or stopped, that credit came.
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
    """The sending end of one stream."""

    def __init__(self, opening: Open) -> None:
        self.state = State.OPENING
        self.credits = SendCredits()
        self._open = opening
        self._window = 0
        self._reader = FrameReader(preface=False)
        self._pending: tuple[memoryview, int, bool] | None = None

    def opening(self) -> bytes:
        """The connection's first bytes."""
        return PREFACE + encode(self._open)

    @property
    def pending(self) -> bool:
        """Whether a batch waits for credit; then no other may be offered."""
        return self._pending is not None

    def offer(self, body: memoryview | bytes, rows: int, *, last: bool = False) -> _Chunks:
        """Send a batch, or keep it as the pending one. Returns what is to be written now."""
        if self.state is not State.OPEN or self._pending is not None:
            raise LocalProtocolError(f"a batch was offered while {self.state.value}, pending: {self.pending}")
        self._pending = (memoryview(body).cast("B"), rows, last)
        chunks = self.send_pending()
        if chunks or len(body) <= self._window:
            return chunks
        return (encode(Oversize(len(body))),)

    def send_pending(self) -> _Chunks:
        """The pending batch, if credit now covers it, else nothing. To be called after each FlowControl."""
        if self.state is not State.OPEN or self._pending is None or not self.credits.covers(len(self._pending[0])):
            return ()
        body, rows, last = self._pending
        self._pending = None
        self.credits.spend(len(body))
        if last:
            self.state = State.DONE
        o = self._open
        header = Batch(o.edge, o.partition, o.attempt, rows, last, self.credits.remaining)
        return (encode(header, len(body)), body) if body else (encode(header),)

    def cancel(
        self, sqlstate: str, message: str, detail: str = "", hint: str = "", fields: ErrorFields | None = None
    ) -> bytes:
        """Give the stream up, telling why. Empty if it is over already."""
        if self.state in (State.DONE, State.CLOSED):
            return b""
        self.state = State.CLOSED
        return encode(Cancel(sqlstate, message, detail, hint, fields))

    def receive_data(self, data: bytes) -> list[SenderEvent]:
        """The receiver's messages in `data`. Raises RemoteProtocolError."""
        return [self._receive(item) for item in self._reader.feed(data)]

    def _receive(self, item: Frame) -> SenderEvent:
        message = decode(item.kind, item.header)
        if not isinstance(message, _SENDER_HEARS[self.state]):
            raise RemoteProtocolError(f"{type(message).__name__} while {self.state.value}")
        match message:
            case Ok(granted, window):
                self.state = State.OPEN
                self._window = window
                self._grant(granted)
                return message
            case FlowControl(granted):
                self._grant(granted)
                return message
            case Deny() | Cancel():
                self.state = State.CLOSED
                return message
        raise AssertionError("the table of messages and the match disagree")

    def _grant(self, granted: int) -> None:
        try:
            self.credits.grant(granted)
        except CreditError as error:
            raise RemoteProtocolError(str(error)) from error


class DataReceiver:
    """The receiving end of one stream. Its owner answers an `Open` event with `accept` or `deny`."""

    def __init__(self) -> None:
        self.state = State.OPENING
        self.opening: Open | None = None
        self.credits: ReceiveCredits | None = None
        self._reader = FrameReader(preface=True)
        self._stopped = False

    def accept(self, window: int) -> bytes:
        """Let the sender begin, with `window` bytes of credit."""
        if self.state is not State.OPENING or self.opening is None:
            raise LocalProtocolError(f"accepted while {self.state.value}")
        self.state = State.OPEN
        self.credits = ReceiveCredits(window)
        self._reader.body_limit = self.credits.available
        return encode(Ok(window, window))

    def deny(self, reason: DenyReason, message: str) -> bytes:
        if self.state is not State.OPENING:
            raise LocalProtocolError(f"denied while {self.state.value}")
        self.state = State.CLOSED
        self._stopped = True
        return encode(Deny(reason, message))

    def cancel(self, sqlstate: str, message: str) -> bytes:
        """Stop the sender. Empty if there is nothing to stop."""
        if self.state not in (State.OPENING, State.OPEN):
            return b""
        self.state = State.CLOSED
        self._stopped = True
        return encode(Cancel(sqlstate, message))

    def release(self, cost: int) -> bytes:
        """A batch of that cost has left (consumed, dropped or spooled): the grant to send, if one is due."""
        if self.credits is None:
            raise LocalProtocolError("released before the stream was open")
        self.credits.release(cost)
        return self._announcement(self.credits)

    def buffer(self) -> memoryview:
        """Where the next bytes are to be written; see `filled`."""
        return self._reader.buffer()

    def filled(self, count: int) -> Iterator[ReceiverEvent]:
        """The events in the `count` bytes written to `buffer()`. Raises RemoteProtocolError."""
        return self._events(self._reader.filled(count))

    def receive_data(self, data: bytes) -> Iterator[ReceiverEvent]:
        """The events in `data`; to be exhausted before the next call. Raises RemoteProtocolError."""
        return self._events(self._reader.feed(data))

    def answers(self) -> bytes:
        """What the protocol itself has to say after events: the grant for an oversize batch."""
        if self.state is not State.OPEN or self.credits is None:
            return b""
        return self._announcement(self.credits)

    def _announcement(self, account: ReceiveCredits) -> bytes:
        granted = account.due()
        self._reader.body_limit = max(0, account.available)
        return b"" if granted is None or self.state is not State.OPEN else encode(FlowControl(granted))

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
                return self._opened(message)
            case Batch():
                return self._batch(message, item.body)
            case Oversize(size):
                self._oversize(size)
                return None
            case Cancel():
                self.state = State.CLOSED
                return message
        raise AssertionError("the table of messages and the match disagree")

    def _opened(self, message: Open) -> Open:
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
    """The peer speaks another version; it is told so with Deny("version")."""
