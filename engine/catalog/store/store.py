"""The catalog store: a member's view of the catalog database that it may share with other members, and their commit
point.

The store keeps the newest committed `Snapshot` that this member has seen in memory, and statements read only that. A
version that grows with every commit of any member tells whether it is current: before a statement begins, `is_current`
reads the version, and `refresh` reads the rows again if it has changed. So a statement sees everything that was
committed, on any member, before it began. READ COMMITTED promises this to a client whose next connection goes to
another member.

A commit is optimistic. Under the database's own lock it begins on the newest state, replays the transaction's changes
onto it (`engine.catalog.replay`; a conflict is 40001), writes them together with the next version, and only then makes
the result visible. Its decisions about the files of tables are visible from then on; Delta's logs follow in the
background (`engine.storage`).

The cost of the version check depends on the database (`engine.catalog.store.sqlite`, `.postgres`):

- SQLite: one row from a page in memory, 4 microseconds; `pragma data_version`, which exists for this purpose, takes as
  long and tells less (it changes with OIDs too). The check runs on the caller's thread.
- PostgreSQL: one round trip a statement, off the event loop. Statements that check at the same time share one round
  trip (a check that began after the statement arrived is as good as its own), so the catalog database sees at most one
  check at a time from a member.

Rejected for PostgreSQL: LISTEN/NOTIFY, and a time to live. Both are cheaper and late: a client that creates a table on
one member and reads it on another a millisecond later, through a load balancer, would be told that it does not exist.
Where members share no disk, a statement costs milliseconds already; the round trip is the price of the promise.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from engine.catalog.model import counters
from engine.catalog.model.counters import Block, Count
from engine.catalog.model.objects import Sequence as NumberSequence
from engine.catalog.model.objects import Table
from engine.catalog.replay import replay
from engine.catalog.snapshot import TEMPORARY, AnyChange, DataChange, Guard, Snapshot
from engine.catalog.store.catalog_database import CatalogDatabase
from engine.catalog.store.decide import CommitOutcome
from engine.catalog.store.publication import pending_publications, remove_dropped
from engine.catalog.store.publisher import Publisher
from engine.catalog.store.rows import Decision
from engine.catalog.store.sweep import Strays, Swept, Vacuum, folders_with_rows
from engine.common.error_copy import copy_error
from engine.common.supervised import Background
from engine.storage.file_clock import FILE_CLOCK
from engine.storage.in_flight_files import IN_FLIGHT_FILES, Keeper
from wire.errors import DataCorrupted, DuplicateTable, SerializationFailure, SqlError

#: The prefixes of a location in PostgreSQL.
URL_SCHEMES: Final = ("postgresql://", "postgres://")


def open_database(location: Path | str, tables: Path) -> CatalogDatabase:
    """Open PostgreSQL for a URL, else a SQLite file, and create what is missing in it.

    The modules are imported late: psycopg takes a tenth of a second to import.
    """
    if is_url(location):
        from engine.catalog.store.postgres import PostgresDatabase

        return PostgresDatabase(str(location), tables)
    from engine.catalog.store.sqlite import SqliteDatabase

    return SqliteDatabase(Path(location), tables)


def is_url(location: Path | str) -> bool:
    """Return whether a catalog's location is in PostgreSQL."""
    return isinstance(location, str) and location.startswith(URL_SCHEMES)


def _beside(location: Path | str) -> Path:
    return Path("tables") if is_url(location) else Path(location).parent / "tables"


class CatalogStore:
    """A member's catalog store (see the module's docstring). All methods may be called from any thread.

    location: a file, or a postgresql:// URL.
    tables: the folder of stored tables, as this member sees it; None: `tables` beside the catalog's file, or in the
        working folder.
    allow_empty: whether to continue if nothing was ever committed to the catalog and the folder holds tables with rows.
    connect: opens the database at the location.
    snapshot: the newest committed state that was seen.
    Raises DataCorrupted for a database that is damaged, was written by a later release, or has lost its tables; IoError
    for one that cannot be reached.
    """

    def __init__(
        self,
        location: Path | str,
        tables: Path | None = None,
        *,
        allow_empty: bool = False,
        connect: Callable[[Path | str, Path], CatalogDatabase] = open_database,
    ) -> None:
        self.tables = (tables or _beside(location)).absolute()
        self._database = connect(location, self.tables)
        #: The store's background threads; other background loops of the member join them.
        self.background = Background()
        self._publisher = Publisher(self.publish, self.background.supervise("publisher"))
        self._keeper = Keeper(self.tables, self.background.supervise("keeper"))
        #: Called after each commit of this member, on its thread, with the number of files added, by location.
        self.watch: Callable[[Mapping[str, int]], None] | None = None
        self._lock = threading.Lock()
        self._counts = {"commits": 0, "commit_conflicts": 0}
        self._asking = threading.Lock()
        self._asked = 0
        self._answered = 0
        #: When `snapshot` was last found to be the newest, by `time.monotonic`.
        self._newest_at = 0.0
        self._away: SqlError | None = None
        self._declared: tuple[Table, ...] = ()
        self.snapshot = self._database.load()
        if self.snapshot.version == 0 and not allow_empty:
            self._require_no_rows(location)

    def _require_no_rows(self, location: Path | str) -> None:
        """Refuse to start on an empty catalog beside tables with rows. Such a catalog was lost and created again: it
        would have no tables, and its commits would assign numbers again that the tables' logs have.
        """
        lost = next(folders_with_rows(self.tables), None)
        if lost is not None:
            self._database.close()
            place = "in PostgreSQL" if is_url(location) else f"in {location}"
            raise DataCorrupted(
                f"the catalog {place} is empty, but {self.tables} holds tables with rows, such as {lost}",
                hint="Put the catalog back, or restore a backup (sluice restore). To begin anew beside these tables, which no "
                "statement will see, start with allow_empty_catalog (--allow-empty-catalog).",
            )

    def declare(self, tables: Sequence[Table]) -> None:
        """Show these tables of the topology in every snapshot; they are not stored. Called once, before any statement.

        A name that the catalog has already is refused (DuplicateTable): otherwise some client would read rows of the
        wrong table. A relation that is stored later, by a member that does not have the topology file, is hidden.
        """
        for table in tables:
            if (table.schema, table.name) in self.snapshot.relations:
                raise DuplicateTable(
                    f'relation "{table.name}", which the topology file declares, is in the catalog already',
                    hint="Give the logical source another name, or drop what is in the catalog.",
                )
        self._declared = tuple(tables)
        self.snapshot = self.snapshot.with_declared(self._declared)

    def is_current(self, since: float | None = None) -> bool:
        """Return whether `snapshot` is known to be the newest, without waiting; if False, the caller calls `refresh`.

        since: a time of `time.monotonic`; a snapshot that was the newest after that is good enough. None: it must be
        the newest now.
        """
        if since is not None and since < self._newest_at:
            return True
        begun = time.monotonic()
        if not self._database.near or self._database.version() != self.snapshot.version:
            return False
        self._newest_at = begun
        return True

    def refresh(self) -> None:
        """Update `snapshot` so that it includes everything committed before this call. May block."""
        asked = self._asked
        with self._asking:
            if self._answered > asked:
                # While the database is unreachable, the last of many callers would otherwise wait for the sum of their
                # timeouts.
                if self._away is not None:
                    raise copy_error(self._away)
                return
            self._asked = question = self._asked + 1
            begun = time.monotonic()
            try:
                if self._database.version() != self.snapshot.version:
                    self._show(self._database.load())
                self._away, self._newest_at = None, begun
            except SqlError as error:
                self._away = error
                raise
            finally:
                self._answered = question

    def next_oid(self) -> int:
        """Return a new OID. It is never assigned again, by any member, even if its transaction rolls back."""
        return self._database.next_oid()

    def advance(self, sequence: NumberSequence, count: int) -> Block:
        """Return the sequence's next values, at most `count`. They are durable and returned to no other caller,
        whatever the outcome of the transaction that asked. Raises SequenceGeneratorLimitExceeded.
        """
        before = self._database.count(sequence.counter, lambda at: counters.advance(sequence, at, count)[1])
        return counters.advance(sequence, before, count)[0]

    def set_counter(self, sequence: NumberSequence, count: Count) -> None:
        """Set a sequence (setval): the next value is `count.value`, or the one after it if that was `called`."""
        self._database.count(sequence.counter, lambda _at: count)

    def read_sequence(self, sequence: NumberSequence) -> Count:
        """Return the state of the sequence's counter."""
        return self._database.read_counter(sequence.counter) or Count(sequence.first, called=False)

    def commit(self, changes: Iterable[AnyChange]) -> Snapshot:
        """Make a transaction's changes durable and visible. Raises SerializationFailure; nothing was changed then."""
        [outcome] = self.commit_group([changes])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def commit_group(self, group: Sequence[Iterable[AnyChange]]) -> Sequence[CommitOutcome]:
        """Make the changes of several transactions durable and visible, all at once, as if they committed one after the
        other. Returns the outcome of each; one that fails has changed nothing. An error that this method raises applies
        to all transactions with changes.
        """
        lasting = [[change for change in changes if change.key[0] != TEMPORARY] for changes in group]
        writing = [at for at, changes in enumerate(lasting) if not all(isinstance(change, Guard) for change in changes)]
        outcomes: list[CommitOutcome] = [self.snapshot] * len(lasting)
        if writing:
            written = self._database.commit(self.snapshot, [lasting[at] for at in writing])
            for at, outcome in zip(writing, written, strict=True):
                outcomes[at] = outcome
            self._note_commits([(lasting[at], outcomes[at]) for at in writing])
        for at, changes in enumerate(lasting):
            if at not in writing:
                outcomes[at] = self._check_guards(changes)
        return outcomes

    def _check_guards(self, guards: Sequence[AnyChange]) -> CommitOutcome:
        """Commit a transaction that has only read. A SERIALIZABLE one takes effect at its snapshot, whatever was
        committed since.
        """
        kept = [guard for guard in guards if not (isinstance(guard, Guard) and guard.serializable)]
        try:
            if kept:
                self.refresh()
                replay(self.snapshot, kept)
        except Exception as error:  # noqa: BLE001 - it is raised to its session; the rest of the group has committed
            return error
        return self.snapshot

    def _note_commits(self, commits: Sequence[tuple[Sequence[AnyChange], CommitOutcome]]) -> None:
        """Show the committed state, and notify the publisher and the watcher of commits."""
        data: list[DataChange] = []
        for changes, outcome in commits:
            if isinstance(outcome, Snapshot):
                self._count("commits")
                self._show(outcome)
                data += [change for change in changes if isinstance(change, DataChange)]
                self._publisher.wake()
            elif isinstance(outcome, SerializationFailure):
                self._count("commit_conflicts")
        IN_FLIGHT_FILES.forget(
            self.tables / change.location / file.path for change in data for file in change.files.added
        )
        if self.watch is not None and data:
            self.watch(Counter(change.location for change in data for _ in change.files.added))

    def publish(self) -> None:
        """Publish all commits of all members to Delta's logs (`engine.catalog.store.publication`). May block.

        A failure for one table, of any kind, does not stop the publication of others. Raises the first error.
        """
        decisions = self._database.decisions()
        failed: list[Exception] = []
        try:
            for _ in remove_dropped(self._database, self.tables, int(FILE_CLOCK.now())):
                pass
        except (SqlError, OSError) as error:
            failed.append(error)
        if decisions:
            self._publish(decisions, failed)
        if failed:
            raise failed[0]

    def _publish(self, decisions: Sequence[Decision], failed: list[Exception]) -> None:
        for publication in pending_publications(self._database, self.tables, decisions, self._database.load()):
            try:
                for _ in publication:
                    pass
            except Exception as error:  # noqa: BLE001 - it is raised later; other tables go on
                failed.append(error)
        self._show(self._database.load())

    def pending_commits(self) -> Mapping[str, int]:
        """Return how many commits each table's Delta log does not have yet, by location, without zeros."""
        return Counter(decision.location for decision in self._database.decisions())

    def statistics(self) -> dict[str, int]:
        """Return counters.

        stored: tables.
        unpublished: tables whose Delta logs do not have all changes yet.
        failing: whether publishing fails (0, 1).
        publish_...: the publisher's, about this member's commits.
        commits, commit_conflicts: since the member's start.
        """
        stored = [table.storage for table in self.snapshot.tables() if table.storage is not None]
        unpublished = sum(1 for storage in stored if storage.added or storage.removed)
        publisher = self._publisher.statistics()
        with self._lock:
            counted = dict(self._counts)
        return {
            "stored": len(stored),
            "unpublished": unpublished,
            "failing": int(self._publisher.failure is not None),
            "publish_pending": publisher["pending"],
            "publish_lag_ms": publisher["lag_ms"],
            "publish_rounds": publisher["rounds"],
            **counted,
        }

    def start_publishing(self) -> None:
        """Start publishing in the background: changes left over from a crash, and each commit soon after it. Also start
        to show other members the files in flight here.
        """
        self._publisher.start()
        self._keeper.start()

    def vacuum(self, locations: Sequence[str], retention: float) -> Iterable[Swept]:
        """Remove files that tables no longer have (`engine.catalog.store.sweep`), a table at a time. retention:
        seconds. Blocks. Raises SqlError.
        """
        return Vacuum(self._database, self.tables, FILE_CLOCK.now() - retention).tables(locations)

    def vacuum_strays(self, retention: float) -> Strays:
        """Remove folders of tables that were never committed. Blocks. Raises SqlError."""
        return Vacuum(self._database, self.tables, FILE_CLOCK.now() - retention).strays()

    def _count(self, name: str) -> None:
        with self._lock:
            self._counts[name] += 1

    def _show(self, snapshot: Snapshot) -> None:
        """Make a snapshot the current one unless it is older, since two threads may arrive with states of different
        age. A state of the same version has the same contents; it may differ if tables were published meanwhile.
        """
        with self._lock:
            if snapshot.version >= self.snapshot.version:
                self.snapshot = snapshot.with_declared(self._declared) if self._declared else snapshot

    def close(self) -> None:
        self._keeper.close()
        self._publisher.close()
        self._database.close()
