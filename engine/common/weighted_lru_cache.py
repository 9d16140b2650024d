"""A cache bounded by weight, which evicts the least recently used entry first.

A limit on the number of entries bounds nothing where one may take a kilobyte or a hundred megabytes, as with
statements, whose texts clients write. So entries may have a weight, in any unit that is cheap to determine and
proportional to their memory: characters of SQL, columns of a footer. An entry that would take much of the room alone is
made anew each time instead of evicting all others.

Versioned values have a third bound: the number of entries of one family. A new version is a new entry, and only
statements that began earlier ask for the previous one; yet nothing would evict it until the whole room is full, of some
hundred lists of a table's files.

Rejected: asking the interpreter for an entry's size (a walk over all its objects, which share what they refer to).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import Final, Generic, NamedTuple, TypeVar


class CacheFigures(NamedTuple):
    """The metrics of a cache. hits, misses: since the process began. entries: now."""

    hits: int
    misses: int
    entries: int


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
#: By default, no entry takes more than one part in this many of the room.
_SHARE: Final = 8


class WeightedLruCache(Generic[K, V]):
    """A thread-safe cache, for uses that `functools.lru_cache` does not cover: values that depend on more than their
    key, or entries of different weights.

    most: the maximal number of entries.
    room: the maximal total weight by `weigh`; None: unlimited.
    largest: the maximal weight of one entry; None: a part of the room.
    family: maps a key to its family, whose entries are versions of one another.
    each: the maximal number of entries of a family; None: unlimited.
    """

    def __init__(
        self,
        most: int,
        room: int | None = None,
        weigh: Callable[[K, V], int] = lambda _key, _value: 1,
        *,
        largest: int | None = None,
        family: Callable[[K], Hashable] = lambda key: key,
        each: int | None = None,
    ) -> None:
        self._most = most
        self._family = family
        self._each = each
        self._room = most * _SHARE if room is None else room
        self._largest = self._room // _SHARE if largest is None else largest
        self._weigh = weigh
        self._lock = threading.Lock()
        self._known: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0
        self._hits = 0
        self._misses = 0

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key, made outside the lock if it is missing. Two threads may make it at the same time;
        one value is kept.
        """
        with self._lock:
            if (known := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                self._hits += 1
                return known[0]
            self._misses += 1
        return self.put(key, make())

    def put(self, key: K, value: V) -> V:
        """Keep a value that has been made, unless the key has one, which is returned instead."""
        weight = self._weigh(key, value)
        with self._lock:
            if (known := self._known.get(key)) is not None:
                return known[0]
            if weight <= self._largest:
                self._known[key] = value, weight
                self._weight += weight
                self._make_room(key)
        return value

    def find(self, key: K) -> V | None:
        """Return the value of a key; None if it was never made, or has been evicted."""
        with self._lock:
            known = self._known.get(key)
            if known is None:
                self._misses += 1
                return None
            self._known.move_to_end(key)
            self._hits += 1
            return known[0]

    def find_missing(self, keys: Iterable[K]) -> list[K]:
        """Return those of these keys that have no value. The others do not count as used."""
        with self._lock:
            known = self._known
            return [key for key in keys if key not in known]

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._known.clear()
            self._weight = 0

    def statistics(self) -> dict[str, int]:
        with self._lock:
            return {"entries": len(self._known), "weight": self._weight}

    def figures(self) -> CacheFigures:
        """Return the metrics of the cache."""
        with self._lock:
            return CacheFigures(self._hits, self._misses, len(self._known))

    def _make_room(self, newest: K) -> None:
        if self._each is not None:
            family = self._family(newest)
            for key in [key for key in self._known if self._family(key) == family][: -self._each]:
                self._weight -= self._known.pop(key)[1]
        while len(self._known) > self._most or self._weight > self._room:
            _, (_, weight) = self._known.popitem(last=False)
            self._weight -= weight
