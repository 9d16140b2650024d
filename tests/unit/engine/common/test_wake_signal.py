"""A wake signal wakes the task that waits, and none that waits later."""

from __future__ import annotations

import pytest

from engine.common.wake_signal import WakeSignal


async def test_a_ring_wakes_who_waits_however_often_it_rings() -> None:
    bell = WakeSignal()
    ring = bell.next_ring()
    bell.ring()
    bell.ring()
    await ring


async def test_a_ring_that_nobody_waited_for_is_not_kept() -> None:
    bell = WakeSignal()
    bell.ring()
    ring = bell.next_ring()
    assert not ring.done()
    bell.ring()
    await ring


async def test_one_that_was_cancelled_is_in_nobodys_way() -> None:
    bell = WakeSignal()
    given_up = bell.next_ring()
    given_up.cancel()
    bell.ring()
    ring = bell.next_ring()
    bell.ring()
    await ring
    assert given_up.cancelled()


async def test_a_second_one_may_not_wait() -> None:
    bell = WakeSignal()
    ring = bell.next_ring()
    with pytest.raises(AssertionError, match="waits already"):
        bell.next_ring()
    bell.ring()
    await ring
