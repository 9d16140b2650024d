"""Clients whose transactions write, and read by distributed cursors: `Writers` of members in a simulated cluster.

A cursor reads the files of its statement's snapshot, with the transaction's own changes, and its fragments run on all
members. The client continues with its next statements while the cursor is read, and others commit, publish, compact and
vacuum. The transaction ends when its cursors have ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from engine.catalog.model.objects import Table
from engine.catalog.store.transaction import SessionCatalog
from simulated.history import Transaction
from simulated.stage import Actor
from simulated.versioned_tables import VersionedTables
from simulated.writers import TABLES, Shared, Writers, path_below

#: Begins to read, and returns a call that puts the actor to sleep until all is read; it does nothing once that has been.
Ask = Callable[[Actor, VersionedTables], Callable[[], None]]


class Cursors(Writers):
    """Clients that read by cursors; see the module's docstring. ask: opens a cursor on the member, in the cluster."""

    kinds: ClassVar = (*Writers.kinds, "read", "read", "read", "read", "read", "read")

    def __init__(self, shared: Shared, ask: Ask) -> None:
        super().__init__(shared)
        self._ask = ask
        self._open: dict[Actor, list[Callable[[], None]]] = {}

    def client(self, count: int, *, brief: bool = False) -> None:
        for _ in range(count):
            if not self.closing:
                super().client(1, brief=brief)

    def _perform(self, catalog: SessionCatalog, transaction: Transaction, table: Table, kind: str, begun: int) -> None:
        if kind != "read":
            super()._perform(catalog, transaction, table, kind, begun)
            return
        tables = {
            name: table if name == table.name else self._read_table(catalog, transaction, name, 0) for name in TABLES
        }
        actor = self._stage.runs
        assert actor is not None, "a client is an actor"
        numbers = {name: self._numbers(each) for name, each in tables.items()}
        wait = self._ask(actor, VersionedTables(tables, numbers, lambda: self.ages != begun))
        self._open.setdefault(actor, []).append(wait)

    def _numbers(self, table: Table) -> list[int]:
        """Return the numbers that were written to the files of a table."""
        assert table.storage is not None, "a stored table"
        contents, location = self._history.contents, table.storage.location
        return [n for file in table.files for n in contents[location, path_below(table, file)].numbers]

    def _finish_reads(self) -> None:
        actor = self._stage.runs
        assert actor is not None, "a client is an actor"
        for wait in self._open.pop(actor, ()):
            wait()
