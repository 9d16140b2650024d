"""Returns free memory of the C library's heaps to the system from time to time.

glibc keeps freed memory for later allocations, in up to eight heaps per processor, one for each of as many threads, and
by itself returns only the free memory at the end of a heap. A member has some sixty threads, and what a statement frees
lies between what others still hold: a member that had served a mixed load for half an hour held 100 MiB more than it
used, of 750, and ever more with time. `malloc_trim` returns every free page, wherever it lies; it locks each heap for
some milliseconds, so it is not called often. If the C library has no such function, nothing is done.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Final

from engine.common.supervised import Supervised

_SECONDS: Final = 300.0


class UnusedMemory:
    """A thread that returns free memory to the system, from `start` to `close`."""

    def __init__(self, supervised: Supervised | None = None) -> None:
        self._supervised = supervised or Supervised("trim")
        self._trim: Any = getattr(ctypes.CDLL(None), "malloc_trim", None)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sluice-trim", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        while self._trim is not None and not self._closed.wait(_SECONDS):
            # The call releases the interpreter's lock, so other threads go on.
            self._supervised.attempt(lambda: self._trim(0))
