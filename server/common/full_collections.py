"""Runs full garbage collections at moments when few objects are alive.

A full collection visits all objects of the process while every session waits. During the parse of a long statement,
which has made some millions of objects, that takes a second and frees nothing, since all of them are in use. The
interpreter starts a full collection when the objects that have survived the two younger generations have grown by a
quarter, and so several times during each such statement. A member therefore disables the interpreter's full
collections, and a thread starts them instead: when many objects have survived and few nodes of long statements are
alive (`PlanningPool.live_nodes`). A collection that is due is postponed for some minutes at most, and not at all while
the process uses more than half of its memory limit.

A tree of sqlglot's is garbage that only collections find: 40 objects and 7 kB for the shortest statement. Trees of long
statements are taken apart before (`engine.runtime.disposal`), so that little is left to find.

However many objects are alive, collections take at most a fiftieth of the time.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import Final

from engine.common.resident_memory import resident_bytes
from engine.common.supervised import Supervised

#: Seconds between two checks.
_PERIOD: Final = 0.5
#: Collections of the middle generation before a full one (the default is 10): some 175,000 objects.
_COLLECTIONS: Final = 25
#: The interpreter's own threshold for the same, which is never reached.
_NEVER: Final = 1 << 30
#: The number of live nodes of long statements up to which a collection runs; they cost it some hundredths of a second.
_LIVE_NODES: Final = 20_000
#: The longest postponement of a collection that is due, in seconds.
_PATIENCE: Final = 300.0
#: The pause after a collection, in multiples of its duration.
_REST: Final = 50


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
        self._collected = clock()
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

    def is_due(self) -> bool:
        """Return whether a collection should run now."""
        if gc.get_count()[2] < _COLLECTIONS:
            return False
        few = self._live_nodes() <= _LIVE_NODES
        return few or self._clock() - self._collected > _PATIENCE or self._resident() > self._memory_bytes // 2

    def _run(self) -> None:
        rest = _PERIOD
        while not self._closed.wait(rest):
            began = self._clock()
            self._supervised.attempt(self._collect)
            rest = max(_PERIOD, _REST * (self._clock() - began))

    def _collect(self) -> None:
        if self.is_due():
            gc.collect()
            self._collected = self._clock()
