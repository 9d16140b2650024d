"""How many bytes the connections of a member hold together of what their clients have sent and nobody has taken yet.

Arithmetic alone: `wire.pg.connection` counts into it, and refuses a long message that has not arrived whole while there is too
much. Refused is the message that still grows, not the one that stands still: the sum stays below its limit and one read of each
socket, and a client whose message is refused is answered (53200) and may go on.

Rejected: to reserve a message's length when its head comes. Four heads of five bytes would then take what all clients have.
Rejected: to let the message wait. Clients that send halves and stop would have all others wait for ever.
"""

from __future__ import annotations

from wire.errors import OutOfMemory


class InputBudget:
    """bytes_max: what may be held together before long messages are refused. held: what is."""

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
        """The error of a message of so many bytes."""
        return OutOfMemory(
            "out of memory",
            detail=f"A message of {length} bytes was refused: clients' messages that have not arrived whole hold {self.held}"
            " bytes.",
            hint="Repeat it later, or send it in smaller ones. The limit is client_input_mb of the member's configuration.",
        )
