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
    """An executor that also accepts calls without a waiter."""

    @abstractmethod
    def post(self, call: Call) -> None:
        """Submit a call without a Future."""

    @abstractmethod
    def statistics(self) -> Mapping[str, int]:
        """Count the calls. queued: those that wait. running: those that run."""

    @abstractmethod
    def close(self) -> None:
        """Run all submitted calls, then end. Returns when everything has ended."""

    def set_aside(self, thread: int, *, forced: bool = False) -> bool:
        """Replace a thread that is running a call, given by its identifier. The thread ends with its call, for which
        nobody waits any more. Returns False if the thread is idle, or too many are already set aside. forced: ignore
        that limit.
        """
        del thread, forced
        return False

    @property
    def aside(self) -> int:
        """The number of threads that are set aside."""
        return 0


def run(call: Call) -> None:
    """Run a call on a pool's thread, and log what it raises."""
    try:
        call()
    except BaseException:  # noqa: BLE001 - whatever it is, the calls behind it must still run
        _log.exception("a call of a pool failed, and nobody waits for it")
    finally:
        del call


def with_future(call: Callable[[], T]) -> tuple[Future[T], Call]:
    """Return a Future, and a call that completes it."""
    future: Future[T] = Future()
    return future, partial(_settle, future, call)


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - the waiter gets it
        future.set_exception(error)
    else:
        future.set_result(result)
    finally:
        del future, call
