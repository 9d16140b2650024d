"""Group commit: transactions that commit while another commit is in progress wait together, and are committed at once.

This is PostgreSQL's way, where transactions that commit during a flush of the log are flushed together by the next one
(xlog.c, XLogFlush). The first transaction is committed at once, by itself; those that arrive meanwhile form the next
group. No transaction waits for a group to fill, so a client that is alone is no slower. A group costs as much as one
commit: one transaction of the catalog database, one sync of it (`engine.catalog.store.decide`). Each transaction keeps
its own outcome, and receives it when the group is durable.

Transactions that only append a few rows to the same table share more: their rows are written into one file
(`engine.storage.kept_rows`), and the catalog treats them as one transaction. This is correct because such a transaction
conflicts with a change of the table's definition and with nothing else, so all of them conflict or none does, and no
observer can distinguish a joint commit from two commits in quick succession. If their rows cannot be written together,
each is committed by itself.

Rejected: waiting for others before a group begins (`commit_delay`). A group costs processor time more than disk waits,
and the duration of the previous group is delay enough.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final

from engine.catalog.snapshot import AnyChange, Snapshot
from engine.catalog.store.pending_changes import write_rows
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import EndingTransaction, SessionCatalog
from engine.common.error_copy import copy_error
from engine.storage import tables
from engine.storage.kept_rows import KeptRows
from engine.storage.staging import KEPT_BYTES
from wire.dataclass import dataclass

#: The maximum number of transactions that commit together: all of them wait for the slowest.
_GROUP_MAX: Final = 256

_Member = tuple[SessionCatalog, EndingTransaction]


@dataclass(slots=True)
class _Unit:
    """Transactions that are one for the catalog. rows: rows that they append to a table and that are in no file yet.
    changes: the changes to commit; None if `outcome` has an error, or before the rows are written.
    """

    members: list[_Member]
    rows: KeptRows | None
    changes: Sequence[AnyChange] | None = None
    outcome: Snapshot | BaseException | None = None

    def takes(self, rows: KeptRows) -> bool:
        """Return whether rows of another transaction may be committed with these."""
        return self.rows is not None and tables.same_definition(self.rows.table, rows.table)

    def write(self, store: CatalogStore) -> None:
        """Write the rows into a file. May block on the disk. Raises SqlError, and then leaves no files."""
        if self.rows is not None:
            self.changes = [write_rows(self.rows, store.snapshot, KEPT_BYTES)]

    def settle(self) -> Snapshot | BaseException:
        """Report the outcome of the commit to each transaction's session. The first one removes the written files if
        they must be removed.
        """
        assert self.outcome is not None, "nobody is told before"
        changes = self.changes or ()
        for catalog, ending in self.members:
            catalog.settle(ending, changes, self.outcome)
            changes = ()
        return self.outcome


def commit_together(store: CatalogStore, catalogs: Sequence[SessionCatalog]) -> Sequence[Snapshot | BaseException]:
    """Commit the transactions of these sessions, as if one after the other. Returns the outcome of each. Blocks."""
    endings = [(catalog, catalog.end()) for catalog in catalogs]
    units = [written for unit in _units(endings) for written in _write_unit(store, unit)]
    committing = [unit for unit in units if unit.changes is not None]
    outcomes: Sequence[Snapshot | BaseException]
    try:
        outcomes = store.commit_group([unit.changes or () for unit in committing])
    except BaseException as error:  # noqa: BLE001 - waiting sessions receive it
        outcomes = [error] * len(committing)
    for unit, outcome in zip(committing, outcomes, strict=True):
        unit.outcome = outcome
    told: dict[int, Snapshot | BaseException] = {}
    for unit in units:
        outcome = unit.settle()
        told |= {id(catalog): outcome for catalog, _ in unit.members}
    return [told[id(catalog)] for catalog in catalogs]


class CommitQueue:
    """The queue of a member's commits. submit: runs a call, which may block, on some thread. group_max: the maximum
    number of transactions in a group.
    """

    def __init__(
        self, store: CatalogStore, submit: Callable[[Callable[[], None]], object], group_max: int = _GROUP_MAX
    ) -> None:
        self._store = store
        self._submit = submit
        self._group_max = group_max
        self._lock = threading.Lock()
        self._waiting: list[tuple[SessionCatalog, Future[None]]] = []
        self._is_committing = False

    def commit(self, catalog: SessionCatalog) -> Future[None]:
        """Commit a session's transaction with the others that wait. A commit that is cancelled before its group's turn
        leaves the transaction as it is.
        """
        future: Future[None] = Future()
        with self._lock:
            self._waiting.append((catalog, future))
            if self._is_committing:
                return future
            self._is_committing = True
        self._go_on()
        return future

    def _go_on(self) -> None:
        try:
            self._submit(self._commit_waiting)
        except BaseException as error:  # noqa: BLE001 - the pool is closed
            with self._lock:
                waiting, self._waiting, self._is_committing = self._waiting, [], False
            for _, future in waiting:
                future.set_exception(copy_error(error))

    def _commit_waiting(self) -> None:
        with self._lock:
            group, self._waiting = self._waiting[: self._group_max], self._waiting[self._group_max :]
        group = [(catalog, future) for catalog, future in group if future.set_running_or_notify_cancel()]
        outcomes: Sequence[Snapshot | BaseException]
        try:
            outcomes = commit_together(self._store, [catalog for catalog, _ in group])
        except BaseException as error:  # noqa: BLE001 - waiting sessions receive it, and the next group goes on
            outcomes = [error] * len(group)
        with self._lock:
            self._is_committing = goes_on = bool(self._waiting)
        if goes_on:
            self._go_on()
        for (_, future), outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, Snapshot):
                future.set_result(None)
            else:
                # One failure may end many transactions, and an exception changes where it is handled, so each gets a
                # copy.
                future.set_exception(copy_error(outcome))


def _units(endings: Sequence[_Member]) -> list[_Unit]:
    units: list[_Unit] = []
    appending: dict[str, _Unit] = {}
    for member in endings:
        changes = member[1].changes
        rows = changes[0] if len(changes) == 1 else None
        if not isinstance(rows, KeptRows):
            assert not any(isinstance(change, KeptRows) for change in changes), "written before"
            units.append(_Unit([member], None, changes))  # type: ignore[arg-type]
            continue
        unit = appending.get(rows.table.path)
        if unit is not None and unit.takes(rows):
            unit.members.append(member)
        else:
            unit = appending[rows.table.path] = _Unit([member], KeptRows(rows.table))
            units.append(unit)
    return units


def _write_unit(store: CatalogStore, unit: _Unit) -> list[_Unit]:
    """Write the unit's rows into a file. Returns the unit, or a unit for each of its transactions if their rows cannot
    be written together.
    """
    if unit.rows is None:
        return [unit]
    try:
        for _, ending in unit.members:
            [rows] = ending.changes
            assert isinstance(rows, KeptRows), "as it was found"
            unit.rows.extend(rows)
        unit.write(store)
    except Exception as error:  # noqa: BLE001 - it is raised to the committing session
        if len(unit.members) == 1:
            unit.outcome = error
            return [unit]
        alone = [_Unit([member], KeptRows(unit.rows.table)) for member in unit.members]
        return [written for single in alone for written in _write_unit(store, single)]
    return [unit]
