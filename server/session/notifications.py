"""LISTEN and NOTIFY of one session, as a value: the channels that it listens on, what its transaction will send, and
what waits for its client.

LISTEN, UNLISTEN and NOTIFY take effect when their transaction commits; a rollback to a savepoint undoes them as well. A
transaction sends a notification with the same payload on the same channel only once. A listener is told only between
its transactions; until then a notification waits in `heard`, whose size is bounded. PostgreSQL's NOTIFY fails when its
queue is full; here the listeners may be on other members than the sender, so the session of the listener that does not
read is ended instead. It then knows that it has missed something.

The order is PostgreSQL's: a transaction's LISTEN and UNLISTEN apply to its own NOTIFYs, whatever their order in it.

Source: PostgreSQL 15, async.c (PreCommit_Notify, AtCommit_Notify, AsyncExistsPendingNotify, pg_notify).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from wire.errors import InvalidParameterValue

#: NAMEDATALEN and NOTIFY_PAYLOAD_MAX_LENGTH: the first length, in bytes, that is too long.
CHANNEL_BYTES: Final = 64
PAYLOAD_BYTES: Final = 8000
#: The limit of pending notifications of one listener.
HEARD_BYTES_MAX: Final = 64 << 20

#: Channel and payload.
Said = tuple[str, str]


class Notification(NamedTuple):
    """pid: of the session that sent it."""

    pid: int
    channel: str
    payload: str


class _Mark(NamedTuple):
    """The numbers of actions and notifications when a savepoint was made."""

    actions: int
    said: int


class Notifications:
    """See the module's docstring. The owner reports savepoints and ends; depths are those of
    `server.session.transaction`.
    """

    def __init__(self) -> None:
        self._channels: dict[str, None] = {}
        self._actions: list[tuple[bool, str | None]] = []
        self._said: list[Said] = []
        self._marks: list[_Mark] = []
        self._heard: deque[Notification] = deque()
        self._heard_bytes = 0

    @property
    def channels(self) -> tuple[str, ...]:
        """Return the channels that the session listens to, in the order in which it began to."""
        return tuple(self._channels)

    @property
    def fullness(self) -> float:
        """The fill level of the buffer of pending notifications; above 1 it is exceeded."""
        return self._heard_bytes / HEARD_BYTES_MAX

    # -- requests of the transaction -----------------------------------------------------------------------------

    def listen(self, channel: str) -> None:
        self._actions.append((True, channel))

    def unlisten(self, channel: str | None) -> None:
        """Stop listening on a channel. None: on all channels."""
        self._actions.append((False, channel))

    def notify(self, channel: str, payload: str) -> None:
        """Add a notification to the transaction. Raises InvalidParameterValue."""
        if not channel:
            raise InvalidParameterValue("channel name cannot be empty")
        if len(channel.encode()) >= CHANNEL_BYTES:
            raise InvalidParameterValue("channel name too long")
        if len(payload.encode()) >= PAYLOAD_BYTES:
            raise InvalidParameterValue("payload string too long")
        self._said.append((channel, payload))

    def savepoint(self) -> None:
        self._marks.append(_Mark(len(self._actions), len(self._said)))

    def release(self, depth: int) -> None:
        """Release savepoints; `depth` of them are left."""
        del self._marks[depth:]

    def rollback_to(self, depth: int) -> None:
        """Roll back to the savepoint with `depth` others around it, which stays."""
        mark = self._marks[depth]
        del self._actions[mark.actions :], self._said[mark.said :], self._marks[depth + 1 :]

    def rollback(self) -> None:
        self._actions.clear()
        self._said.clear()
        self._marks.clear()

    def commit(self) -> Sequence[Said]:
        """Apply the transaction's LISTEN and UNLISTEN, and return the notifications to send to all listeners."""
        for listens, channel in self._actions:
            if channel is None:
                self._channels.clear()
            elif listens:
                self._channels[channel] = None
            else:
                self._channels.pop(channel, None)
        said = tuple(dict.fromkeys(self._said))
        self.rollback()
        return said

    # -- notifications of committed transactions -----------------------------------------------------------------

    def hear(self, pid: int, said: Sequence[Said]) -> bool:
        """Handle the notifications of a committed transaction. Returns whether any is for this session."""
        news = [Notification(pid, channel, payload) for channel, payload in said if channel in self._channels]
        self._heard.extend(news)
        self._heard_bytes += sum(_size(one) for one in news)
        return bool(news)

    def take(self) -> Notification | None:
        """Take the next notification for the client."""
        if not self._heard:
            return None
        one = self._heard.popleft()
        self._heard_bytes -= _size(one)
        return one


def _size(one: Notification) -> int:
    """Return the approximate size of a notification, in characters instead of bytes."""
    return 64 + len(one.channel) + len(one.payload)
