"""How long the event loop and the pools kept others waiting: the worst waits since the member's start.

A loop that computes answers nobody meanwhile, and pools whose threads are all at work start nothing. Neither shows in a counter
of what runs. So the watch asks each of them a few times a second for a call that does nothing, and measures how late it comes:
the loop by a timer, a pool by a call of its own, of which never more than one is under way. A wait that has not ended counts
with what it has taken so far.

The interpreter's lock is seen as well: where one thread keeps it, in a garbage collection or a long call into C, the loop's timer
is late.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Mapping
from typing import Final

from engine.runtime.pool_calls import Call

#: Seconds from one question to the next.
_PERIOD: Final = 0.25
#: A loop that is later than this is stalled: a client would see it.
_STALL_SECONDS: Final = 0.2
_LOOP: Final = "loop"


class StallWatch:
    """See the module's docstring. Used from the loop's thread.

    pools: how each takes a call, by name. clock: seconds.
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
        """Ask no more. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def statistics(self) -> Mapping[str, int]:
        """loop_ms_max and NAME_ms_max of each pool: the longest wait, in milliseconds. loop_stalls: how often the loop kept others
        waiting for more than 200 ms."""
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
                post(functools.partial(self._answered, name, now))
        self.start()

    def _answered(self, name: str, asked: float) -> None:
        """A pool has come to the call; on its thread."""
        self._note(name, self._clock() - asked)
        del self._asked[name]

    def _note(self, name: str, seconds: float) -> None:
        self._worst[name] = max(self._worst[name], seconds)
