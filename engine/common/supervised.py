"""Supervision of background work that nobody waits for: how its failures are handled.

Theory. A thread or a task that nobody joins ends with the first exception that it does not handle, unnoticed, and its
work piles up until somebody looks. So each has a supervisor (Erlang's word), which catches any exception. A step that
failed is logged, counted, and repeated after a pause that doubles up to a bound; the loop itself runs for as long as
the process. Repeated failures are logged when they begin, when the reason changes, and when they are over, not each
time. `/status` shows all supervised loops under `background`, whether or not they fail.

Considered and rejected: ending the process, as Erlang's supervisors do in the end. A disk that is full for an hour is
no reason to lose every client. Also rejected: starting a thread anew for each step, because a failure corrupts nothing
in these threads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, Final

from wire.dataclass import dataclass

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Backoff:
    """The pauses after consecutive failures, in seconds: `first`, then twice as long each time, at most `most`."""

    first: float = 0.5
    most: float = 10.0

    def seconds(self, failures: int) -> float:
        """Return the pause. failures: the number of consecutive failures; 0: none."""
        # The exponent is bounded too, because failures may be counted for weeks.
        return 0.0 if failures <= 0 else float(min(self.first * 2 ** min(failures - 1, 32), self.most))


@dataclass(slots=True)
class Supervised:
    """The supervisor of one loop. name: the loop's. failures: their number since the start. in_a_row: their number
    since the last success. error: the last error, while the loop fails.
    """

    name: str
    backoff: Backoff = field(default_factory=Backoff)
    failures: int = 0
    in_a_row: int = 0
    error: str | None = None

    @property
    def pause(self) -> float:
        """The seconds until the step should be repeated; 0 after a success."""
        return self.backoff.seconds(self.in_a_row)

    def attempt(self, step: Callable[[], object]) -> bool:
        """Run a step and return whether it succeeded. Raises nothing."""
        try:
            step()
        except Exception as error:  # noqa: BLE001 - the loop continues after any error
            self.note_failure(error)
            return False
        self.note_success()
        return True

    async def attempt_async(self, step: Callable[[], Awaitable[object]]) -> bool:
        """Run an asynchronous step as `attempt` does. A cancel is passed on."""
        try:
            await step()
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            self.note_failure(error)
            return False
        self.note_success()
        return True

    def note_failure(self, error: Exception) -> None:
        self.failures += 1
        self.in_a_row += 1
        told = f"{type(error).__name__}: {error}"
        if told != self.error:
            _log.warning("in the background, %s failed and will be tried again: %s", self.name, told, exc_info=error)
        self.error = told

    def note_success(self) -> None:
        if self.in_a_row:
            _log.info("in the background, %s goes well again, after %d failures", self.name, self.in_a_row)
        self.in_a_row, self.error = 0, None

    def status(self) -> Mapping[str, Any]:
        return {"failures": self.failures, "failing": self.in_a_row, "error": self.error}


class Background:
    """A member's supervisors, by name."""

    def __init__(self) -> None:
        self._supervised: dict[str, Supervised] = {}

    def supervise(self, name: str, backoff: Backoff | None = None) -> Supervised:
        """Return the supervisor of a loop that begins; the same one for the same name."""
        return self._supervised.setdefault(name, Supervised(name, backoff or Backoff()))

    def status(self) -> Mapping[str, Mapping[str, Any]]:
        return {name: supervised.status() for name, supervised in self._supervised.items()}
