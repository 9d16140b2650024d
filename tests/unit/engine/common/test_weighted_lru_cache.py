"""The cache is bounded by the weight of its entries, and not only by their number."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import pytest
from support.local_member import local_member

from engine.common.weighted_lru_cache import WeightedLruCache
from engine.session.context import statement_cache


def lengths(room: int, most: int = 100) -> WeightedLruCache[str, str]:
    return WeightedLruCache(most, room, lambda key, _: len(key))


def kept(cache: WeightedLruCache[str, str], key: str) -> bool:
    """Whether it is there; it is afterwards, if it may be."""
    made = iter((key,))
    cache.get(key, lambda: next(made))
    return next(made, None) is not None


def test_the_heaviest_that_fit() -> None:
    cache = lengths(32)
    for letter in "abcdefghi":
        assert not kept(cache, 4 * letter)
    assert cache.statistics() == {"entries": 8, "weight": 32}
    figures = cache.figures()
    assert figures == (0, 9, 8)
    assert kept(cache, "iiii")
    assert not kept(cache, "aaaa")


def test_what_was_asked_for_stays() -> None:
    cache = lengths(8)
    for letter in "abcdefgh":
        kept(cache, letter)
    assert kept(cache, "a")
    assert not kept(cache, "i")
    assert kept(cache, "a")
    assert not kept(cache, "b")


def test_one_that_would_drive_out_the_others_is_made_each_time() -> None:
    cache = lengths(16)
    assert not kept(cache, "a")
    assert [kept(cache, "long" * 4) for _ in range(3)] == [False] * 3
    assert kept(cache, "a")


def test_a_number_bounds_too() -> None:
    cache = WeightedLruCache[int, int](3)
    for number in range(10):
        cache.get(number, lambda: 0)
    assert cache.statistics() == {"entries": 3, "weight": 3}


def test_of_one_family_the_last_few_that_were_asked_for_are_kept() -> None:
    cache = WeightedLruCache[tuple[str, int], int](100, family=lambda key: key[0], each=3)
    cache.get(("other", 0), lambda: 0)
    for number in range(10):
        cache.get(("t", 0), lambda: -1)
        cache.get(("t", number), lambda number=number: number)  # type: ignore[misc]
    assert list(cache._known) == [("other", 0), ("t", 8), ("t", 0), ("t", 9)]
    assert cache.statistics() == {"entries": 4, "weight": 4}


def test_statements_take_no_more_than_their_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weight of the cache is that of its entries, in whatever order they are added, compiled and evicted."""
    monkeypatch.setattr(statement_cache, "_ROOM_BYTES", 200_000)
    monkeypatch.setattr(statement_cache, "_ENTRY_BYTES", 100_000)
    with local_member(tmp_path) as member, member.connect(prepare_threshold=None) as connection:
        connection.execute("create table t (a int)")
        cache = member.engine.statements
        for number in range(40):
            connection.execute(f"select a + {number % 7} from t where a = %s".encode(), (number,))
            assert (
                cache.statistics()["cached_bytes"] == sum(entry.bytes for entry in cache._entries.values()) <= 200_000
            )
        before = OrderedDict(cache._entries)
        assert before
        long = ", ".join(map(str, range(1000)))
        connection.execute(f"select a from t where a in ({long})".encode())
        assert list(cache._entries) == list(before)
        connection.execute("select a, %s::text from t", ("x" * 1_000_000,))
        assert not list(cache._entries.values())[-1].compiled
