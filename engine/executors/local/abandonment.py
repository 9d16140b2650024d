"""Statements that a stopping member no longer waits for: when they are abandoned, and which ones have been.

DuckDB does not check for interrupts while it plans a statement, and planning may take minutes. A connection that is in
use must not be closed, and Python cannot end a thread. So a member that is told to stop waits only for a bounded time
for each statement that it has canceled. It then leaves the thread behind, together with its cursor and that cursor's
database. Everything else is closed as always. The process must then end without finalizing the interpreter
(`server.serving`): the thread would otherwise return into an interpreter that is being torn down.

If the process goes on, the thread closes its cursor when DuckDB returns, and ends.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

#: The time that a stopping member waits for a canceled statement.
ABANDON_SECONDS: Final = 5.0
#: The number of characters of a statement that the log shows.
_SHOWN: Final = 200
_log = logging.getLogger(__name__)


class Abandonment:
    """Decides when canceled statements are abandoned, and records them. Used on the event loop's thread.

    abandoned: the names of the threads that were left behind.
    """

    def __init__(self) -> None:
        self.abandoned: list[str] = []
        self._since: float | None = None

    def begin(self, now: float) -> None:
        """Abandon, from now on, statements that do not end within the bound; idempotent. now: the event loop's time,
        in seconds.
        """
        if self._since is None:
            self._since = now

    def is_due(self, canceled: float, now: float) -> bool:
        """Return whether a statement is due to be abandoned. canceled: the time of its cancel."""
        return self._since is not None and now - max(canceled, self._since) >= ABANDON_SECONDS

    def note(self, query: str, statement: str, thread: int) -> None:
        """Record a statement as abandoned. thread: the identifier of the thread on which it is left."""
        names = {each.ident: each.name for each in threading.enumerate()}
        name = names.get(thread, str(thread))
        self.abandoned.append(name)
        _log.error(
            "abandoned query %s, which DuckDB still plans or runs on thread %s %g s after it was canceled: %s",
            query or "of this member", name, ABANDON_SECONDS, statement[:_SHOWN],
        )  # fmt: skip
