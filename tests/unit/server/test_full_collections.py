"""Full garbage collections begin when few objects of long statements are alive (`server.common.full_collections`)."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from support.member_process import wait_until

from server.common.full_collections import FullCollections

_LIMIT = 1000


class _Cycle:
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
    """With many collections of the middle generation behind it."""
    threshold = gc.get_threshold()
    gc.set_threshold(*threshold[:2], 1 << 30)
    gc.collect()
    for _ in range(30):
        gc.collect(1)
    yield _Process()
    gc.set_threshold(*threshold)


def test_few_objects_are_collected_at_once(process: _Process) -> None:
    assert process.collections().is_due()


def test_nothing_is_due_before_many_have_lived_through(process: _Process) -> None:
    gc.collect()
    assert not process.collections().is_due()


def test_a_long_statement_puts_it_off_for_minutes(process: _Process) -> None:
    collections = process.collections()
    process.nodes = 1_000_000
    assert not collections.is_due()
    process.now = 299.0
    assert not collections.is_due()
    process.now = 301.0
    assert collections.is_due()


def test_memory_does_not_wait(process: _Process) -> None:
    process.nodes, process.memory = 1_000_000, _LIMIT // 2 + 1
    assert process.collections().is_due()


def test_from_start_to_close_it_collects_in_the_interpreter_s_place(process: _Process) -> None:
    before = gc.get_threshold()
    collected: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            collected.append(info["collected"])

    gc.callbacks.append(note)
    collections = FullCollections(lambda: process.nodes, 1 << 40)
    process.nodes = 1_000_000
    _Cycle()
    collections.start()
    try:
        assert gc.get_threshold()[2] > 1_000_000
        assert collected == []
        process.nodes = 0
        wait_until(lambda: sum(collected) >= 1)
    finally:
        collections.close()
        gc.callbacks.remove(note)
    assert gc.get_threshold() == before
