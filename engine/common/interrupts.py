"""Interrupts of the work on one statement: PostgreSQL's CHECK_FOR_INTERRUPTS, for threads that parse and plan.

A cancel request, `statement_timeout` and a termination end the wait of the session's task at once, but the thread that
lexes, parses, binds, optimises or compiles cannot be stopped from outside. So the waiting task marks the work as
interrupted. The thread checks the mark at every token, node and expression (`check_for_interrupts`), and ends there.

The checks are in everything that loops or recurses over a statement: the lexer, the reader of the grammar, the binder
of expressions, the walks and rewrites of which all passes are made, and the compiler. The same check counts the steps
of the work, and now and then asks the member whether there is memory left for more.

Considered and rejected: raising an exception in the thread (PyThreadState_SetAsyncExc), which may strike between the
acquisition and the release of a lock; a process for each long statement, to and from which trees would have to be
copied.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from wire.errors import QueryCanceled

#: Steps between two looks at the clock.
_STEPS: Final = 4096
#: Seconds between two checks of the memory, in which work takes some ten megabytes. A check reads a file, and so lets
#: go of the interpreter's lock. A thread that waits for the lock asks for it only after an interval
#: (`sys.getswitchinterval`) in which nobody let go of it: checks in quick succession would keep all others waiting.
_PERIOD: Final = 0.05


class StatementWork:
    """The parsing, planning or compilation of one statement on one thread.

    require_memory: called every `_PERIOD` seconds; raises SqlError if the work may not take more memory.
    interrupted: may be set from any thread; the work then ends with QueryCanceled at its next step.
    steps: the number of tokens, nodes and expressions that were made or visited.
    clock: seconds.
    """

    __slots__ = ("_check_at", "_clock", "_look_at", "_require_memory", "interrupted", "steps")

    def __init__(
        self, require_memory: Callable[[], None] = lambda: None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.interrupted = False
        self.steps = 0
        self._require_memory = require_memory
        self._clock = clock
        self._look_at = _STEPS
        self._check_at = 0.0

    def step(self) -> None:
        """Count a step. Raises QueryCanceled if the work is interrupted, and the errors of `require_memory`."""
        if self.interrupted:
            raise QueryCanceled("canceling statement due to user request")
        self.steps += 1
        if self.steps >= self._look_at:
            self._look_at = self.steps + _STEPS
            if (now := self._clock()) >= self._check_at:
                self._check_at = now + _PERIOD
                self._require_memory()


_CURRENT: Final[ContextVar[StatementWork | None]] = ContextVar("sluice_statement_work", default=None)


@contextmanager
def work_scope(work: StatementWork) -> Iterator[None]:
    """Attribute everything that this thread parses, plans or compiles within the block to `work`."""
    token = _CURRENT.set(work)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def check_for_interrupts() -> None:
    """Count a step of the work on this thread, if there is one. Raises as `StatementWork.step` does."""
    work = _CURRENT.get()
    if work is not None:
        work.step()
