"""Runs garbage collections that visit few objects.

A full collection visits all objects of the process while every session waits: a tenth of a second for the caches of a
busy member, a second and more for the trees of a long statement, which are all in use. The interpreter starts one when
the objects that have survived the two younger generations have grown by a quarter, and so several times during each
long statement. A member therefore disables the interpreter's full collections. Instead a thread moves what has
survived, from time to time, to the generation that collections do not visit (`gc.freeze`), so that each object is
visited once:

- It collects before: the objects that are not frozen yet, some hundreds of thousands.
- While long statements are being planned (`PlanningPool.live_nodes`), nearly all new objects are alive. It waits for
  their end; if that does not come within some seconds, it freezes without a collection.

Objects die in the frozen generation too. Their memory is freed at once unless they are cycles, which only a visit
finds: such as the trees of sqlglot that statements leave behind, 40 objects and 7 kB for the shortest one. Trees of
long statements are taken apart before (`engine.common.disposal`). For the rest, all objects are unfrozen and visited
when the frozen ones have grown by half, and by `_GROWTH` at least, since the last time. This is postponed for some
minutes at most while long statements are being planned, and not at all while the process uses more than half of its
memory limit.

However many objects are alive, collections take at most a twentieth of the time.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import Final

from engine.common.resident_memory import resident_bytes
from engine.common.supervised import Supervised

#: Seconds between two checks: a pause between long statements may be short.
_PERIOD: Final = 0.05
#: Collections of the middle generation before what survived is frozen: some 175,000 objects.
_COLLECTIONS: Final = 25
#: The greatest number of objects that survive a collection of the middle generation.
_SURVIVORS: Final = 7_000
#: The interpreter's own threshold for full collections, which is never reached.
_NEVER: Final = 1 << 30
#: The number of live nodes of long statements up to which a collection runs; they cost it some hundredths of a second.
_LIVE_NODES: Final = 20_000
#: The least growth of the frozen generation after which all objects are visited; and as a share of what it was.
_GROWTH: Final = 500_000
_GROWTH_SHARE: Final = 0.5
#: The longest wait for the end of long statements before survivors are frozen without a collection, in seconds.
_WAIT: Final = 10.0
#: The longest postponement of a visit of all objects, in seconds.
_PATIENCE: Final = 300.0
#: The pause after a collection, in multiples of its duration.
_REST: Final = 20


class FullCollections:
    """See the module's docstring. Runs from `start` to `close`.

    live_nodes: returns the number of live nodes of long statements. memory_bytes: the memory limit of the process.
    resident: returns its resident memory. clock: seconds.
    """

    def __init__(
        self,
        live_nodes: Callable[[], int],
        memory_bytes: int,
        supervised: Supervised | None = None,
        resident: Callable[[], int] = resident_bytes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._live_nodes = live_nodes
        self._memory_bytes = memory_bytes
        self._supervised = supervised or Supervised("collections")
        self._resident = resident
        self._clock = clock
        self._visited = self._frozen_at = clock()
        #: The number of frozen objects after the last visit of all, and an upper bound of their growth since then.
        self._frozen, self._growth = gc.get_freeze_count(), 0
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sluice-collections", daemon=True)
        self._threshold = gc.get_threshold()

    def start(self) -> None:
        gc.set_threshold(*self._threshold[:2], _NEVER)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()
        gc.set_threshold(*self._threshold)

    def collect(self) -> None:
        """Collect and freeze what has become due."""
        survived = gc.get_count()[2]
        if survived < _COLLECTIONS:
            return
        few, now = self._live_nodes() <= _LIVE_NODES, self._clock()
        is_short = self._resident() > self._memory_bytes // 2
        if few:
            gc.collect()
        elif now - self._frozen_at <= _WAIT and not is_short:
            return
        gc.freeze()
        self._frozen_at = now
        self._growth += survived * _SURVIVORS
        if (few or now - self._visited > _PATIENCE or is_short) and self._has_grown():
            self._visit_all()

    def _has_grown(self) -> bool:
        """Return whether so many objects were frozen that all should be visited."""
        limit = max(_GROWTH, int(_GROWTH_SHARE * self._frozen))
        if self._growth > limit:
            # Counting them takes some hundredths of a second.
            self._growth = gc.get_freeze_count() - self._frozen
        return self._growth > limit

    def _visit_all(self) -> None:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._visited = self._clock()
        self._frozen, self._growth = gc.get_freeze_count(), 0

    def _run(self) -> None:
        rest = _PERIOD
        while not self._closed.wait(rest):
            began = self._clock()
            self._supervised.attempt(self.collect)
            rest = max(_PERIOD, _REST * (self._clock() - began))
