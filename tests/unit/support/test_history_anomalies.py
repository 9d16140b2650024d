"""The checker of histories finds each anomaly in a handmade history that has it, and none in one that has none."""

from __future__ import annotations

import pytest
from support.histories import Append, Level, Read, Transaction, anomalies, components

_OK, _FAILED, _UNKNOWN = "ok", "failed", "unknown"


def ok(*steps: Append | Read) -> Transaction:
    return Transaction("ok", list(steps))


def a(key: str, value: int) -> Append:
    return Append(key, value)


def r(key: str, *values: int) -> Read:
    return Read(key, values)


def found(history: list[Transaction], level: Level = "repeatable read") -> set[str]:
    return {anomaly.name for anomaly in anomalies(history, level)}


def test_a_serial_history_has_none() -> None:
    history = [
        ok(a("x", 1), a("y", 1), r("x", 1)),
        ok(r("x", 1), a("x", 2), r("x", 1, 2), a("x", 3), r("x", 1, 2, 3)),
        ok(r("y", 1), r("x", 1, 2, 3)),
        Transaction("failed", [a("x", 9), r("x", 1, 2, 3, 9)]),
    ]
    assert anomalies(history, "repeatable read", {"x": [1, 2, 3], "y": [1]}) == []


def test_write_skew_is_a_cycle_at_serializable_only() -> None:
    history = [ok(r("x"), a("y", 1)), ok(r("y"), a("x", 1)), ok(r("x", 1), r("y", 1))]
    assert found(history) == set()
    assert found(history, "serializable") == {"G2"}


def test_a_dirty_write() -> None:
    history = [ok(a("x", 1), a("y", 1)), ok(a("x", 2), a("y", 2)), ok(r("x", 1, 2)), ok(r("y", 2, 1))]
    assert found(history, "read committed") == {"G0", "G1c"}


def test_a_read_of_what_was_rolled_back() -> None:
    history = [Transaction("failed", [a("x", 1)]), ok(r("x", 1))]
    assert found(history, "read committed") == {"G1a"}


def test_something_of_a_failed_transaction_is_there() -> None:
    history = [Transaction("failed", [a("x", 1), a("y", 1)])]
    assert {one.name for one in anomalies(history, "read committed", {"x": [1], "y": []})} == {"G1a"}


def test_a_read_in_the_middle_of_a_transaction() -> None:
    history = [ok(a("x", 1), a("x", 2)), ok(r("x", 1)), ok(r("x", 1, 2))]
    assert "G1b" in found(history, "read committed")


def test_two_that_saw_each_other() -> None:
    history = [ok(a("x", 1), r("y", 1)), ok(a("y", 1), r("x", 1))]
    assert found(history, "read committed") == {"G1c"}


def test_read_skew() -> None:
    history = [ok(a("x", 1), a("y", 1)), ok(r("x"), r("y", 1)), ok(r("x", 1))]
    assert found(history) == {"G-single"}
    assert found(history, "read committed") == set()


def test_a_lost_update() -> None:
    """Both read the same, both append: one of them did not see the other."""
    history = [ok(r("x"), a("x", 1)), ok(r("x"), a("x", 2)), ok(r("x", 1, 2))]
    assert found(history) == {"G-single"}


def test_a_long_fork_with_reads_between() -> None:
    """Two anti-dependencies, a dependency after each: nobody's snapshot can be like this."""
    history = [
        ok(a("x", 1)), ok(a("y", 1)),
        ok(r("x", 1), r("y")), ok(r("y", 1), r("x")),
    ]  # fmt: skip
    assert found(history) == {"G-nonadjacent"}


def test_reads_that_do_not_fit_each_other() -> None:
    history = [ok(a("x", 1)), ok(a("x", 2)), ok(r("x", 1, 2)), ok(r("x", 2))]
    assert "incompatible" in found(history, "read committed")
    assert "incompatible" in found([ok(a("x", 1)), ok(r("x", 1, 1))], "read committed")


def test_a_transaction_that_does_not_agree_with_itself() -> None:
    assert "internal" in found([ok(a("x", 1), r("x"))], "read committed")
    moved = [ok(a("x", 1)), ok(r("x"), r("x", 1))]
    assert "internal" in found(moved)
    assert found(moved, "read committed") == set()


def test_what_was_acknowledged_and_is_gone() -> None:
    history = [ok(a("x", 1)), Transaction("unknown", [a("x", 2)])]
    assert {one.name for one in anomalies(history, "read committed", {"x": []})} == {"lost"}
    assert anomalies(history, "read committed", {"x": [1]}) == []


def test_one_whose_commit_was_not_answered_took_place_if_it_was_seen() -> None:
    unanswered = Transaction("unknown", [r("y"), a("x", 1), a("y", 1)])
    assert anomalies([unanswered], "repeatable read", {"x": [1], "y": [1]}) == []
    assert {one.name for one in anomalies([unanswered], "repeatable read", {"x": [1], "y": []})} == {"lost"}


@pytest.mark.parametrize("length", [2, 3, 5000])
def test_components(length: int) -> None:
    ring = [(i, (i + 1) % length) for i in range(length)]
    assert components([*ring, (0, -1), (-2, 0)]) == [set(range(length))]
    assert components(ring[:-1]) == []
