"""Measures stalls of the event loop and of the thread pools: the longest waits since the member's start.

An event loop that computes answers nobody meanwhile, and a pool whose threads are all busy starts nothing. Counters of running
work show neither. So the watch requests an empty call from each of them a few times a second and measures its delay: from the
loop with a timer, from a pool with a posted call, of which at most one is outstanding per pool. A wait that has not ended counts
with its duration so far.

The measurement includes waits for the global interpreter lock: where one thread holds it, in a garbage collection or a long call
into C, the loop's timer is late.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Mapping
from typing import Final

from engine.common.pool_calls import Call

#: Seconds from one measurement to the next.
_PERIOD: Final = 0.25
#: A loop whose timer is later than this counts as stalled: a client would notice the delay.
_STALL_SECONDS: Final = 0.2
_LOOP: Final = "loop"


class StallWatch:
    """See the module's docstring. Used from the loop's thread.

    pools: for each pool, by name, a function that posts a call to it. clock: seconds.
    """

    def __init__(
        self, pools: Mapping[str, Callable[[Call], object]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pools = pools
        self._clock = clock
        self._worst = dict.fromkeys((_LOOP, *pools), 0.0)
        self._asked: dict[str, float] = {}
        self._stalls = 0
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._due = self._clock() + _PERIOD
        self._timer = asyncio.get_running_loop().call_later(_PERIOD, self._ask)

    def close(self) -> None:
        """Stop the measurements. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def statistics(self) -> Mapping[str, int]:
        """Return the longest waits in milliseconds, as loop_ms_max and NAME_ms_max of each pool, and as loop_stalls the
        number of times that the loop's timer was more than 200 ms late.
        """
        now = self._clock()
        waiting = {name: now - asked for name, asked in list(self._asked.items())}
        worst = {name: max(seconds, waiting.get(name, 0.0)) for name, seconds in self._worst.items()}
        return {f"{name}_ms_max": int(seconds * 1000) for name, seconds in worst.items()} | {
            "loop_stalls": self._stalls
        }

    def _ask(self) -> None:
        now = self._clock()
        late = now - self._due
        self._note(_LOOP, late)
        self._stalls += late > _STALL_SECONDS
        for name, post in self._pools.items():
            if name not in self._asked:
                self._asked[name] = now
                try:
                    post(functools.partial(self._note_answer, name, now))
                except RuntimeError:
                    # The pool is closed, as at the member's shutdown. The others and the loop are measured until the end.
                    del self._asked[name]
        self.start()

    def _note_answer(self, name: str, asked: float) -> None:
        """Note that a pool has run the call. Called on the pool's thread."""
        self._note(name, self._clock() - asked)
        del self._asked[name]

    def _note(self, name: str, seconds: float) -> None:
        self._worst[name] = max(self._worst[name], seconds)
