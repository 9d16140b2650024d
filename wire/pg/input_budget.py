"""The limit on the input that all connections of a member together buffer: bytes received from clients and not consumed yet.

This module only counts. `wire.pg.connection` adds to the count, and while the limit is exceeded it refuses a long message that
has not arrived completely. It refuses the message that is still growing, not one that has stopped arriving, so the total stays
below the limit plus one read of each socket. A client whose message is refused receives an error (53200) and may continue.

Rejected: reserving the length of a message when its header arrives. Four headers of five bytes would then take the room of all
clients. Rejected: letting the message wait. Clients that send half a message and stop would make all others wait forever.
"""

from __future__ import annotations

from wire.errors import OutOfMemory


class InputBudget:
    """The counter of all connections' buffered input. bytes_max: the total above which long messages are refused. held:
    the current total, in bytes.
    """

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.held = 0

    @property
    def is_exceeded(self) -> bool:
        return self.held > self.bytes_max

    def add(self, size: int) -> None:
        self.held += size

    def release(self, size: int) -> None:
        assert size <= self.held, "what is given back was taken"
        self.held -= size

    def refusal(self, length: int) -> OutOfMemory:
        """Return the error for a refused message. length: the message's length in bytes."""
        return OutOfMemory(
            "out of memory",
            detail=f"A message of {length} bytes was refused: clients' messages that have not arrived whole hold {self.held}"
            " bytes.",
            hint="Repeat it later, or send it in smaller ones. The limit is client_input_mb of the member's configuration.",
        )
