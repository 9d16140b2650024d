"""The thread that publishes: woken by commits, a moment later, so that many small ones become one commit of Delta's.

It holds up nobody, and nobody waits for it; what it does not get done, the next one does. A failure (a full disk, a folder
that this member cannot see, whatever delta-rs says) is kept to be shown, and tried again (`engine.common.supervised`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from engine.common.supervised import Supervised

#: How long decisions gather: how far others that read Delta's log are behind, and how often a busy member writes to it.
_LINGER_SECONDS: Final = 0.2
#: ... and how much longer it gathers than its last round took, so that a table of very many files does not take a processor.
_LINGER_ROUNDS: Final = 4


class Publisher:
    """publish: does it all, once. `wake` may be called from any thread, and before `start`."""

    def __init__(self, publish: Callable[[], None], supervised: Supervised | None = None) -> None:
        self._publish = publish
        self._supervised = supervised or Supervised("publisher")
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begins with a round: whatever was left undone."""
        self._thread = threading.Thread(target=self._run, name="sluice-publisher", daemon=True)
        self._woken.set()
        self._thread.start()

    def wake(self) -> None:
        self._woken.set()

    def _run(self) -> None:
        last, linger = False, _LINGER_SECONDS
        while not last:
            if pause := self._supervised.pause:
                self._closing.wait(pause)
            else:
                self._woken.wait()
            # Cleared before it looks whether to close: whoever closes says so first and wakes then.
            self._woken.clear()
            last = self._closing.wait(linger)
            begun = time.monotonic()
            self._supervised.attempt(self._publish)
            # A round that failed may have waited for a database that is away, which says nothing of its own cost.
            took = time.monotonic() - begun if self._supervised.error is None else 0.0
            linger = max(_LINGER_SECONDS, _LINGER_ROUNDS * took)

    @property
    def failure(self) -> str | None:
        """Why the last round failed."""
        return self._supervised.error

    def close(self) -> None:
        """Waits for the round that runs, and does a last one."""
        self._closing.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
