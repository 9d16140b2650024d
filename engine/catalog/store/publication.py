"""Publication of decisions in the catalog as versions in Delta's logs: the second half of a commit, which may be
delayed and which any member may do.

Each table with decisions takes two steps:

1. *publish*: one Delta commit with everything that the decisions add and remove, which carries the number of the last
   decision. If Delta's log has that number already, there is nothing to do: another member did it, and did not get to
   the second step.
2. *settle*: one transaction of the catalog database, which pins the version and deletes the decisions.

After a crash before, between or after the steps, the next publication repeats both from the beginning: the first step
looks before it writes, and the second is idempotent. Two concurrent publications meet in the first step, where Delta
accepts only one of two commits with the same number; the other publication then looks again.

This module also removes the folders of dropped tables, an hour after the commit that dropped them, or later if a backup
holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from engine.storage import delta, tables
from engine.storage.claims import is_held
from engine.storage.delta import Published
from engine.storage.durable import sync
from engine.storage.tables import FileChange
from wire.dataclass import dataclass
from wire.errors import DataCorrupted, IoError

if TYPE_CHECKING:
    from engine.catalog.model.objects import TableColumn
    from engine.catalog.snapshot import Snapshot
    from engine.catalog.store.catalog_database import CatalogDatabase
    from engine.catalog.store.rows import Decision

_ATTEMPTS: Final = 50
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """A completed step, which is durable."""

    done: Literal["published", "settled", "removed"]
    location: str


class TablePublication:
    """The publication of one table's decisions. Each iteration takes the next step; the caller may stop after any.

    columns: the table's, for columns that Delta's log does not have yet. pinned: the version of Delta's log that the
    catalog pins, which is durable; -1: none.
    """

    def __init__(
        self,
        database: CatalogDatabase,
        root: Path,
        decisions: Sequence[Decision],
        columns: Sequence[TableColumn],
        pinned: int,
    ) -> None:
        self.location = decisions[0].location
        self._database = database
        self._folder = root / self.location
        self._decisions = decisions
        self._columns = columns
        self._pinned = pinned

    def __iter__(self) -> Iterator[Step]:
        """Take the steps. Raises SqlError."""
        published = self._publish()
        yield Step("published", self.location)
        self._database.settle(self.location, published)
        yield Step("settled", self.location)

    def _publish(self) -> Published:
        """Write the decisions into Delta's log. Returns the position of the log that includes them."""
        log = readable_log(self._database, self._folder, self._pinned)
        for _ in range(_ATTEMPTS):
            at = log.published_version
            left = [made for made in self._decisions if made.number > at.number]
            if len(left) < len(self._decisions):
                self._require_written(log, at)
            if not left:
                # The member that wrote them may have failed, or crashed, before they were durable.
                log.make_durable()
                return at
            if log.add_columns(self._columns):
                continue  # Another member may have written these decisions meanwhile.
            whole = FileChange()
            for made in left:
                whole = whole.then(made.files)
            log.commit(left[-1].number, whole.added, whole.removed)
        raise IoError(f'could not write the log of the table in "{self._folder}": others wrote all the time')

    def _require_written(self, log: delta.Log, at: Published) -> None:
        """Check that decisions which seem to be in the log really are. They are not if the catalog was restored from an
        earlier day and the tables were not, since the catalog then assigns the same numbers again. Raises
        DataCorrupted; the decisions stay.
        """
        whole = FileChange()
        for made in self._database.decisions():
            if made.location == self.location and made.number <= at.number:
                whole = whole.then(made.files)
        present = log.files
        written = all(file.path in present for file in whole.added) and not any(
            path in present for path in whole.removed
        )
        if not written or at.number > self._database.version():
            raise DataCorrupted(
                f'the log of the table in "{self._folder}" is newer than the catalog',
                hint="Where the catalog was restored from a copy, restore the tables' folder from one of the same time.",
            )


def readable_log(database: CatalogDatabase, folder: Path, pinned: int) -> delta.Log:
    """Open a table's log. A commit that a power failure has torn before it was settled is repaired: one that holds
    decisions, or one that only adds columns and need not be followed by a decision. pinned: the version that the
    catalog pins; -1: none.

    Raises DataCorrupted, IoError.
    """
    return _read_repaired(database, folder, pinned, lambda: delta.Log(str(folder), pinned))


def readable_version(database: CatalogDatabase, folder: Path, pinned: int) -> delta.Newest:
    """Return the newest version of a table's log, which is repaired as in `readable_log`. Raises DataCorrupted,
    IoError.
    """
    return _read_repaired(database, folder, pinned, lambda: delta.newest(str(folder)))


def _read_repaired(database: CatalogDatabase, folder: Path, pinned: int, read: Callable[[], T]) -> T:
    try:
        return read()
    except DataCorrupted:
        if pinned < 0 or not (folder / delta.LOG).is_dir():
            raise
        delta.repair(folder, lambda: _pinned_now(database, folder))
        return read()


def _pinned_now(database: CatalogDatabase, folder: Path) -> int:
    """Return the version that the catalog pins now. Raises DataCorrupted if the table was dropped."""
    for table in database.load().tables():
        if table.storage is not None and table.storage.location == folder.name:
            return table.storage.version
    raise DataCorrupted(f'the log of the table in "{folder}" cannot be read, and the table was dropped')


def pending_publications(
    database: CatalogDatabase, root: Path, decisions: Iterable[Decision], snapshot: Snapshot
) -> Iterator[TablePublication]:
    """Yield a publication for each table with unsettled decisions. snapshot: one that was loaded after them, for the
    columns.
    """
    known = {table.storage.location: table for table in snapshot.tables() if table.storage is not None}
    ordered = sorted(decisions, key=lambda made: (made.location, made.number))
    for location, made in groupby(ordered, key=lambda made: made.location):
        table = known.get(location)
        columns, storage = (table.written_columns, table.storage) if table is not None else ((), None)
        yield TablePublication(database, root, list(made), columns, -1 if storage is None else storage.version)


def remove_dropped(database: CatalogDatabase, root: Path, now: int) -> Iterator[Step]:
    """Remove the folders of tables that were dropped long enough ago, unless there is a hold on them. A folder that
    cannot be removed is tried again the next time. now: seconds since 1970.
    """
    if is_held(root):
        return
    for location in database.dropped_locations(now - tables.DROPPED_SECONDS):
        tables.discard(root, location)
        # A forgotten folder is never removed: VACUUM keeps folders to which rows were committed.
        if (root / location).exists():
            continue
        # A folder that came back after a power failure would be one with rows that the catalog does not know.
        if root.is_dir():
            sync(root)
        database.forget(location)
        yield Step("removed", location)
