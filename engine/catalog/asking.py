"""Since when a call waits for the catalog database: from before it stood in the queue of a pool.

A database that does not answer holds each who asks for seconds, and with them those behind: told one after the other, the last of
many would wait for the sum. Whoever asked before it was found silent may be told the same at once. The time goes with the
call, since the thread that comes to carry it out has only just heard of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, TypeVar

T = TypeVar("T")

_ASKED: Final[ContextVar[float | None]] = ContextVar("sluice_asked", default=None)


def asked_now(call: Callable[[], T]) -> Callable[[], T]:
    """The call, to be carried out later, on whichever thread."""
    asked = time.monotonic()

    def carried_out() -> T:
        token = _ASKED.set(asked)
        try:
            return call()
        finally:
            _ASKED.reset(token)

    return carried_out


def take_asked() -> float:
    """When what runs here was asked for, in seconds of `time.monotonic`. Asked again, it is now: there was an answer."""
    asked = _ASKED.get()
    _ASKED.set(None)
    return time.monotonic() if asked is None else asked
