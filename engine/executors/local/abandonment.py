"""Statements that a member which ends does not wait for: when they are abandoned, and which were.

DuckDB looks at no interrupt while it plans a statement, which may take it minutes. A connection in use must not be closed under it,
and Python cannot end a thread. So a member that is told to end waits for each statement that it has canceled for a bound, and then
leaves the thread behind with its cursor and the database of that cursor. All else is closed as always. The process must then end
without the interpreter's own end (`server.serving`): the thread would come back into what is torn down.

Within a process that goes on, the thread closes its cursor when DuckDB comes back, and ends.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

#: How long a member that ends waits for a statement that was canceled.
ABANDON_SECONDS: Final = 5.0
#: Characters of a statement that the log shows.
_SHOWN: Final = 200
_log = logging.getLogger(__name__)


class Abandonment:
    """On the loop's thread. abandoned: names of the threads that were left behind."""

    def __init__(self) -> None:
        self.abandoned: list[str] = []
        self._since: float | None = None

    def begin(self, now: float) -> None:
        """Give up from now on what does not end within the bound; idempotent. now: the loop's time, in seconds."""
        if self._since is None:
            self._since = now

    def is_due(self, canceled: float, now: float) -> bool:
        """Whether a statement is to be abandoned. canceled: when it was."""
        return self._since is not None and now - max(canceled, self._since) >= ABANDON_SECONDS

    def note(self, query: str, statement: str, thread: int) -> None:
        """Record a statement as abandoned. thread: the identifier of the one that it is left to."""
        names = {each.ident: each.name for each in threading.enumerate()}
        name = names.get(thread, str(thread))
        self.abandoned.append(name)
        _log.error(
            "abandoned query %s, which DuckDB still plans or runs on thread %s %g s after it was canceled: %s",
            query or "of this member", name, ABANDON_SECONDS, statement[:_SHOWN],
        )  # fmt: skip
