"""Notices of a statement that may run again (`engine.session.transaction`): a notice that both runs raise is sent once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from wire.errors import Notice


class NoticeDeduplicator:
    """Sends notices, except those that an earlier run of the statement has sent. tell: sends a notice to the client.
    Called from one thread at a time.
    """

    def __init__(self, tell: Callable[[Notice], None]) -> None:
        self._tell = tell
        self._told: Counter[Notice] = Counter()
        self._known: Counter[Notice] = Counter()

    def begin(self) -> None:
        """Begin a statement."""
        self._told.clear()
        self._known.clear()

    def again(self) -> None:
        """Begin another run of the same statement."""
        self._known = self._told.copy()

    def __call__(self, notice: Notice) -> None:
        if self._known[notice]:
            self._known[notice] -= 1
            return
        self._told[notice] += 1
        self._tell(notice)
