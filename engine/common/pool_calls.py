"""Calls of the two pools, run so that nothing they raise ends the thread.

A call with a waiter is made `with_future`: its result or exception goes to its Future. An exception that escapes a call
without a waiter is logged.

Both functions that run calls drop their references to them before they return. An error's traceback holds their frames,
and through them it would hold the Future, which holds the error: a reference cycle that keeps batches in memory until
the garbage collector runs.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from functools import partial
from typing import TypeVar

_log = logging.getLogger(__name__)

T = TypeVar("T")
Call = Callable[[], object]


class Pool(Executor):
    """An executor that takes calls that nobody waits for, too."""

    @abstractmethod
    def post(self, call: Call) -> None:
        """Submit a call without a Future."""

    @abstractmethod
    def statistics(self) -> Mapping[str, int]:
        """queued: calls that wait. running: calls at work."""

    @abstractmethod
    def close(self) -> None:
        """Run what was submitted, then end; returns when it has."""

    def set_aside(self, thread: int, *, forced: bool = False) -> bool:
        """Have another thread in the place of one that is at work, by its identifier, and let that one end with its call, for
        which nobody waits any more. False where the thread is idle, or too many are set aside already. forced: however many are.
        """
        del thread, forced
        return False

    @property
    def aside(self) -> int:
        """The number of threads that are set aside."""
        return 0


def run(call: Call) -> None:
    """Run a call on a pool's thread."""
    try:
        call()
    except BaseException:  # noqa: BLE001 - whatever it is, the calls behind it are not to wait for ever
        _log.exception("a call of a pool failed, and nobody waits for it")
    finally:
        del call


def with_future(call: Callable[[], T]) -> tuple[Future[T], Call]:
    """A Future, and the call that settles it."""
    future: Future[T] = Future()
    return future, partial(_settle, future, call)


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
        future.set_exception(error)
    else:
        future.set_result(result)
    finally:
        del future, call
