"""Free memory in the C library's heaps, given back to the system now and then.

glibc keeps what is freed for whoever asks next, in one heap for each of up to eight threads a processor, and gives back by itself
only what lies at a heap's end. A member has some sixty threads, and what a statement frees lies between what others still hold: one
that had served a mixed load for half an hour held 100 MiB more than it used, of 750, and ever more with time. `malloc_trim` gives
back every free page, wherever it lies; a heap is locked meanwhile, for some milliseconds, so it is not done often. Where the C
library has no such function, there is nothing to do.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Final

from engine.common.supervised import Supervised

_SECONDS: Final = 300.0


class UnusedMemory:
    """A thread that gives it back, from `start` to `close`."""

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
            # Without the interpreter's lock: others go on meanwhile.
            self._supervised.attempt(lambda: self._trim(0))
