"""Limits on failed logins: how many are allowed from an address and as a role, and how long they count."""

from __future__ import annotations

import logging

import pytest

from server.auth import login_attempts
from server.auth.login_attempts import FailureLimits, LoginAttempts
from wire.errors import InvalidAuthorizationSpecification

_LIMITS = FailureLimits(address=3, role=5)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def attempts(clock: Clock) -> LoginAttempts:
    return LoginAttempts(clock)


def _fail(attempts: LoginAttempts, host: str, user: str, count: int = 1) -> None:
    for _ in range(count):
        attempts.record_failure(host, user, _LIMITS)


def _is_refused(attempts: LoginAttempts, host: str, user: str, limits: FailureLimits = _LIMITS) -> bool:
    try:
        attempts.require(host, user, limits)
    except InvalidAuthorizationSpecification:
        return True
    return False


def test_an_address_is_refused_whatever_the_name(attempts: LoginAttempts) -> None:
    _fail(attempts, "10.0.0.1", "ann", 2)
    assert not _is_refused(attempts, "10.0.0.1", "ann")
    _fail(attempts, "10.0.0.1", "bob")
    assert _is_refused(attempts, "10.0.0.1", "carol")
    assert _is_refused(attempts, "::ffff:10.0.0.1", "carol")
    assert not _is_refused(attempts, "10.0.0.2", "ann")


def test_a_role_is_refused_wherever_from(attempts: LoginAttempts) -> None:
    for last in range(5):
        _fail(attempts, f"10.0.0.{last}", "ann")
    assert _is_refused(attempts, "10.0.1.1", "ann")
    assert not _is_refused(attempts, "10.0.1.1", "bob")


def test_failures_are_forgotten_evenly(attempts: LoginAttempts, clock: Clock) -> None:
    _fail(attempts, "10.0.0.1", "ann", 3)
    with pytest.raises(InvalidAuthorizationSpecification, match=r"too many failed logins from 10\.0\.0\.1") as refused:
        attempts.require("10.0.0.1", "ann", _LIMITS)
    assert refused.value.hint == "Try again in 20 s."
    clock.now += 19.9
    assert _is_refused(attempts, "10.0.0.1", "ann")
    clock.now += 0.2
    assert not _is_refused(attempts, "10.0.0.1", "ann")
    _fail(attempts, "10.0.0.1", "ann")
    assert _is_refused(attempts, "10.0.0.1", "ann")
    clock.now += 60
    _fail(attempts, "10.0.0.1", "ann", 2)
    assert not _is_refused(attempts, "10.0.0.1", "ann")


def test_who_was_let_in_before_is_not_locked_out_by_others(attempts: LoginAttempts) -> None:
    """Neither by failures from its address nor by failures as itself from elsewhere; by its own it is."""
    attempts.record_success("10.0.0.1", "ann")
    _fail(attempts, "10.0.0.1", "bob", 10)
    for last in range(10):
        _fail(attempts, f"10.0.1.{last}", "ann")
    assert not _is_refused(attempts, "10.0.0.1", "ann")
    _fail(attempts, "10.0.0.1", "ann", 3)
    assert _is_refused(attempts, "10.0.0.1", "ann")


def test_one_who_may_log_in_guesses_no_faster(attempts: LoginAttempts) -> None:
    _fail(attempts, "10.0.0.1", "ann", 2)
    attempts.record_success("10.0.0.1", "eve")
    _fail(attempts, "10.0.0.1", "ann")
    assert _is_refused(attempts, "10.0.0.1", "ann")


def test_an_ipv6_network_is_one_address(attempts: LoginAttempts) -> None:
    for last in range(3):
        _fail(attempts, f"2001:db8::{last}", "ann")
    assert _is_refused(attempts, "2001:db8::ffff", "bob")
    assert not _is_refused(attempts, "2001:db8:0:1::1", "bob")


def test_no_limits(attempts: LoginAttempts) -> None:
    for _ in range(1_000):
        attempts.record_failure("10.0.0.1", "ann", FailureLimits())
    assert not _is_refused(attempts, "10.0.0.1", "ann", FailureLimits())
    assert attempts.failed_count == 1_000


def test_memory_is_bounded(attempts: LoginAttempts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_attempts, "KEYS_MAX", 100)
    for number in range(1_000):
        _fail(attempts, f"10.0.{number // 256}.{number % 256}", "x" * 10_000 + str(number))
        attempts.record_success(f"10.0.{number // 256}.{number % 256}", f"u{number}")
        _fail(attempts, f"10.0.{number // 256}.{number % 256}", f"u{number}")
    assert len(attempts) <= 400


def test_the_log_is_told_once_a_minute(attempts: LoginAttempts, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            _fail(attempts, "10.0.0.1", "a\nb")
            assert _is_refused(attempts, "10.0.0.1", "a\nb") == (attempts.failed_count >= 3)
            clock.now += 0.1
    assert [record.message for record in caplog.records] == [
        "logins from 10.0.0.1 are refused: 3 have failed within 60 s"
    ]
    assert attempts.refused_count == 98
