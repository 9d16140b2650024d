"""Interrupts of a session's task: cancel requests, timeouts, shutdown, a client that has disconnected.

An interrupt is a cause (the error that the client will see) and an `asyncio` cancellation of the session's task. It is
delivered only where the session allows it: inside `command` (any interrupt) or `idle` (only one that ends the session).
Outside of both the session is cleaning up and must not be disturbed; a fatal cause then waits for the next such place,
and a cancel request is dropped, as PostgreSQL drops one that arrives between commands.

Rejected: a task for each command that can be cancelled as a whole. It costs a task switch for each message, and the
session's state would be shared between two tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from wire.errors import FatalError, SqlError

T = TypeVar("T")


class ClientGone(FatalError):
    """The connection is lost: no client is left to be told."""

    default_sqlstate = "08006"


class _Within:
    """A context in which interrupts are delivered, entered for each message: one object for all of them."""

    __slots__ = ("_command", "_interrupts")

    def __init__(self, interrupts: Interrupts, *, command: bool) -> None:
        self._interrupts = interrupts
        self._command = command

    def __enter__(self) -> None:
        self._interrupts.enter(command=self._command)

    def __exit__(self, *_raised: object) -> None:
        self._interrupts.leave(command=self._command)


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
        self._command, self._idle = _Within(self, command=True), _Within(self, command=False)

    @property
    def fatal_error(self) -> FatalError | None:
        """The error with which the session must end, if it must."""
        return self._fatal

    def request(self, cause: SqlError) -> None:
        """Interrupt the session with `cause`. The first cause counts, but one that ends the session overrides one that
        does not.
        """
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

    def command(self) -> _Within:
        """Return a context in which any interrupt is raised as its cause at an await."""
        return self._command

    async def run_undisturbed(self, call: Callable[[], Awaitable[T]]) -> T:
        """Await a call that must not be left half-way, such as a commit, which would be reported as cancelled although
        it has taken place.

        Of the interrupts that arrive meanwhile, a cancel request is dropped, as PostgreSQL drops one; a cause that ends
        the session waits for the next context.
        """
        before = self._in_command, self._in_idle
        self._in_command = self._in_idle = False
        try:
            return await call()
        finally:
            self._in_command, self._in_idle = before

    def idle(self) -> _Within:
        """Return a context in which only a cause that ends the session is raised."""
        return self._idle

    def enter(self, *, command: bool) -> None:
        """Allow interrupts: all of them, or those that end the session. Raises the cause if the session must end
        already.
        """
        if self._fatal:
            raise self._fatal
        if command:
            self._in_command = True
        else:
            self._in_idle = True

    def leave(self, *, command: bool) -> None:
        """Allow no more interrupts. Raises the cause of the one that came."""
        if command:
            self._in_command = False
        else:
            self._in_idle = False
        self._raise_cause()

    def _raise_cause(self) -> None:
        """Undo the cancellation of the task by this object, and raise its cause."""
        if self._cause is not None:
            cause, self._cause = self._cause, None
            self._task.uncancel()
            raise cause from None
