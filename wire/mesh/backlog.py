"""The batches of a stream at its sender: batches that wait for credit and, if the stream outlives its connections,
batches that the receiver has not confirmed yet. No I/O.

Batches are numbered from 0 over all connections that carry the stream. With F = first, S = sent, O = offered:

    F <= S <= O         batches F to O - 1 are here; those from S on wait for credit
    F = S               nothing is kept (`keeps` is false): a batch leaves when it is sent
    F <= C <= S         the receiver has confirmed C batches: F becomes C

Credit bounds the kept batches: a receiver confirms with each grant, so batches F to S - 1 have at most the bytes of a
window, or are one batch larger than it.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class BacklogError(Exception):
    """The receiver counts batches that were not sent, or asks for a batch that it has confirmed."""


class Outgoing(NamedTuple):
    """A batch (`rows` > 0), or the end of the stream without a batch."""

    body: memoryview
    rows: int
    last: bool


class Backlog:
    """The batches at the sender (see the module's docstring). keeps: whether sent batches are kept until they are
    confirmed.
    """

    def __init__(self, *, keeps: bool = False) -> None:
        self.keeps = keeps
        self.first = 0
        self.sent = 0
        self._batches: deque[Outgoing] = deque()

    @property
    def offered_count(self) -> int:
        return self.first + len(self._batches)

    @property
    def has_pending(self) -> bool:
        """Whether a batch waits for credit."""
        return self.sent < self.offered_count

    @property
    def is_confirmed(self) -> bool:
        """Whether the receiver has confirmed everything that was offered."""
        return self.keeps and self.first == self.offered_count

    def add(self, batch: Outgoing) -> None:
        self._batches.append(batch)

    def peek(self) -> Outgoing:
        """Return the next batch to send. The caller ensures that one is pending."""
        return self._batches[self.sent - self.first]

    def pop(self) -> Outgoing:
        """Remove and return the next batch, which the caller sends now."""
        batch = self.peek()
        self.sent += 1
        if not self.keeps:
            self._drop_to(self.sent)
        return batch

    def confirm(self, batches: int) -> None:
        """Note that the receiver has this many batches. Raises BacklogError."""
        if batches > self.sent:
            raise BacklogError(f"{batches} batches confirmed, {self.sent} sent")
        if self.keeps:
            self._drop_to(batches)

    def resume(self, batches: int) -> None:
        """Continue on another connection of the stream, after the batches that the receiver has. Raises BacklogError."""
        if batches < self.first:
            raise BacklogError(f"batch {batches} asked for, {self.first} confirmed")
        self.confirm(batches)
        self.sent = batches

    def keep_nothing(self) -> None:
        """Stop keeping sent batches: the receiver cannot confirm batches."""
        self.keeps = False
        self._drop_to(self.sent)

    def _drop_to(self, number: int) -> None:
        while self.first < number:
            self._batches.popleft()
            self.first += 1
