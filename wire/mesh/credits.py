"""Credit arithmetic of one data connection: how many bytes of a sender may be in flight. No I/O, no streams.

Both ends count totals since the connection opened, as QUIC does (RFC 9000, 4.1), instead of adding and subtracting
increments. A grant states the total that the sender may have sent, so a repeated or late grant changes nothing, and
rounding cannot drift. With S = sent, V = received, R = released by the consumer, G = granted:

    R <= V <= S <= G                     nothing is in flight that was not granted
    G <= max(R + window, V_idle + n)     so at most a window is held, or one batch larger than it

The second form is the one exception: a batch of n bytes that is larger than the window. Its sender announces n; the
receiver grants it when it holds nothing else (V_idle is the total received at that time). The batch is sent alone.

No deadlock: a sender that waits with a batch of n <= window gets G >= R + window >= S + n as soon as everything sent
has been released, and the release that empties the receiver always announces its grant. A batch that is dropped, or
written to disk, counts as released, like one that was consumed.
"""

from __future__ import annotations


class CreditError(Exception):
    """The other end broke the arithmetic: it sent more than was granted, or reduced a grant."""


class SendCredits:
    """The sender's account. held: as in `ReceiveCredits`."""

    def __init__(self, granted: int = 0, held: int = 0) -> None:
        self.granted = granted
        self.sent = held

    @property
    def remaining_credit(self) -> int:
        return self.granted - self.sent

    def covers(self, size: int) -> bool:
        return size <= self.remaining_credit

    def spend(self, size: int) -> None:
        """Account for a batch that is sent now. The credit must cover it."""
        assert 0 <= size <= self.remaining_credit, "sent without credit"
        self.sent += size

    def grant(self, granted: int) -> None:
        """Take a new total that the receiver announces. Raises CreditError if it is less than the last one."""
        if granted < self.granted:
            raise CreditError(f"grant went back from {self.granted} to {granted}")
        self.granted = granted


class ReceiveCredits:
    """The receiver's account of one connection with a window of `window` bytes (at least 1).

    held: bytes that earlier connections of the stream have delivered and that have not left yet. Both ends count them
    as sent over this connection, so a stream holds at most a window however often its connection breaks.
    """

    def __init__(self, window: int, held: int = 0) -> None:
        assert window > 0, "a window holds at least a byte"
        self.window = window
        self.granted = max(window, held)
        self.announced = self.granted
        self.received = held
        self.released = 0
        self._oversize = 0

    @property
    def held(self) -> int:
        """The number of bytes received and not yet released."""
        return self.received - self.released

    @property
    def available(self) -> int:
        """The number of bytes that the sender may still send."""
        return self.announced - self.received

    def receive(self, size: int) -> None:
        """Account for a batch that has arrived. Raises CreditError if it was not granted."""
        if size < 0 or size > self.available:
            raise CreditError(f"a batch of {size} bytes against {self.available} bytes of credit")
        self.received += size

    def announce_oversize(self, size: int) -> None:
        """Note that the sender holds a batch of `size` bytes, more than the window. Raises CreditError if it is not
        more.
        """
        if size <= self.window:
            raise CreditError(f"a batch of {size} bytes fits the window of {self.window}")
        self._oversize = size
        self._extend()

    def release(self, size: int) -> None:
        """Account for `size` bytes that have left: consumed, dropped or spooled."""
        assert 0 <= size <= self.held, "released what was not held"
        self.released += size
        self.granted = max(self.granted, self.released + self.window)
        self._extend()

    def due(self) -> int | None:
        """Return the total to announce now, or None while it is not worth a message.

        A message is worth it for half a window, or for any change if nothing is held (the sender may be waiting for
        just that).
        """
        news = self.granted - self.announced
        if news == 0 or (self.held > 0 and 2 * news < self.window):
            return None
        self.announced = self.granted
        return self.granted

    def _extend(self) -> None:
        if self._oversize and self.held == 0:
            self.granted = max(self.granted, self.received + self._oversize)
            self._oversize = 0
