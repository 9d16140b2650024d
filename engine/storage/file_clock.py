"""The time by which files are judged to be old: the wall clock, without its latest jumps forward.

Members touch their files in flight, claims and holds every `TOUCH_SECONDS`, so that they look recent to every member
(`engine.storage.in_flight_files`). After a jump of the clock by hours all files look old until then, and VACUUM would
take those of open transactions for leftovers of a crash. So a jump forward does not count until each member has had the
time to touch its files. A jump back counts at once: it makes files look recent, and VACUUM keeps them for longer.

A jump is a difference between what the wall clock and the monotonic clock have advanced. The time for which a machine
was suspended is one too, since the monotonic clock stands still meanwhile. The clock must be read regularly (`Keeper`
does): small corrections of the wall clock add up to more than a jump in weeks. What happened before the process began
is not seen.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

#: The interval at which in-flight files are touched. VACUUM's least retention (`sluice.vacuum_retention`) is three times as long.
TOUCH_SECONDS: Final = 300
#: The difference between two readings above which the clock has jumped, in seconds.
_JUMP: Final = 30.0


class FileClock:
    """See the module's docstring. Thread-safe.

    wall, monotonic: clocks, in seconds.
    """

    def __init__(self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._lock = threading.Lock()
        #: The wall clock's lead over the monotonic clock that counts, the latest one, and since when that has not jumped.
        self._lead = self._latest = wall() - monotonic()
        self._since = monotonic()

    def now(self) -> float:
        """Return the seconds since 1970 by which files may be judged."""
        with self._lock:
            elapsed = self._monotonic()
            lead = self._wall() - elapsed
            if lead - self._latest > _JUMP:
                self._since = elapsed
            self._latest = lead
            if lead - self._lead <= _JUMP or elapsed - self._since >= 2 * TOUCH_SECONDS:
                self._lead = lead
            return elapsed + self._lead


FILE_CLOCK: Final = FileClock()
