"""The commits of a process's clients, made as sessions make them: in the member's commit queue, which commits in
groups.

The queue is the real one (`engine.catalog.store.commit_group`). Where a member has an operation thread, an actor
commits a group, step by step, while further clients join the queue; a client that waits is asleep. Some clients do not
wait for the result: they withdraw their request, or end while their group commits, as a session does whose connection
is lost.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from engine.catalog.store.commit_group import CommitQueue
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from simulated.history import History, Request, Transaction, Violation
from simulated.stage import Process, Stage

#: The maximum number of transactions in a group, so small that another client often has to wait.
_GROUP_MAX: Final = 3
_LEAVES: Final = 0.08


class Commits:
    """The commits of one process's clients; see the module's docstring."""

    def __init__(self, stage: Stage, process: Process, store: CatalogStore, history: History) -> None:
        self._stage = stage
        self._history = history
        self._process = process
        self._queue = CommitQueue(store, self._submit, _GROUP_MAX)
        self._numbers = itertools.count(1)

    def _submit(self, call: Callable[[], None]) -> None:
        self._stage.require_alive()
        self._stage.start(self._process, "commits", call)

    def commit(self, catalog: SessionCatalog, transaction: Transaction) -> bool | None:
        """Commit a client's transaction, on its actor. Returns whether it has committed, or None if the client does not
        learn it. Raises the error that the client receives, or Violation.
        """
        changes = tuple(catalog.pending.changes)
        transaction.request = Request(self, next(self._numbers), self._history.newest, changes)
        if not catalog.has_changes:
            catalog.commit()
            return True
        future = self._queue.commit(catalog)
        if self._stage.chance.random() < _LEAVES:
            return self._leave(catalog, future)
        self._stage.sleep_until(future, "waits for its commit")
        if (error := future.exception()) is not None:
            self._require_own(error)
            raise error
        return True

    def _leave(self, catalog: SessionCatalog, future: Future[None]) -> bool | None:
        self._stage.step("leaves")
        cancelled = future.cancel()
        catalog.rollback()
        if cancelled:
            return False
        # Its transaction is its own until the group is over.
        self._stage.sleep_until(future, "has left")
        return None

    def _require_own(self, error: BaseException) -> None:
        """Check that each error is reported to one client only: each client records that it has handled its own."""
        if getattr(error, "__notes__", ()):
            raise Violation(f"a client is told another one's error: {error}")
        error.add_note("handled by a client")
