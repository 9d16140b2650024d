"""Sequences: the arithmetic of counters, a session's values, and counters that members share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.catalog.model.counters import Block, Count, advance
from engine.catalog.model.objects import Sequence
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.common import sql_type as st
from engine.statements.shared.sequences import SessionSequences
from wire.errors import NumericValueOutOfRange, ObjectNotInPrerequisiteState, SequenceGeneratorLimitExceeded
from wire.types import pg_types as t


def sequence(**more: object) -> Sequence:
    made = Sequence(16_400, "public", "s", st.of(t.INT8), counter=16_400)
    return replace(made, **more)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CatalogStore]:
    store = CatalogStore(tmp_path / "catalog.sqlite")
    yield store
    store.close()


# -- arithmetic --------------------------------------------------------------------------------------------------------


def test_values_in_blocks() -> None:
    s = sequence(first=5, increment=2)
    block, at = advance(s, None, 3)
    assert (block, at) == (Block(5, 2, 3), Count(9, called=True))
    assert advance(s, at, 1)[0] == Block(11, 2, 1)
    assert advance(s, Count(7, called=False), 1)[0].first == 7


def test_the_end_makes_a_block_short_and_then_an_error() -> None:
    s = sequence(maximum=10)
    block, at = advance(s, Count(8, called=True), 5)
    assert (block.first, block.last) == (9, 10)
    with pytest.raises(SequenceGeneratorLimitExceeded, match=r"reached maximum value of sequence \"s\" \(10\)"):
        advance(s, at, 1)
    assert advance(replace(s, cycle=True, minimum=3), at, 1)[0].first == 3
    down = sequence(increment=-1, minimum=-2, maximum=-1, first=-1)
    assert advance(down, None, 9)[0] == Block(-1, -1, 2)
    with pytest.raises(SequenceGeneratorLimitExceeded, match="minimum"):
        advance(down, Count(-2, called=True), 1)


@given(some.lists(some.integers(1, 50), max_size=20), some.integers(-5, 5).filter(bool))
def test_blocks_one_after_the_other_are_the_values_one_by_one(counts: list[int], step: int) -> None:
    s = sequence(increment=step, first=0, minimum=-(2**40), maximum=2**40)
    at, taken = None, []
    for count in counts:
        block, at = advance(s, at, count)
        taken += [block.first + i * block.increment for i in range(block.count)]
    assert taken == [i * step for i in range(sum(counts))]


# -- a session ---------------------------------------------------------------------------------------------------------


def test_a_session_takes_as_many_as_it_needs(store: CatalogStore) -> None:
    mine, other, s = SessionSequences(store), SessionSequences(store), sequence()
    assert mine.take(s, 3).tolist() == [1, 2, 3]
    assert other.next(s) == 4
    assert (mine.current(s), other.current(s), mine.last()) == (3, 4, 3)
    assert mine.take(s, 0).tolist() == []


def test_cached_values_are_used_up_first(store: CatalogStore) -> None:
    mine, other, s = SessionSequences(store), SessionSequences(store), sequence(cache=10)
    assert mine.next(s) == 1
    assert other.next(s) == 11
    assert mine.take(s, 12).tolist() == [*range(2, 11), 21, 22, 23]
    assert mine.next(s) == 24


def test_setval(store: CatalogStore) -> None:
    mine, s = SessionSequences(store), sequence(maximum=100, cache=5)
    assert mine.next(s) == 1
    assert mine.set(s, 50, called=True) == 50
    assert (mine.current(s), mine.next(s)) == (50, 51)
    mine.set(s, 10, called=False)
    assert (mine.current(s), mine.next(s)) == (51, 10)
    with pytest.raises(NumericValueOutOfRange):
        mine.set(s, 101, called=True)


def test_nothing_is_current_before_the_first_value(store: CatalogStore) -> None:
    mine, s = SessionSequences(store), sequence()
    with pytest.raises(ObjectNotInPrerequisiteState):
        mine.current(s)
    with pytest.raises(ObjectNotInPrerequisiteState):
        mine.last()
    mine.next(s)
    mine.discard()
    with pytest.raises(ObjectNotInPrerequisiteState):
        mine.last()


# -- the catalog database ----------------------------------------------------------------------------------------------


def test_no_value_is_given_twice(tmp_path: Path) -> None:
    """Two members over one catalog, from threads."""
    stores = [CatalogStore(tmp_path / "catalog.sqlite") for _ in range(2)]
    given: list[list[int]] = [[], []]

    def take(member: int) -> None:
        mine = SessionSequences(stores[member])
        for count in (1, 7, 2, 30, 1):
            given[member] += mine.take(sequence(), count).tolist()

    threads = [threading.Thread(target=take, args=(member,)) for member in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given[0] + given[1]) == list(range(1, 83))
    for store in stores:
        store.close()


def test_a_counter_survives_a_rollback_and_a_restart_and_goes_with_its_sequence(tmp_path: Path) -> None:
    store = CatalogStore(tmp_path / "catalog.sqlite")
    catalog, s = SessionCatalog(store), sequence()
    catalog.objects.put(s)
    catalog.begin()
    assert SessionSequences(store).next(s) == 1
    catalog.rollback()
    store.close()
    store = CatalogStore(tmp_path / "catalog.sqlite")
    assert store.read_sequence(s) == Count(1, called=True)
    catalog = SessionCatalog(store)
    catalog.begin()
    catalog.objects.remove(s)
    catalog.objects.put(replace(s, name="renamed"))
    catalog.commit()
    assert store.read_sequence(s) == Count(1, called=True)
    catalog.objects.remove(replace(s, name="renamed"))
    assert store.read_sequence(s) == Count(1, called=False)
    store.close()
