"""The thread that publishes. Commits wake it, and it waits a moment, so that many small commits become one Delta
commit.

No other thread waits for it. Work that it does not finish is done by the next publication. A failure (a full disk, a
folder that this member cannot see, any error of delta-rs) is kept so that it can be shown, and the publication is
retried (`engine.common.supervised`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from engine.common.supervised import Supervised

#: The time that decisions are collected. Other readers of Delta's log are behind by this time, and a busy member writes
#: to the log once in it.
_LINGER_SECONDS: Final = 0.2
#: The time is also at least this many times the duration of the last round, so that a table of very many files does not
#: occupy a processor.
_LINGER_ROUNDS: Final = 4


class Publisher:
    """The publishing thread. publish: does one round. `wake` may be called from any thread, and before `start`."""

    def __init__(self, publish: Callable[[], None], supervised: Supervised | None = None) -> None:
        self._publish = publish
        self._supervised = supervised or Supervised("publisher")
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._pending = 0
        self._pending_since: float | None = None
        self.rounds = 0

    def start(self) -> None:
        """Start the thread with a round for everything that was left unpublished."""
        self._thread = threading.Thread(target=self._run, name="sluice-publisher", daemon=True)
        self._woken.set()
        self._thread.start()

    def wake(self) -> None:
        """Request a round for a new commit."""
        with self._lock:
            self._pending += 1
            if self._pending_since is None:
                self._pending_since = time.monotonic()
        self._woken.set()

    def statistics(self) -> Mapping[str, int]:
        """Return counters. pending: commits of this member that are not published yet. lag_ms: how long the oldest of
        them has waited. rounds: the number of successful rounds.
        """
        with self._lock:
            since = self._pending_since
            lag = 0.0 if since is None else time.monotonic() - since
            return {"pending": self._pending, "lag_ms": int(lag * 1000), "rounds": self.rounds}

    def _run(self) -> None:
        last, linger = False, _LINGER_SECONDS
        while not last:
            if pause := self._supervised.pause:
                self._closing.wait(pause)
            else:
                self._woken.wait()
            # The event is cleared before `_closing` is checked: `close` sets `_closing` first and wakes the thread
            # then.
            self._woken.clear()
            last = self._closing.wait(linger)
            begun = time.monotonic()
            with self._lock:
                served = self._pending
            self._supervised.attempt(self._publish)
            if self._supervised.error is None:
                self._note_published(served, begun)
            # A round that failed may have waited for an unreachable database, so its duration does not tell its cost.
            took = time.monotonic() - begun if self._supervised.error is None else 0.0
            linger = max(_LINGER_SECONDS, _LINGER_ROUNDS * took)

    def _note_published(self, served: int, begun: float) -> None:
        """Note that a round which began at that time has published this many commits. The remaining ones have waited
        since then at most.
        """
        with self._lock:
            self.rounds += 1
            self._pending -= served
            self._pending_since = begun if self._pending else None

    @property
    def failure(self) -> str | None:
        """The error of the last round, if it failed."""
        return self._supervised.error

    def close(self) -> None:
        """Wait for the running round, and do a last one."""
        self._closing.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
