"""Garbage collections that visit few objects, in place of the interpreter's full ones (`server.common.full_collections`)."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from support.member_process import wait_until

from server.common import full_collections
from server.common.full_collections import FullCollections

_LIMIT = 1000


class _Cycle:
    """Garbage, once it is dropped, that only a collection frees."""

    def __init__(self) -> None:
        self.own = self


class _Process:
    """Answers to the questions about the process, as a test sets them."""

    def __init__(self) -> None:
        self.nodes, self.memory, self.now = 0, 0, 0.0

    def collections(self) -> FullCollections:
        return FullCollections(lambda: self.nodes, _LIMIT, resident=lambda: self.memory, clock=lambda: self.now)


@pytest.fixture
def process() -> Iterator[_Process]:
    """With full collections disabled."""
    threshold = gc.get_threshold()
    gc.set_threshold(*threshold[:2], 1 << 30)
    gc.collect()
    yield _Process()
    gc.set_threshold(*threshold)


def _survive() -> None:
    """Let so many collections of the middle generation pass that one of all is due."""
    for _ in range(30):
        gc.collect(1)


def _garbage() -> weakref.ref[_Cycle]:
    """Return a cycle that nobody refers to, and that has survived the younger generations."""
    cycle = _Cycle()
    gc.collect(1)
    return weakref.ref(cycle)


def _is_frozen(thing: object) -> bool:
    return not any(one is thing for one in gc.get_objects())


def test_garbage_is_collected_and_the_rest_frozen(process: _Process) -> None:
    collections, cycle = process.collections(), _garbage()
    kept = _Cycle()
    _survive()
    collections.collect()
    assert cycle() is None
    assert _is_frozen(kept)


def test_nothing_is_due_before_many_have_survived(process: _Process) -> None:
    collections, cycle, kept = process.collections(), _garbage(), _Cycle()
    collections.collect()
    assert cycle() is not None
    assert not _is_frozen(kept)


def test_beside_long_statements_all_is_frozen_after_seconds_without_a_visit(process: _Process) -> None:
    collections, cycle, kept = process.collections(), _garbage(), _Cycle()
    process.nodes, process.now = 1_000_000, 9.0
    _survive()
    collections.collect()
    assert not _is_frozen(kept)
    process.now = 11.0
    collections.collect()
    assert cycle() is not None
    assert _is_frozen(kept)


@pytest.mark.parametrize("why", ["the statement has ended", "minutes have passed", "memory is short"])
def test_frozen_garbage_is_found_when_much_is_frozen(
    process: _Process, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_collections, "_GROWTH", 1000)
    monkeypatch.setattr(full_collections, "_GROWTH_SHARE", 0.0)
    collections, cycle = process.collections(), _garbage()
    process.nodes, process.now = 1_000_000, 11.0
    _survive()
    collections.collect()
    process.now = 299.0
    kept = [_Cycle() for _ in range(20_000)]
    _survive()
    collections.collect()
    assert cycle() is not None
    match why:
        case "the statement has ended":
            process.nodes = 0
        case "minutes have passed":
            process.now = 310.0
        case _:
            process.memory = _LIMIT // 2 + 1
    _survive()
    collections.collect()
    assert cycle() is None
    assert all(one.own is one for one in kept)


def test_little_growth_is_no_reason_to_visit_all(process: _Process) -> None:
    collections, cycle = process.collections(), _garbage()
    process.nodes, process.now = 1_000_000, 11.0
    _survive()
    collections.collect()
    process.nodes = 0
    for _ in range(10):
        _survive()
        collections.collect()
    assert cycle() is not None


def test_from_start_to_close_it_collects_in_the_interpreter_s_place(process: _Process) -> None:
    before = gc.get_threshold()
    collections, cycle = process.collections(), _garbage()
    collections.start()
    try:
        assert gc.get_threshold()[2] > 1_000_000
        _survive()
        wait_until(lambda: cycle() is None)
    finally:
        collections.close()
    assert gc.get_threshold() == before
