"""Advisory locks: of one member's sessions, and, if members share a catalog that is a file, of all members' sessions.

A lock is a number whose meaning its users agree upon. `AdvisoryLocks` keeps the holders and waiters of this member.
Between members, a lock is a lock of the operating system on one byte of a file beside the catalog (`MemberLocks`): it
ends with the process that holds it, and needs no other member to be reachable. It is taken in the strongest mode that
this member's sessions together need. A member cannot be woken when another member releases a lock, so it polls for the
lock ten times a second.

Waiters get a lock in the order in which they came, but a session that already has it does not queue behind others for
it. A deadlock among sessions of one member is detected when its cycle closes (40P01), unless waiters can change places
so that the cycle is open (`engine.session.context.lock_queue`). A cycle across several members is not detected, and
ends with lock_timeout or statement_timeout.

Rejected: locks in the catalog database. They would outlive a member that is killed; or they would be PostgreSQL's own
advisory locks, which a connection that breaks releases unnoticed. With a catalog in PostgreSQL they are refused.

Source: PostgreSQL 15, 13.3.5 and lockfuncs.c.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from engine.session.context.lock_queue import order_without_deadlock
from wire.errors import DeadlockDetected, FeatureNotSupported, LockNotAvailable

#: As in pg_locks: classid, objid, objsubid; for an int8 its halves and 1, for two int4 these and 2.
Key = tuple[int, int, int]
_AGAIN_SECONDS: Final = 0.1


class MemberLocks:
    """The locks that this member holds against the other members of its catalog. file: its bytes are the locks.

    One descriptor is used for all locks, because a process loses its locks on a file when it closes any descriptor of
    the file.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor: int | None = None

    def take(self, key: Key, *, shared: bool) -> bool:
        """Take a lock in this mode, replacing the mode in which it is held. Returns False if another member holds a
        conflicting one.
        """
        if self._descriptor is None:
            self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        strength = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.lockf(self._descriptor, strength | fcntl.LOCK_NB, 1, _byte(key))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def give(self, key: Key) -> None:
        if self._descriptor is not None:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, _byte(key))

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _byte(key: Key) -> int:
    """Return the byte of the file that stands for a key: one of 2^62, so that no two keys share one."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "big") >> 2


@dataclass(slots=True, eq=False)
class _Waiter:
    owner: int
    key: Key
    shared: bool
    granted: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class AdvisoryLocks:
    """The locks of one member. Owners are sessions, by their process ids. Used on the loop's thread."""

    def __init__(self, members: MemberLocks | None) -> None:
        """members: None if other members cannot be excluded, so that nothing may be locked."""
        self._members = members
        #: By key: how often each owner has the lock, exclusively and shared.
        self._held: dict[Key, Counter[tuple[int, bool]]] = {}
        self._waiting: list[_Waiter] = []

    @classmethod
    def beside(cls, file: Path | None) -> AdvisoryLocks:
        """Make the locks of a member that shares this file with others. file: None if there can be no such file."""
        return cls(None if file is None else MemberLocks(file))

    def attempt(self, owner: int, key: Key, *, shared: bool) -> bool:
        """Take a lock if no session holds or awaits a conflicting one."""
        queued = any(w.key == key and not (w.shared and shared) and w.owner != owner for w in self._waiting)
        return not (queued and not self._has(owner, key)) and self._grant(owner, key, shared=shared)

    def _grant(self, owner: int, key: Key, *, shared: bool) -> bool:
        if self._members is None:
            raise FeatureNotSupported(
                "not supported: advisory locks where members share a catalog in PostgreSQL",
                hint="Take the lock on that PostgreSQL.",
            )
        if any(True for _ in self._in_the_way(owner, key, shared=shared)):
            return False
        held = self._held.get(key, Counter())
        exclusive = not shared or any(not s for _, s in held)
        if not self._members.take(key, shared=not exclusive):
            return False
        held[owner, shared] += 1
        self._held[key] = held
        return True

    def _in_the_way(self, owner: int, key: Key, *, shared: bool) -> Iterator[int]:
        for other, other_shared in self._held.get(key, ()):
            if other != owner and not (shared and other_shared):
                yield other

    def _has(self, owner: int, key: Key) -> bool:
        return any(other == owner for other, _ in self._held.get(key, ()))

    async def acquire(self, owner: int, key: Key, *, shared: bool, seconds: float) -> None:
        """Wait for a lock. seconds: the timeout; 0: none. Raises DeadlockDetected, LockNotAvailable."""
        if self.attempt(owner, key, shared=shared):
            return
        waiter = _Waiter(owner, key, shared)
        self._enqueue(waiter)
        try:
            async with asyncio.timeout(seconds or None):
                await self._wait_for_grant(waiter)
        except TimeoutError:
            self._give_up(waiter)
            raise LockNotAvailable("canceling statement due to lock timeout") from None
        except BaseException:
            self._give_up(waiter)
            raise

    async def _wait_for_grant(self, waiter: _Waiter) -> None:
        while not waiter.granted.done():
            # Another member releases its locks without a message.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(waiter.granted), _AGAIN_SECONDS)
            self._wake()

    def _give_up(self, waiter: _Waiter) -> None:
        if waiter.granted.done():
            self.release(waiter.owner, waiter.key, shared=waiter.shared)
        else:
            self._waiting.remove(waiter)
            self._wake()

    def release(self, owner: int, key: Key, *, shared: bool) -> bool:
        """Release a lock once. Returns False if the owner does not have it."""
        held = self._held.get(key)
        if held is None or not held[owner, shared]:
            return False
        held[owner, shared] -= 1
        if not held[owner, shared]:
            del held[owner, shared]
            self._weaken(key, held)
            self._wake()
        return True

    def _weaken(self, key: Key, held: Counter[tuple[int, bool]]) -> None:
        """Reduce this member's lock to the mode that its sessions still need."""
        assert self._members is not None, "nothing is held that was not taken"
        if not held:
            del self._held[key]
            self._members.give(key)
        elif all(shared for _, shared in held):
            self._members.take(key, shared=True)

    def _wake(self) -> None:
        """Grant waiters the locks that have become free, in the order of their requests."""
        passed: list[_Waiter] = []
        for waiter in list(self._waiting):
            if any(self._is_behind(waiter, ahead) for ahead in passed) or not self._grant(
                waiter.owner, waiter.key, shared=waiter.shared
            ):
                passed.append(waiter)
                continue
            self._waiting.remove(waiter)
            waiter.granted.set_result(None)

    def _enqueue(self, waiter: _Waiter) -> None:
        """Add a waiter to the queue. If its wait closes a cycle, waiters change places. Raises DeadlockDetected if no
        order of the queue opens the cycle.
        """
        queue = [*self._waiting, waiter]
        order = order_without_deadlock(queue, waiter, self._blockers, self._is_behind)
        if order is None:
            raise DeadlockDetected("deadlock detected", hint="The sessions wait for each other's advisory locks.")
        self._waiting = order
        if order != queue:
            self._wake()

    def _blockers(self, waiter: _Waiter) -> Iterator[int]:
        return self._in_the_way(waiter.owner, waiter.key, shared=waiter.shared)

    def _is_behind(self, waiter: _Waiter, ahead: _Waiter) -> bool:
        """Return whether a waiter may not get its lock before one that is ahead of it in the queue."""
        conflicting = waiter.key == ahead.key and not (waiter.shared and ahead.shared)
        return conflicting and not self._has(waiter.owner, waiter.key)

    def held(self) -> Iterator[tuple[Key, int, bool]]:
        """Yield each lock with its owner, and whether it is shared."""
        for key, owners in list(self._held.items()):
            for owner, shared in list(owners):
                yield key, owner, shared

    def close(self) -> None:
        if self._members is not None:
            self._members.close()


class SessionLocks:
    """The locks of one session: those that it releases itself, and those that end with its transaction."""

    def __init__(self, locks: AdvisoryLocks, owner: int) -> None:
        self._locks = locks
        self._owner = owner
        self._own: Counter[tuple[Key, bool]] = Counter()
        self._transaction: list[tuple[Key, bool]] = []
        #: Locks that the session has waited for, for calls that are about to be evaluated.
        self._awaited: Counter[tuple[Key, bool, bool]] = Counter()

    async def wait(self, key: Key, *, shared: bool, transaction: bool, seconds: float) -> None:
        """Take a lock for a later call of `take`. Raises DeadlockDetected, LockNotAvailable."""
        await self._locks.acquire(self._owner, key, shared=shared, seconds=seconds)
        self._note(key, shared=shared, transaction=transaction)
        self._awaited[key, shared, transaction] += 1

    def forget_awaited(self) -> None:
        """Forget the locks that an earlier statement waited for and, because it failed, did not use. Called when a
        statement begins.
        """
        self._awaited.clear()

    def take(self, key: Key, *, shared: bool, transaction: bool) -> None:
        """Take a lock that the session has waited for, or that is free. Raises FeatureNotSupported if it would have to
        wait here.
        """
        if self._awaited[key, shared, transaction]:
            self._awaited[key, shared, transaction] -= 1
        elif not self.attempt(key, shared=shared, transaction=transaction):
            raise FeatureNotSupported("not supported: to wait for an advisory lock in a statement that changes rows")

    def attempt(self, key: Key, *, shared: bool, transaction: bool) -> bool:
        if not self._locks.attempt(self._owner, key, shared=shared):
            return False
        self._note(key, shared=shared, transaction=transaction)
        return True

    def _note(self, key: Key, *, shared: bool, transaction: bool) -> None:
        if transaction:
            self._transaction.append((key, shared))
        else:
            self._own[key, shared] += 1

    def release(self, key: Key, *, shared: bool) -> bool:
        """Release a session-level lock. Returns False if the session has none."""
        if not self._own[key, shared]:
            return False
        self._own[key, shared] -= 1
        return self._locks.release(self._owner, key, shared=shared)

    def release_all(self) -> None:
        """Run pg_advisory_unlock_all."""
        for (key, shared), count in self._own.items():
            for _ in range(count):
                self._locks.release(self._owner, key, shared=shared)
        self._own.clear()

    @property
    def mark(self) -> int:
        """The locks that the transaction has now, as an argument of `end`."""
        return len(self._transaction)

    def end(self, mark: int = 0) -> None:
        """Release the transaction's locks, or those that it has taken since `mark`."""
        ended, self._transaction = self._transaction[mark:], self._transaction[:mark]
        for key, shared in ended:
            self._locks.release(self._owner, key, shared=shared)

    def close(self) -> None:
        self.end()
        self.release_all()
