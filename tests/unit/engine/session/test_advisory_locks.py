"""Advisory locks: who gets one, in which order, and how a deadlock ends; on one member and on two; sessions of a
member.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg
import pytest
from support.local_member import local_member
from support.session_server import eventually

from engine.session.context.advisory_locks import AdvisoryLocks, Key, MemberLocks, SessionLocks
from wire.errors import DeadlockDetected, FeatureNotSupported, LockNotAvailable

A: Final[Key] = (0, 1, 1)
B: Final[Key] = (0, 2, 1)


@pytest.fixture
def locks(tmp_path: Path) -> Iterator[AdvisoryLocks]:
    made = AdvisoryLocks(MemberLocks(tmp_path / "locks"))
    yield made
    assert list(made.held()) == []
    made.close()


async def _waiting(locks: AdvisoryLocks, owner: int, key: Key, *, shared: bool = False) -> asyncio.Task[None]:
    """A session that waits; its task has begun to when this returns."""
    task = asyncio.create_task(locks.acquire(owner, key, shared=shared, seconds=0))
    await asyncio.sleep(0)
    assert not task.done()
    return task


def test_shared_locks_go_together_and_count(locks: AdvisoryLocks) -> None:
    assert locks.attempt(1, A, shared=True)
    assert locks.attempt(2, A, shared=True)
    assert not locks.attempt(1, A, shared=False)
    assert locks.attempt(1, B, shared=False)
    assert locks.attempt(1, B, shared=True)
    assert locks.attempt(1, B, shared=False)
    assert locks.release(2, A, shared=True)
    assert locks.attempt(1, A, shared=False)
    assert not locks.attempt(2, A, shared=True)
    for key, shared in ((A, True), (A, False), (B, False), (B, True)):
        assert locks.release(1, key, shared=shared)
        assert not locks.attempt(2, B, shared=True)
    assert locks.release(1, B, shared=False)
    assert not locks.release(1, B, shared=False)


async def test_waiters_come_in_turn(locks: AdvisoryLocks) -> None:
    assert locks.attempt(1, A, shared=True)
    second = await _waiting(locks, 2, A)
    # Who came later waits too, although nobody has what it wants; who has the lock need not.
    assert not locks.attempt(3, A, shared=True)
    third = await _waiting(locks, 3, A, shared=True)
    assert locks.attempt(1, A, shared=True)
    for _ in range(2):
        locks.release(1, A, shared=True)
    await second
    assert not third.done()
    locks.release(2, A, shared=False)
    await third
    locks.release(3, A, shared=True)


async def test_a_circle_is_found_when_it_closes(locks: AdvisoryLocks) -> None:
    assert locks.attempt(1, A, shared=False)
    assert locks.attempt(2, B, shared=False)
    first = await _waiting(locks, 1, B)
    with pytest.raises(DeadlockDetected):
        await locks.acquire(2, A, shared=False, seconds=0)
    locks.release(2, B, shared=False)
    await first
    for key in (A, B):
        locks.release(1, key, shared=False)


@pytest.mark.parametrize("reader_waits_last", [False, True])
async def test_a_reader_passes_a_writer_that_waits_if_it_is_blocked_by_it_alone_in_a_circle(
    locks: AdvisoryLocks, reader_waits_last: bool
) -> None:
    """As in PostgreSQL: 3 waits behind 2 only because of its place, so it gets the lock before 2, and none fails."""
    assert locks.attempt(1, A, shared=True)
    assert locks.attempt(3, B, shared=False)
    writer = await _waiting(locks, 2, A)
    if reader_waits_last:
        first = await _waiting(locks, 1, B)
        await locks.acquire(3, A, shared=True, seconds=0)
    else:
        reader = await _waiting(locks, 3, A, shared=True)
        first = await _waiting(locks, 1, B)
        await reader
    assert not writer.done()
    locks.release(3, B, shared=False)
    await first
    locks.release(1, A, shared=True)
    await asyncio.sleep(0)
    assert not writer.done()
    locks.release(3, A, shared=True)
    await writer
    locks.release(2, A, shared=False)
    locks.release(1, B, shared=False)


async def test_a_circle_that_no_order_of_the_queue_opens_is_a_deadlock(locks: AdvisoryLocks) -> None:
    assert locks.attempt(1, A, shared=True)
    assert locks.attempt(3, B, shared=False)
    second = await _waiting(locks, 2, A)
    third = await _waiting(locks, 3, A)
    with pytest.raises(DeadlockDetected):
        await locks.acquire(1, B, shared=False, seconds=0)
    locks.release(1, A, shared=True)
    await second
    locks.release(2, A, shared=False)
    await third
    for key in (A, B):
        locks.release(3, key, shared=False)


async def test_two_circles_are_opened_at_once(locks: AdvisoryLocks) -> None:
    """Two readers wait, one behind a writer of A and one behind a writer of B, and each has what the other's reader
    waits for.
    """
    c: Final[Key] = (0, 3, 1)
    assert locks.attempt(1, A, shared=True)
    assert locks.attempt(1, B, shared=True)
    for reader in (4, 5):
        assert locks.attempt(reader, c, shared=True)
    writers = [await _waiting(locks, 2, A), await _waiting(locks, 3, B)]
    readers = [await _waiting(locks, 4, A, shared=True), await _waiting(locks, 5, B, shared=True)]
    first = await _waiting(locks, 1, c)
    await asyncio.gather(*readers)
    for reader in (4, 5):
        locks.release(reader, c, shared=True)
    await first
    locks.release(1, c, shared=False)
    for key, reader in ((A, 4), (B, 5)):
        locks.release(1, key, shared=True)
        locks.release(reader, key, shared=True)
    await asyncio.gather(*writers)
    locks.release(2, A, shared=False)
    locks.release(3, B, shared=False)


async def test_who_gives_up_leaves_nothing(locks: AdvisoryLocks) -> None:
    assert locks.attempt(1, A, shared=False)
    with pytest.raises(LockNotAvailable, match="canceling statement due to lock timeout"):
        await locks.acquire(2, A, shared=False, seconds=0.01)
    waiting = await _waiting(locks, 2, A)
    behind = await _waiting(locks, 3, A)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    locks.release(1, A, shared=False)
    await behind
    locks.release(3, A, shared=False)


def test_a_transaction_gives_back_what_it_took(locks: AdvisoryLocks) -> None:
    one = SessionLocks(locks, 1)
    assert one.attempt(A, shared=False, transaction=False)
    assert one.attempt(A, shared=False, transaction=True)
    mark = one.mark
    assert one.attempt(B, shared=False, transaction=True)
    one.end(mark)
    assert locks.attempt(2, B, shared=False)
    assert not one.release(B, shared=False)
    one.end()
    assert not locks.attempt(2, A, shared=False)
    one.close()
    assert locks.attempt(2, A, shared=False)
    for key in (A, B):
        locks.release(2, key, shared=False)


def test_where_others_cannot_be_kept_away_nothing_is_locked() -> None:
    with pytest.raises(FeatureNotSupported, match="share a catalog in PostgreSQL"):
        AdvisoryLocks(None).attempt(1, A, shared=False)


_OTHER: Final = """
import sys
from pathlib import Path
from engine.session.context.advisory_locks import MemberLocks
locks = MemberLocks(Path(sys.argv[1]))
print(locks.take((0, 1, 1), shared=False), flush=True)
sys.stdin.readline()
"""


async def test_other_members_are_kept_away_until_they_end(tmp_path: Path) -> None:
    file = tmp_path / "locks"
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _OTHER, str(file), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    assert await other.stdout.readline() == b"True\n"
    locks = AdvisoryLocks(MemberLocks(file))
    assert not locks.attempt(1, A, shared=True)
    assert locks.attempt(1, B, shared=False)
    waiting = await _waiting(locks, 1, A)
    other.kill()
    await other.communicate()
    await waiting
    for key in (A, B):
        locks.release(1, key, shared=False)
    locks.close()


async def test_sessions_wait_and_are_woken(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect() as one, member.connect() as two:
        one.execute("select pg_advisory_lock(1)")
        assert two.execute("select pg_try_advisory_lock(1)").fetchone() == (False,)
        two.execute("set lock_timeout = 10")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            two.execute("select pg_advisory_lock(1)")
        two.execute("set lock_timeout = 0")
        done = threading.Thread(target=lambda: two.execute("select pg_advisory_xact_lock(1)"))
        done.start()
        one.execute("select pg_advisory_unlock(1)")
        done.join()
        one.execute("begin")
        one.execute("select pg_advisory_xact_lock(1)")
        one.close()
        await eventually(lambda: not list(member.engine.advisory_locks.held()))
        assert two.execute("select pg_try_advisory_lock(1)").fetchone() == (True,)
