"""The files of the simulations of storage: a folder in memory with a catalog and a few stored tables, copied for each
run.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

from engine.catalog.model.objects import Table
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.lakes.foreign_files import refresh
from engine.storage.file_clock import TOUCH_SECONDS
from engine.storage.staging import TableWriter
from engine.storage.tables import DROPPED_SECONDS
from simulated.history import History, State, WrittenFile, read_file
from simulated.writers import COLUMNS, RETENTION, TABLES, path_below, rows
from wire.dataclass import dataclass

CATALOG: Final = "catalog.sqlite"
#: The number of files that each table has at first.
_FILES: Final = 3
#: Longer than any retention.
AGE_SECONDS: Final = RETENTION + DROPPED_SECONDS + 2 * TOUCH_SECONDS
#: When files are made, by their names, and how far the next ones are from it: nanoseconds since 1970.
_EPOCH, _TICK = 1_700_000_000_000_000_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Beginning:
    """The state at the beginning of a run. folder: its own. version: the catalog's. state, contents: as in `History`."""

    folder: Path
    version: int
    state: State
    contents: Mapping[tuple[str, str], WrittenFile]

    def history(self) -> History:
        return History(self.version, self.state, self.contents)


class StorageGround:
    """A folder in memory that contains the folders of runs, and the tables with which each begins. Its owner closes it."""

    def __init__(self) -> None:
        memory = Path("/dev/shm")
        place = memory if os.access(memory, os.W_OK) else None
        self._folder = tempfile.TemporaryDirectory(prefix="sluice-simulation-", dir=place)
        self.folder = Path(self._folder.name)
        with fixed_names(-1):
            store = CatalogStore(self.folder / "first" / CATALOG)
            catalog = SessionCatalog(store)
            for name in TABLES:
                table = Table(catalog.objects.new_oid(), "public", name, COLUMNS, "parquet", "", ())
                self._fill(catalog, catalog.tables.create_table(table))
            store.publish()
            self._first = _read_beginning(self.folder / "first", store)
            store.close()
        age_files(self.folder / "first", AGE_SECONDS)

    def _fill(self, catalog: SessionCatalog, table: Table) -> None:
        """Write some files of a table. They are older than VACUUM's retention when a run begins."""
        assert table.storage is not None, "a stored table"
        for number in range(_FILES):
            writer = TableWriter(Path(table.path), table.columns, table.storage)
            writer.write(rows(table, [number]))
            catalog.tables.change_data(table, writer.finish(), (), appends_only=True)

    @contextmanager
    def run(self, seed: int) -> Iterator[Beginning]:
        """Create the beginning of a run of this seed, in its own folder."""
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
    """Read the catalog and the files in a folder."""
    state: dict[str, frozenset[str]] = {}
    contents: dict[tuple[str, str], WrittenFile] = {}
    for table in map(refresh, store.snapshot.tables()):
        assert table.storage is not None, "a stored table"
        location = table.storage.location
        state[location] = frozenset(path_below(table, file) for file in table.files)
        for file in table.files:
            contents[location, path_below(table, file)] = read_file(Path(file))
    return Beginning(folder, store.snapshot.version, state, contents)


def age_files(folder: Path, seconds: float) -> None:
    """Move the modification times of all files into the past by `seconds`."""
    for base, folders, names in os.walk(folder):
        for path in (f"{base}/{name}" for name in (*folders, *names)):
            changed = os.stat(path).st_mtime - seconds
            os.utime(path, (changed, changed))


@contextmanager
def fixed_names(seed: int) -> Iterator[None]:
    """Derive the names of folders and files from the seed: storage works in the order of names, and files are assigned
    to members by their names.
    """
    chance, uuid4, time_ns = Random(f"names of {seed}"), uuid.uuid4, time.time_ns
    ticks = itertools.count(_EPOCH, _TICK)
    uuid.uuid4 = lambda: uuid.UUID(int=chance.getrandbits(128), version=4)
    time.time_ns = lambda: next(ticks)
    try:
        yield
    finally:
        uuid.uuid4, time.time_ns = uuid4, time_ns
