"""One run of the storage simulation: members that write to the tables of one catalog, on a disk that fails and loses power.

    outcome = StorageRun(seed, ground).outcome()

From the seed: two members with two clients each; kills of one of them and power failures of all, between any two steps; a disk that
is full for a while; time that passes. Then all comes to rest: everything that was committed can be published, a last power failure
comes, and whoever opens the catalog finds what it was told; Delta's log says the same to others, and VACUUM leaves nothing over.

What is real, and what is not: `simulated.disk`; what must hold: `simulated.history`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Final
from zlib import crc32

from deltalake import DeltaTable

from engine.catalog.model.objects import Table
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.lakes.foreign_files import refresh
from engine.storage import delta, disk, tables
from engine.storage.in_flight_files import TOUCH_SECONDS, Keeper
from engine.storage.staging import TableWriter
from engine.storage.tables import DROPPED_SECONDS
from simulated.databases import Durability, SimulatedDatabase
from simulated.disk import SimulatedDisk
from simulated.history import History, State, Transaction
from simulated.quiet import quiet
from simulated.stage import Actor, Process, Stage
from simulated.writers import COLUMNS, RETENTION, TABLES, Writers, path_below, rows
from wire.dataclass import dataclass

_CATALOG: Final = "catalog.sqlite"
_MEMBERS: Final = 2
_STEPS: Final = 3000
#: Files that each table has at first.
_FILES: Final = 3
#: More than anything is kept for.
AGE_SECONDS: Final = RETENTION + DROPPED_SECONDS + 2 * TOUCH_SECONDS
_ROUNDS: Final = 5
#: How often, of the steps, something happens; and how often at most in a run.
_KILLS, _POWER_FAILURES, _BAD_DISKS, _AGES = 0.006, 0.005, 0.006, 0.01
_MISHAPS: Final = 3
_BAD_STEPS: Final = 12


@dataclass(frozen=True, slots=True)
class StorageOutcome:
    """The outcome of a run. failure: the check that failed. digest: equal for equal runs. commits: their number. mishaps: the
    number of kills, power failures, periods with a bad disk, and jumps of the clock."""

    seed: int
    failure: str | None
    digest: int
    steps: int
    commits: int
    mishaps: int
    trace: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Beginning:
    """The state at the beginning of a run. folder: its own. version: the catalog's. state, contents: as in `History`."""

    folder: Path
    version: int
    state: State
    contents: Mapping[tuple[str, str], int]

    def history(self) -> History:
        return History(self.version, self.state, self.contents)


class StorageGround:
    """A folder in memory in which runs have theirs, and the tables that each begins with. Its owner closes it."""

    def __init__(self) -> None:
        memory = Path("/dev/shm")
        place = memory if os.access(memory, os.W_OK) else None
        self._folder = tempfile.TemporaryDirectory(prefix="sluice-simulation-", dir=place)
        self.folder = Path(self._folder.name)
        with _names(-1):
            store = CatalogStore(self.folder / "first" / _CATALOG)
            catalog = SessionCatalog(store)
            for name in TABLES:
                table = Table(catalog.new_oid(), "public", name, COLUMNS, "parquet", "", ())
                self._fill(catalog, catalog.create_table(table))
            store.publish()
            self._first = _read_beginning(self.folder / "first", store)
            store.close()
        _age_files(self.folder / "first", AGE_SECONDS)

    def _fill(self, catalog: SessionCatalog, table: Table) -> None:
        """Give a table some files. They are older than VACUUM's retention when a run begins."""
        assert table.storage is not None, "a stored table"
        for number in range(_FILES):
            writer = TableWriter(Path(table.path), table.columns, table.storage)
            writer.write(rows(table, [number]))
            catalog.change_data(table, writer.finish(), (), appends_only=True)

    @contextmanager
    def run(self, seed: int) -> Iterator[Beginning]:
        """Make the beginning of a run of this seed, in a folder of its own."""
        folder = self.folder / str(seed)
        shutil.copytree(self._first.folder, folder / "data")
        (folder / "kept").mkdir()
        try:
            yield replace(self._first, folder=folder)
        finally:
            shutil.rmtree(folder)

    def close(self) -> None:
        self._folder.cleanup()


def _read_beginning(folder: Path, store: CatalogStore) -> Beginning:
    """The catalog and the files in a folder, as they are."""
    state: dict[str, frozenset[str]] = {}
    contents: dict[tuple[str, str], int] = {}
    for table in map(refresh, store.snapshot.tables()):
        assert table.storage is not None, "a stored table"
        location = table.storage.location
        state[location] = frozenset(path_below(table, file) for file in table.files)
        contents.update(((location, path_below(table, file)), crc32(Path(file).read_bytes())) for file in table.files)
    return Beginning(folder, store.snapshot.version, state, contents)


class _Member:
    """One start of a member."""

    def __init__(self, process: Process, database: SimulatedDatabase, store: CatalogStore, writers: Writers) -> None:
        self.process = process
        self.database = database
        self.store = store
        self.writers = writers


class StorageRun:
    """A run under way."""

    def __init__(self, seed: int, first: Beginning, *, trace: bool = False) -> None:
        self.seed = seed
        self.chance = Random(seed)
        self.stage = Stage(self.chance, trace=trace)
        self._data = first.folder / "data"
        self.disk = SimulatedDisk(self.stage, self._data, first.folder / "kept", _CATALOG)
        self._durability = Durability(self._data / _CATALOG)
        self._transactions: dict[Actor, Transaction] = {}
        self._members: list[_Member] = []
        self._starts = 0
        self._mishaps = 0
        self._bad_until = -1
        self._first = first
        self.history = first.history()

    def outcome(self) -> StorageOutcome:
        with quiet(), _names(self.seed), disk.replace_disk(self.disk):
            failure = self._phases()
        stage, history = self.stage, self.history
        return StorageOutcome(
            self.seed,
            failure,
            stage.digest,
            stage.steps,
            history.newest - self._first.version,
            self._mishaps,
            tuple(stage.trace or ()),
        )

    def _phases(self) -> str | None:
        try:
            for phase in (self._work, self._rest, self._look):
                try:
                    phase()
                except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
                    return f"{phase.__name__[1:]}: {type(error).__name__}: {error}"
            return None
        finally:
            for member in list(self._members):
                self._end(member)

    # -- phases --------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        for _ in range(_MEMBERS):
            self._start(self.chance.choice((1, 2, 3)))
        while self.stage.steps < _STEPS and any(not a.name.endswith("publisher") for a in self.stage.actors):
            before = list(self.stage.actors)
            self.stage.resume_one()
            for actor in before:
                if actor.over and actor.error is not None:
                    raise actor.error
            self._mishap()

    def _rest(self) -> None:
        """The disk is well; whoever lives publishes everything."""
        self.disk.bad = False
        self.disk.failures = 0
        for member in self._members:
            member.writers.closing = True
        while self.stage.resume_one():
            pass
        if not self._members:
            self._start(0)
        store = self._members[0].store
        for _ in range(_ROUNDS):
            if not store.pending():
                return
            store.publish()
        if left := store.pending():
            raise AssertionError(f"decisions are never published: {sorted(left.values())}")

    def _look(self) -> None:
        """After a last power failure the catalog has what was committed, Delta says the same, and VACUUM leaves nothing over."""
        self._fail_power()
        member = self._start(0)
        store = member.store
        if store.snapshot.version != self.history.newest:
            raise AssertionError(
                f"the catalog is at {store.snapshot.version} after {self.history.newest} was committed"
            )
        store.publish()
        self._age()
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
            if sorted(DeltaTable(table.path).file_uris()) != sorted(table.files):
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

    # -- members -------------------------------------------------------------------------------------------------

    def _start(self, transactions: int) -> _Member:
        """A member starts. transactions: of each of its clients; 0: there are none, and nothing runs."""
        self._starts += 1
        process = Process(f"m{self._starts}")
        # What is remembered is the process's, and a new one starts.
        delta.forget_opened()
        tables.forget_files()
        databases: list[SimulatedDatabase] = []

        def connect(location: Path | str, folder: Path) -> SimulatedDatabase:
            database = SimulatedDatabase(
                Path(location), folder, self.stage, self.disk, self.history, self._durability, self._transactions
            )
            databases.append(database)
            return database

        store = CatalogStore(self._data / _CATALOG, connect=connect)
        writers = Writers(self.stage, self.disk, self.history, store, self._transactions)
        member = _Member(process, databases[0], store, writers)
        self._members.append(member)
        if transactions:
            self.stage.start(process, "publisher", writers.publisher)
            self.stage.start(process, "upkeep", partial(writers.upkeep, self.chance.choice((0, 1, 2))))
            for number in range(2):
                self.stage.start(process, f"client {number}", partial(writers.client, transactions))
        return member

    def _end(self, member: _Member) -> None:
        self.stage.kill(member.process)
        member.database.close()
        self._members.remove(member)

    # -- what goes wrong -----------------------------------------------------------------------------------------

    def _mishap(self) -> None:
        if self.stage.steps == self._bad_until:
            self.stage.note("the disk is well")
            self.disk.bad = False
        if self._mishaps >= _MISHAPS:
            return
        drawn = self.chance.random()
        for share, happen in (
            (_KILLS, self._kill_one),
            (_POWER_FAILURES, self._restart_all),
            (_BAD_DISKS, self._spoil_disk),
            (_AGES, self._age),
        ):
            if drawn < share:
                self._mishaps += 1
                happen()
                return
            drawn -= share

    def _kill_one(self) -> None:
        member = self.chance.choice(self._members)
        self.stage.note("killed:", member.process.name)
        self._end(member)
        self._start(self.chance.choice((1, 2)))

    def _restart_all(self) -> None:
        self._fail_power()
        for _ in range(_MEMBERS):
            self._start(self.chance.choice((1, 2)))

    def _fail_power(self) -> None:
        self.stage.note("the power fails")
        for member in list(self._members):
            self._end(member)
        self._durability.lose_power()
        self.disk.lose_power()

    def _spoil_disk(self) -> None:
        self.stage.note("the disk is bad")
        self.disk.bad = True
        self._bad_until = self.stage.steps + _BAD_STEPS

    def _age(self) -> None:
        """More time passes than anything is kept for. Members that live touch what is theirs, and readers may find files gone."""
        seconds = AGE_SECONDS
        self.stage.note("time passes")
        _age_files(self._data, seconds)
        for member in self._members:
            member.writers.ages += 1
            member.database.age_dropped(int(seconds))
            self.stage.within(member.process, Keeper(member.store.tables).touch)


def _age_files(folder: Path, seconds: float) -> None:
    """Have everything changed so many seconds earlier than it was."""
    for base, folders, names in os.walk(folder):
        for path in (f"{base}/{name}" for name in (*folders, *names)):
            changed = os.stat(path).st_mtime - seconds
            os.utime(path, (changed, changed))


@contextmanager
def _names(seed: int) -> Iterator[None]:
    """Folders and files are named by the seed: the order of names is one of what is done."""
    chance, before = Random(f"names of {seed}"), uuid.uuid4
    uuid.uuid4 = lambda: uuid.UUID(int=chance.getrandbits(128), version=4)
    try:
        yield
    finally:
        uuid.uuid4 = before
