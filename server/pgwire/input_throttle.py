"""Pauses reading from a client at a bound, so that the kernel holds further input back.

The bound is larger while the server waits for the client to read. There is none while the server waits for a message,
since a message that is longer than the bound must still arrive whole. While reading is paused, the kernel is polled to
learn whether the client has hung up.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from typing import Final

from server.pgwire.client_socket import ClientSocket
from wire.pg.connection import Connection, State

#: Bytes of unread input at which reading pauses: normally, and while we wait for the client to read.
INBOUND_BYTES_MAX: Final = 1 << 20
INBOUND_STALLED_BYTES_MAX: Final = 64 << 20
#: The same for a client that is not authenticated, which must wait for the server's answers before it sends more.
INBOUND_STRANGER_BYTES_MAX: Final = 64 << 10
_STRANGER: Final = frozenset((State.STARTUP, State.ENCRYPTING, State.AUTHENTICATING))
#: Seconds between two checks whether the client of a paused socket has hung up.
POLL_SECONDS: Final = 0.5


class InputThrottle:
    """See the module's docstring.

    on_gone: called when the client has hung up while reading was paused. is_reading: whether the socket is read.
    is_awaited: whether the server waits for a message. is_stalled: whether the server waits for the client to read.
    """

    def __init__(self, connection: Connection, socket: ClientSocket, on_gone: Callable[[], None]) -> None:
        self.is_reading = True
        self.is_awaited = False
        self.is_stalled = False
        self._connection = connection
        self._socket = socket
        self._on_gone = on_gone
        self._timer: asyncio.TimerHandle | None = None

    def adjust(self) -> None:
        """Pause or resume reading, by the current bound."""
        if self._connection.state in _STRANGER:
            bound = INBOUND_STRANGER_BYTES_MAX
        else:
            patient = self.is_stalled and not self._connection.is_crowded
            bound = INBOUND_STALLED_BYTES_MAX if patient else INBOUND_BYTES_MAX
        if not self.is_awaited and self._connection.buffered_bytes > bound:
            self._pause()
        else:
            self.resume()

    def resume(self) -> None:
        transport = self._socket.transport
        if not self.is_reading and transport and not transport.is_closing():
            self.is_reading = True
            self.stop_polling()
            transport.resume_reading()

    def stop_polling(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _pause(self) -> None:
        transport = self._socket.transport
        if self.is_reading and transport and not transport.is_closing():
            self.is_reading = False
            transport.pause_reading()
            self._timer = asyncio.get_running_loop().call_later(POLL_SECONDS, self._poll)

    def _poll(self) -> None:
        """Check whether the client has hung up, which a paused transport does not report."""
        self._timer = None
        transport = self._socket.transport
        if transport is None or transport.is_closing():
            return
        poller = select.poll()
        poller.register(transport.get_extra_info("socket").fileno(), select.POLLRDHUP)
        if poller.poll(0):
            self._on_gone()
            return
        # All connections together may hold less now, which raises the bound.
        self.adjust()
        if not self.is_reading:
            self._timer = asyncio.get_running_loop().call_later(POLL_SECONDS, self._poll)
