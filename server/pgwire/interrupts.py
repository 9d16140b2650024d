"""Interrupting a session's task: cancel requests, timeouts, shutdown, a client that has gone.

An interrupt is a cause (the error that the client will see) and an `asyncio` cancellation of the session's task, delivered
only where the session said that it may be: inside `command` (anything) or `idle` (only what ends the session). Outside
of both the session is cleaning up and must not be disturbed; a fatal cause then waits for the next such place, and a
cancel request is dropped, as PostgreSQL drops one that arrives between commands.

Rejected: a task for each command that can be cancelled whole. It costs a task switch for each message, and the session's
state would be shared between two tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from wire.errors import FatalError, SqlError

T = TypeVar("T")


class ClientGone(FatalError):
    """The connection is lost: nobody is left to be told."""

    default_sqlstate = "08006"


class Interrupts:
    """See the module's docstring. All methods are called on the loop's thread.

    `request` is never called from the session's own task (use `loop.call_soon`): a task that cancels itself is only
    interrupted at its next await, which may be a cleanup.
    """

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task
        self._fatal: FatalError | None = None
        self._cause: SqlError | None = None
        self._in_command = False
        self._in_idle = False

    @property
    def fatal_error(self) -> FatalError | None:
        """Why the session must end, if it must."""
        return self._fatal

    def request(self, cause: SqlError) -> None:
        """Interrupt with `cause`. The first one counts, but one that ends the session goes before one that does not."""
        if isinstance(cause, FatalError):
            if self._fatal is not None:
                return
            self._fatal = cause
        elif not self._in_command:
            return
        if not (self._in_command or self._in_idle):
            return
        if self._cause is None:
            self._task.cancel()
        if self._cause is None or isinstance(cause, FatalError):
            self._cause = cause

    @contextmanager
    def command(self) -> Iterator[None]:
        """Within: any interrupt is raised as its cause from whatever is awaited."""
        if self._fatal:
            raise self._fatal
        self._in_command = True
        try:
            yield
        except BaseException:
            self._in_command = False
            self._raise_cause()
            raise
        self._in_command = False
        self._raise_cause()

    async def run_undisturbed(self, call: Callable[[], Awaitable[T]]) -> T:
        """Await what must not be left half-way, a commit: it would be told as cancelled and have taken place.

        Of the interrupts that come meanwhile a cancel request is dropped, as PostgreSQL drops one; what ends the session
        waits for the next place.
        """
        before = self._in_command, self._in_idle
        self._in_command = self._in_idle = False
        try:
            return await call()
        finally:
            self._in_command, self._in_idle = before

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Within: only a cause that ends the session is raised."""
        if self._fatal:
            raise self._fatal
        self._in_idle = True
        try:
            yield
        except BaseException:
            self._in_idle = False
            self._raise_cause()
            raise
        self._in_idle = False
        self._raise_cause()

    def _raise_cause(self) -> None:
        """Take back our cancellation of the task and raise why it was made."""
        if self._cause is not None:
            cause, self._cause = self._cause, None
            self._task.uncancel()
            raise cause from None
