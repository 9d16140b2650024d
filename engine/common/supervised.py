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
    """Pauses after failures in a row, in seconds: `first`, then twice as long each time, `most` at most."""

    first: float = 0.5
    most: float = 10.0

    def seconds(self, failures: int) -> float:
        """failures: in a row; 0: none."""
        # The power is bounded too: failures may be counted for weeks.
        return 0.0 if failures <= 0 else float(min(self.first * 2 ** min(failures - 1, 32), self.most))


@dataclass(slots=True)
class Supervised:
    """One loop's supervisor. name: of the loop. failures: since the start. in_a_row: since it last went well. error: the last one,
    while it fails."""

    name: str
    backoff: Backoff = field(default_factory=Backoff)
    failures: int = 0
    in_a_row: int = 0
    error: str | None = None

    @property
    def pause(self) -> float:
        """Seconds until the step should be taken again; 0: it went well."""
        return self.backoff.seconds(self.in_a_row)

    def attempt(self, step: Callable[[], object]) -> bool:
        """Take a step; whether it went well. Raises nothing."""
        try:
            step()
        except Exception as error:  # noqa: BLE001 - whatever it is, the loop goes on
            self.note_failure(error)
            return False
        self.note_success()
        return True

    async def attempt_async(self, step: Callable[[], Awaitable[object]]) -> bool:
        """Take an asynchronous step, as `attempt` does; a cancel is passed on."""
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
        """The supervisor of a loop that begins; the same one for the same name."""
        return self._supervised.setdefault(name, Supervised(name, backoff or Backoff()))

    def status(self) -> Mapping[str, Mapping[str, Any]]:
        return {name: supervised.status() for name, supervised in self._supervised.items()}
