"""Supervisors of background work: pauses, counts, and that the loop continues, on the test's own clock."""

from __future__ import annotations

import asyncio
import logging

import pytest

from engine.common.supervised import Background, Backoff, Supervised


def test_pauses_double_up_to_a_bound() -> None:
    backoff = Backoff(0.5, 10)
    assert [backoff.seconds(n) for n in range(8)] == [0, 0.5, 1, 2, 4, 8, 10, 10]
    assert backoff.seconds(10**9) == 10


def test_a_loop_fails_for_a_while_and_goes_on() -> None:
    """The step fails until a moment of the test's clock; what the loop waits is what the supervisor says."""
    supervised, now, tried = Supervised("publisher", Backoff(1, 8)), 0.0, []

    def step() -> None:
        tried.append(now)
        if now < 20:
            raise OSError(28, "No space left on device")

    while not supervised.attempt(step):
        assert supervised.status()["error"] == "OSError: [Errno 28] No space left on device"
        now += supervised.pause
    assert tried == [0, 1, 3, 7, 15, 23]
    assert supervised.status() == {"failures": 5, "failing": 0, "error": None}
    assert supervised.pause == 0


def test_the_log_is_told_of_changes_and_not_of_each_failure(caplog: pytest.LogCaptureFixture) -> None:
    supervised, causes = Supervised("keeper"), ["one", "one", "one", "other", None]

    def step() -> None:
        cause = causes.pop(0)
        if cause is not None:
            raise ValueError(cause)

    with caplog.at_level(logging.INFO):
        while causes:
            supervised.attempt(step)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING", "INFO"]


async def test_a_cancel_is_no_failure() -> None:
    supervised = Supervised("compactor")

    async def fails() -> None:
        raise KeyError("what nobody expects")

    assert not await supervised.attempt_async(fails)
    task = asyncio.ensure_future(supervised.attempt_async(asyncio.Event().wait))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert supervised.failures == 1


def test_a_member_shows_all_of_them() -> None:
    background = Background()
    background.supervise("trim")
    assert background.supervise("keeper") is background.supervise("keeper")
    assert background.status() == {name: {"failures": 0, "failing": 0, "error": None} for name in ("trim", "keeper")}
