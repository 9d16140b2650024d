"""Tracks how long a catalog call has been pending, from before it entered the queue of a pool.

A catalog database that does not answer blocks each caller for seconds, and with it the callers queued behind. If the
errors came one after the other, the last of many callers would wait for the sum. A call that was requested before the
database was found silent may instead fail at once. The time of the request travels with the call, since the thread that
runs the call learns of it only when it begins.

A thread that has to wait tells its pool (`mark_waiting`), so that the calls queued behind do not wait with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Final, TypeVar

T = TypeVar("T")

#: Lets another thread of this thread's pool take over the queue meanwhile; None: the pool cannot do that.
WAITING: Final[ContextVar[Callable[[], AbstractContextManager[None]] | None]] = ContextVar(
    "sluice_waiting", default=None
)
_ASKED: Final[ContextVar[float | None]] = ContextVar("sluice_asked", default=None)


def asked_now(call: Callable[[], T]) -> Callable[[], T]:
    """Return the call with the present time as the time of its request. Any thread may run it later."""
    asked = time.monotonic()

    def carried_out() -> T:
        token = _ASKED.set(asked)
        try:
            return call()
        finally:
            _ASKED.reset(token)

    return carried_out


def take_asked() -> float:
    """Return the time when the running call was requested, in seconds of `time.monotonic`. A second call returns the
    present time, since the first request has been answered.
    """
    asked = _ASKED.get()
    _ASKED.set(None)
    return time.monotonic() if asked is None else asked


def mark_waiting() -> AbstractContextManager[None]:
    """Mark the thread as waiting for another process within this context."""
    found = WAITING.get()
    return nullcontext() if found is None else found()
