"""The catalog and the disk that simulated members share, and the mishaps of both.

`storage_run` and `writing_run` drive it: the first by random steps, the second in the time of a simulated cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from deltalake import DeltaTable

from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.lakes.foreign_files import refresh
from engine.storage import delta, tables
from engine.storage.claims import Hold
from engine.storage.in_flight_files import Keeper
from simulated.databases import Durability, SimulatedDatabase
from simulated.disk import SimulatedDisk
from simulated.history import Transaction
from simulated.stage import Actor, Process, Stage
from simulated.storage_ground import AGE_SECONDS, CATALOG, Beginning, age_files
from simulated.writers import Shared, Writers, path_below

_ROUNDS: Final = 5


class StorageMember:
    """A member from one start to its end."""

    def __init__(self, process: Process, database: SimulatedDatabase, store: CatalogStore, writers: Writers) -> None:
        self.process = process
        self.database = database
        self.store = store
        self.writers = writers


class SharedStorage:
    """The shared catalog and disk; see the module's docstring. members: those whose processes live."""

    def __init__(self, stage: Stage, first: Beginning) -> None:
        self.stage = stage
        self._data = first.folder / "data"
        self.disk = SimulatedDisk(stage, self._data, first.folder / "kept", CATALOG)
        self._durability = Durability(self._data / CATALOG)
        self._transactions: dict[Actor, Transaction] = {}
        self.members: list[StorageMember] = []
        self.first = first
        self.history = first.history()

    @property
    def commits(self) -> int:
        return self.history.newest - self.first.version

    # -- members -------------------------------------------------------------------------------------------------

    def open(self, name: str, make_writers: Callable[[Shared], Writers] = Writers) -> StorageMember:
        """Start a member, which opens the catalog."""
        # What is remembered is the process's, and a new one starts.
        delta.forget_opened()
        tables.forget_files()
        databases: list[SimulatedDatabase] = []
        folder = self._data / "tables"

        def connect(location: Path | str, _absolute: Path) -> SimulatedDatabase:
            database = SimulatedDatabase(
                Path(location), folder, self.stage, self.disk, self.history, self._durability, self._transactions
            )
            databases.append(database)
            return database

        store = CatalogStore(self._data / CATALOG, connect=connect)
        # Paths are relative where the run's folder is: none depends on the place of the simulation.
        store.tables = folder
        process = Process(name)
        writers = make_writers(Shared(self.stage, process, self.disk, self.history, store, self._transactions))
        member = StorageMember(process, databases[0], store, writers)
        self.members.append(member)
        return member

    def end(self, member: StorageMember) -> None:
        """End a member whose process was killed or has ended. Idempotent."""
        if member not in self.members:
            return
        self.stage.kill(member.process)
        member.database.close()
        self.members.remove(member)

    def end_all(self) -> None:
        for member in list(self.members):
            self.end(member)

    # -- what happens to it --------------------------------------------------------------------------------------

    def fail_power(self) -> None:
        self.stage.note("the power fails")
        self.end_all()
        self._durability.lose_power()
        self.disk.lose_power()

    def age(self, *, at_once: bool = False) -> None:
        """Let more time pass than any retention. Live members touch their files, and readers may find files gone.
        at_once: as on a machine that was suspended, no member has touched its files when the next steps are taken. A
        member then recognises its own files, but not those of others.
        """
        seconds = AGE_SECONDS
        self.stage.note("time passes", *["at once"] * at_once)
        age_files(self._data, seconds)
        for member in self.members:
            member.writers.ages += 1
            member.database.age_dropped(int(seconds))
            if not at_once:
                self.stage.within(member.process, Keeper(member.store.tables).touch)

    def heal(self) -> None:
        """End the disk's failures from now on, and tell publishers to end."""
        self.disk.bad = False
        self.disk.failures = 0
        for member in self.members:
            member.writers.closing = True

    def begin_backup(self, member: StorageMember) -> Callable[[], None]:
        """Begin a backup as a member's process: it holds all tables and reads the catalog. Returns a function that copies
        the files and ends it: members may have dropped tables, compacted and vacuumed meanwhile.
        """
        store, holds = member.store, list[Hold]()
        self.stage.within(member.process, lambda: holds.append(Hold(store.tables)))
        store.refresh()
        named = [refresh(table) for table in store.snapshot.tables()]

        def copy() -> None:
            member.writers.read_all(named)
            holds.pop().release()

        return copy

    # -- what must hold at the end -------------------------------------------------------------------------------

    def require_unviolated(self) -> None:
        """Raise a violation that was found during the catalog's transactions."""
        if self.history.found is not None:
            raise self.history.found

    def publish_all(self) -> None:
        """Check that every commit can be published. Raises AssertionError."""
        store = (self.members or [self.open("publisher")])[0].store
        for _ in range(_ROUNDS):
            # It removes what was dropped, too.
            store.publish()
            if not store.pending_commits():
                return
        if left := store.pending_commits():
            raise AssertionError(f"decisions are never published: {sorted(left.values())}")

    def require_whole(self, member: StorageMember) -> None:
        """Check that after a last power failure the catalog has every commit, Delta's logs say the same, and VACUUM
        leaves no superfluous file. member: opened since. Raises AssertionError, Violation.
        """
        store = member.store
        if store.snapshot.version != self.history.newest:
            raise AssertionError(
                f"the catalog is at {store.snapshot.version} after {self.history.newest} was committed"
            )
        store.publish()
        self.age()
        store.publish()
        store.refresh()
        member.writers.vacuum()
        catalog = SessionCatalog(store)
        live: set[str] = set()
        for found in catalog.current().tables():
            table = refresh(found)
            assert table.storage is not None, "a stored table"
            paths = [path_below(table, file) for file in table.files]
            self.history.note_reading(Transaction(), store.snapshot.version, table.storage.location, paths)
            for file in table.files:
                member.writers.read(table, file)
            if _absolute(DeltaTable(table.path).file_uris()) != _absolute(table.files):
                raise AssertionError("Delta's log names other files than the catalog")
            live.update(table.files)
        self._require_nothing_over(live, {Path(table.path).name for table in catalog.current().tables()})

    def _require_nothing_over(self, live: set[str], folders: set[str]) -> None:
        there = {str(p) for p in (self._data / "tables").rglob("*.parquet") if "_delta_log" not in p.parts}
        if over := there - live:
            raise AssertionError(f"{len(over)} files are left over")
        if strange := {path.name for path in (self._data / "tables").iterdir()} - folders:
            held = [sorted(each.name for each in (self._data / "tables" / name).rglob("*")) for name in sorted(strange)]
            raise AssertionError(f"{len(strange)} folders are left over, with {held}")


def _absolute(files: Sequence[str]) -> list[str]:
    return sorted(str(Path(file).absolute()) for file in files)
