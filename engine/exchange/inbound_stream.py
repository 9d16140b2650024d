"""One stream of an edge at its receiver: the batches that have arrived, in memory or on disk, and the connection that
carries it.

`engine.exchange.receive` has the theory: attempts, streams that outlive their connections, credits. `StreamOwner` is
the part of the receiver that a stream uses.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from engine.common.shielded import shielded
from engine.exchange.spool import Place, SpoolFile
from engine.exchange.spool_share import SpoolShare
from wire.errors import ConnectionFailure, SqlError
from wire.mesh.channel import BatchArrived
from wire.mesh.credits import ReceiveCredits
from wire.mesh.error_fields import error_from_fields
from wire.mesh.messages import Cancel, DenyReason, Open


class Denied(Exception):
    """The receiver rejects this stream; `reason` as in `wire.mesh.messages.Deny`."""

    def __init__(self, reason: DenyReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Link(Protocol):
    """The data connection of a stream, as its receiver uses it (`engine.exchange.listener`)."""

    @property
    def account(self) -> ReceiveCredits: ...

    def release(self, cost: int) -> None: ...

    def cancel(self, sqlstate: str, message: str) -> None:
        """Stop the sender and close the connection, from which nothing is received afterwards."""
        ...


class StreamOwner(Protocol):
    """The receiver, as its streams use it. Its methods are called on the event loop's thread and do not wait.

    share: the edge's share of the spool.
    """

    share: SpoolShare

    def now(self) -> float: ...

    def on_batch(self, stream: InboundStream, batch: BatchArrived) -> None:
        """Handle the arrival of a batch. It is among the stream's entries if it has rows."""
        ...

    def on_interrupted(self, stream: InboundStream) -> None:
        """Handle the end of a connection whose stream may continue over another one."""
        ...

    def attempt_failed(self, stream: InboundStream, cause: SqlError | None = None) -> None:
        """Handle an attempt that has failed before its end."""
        ...

    def fail(self, error: SqlError) -> None:
        """Fail the query."""
        ...


class _Entry:
    """A batch on its way through a stream. `body` is None while the batch is on disk only."""

    __slots__ = ("body", "cost", "held", "place", "rows")

    def __init__(self, body: bytearray, rows: int, cost: int) -> None:
        self.body: bytearray | None = body
        self.rows = rows
        self.cost = cost
        self.held = True
        self.place: Place | None = None


class InboundStream:
    """One attempt at one partition, or all attempts of a stream that outlives its connections. The link calls
    `arrive`, `lost`, `on_cancelled` and `broken`.

    batches, bytes: the totals that have arrived. spooled: how many bytes of them were written to disk. carried: the
    bytes that were in memory when the current connection took over.
    """

    def __init__(self, owner: StreamOwner, opening: Open, link: Link) -> None:
        self.opening = opening
        self.complete = False
        self.dead = False
        self.consumed = False
        self.accepted = False
        self.rows = 0
        self.batches = 0
        self.bytes = 0
        self.spooled = 0
        self.carried = 0
        self.entries: deque[_Entry] = deque()
        self.arrived_at = owner.now()
        self.cost_max = 0
        self._owner = owner
        self._link = link
        self._file: SpoolFile | None = None
        self._spooling: asyncio.Task[None] | None = None

    @property
    def open(self) -> bool:
        """Whether the stream is still open, so that its sender still occupies its slot."""
        return not self.complete and not self.dead

    @property
    def held(self) -> int:
        """The bytes of the stream that are in memory."""
        return self._link.account.held

    @property
    def account(self) -> ReceiveCredits:
        """The credit account of the current connection."""
        return self._link.account

    @property
    def is_out_of_credit(self) -> bool:
        """Whether the sender lacks credit for one more batch of the size of the preceding ones."""
        account = self._link.account
        return self.open and account.held > 0 and account.available < max(self.cost_max, 1)

    def is_blocked(self, since: float) -> bool:
        """Return whether the sender has been out of credit since that time."""
        return self.is_out_of_credit and self.arrived_at <= since and self._spooling is None

    def arrive(self, batch: BatchArrived) -> None:
        if self.dead:
            self._link.release(batch.cost)
            return
        self.arrived_at = self._owner.now()
        self.cost_max = max(self.cost_max, batch.cost)
        self.rows += batch.rows
        self.batches += 1
        self.bytes += batch.cost
        if batch.rows:
            self.entries.append(_Entry(batch.body, batch.rows, batch.cost))
        self.complete = self.complete or batch.last
        self._owner.on_batch(self, batch)
        if self._owner.share.is_open and self.open:
            self.spool()

    def lost(self, link: Link) -> None:
        """Handle a connection that ended before the stream did. A connection that another one has replaced is ignored."""
        if not self.open or link is not self._link:
            return
        if self.opening.kept is not None:
            self._owner.on_interrupted(self)
            return
        self.dead = True
        self._owner.attempt_failed(self)

    def goes_on(self, opening: Open) -> bool:
        """Return whether a later attempt continues this stream: whether its sender still has everything that has not
        arrived.
        """
        if not self.open or self.opening.kept is None or opening.kept is None:
            return False
        return opening.attempt > self.opening.attempt and opening.kept <= self.batches

    def go_on(self, opening: Open, link: Link) -> None:
        """Continue over another connection, perhaps before the end of the earlier one was noticed. The account of the
        new connection begins with the bytes that the earlier one's holds.
        """
        earlier = self._link
        self.carried, self.opening, self._link = earlier.account.held, opening, link
        earlier.cancel("40001", "another connection has taken over")

    def give_way(self, opening: Open) -> None:
        """Let a later attempt replace this one. Raises Denied where that is not possible."""
        if self.complete:
            raise Denied("complete", "the stream has arrived whole")
        if self.opening.attempt >= opening.attempt:
            raise Denied("superseded", "a later attempt has taken this stream's place")
        if not self.dead:
            self.dead = True
            self._owner.attempt_failed(self)
        if self.consumed:
            # Not "closed", after which a task ends as if nothing had failed; the client would then see a lost connection.
            raise Denied("superseded", "rows of an earlier attempt have been consumed")

    def on_cancelled(self, message: Cancel) -> None:
        """Handle the sender's abandonment of the stream, with its reason. If the reason is that the sender lost a
        connection, it does not count as the cause here.
        """
        self.dead = True
        lost = message.sqlstate == ConnectionFailure.default_sqlstate
        error: SqlError = ConnectionFailure(message.message)
        if not lost:
            error = error_from_fields(message.sqlstate, message.message, message.detail, message.hint, message.fields)
        self._owner.attempt_failed(self, error)

    def broken(self, message: str) -> None:
        """Fail the query because the peer violates the protocol."""
        self.dead = True
        self._owner.fail(ConnectionFailure(f"a data connection failed: {message}"))

    def take(self) -> _Entry:
        """Remove the next batch and return its credit. The caller ensures that there is one."""
        entry = self.entries.popleft()
        self.consumed = True
        self._release(entry)
        return entry

    async def load(self, entry: _Entry) -> bytearray:
        if entry.body is not None:
            return entry.body
        assert self._file is not None, "a batch without a body lies on disk"
        assert entry.place is not None
        return await self._file.read(entry.place)

    def drop(self, sqlstate: str, message: str) -> None:
        """Discard what has arrived and stop the sender."""
        self.dead = True
        while self.entries:
            self._release(self.entries.popleft())
        self._link.cancel(sqlstate, message)

    def spool(self) -> None:
        """Write the batches in memory to disk for as long as the receiver's share is open."""
        if self._spooling is None and self.open and self.entries:
            self._spooling = asyncio.get_running_loop().create_task(self._spool())

    async def close(self) -> None:
        """Wait for writes to disk and delete the file. To be called after `drop`, or when everything has been taken."""
        try:
            if self._spooling is not None:
                await shielded(self._spooling)
        finally:
            file, self._file = self._file, None
            if file is not None:
                await shielded(file.close())

    def _release(self, entry: _Entry) -> None:
        if entry.held:
            entry.held = False
            self._link.release(entry.cost)

    async def _spool(self) -> None:
        try:
            while (entry := self._next_to_spool()) is not None:
                if self._file is None:
                    # The entry may have been taken meanwhile.
                    self._file = await self._owner.share.spooler.create()
                else:
                    await self._write(self._file, entry)
        except SqlError as error:
            self._owner.fail(error)
        finally:
            self._spooling = None

    def _next_to_spool(self) -> _Entry | None:
        if not self.open or not self._owner.share.is_open:
            return None
        entry = next((e for e in self.entries if e.place is None), None)
        return entry if entry is not None and self._owner.share.covers(entry.cost) else None

    async def _write(self, file: SpoolFile, entry: _Entry) -> None:
        assert entry.body is not None
        self._owner.share.bytes_used += entry.cost
        self.spooled += entry.cost
        entry.place = await file.write(entry.body)
        if entry.held:
            entry.body = None
            self._release(entry)
