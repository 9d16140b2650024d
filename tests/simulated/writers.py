"""The work on stored tables in a simulated process: clients' transactions, publishing, compaction, VACUUM.

A transaction is committed with those of other clients that wait at the same time (`simulated.commits`), or by itself.

Each client is an actor, and so are the publisher and the upkeep (compaction and VACUUM). The code is that of the member:
`CatalogStore`, `SessionCatalog`, `TableWriter`, and the layers below them. The rows of a client are numbers that no other client
has, a few in each file. To read a table is to open its files one after another, while other actors continue, as a cursor does.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final

import pyarrow as pa

from engine.catalog.model.objects import DataFile, Table, TableColumn
from engine.catalog.model.objects import Sequence as NumberSequence
from engine.catalog.snapshot import DataChange
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.common import sql_type as st
from engine.lakes.foreign_files import refresh
from engine.statements.dml.collector import keep
from engine.statements.maintenance.compaction import is_contested
from engine.statements.shared.sequences import SessionSequences
from engine.storage import tables
from engine.storage.in_flight_files import IN_FLIGHT_FILES
from engine.storage.staging import KEPT_BYTES, TableWriter
from engine.storage.staging_area import StagingArea, new_name
from simulated.commits import Commits
from simulated.disk import SimulatedDisk
from simulated.history import EVERYTHING, OWN, History, Transaction, Violation, WrittenFile, read_file
from simulated.plan_keys import PlanKeys
from simulated.side_objects import change_side_object
from simulated.stage import Actor, Process, Stage
from wire.dataclass import dataclass
from wire.errors import DataCorrupted, DiskFull, IoError, SerializationFailure, SqlError, UndefinedTable
from wire.types import pg_types as t

TABLES: Final = ("t", "u")
#: A table that clients create and drop.
_BRIEF_TABLE: Final = "v"
_PARTITION_COLUMN: Final = "b"
_SPARE_NAME: Final = "w"
_DEFINITIONS: Final = ("move", "column", "swap", "create")
COLUMNS: Final = (TableColumn("a", st.of(t.INT4), 1), TableColumn("b", st.of(t.TEXT), 2))
#: A sequence from which all clients take numbers. Only its counter is in the catalog database.
_NUMBERS: Final = NumberSequence(1, "public", "numbers", st.of(t.INT8), cache=4, counter=1)
#: The error of a commit that conflicts with another one, which may always happen.
_CONFLICTS: Final = (SerializationFailure, UndefinedTable)
#: What may be told while the disk is bad, or where so much time has passed that the folder of a table is gone.
_EXCUSED: Final = (DiskFull, IoError, DataCorrupted)
#: The probability that a statement comes after statements behind a savepoint, and that these are rolled back.
_SAVEPOINTS: Final = 0.2
_ROLLED_BACK: Final = 0.7
#: The probability that a compaction is followed by publication and VACUUM at once.
_SWEPT_AT_ONCE: Final = 0.5
#: What is removed after that many seconds, and may still be read until then.
RETENTION: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Shared:
    """The objects that the actors of a process share. transactions: the open ones, by actor."""

    stage: Stage
    process: Process
    disk: SimulatedDisk
    history: History
    store: CatalogStore
    transactions: dict[Actor, Transaction]


class Writers:
    """The work of one process's actors."""

    #: The kinds of statements, as often as they are to be chosen.
    kinds: ClassVar[Sequence[str]] = (
        "keep", "keep", "keep", "keep", "append", "append", "read", "read", "read", "delete", "replace", "replace", "key",
        "area", "move", "column", "lock", "reference", "parent", "swap", "create", "number", "side",
    )  # fmt: skip
    #: ... of clients that commit after each statement, which is what makes groups.
    brief_kinds: ClassVar[Sequence[str]] = (
        "keep", "keep", "keep", "keep", "keep", "keep", "append", "key", "delete", "column", "lock", "reference", "parent",
        "number", "side",
    )  # fmt: skip

    def __init__(self, shared: Shared) -> None:
        self._stage = shared.stage
        self._disk = shared.disk
        self._history = shared.history
        self._store = shared.store
        self._transactions = shared.transactions
        self._commits = Commits(shared.stage, shared.process, shared.store, shared.history)
        self._sequences: dict[Actor, SessionSequences] = {}
        self._keys = PlanKeys()
        #: Grows when so much time passes that VACUUM removes what readers may still name.
        self.ages = 0
        self.closing = False

    # -- clients -------------------------------------------------------------------------------------------------

    def client(self, count: int, *, brief: bool = False) -> None:
        """Run `count` transactions, one after another. brief: each is one statement."""
        for _ in range(count):
            self._stage.step("next transaction")
            self._transaction(brief=brief)

    def _transaction(self, *, brief: bool) -> None:
        chance = self._stage.chance
        repeatable = chance.random() < 0.4
        catalog = SessionCatalog(self._store, lambda: repeatable)
        transaction = Transaction()
        actor = self._stage.runs
        assert actor is not None, "a client is an actor"
        self._transactions[actor] = transaction
        begun = self.ages
        if brief or chance.random() < 0.9:
            catalog.begin()
            transaction.repeatable = repeatable
        kinds = self.brief_kinds if brief else self.kinds
        try:
            for _ in range(chance.choice((1, 1, 2, 3)) if catalog.in_transaction and not brief else 1):
                if catalog.in_transaction and not brief and chance.random() < _SAVEPOINTS:
                    self._after_savepoint(catalog, transaction, begun)
                self._statement(catalog, transaction, chance.choice(kinds), begun)
            self._finish_reads()
            if not catalog.in_transaction or self._end(catalog, transaction):
                self._history.note_commit(transaction)
                self._stage.note(actor.name, "has committed", transaction.version is not None)
        except _CONFLICTS:
            self._history.note_failure(transaction, conflict=True, claims_count=self._claims_count(begun))
            self._finish_reads()
            catalog.rollback()
            self._require_nothing_left(transaction)
        except _EXCUSED as error:
            self._excuse(error, begun)
            self._finish_reads()
            catalog.rollback()

    def _after_savepoint(self, catalog: SessionCatalog, transaction: Transaction, begun: int) -> None:
        """Run SAVEPOINT, statements, and mostly ROLLBACK TO."""
        chance = self._stage.chance
        token, intent = catalog.savepoint(), transaction.intent()
        for _ in range(chance.choice((1, 2))):
            self._statement(catalog, transaction, chance.choice(self.kinds), begun)
        if chance.random() < _ROLLED_BACK:
            self._finish_reads()
            self._stage.note("rolls back to a savepoint")
            catalog.rollback_to(token)
            self._require_nothing_left(transaction.roll_back(intent, self._history.contents))

    def _end(self, catalog: SessionCatalog, transaction: Transaction) -> bool:
        """Run COMMIT, or sometimes ROLLBACK. Returns whether the client receives the report that it has committed."""
        committed: bool | None = False
        if self._stage.chance.random() < 0.1:
            catalog.rollback()
        else:
            if not catalog.pending.only_keeps_rows:
                self._write_kept(catalog, transaction)
            committed = self._commits.commit(catalog, transaction)
        if committed is False:
            self._history.note_failure(transaction)
            self._require_nothing_left(transaction)
        return bool(committed)

    def _require_nothing_left(self, transaction: Transaction) -> None:
        """Check that a transaction that has not committed has left no file, if the disk never failed."""
        if self._disk.failures or self._disk.bad:
            return
        for location, paths in transaction.added.items():
            if any((self._store.tables / location / path).exists() for path in paths):
                raise Violation("a transaction that has failed has left a file")
        for location, numbers in transaction.kept.items():
            for path in (self._store.tables / location).glob("*.parquet"):
                if (location, path.name) not in self._history.contents and not _has_none(path, numbers):
                    raise Violation("a transaction that has failed has left rows in a file")

    def _claims_count(self, begun: int) -> bool:
        """Return whether the claims of a transaction have certainly been made, and touched as often as necessary."""
        return not (self._disk.failures or self._disk.bad) and self.ages == begun

    def _finish_reads(self) -> None:
        """Let the cursors of the running actor's transaction end before the transaction does."""

    def _excuse(self, error: SqlError, begun: int) -> None:
        """Accept an error after which the outcome of a transaction is unknown. Raises it if the disk has never failed
        and no time has passed after which a folder that the transaction writes to or reads may have been removed
        because its table had moved.
        """
        if not self._disk.failures and not self._disk.bad and self.ages == begun:
            raise error

    def _statement(self, catalog: SessionCatalog, transaction: Transaction, kind: str, begun: int) -> None:
        chance = self._stage.chance
        name = chance.choice(TABLES)
        if kind != "keep":
            self._write_kept(catalog, transaction)
        told = self._history.told
        self._store.refresh()
        if catalog.claims.needs_snapshot:
            catalog.claims.claim_snapshot()
            transaction.claims.setdefault(EVERYTHING, self._stage.steps)
        if kind in ("delete", "replace", "parent") and catalog.in_transaction:
            claimed = self._table(catalog, name)
            assert claimed.storage is not None, "a stored table"
            catalog.claims.claim(claimed)
            transaction.claims.setdefault(claimed.storage.location, self._stage.steps)
            self._store.refresh()
        with catalog.one_state() if kind in _DEFINITIONS else nullcontext():
            table = self._read_table(catalog, transaction, name, told)
            self._stage.note("statement:", kind, name)
            self._perform(catalog, transaction, table, kind, begun)

    def _perform(self, catalog: SessionCatalog, transaction: Transaction, table: Table, kind: str, begun: int) -> None:
        match kind:
            case "read":
                self._read(table, begun)
            case "append":
                self._change(catalog, transaction, table, self._stage_files(table), (), appends_only=True)
            case "area":
                self._change(catalog, transaction, table, self._staged_elsewhere(table), (), appends_only=True)
            case "key":
                self._change(catalog, transaction, table, self._stage_files(table), (), whole=True)
            case "move" if not (transaction.has_changes or transaction.guarded):
                self._move(catalog, transaction, table)
            case "keep" | "lock" | "reference" | "parent" if not catalog.in_transaction:
                self._change(catalog, transaction, table, self._stage_files(table), (), appends_only=True)
            case "keep":
                self._keep(catalog, transaction, table)
            case "lock":
                self._guard(catalog, transaction, table)
                self._pause("holds its locks")
            case "reference":
                self._guard(catalog, transaction, table)
                child = self._read_table(catalog, transaction, other_table(table.name), 0)
                self._change(catalog, transaction, child, self._stage_files(child), (), appends_only=True)
            case "parent":
                child = self._read_table(catalog, transaction, other_table(table.name), 0)
                self._guard(catalog, transaction, child, whole=True)
                self._replace(catalog, transaction, table, anew=False)
            case "column":
                self._add_column(catalog, transaction, table)
            case "swap":
                self._swap_names(catalog, transaction, table)
            case "create":
                self._create_or_drop(catalog, transaction)
            case "number":
                self._take_numbers()
            case "side":
                self._change_side_object(catalog, transaction, table)
            case _:
                self._replace(catalog, transaction, table, anew=kind == "replace")

    def _read_table(self, catalog: SessionCatalog, transaction: Transaction, name: str, told: int) -> Table:
        """Return the table as a statement that begins now sees it. told: the newest version that was known before."""
        table = self._table(catalog, name)
        version = self._version(catalog, transaction)
        if version < told and (not transaction.repeatable or transaction.first is None):
            raise Violation(f"a statement sees version {version} after {told} was acknowledged")
        assert table.storage is not None, "a stored table"
        location = table.storage.location
        self._history.note_reading(transaction, version, location, [path_below(table, file) for file in table.files])
        self._keys.check(catalog, table)
        return table

    def _version(self, catalog: SessionCatalog, transaction: Transaction) -> int:
        """Return the version of the committed state that the transaction sees. Its catalog counts one more if it has changes."""
        changed = transaction.has_changes or transaction.bases or transaction.guarded
        return catalog.current().version - bool(changed)

    def _table(self, catalog: SessionCatalog, name: str) -> Table:
        found = catalog.current().resolve(None, name, ("public",))
        if not isinstance(found, Table):
            raise Violation(f"table {name} is gone")
        return refresh(found)

    def _read(self, table: Table, begun: int) -> None:
        self._pause("cursor rests")
        for file in table.files:
            self._stage.step("read a file")
            self.read(table, file, excused=self.ages != begun)

    def read(self, table: Table, file: str, *, excused: bool = False) -> None:
        """Read a file and compare it with what was written. excused: the file may have been removed."""
        assert table.storage is not None, "a stored table"
        try:
            found = zlib.crc32(Path(file).read_bytes())
        except FileNotFoundError:
            if excused:
                return
            raise Violation("a file that a reader names is gone") from None
        if found != self._history.contents[table.storage.location, path_below(table, file)].checksum:
            raise Violation("a file that a reader names has other bytes than were written")

    def _replace(self, catalog: SessionCatalog, transaction: Transaction, table: Table, *, anew: bool) -> None:
        """DELETE or UPDATE the rows of one file."""
        if not table.files:
            return
        gone = path_below(table, self._stage.chance.choice(table.files))
        self._change(catalog, transaction, table, self._stage_files(table) if anew else (), (gone,))

    def _move(self, catalog: SessionCatalog, transaction: Transaction, table: Table) -> None:
        """Rewrite all rows in a new folder."""
        if not catalog.in_transaction:
            return
        assert table.storage is not None, "a stored table"
        base = self._version(catalog, transaction)
        transaction.defines = True
        moved = self._make_folder(lambda: catalog.tables.rewrite_table(table, table))
        assert moved.storage is not None, "a stored table"
        transaction.bases.setdefault(table.storage.location, base)
        transaction.bases[moved.storage.location] = OWN
        files = self._stage_files(moved)
        transaction.added.setdefault(moved.storage.location, set()).update(file.path for file in files)
        catalog.tables.change_data(moved, files, (), appends_only=True)

    def _make_folder(self, make: Callable[[], Table]) -> Table:
        """Run CREATE TABLE, or the first part of a rewrite, and let time pass. Only a bad disk prevents it, and VACUUM
        leaves the folder alone.
        """
        try:
            made = make()
        except _EXCUSED as error:
            if self._disk.failures or self._disk.bad:
                raise
            raise Violation("the folder of a table could not be made") from error
        self._pause("the rows of a new folder are made")
        if not Path(made.path).exists():
            raise Violation("the folder of a table that is being made is gone")
        return made

    def _add_column(self, catalog: SessionCatalog, transaction: Transaction, table: Table) -> None:
        """Run ALTER TABLE ADD COLUMN. It depends on all rows of the table, as a default or a constraint of the column
        would.
        """
        assert table.storage is not None, "a stored table"
        base = self._version(catalog, transaction)
        transaction.defines = True
        number = max(column.number for column in table.columns) + 1
        column = TableColumn(f"c{number}", st.of(t.INT4), number, stored=f"c{self._stage.chance.randrange(1 << 30)}")
        transaction.bases.setdefault(table.storage.location, base)
        catalog.objects.put(replace(table, columns=(*table.columns, column)), replacing=True)

    def _swap_names(self, catalog: SessionCatalog, transaction: Transaction, table: Table) -> None:
        """Run ALTER TABLE RENAME so that both tables have the other's name. It depends on no rows."""
        if not catalog.in_transaction:
            return
        other = self._read_table(catalog, transaction, other_table(table.name), 0)
        transaction.defines = True
        transaction.names |= {table.name, other.name, _SPARE_NAME}
        for name, to in ((table.name, _SPARE_NAME), (other.name, table.name), (_SPARE_NAME, other.name)):
            present = self._table(catalog, name)
            catalog.objects.remove(present)
            catalog.objects.put(replace(present, name=to))

    def _create_or_drop(self, catalog: SessionCatalog, transaction: Transaction) -> None:
        """Run CREATE TABLE AS, or DROP TABLE if the table exists."""
        if not catalog.in_transaction:
            return
        present = catalog.current().resolve(None, _BRIEF_TABLE, ("public",))
        transaction.defines = True
        transaction.names.add(_BRIEF_TABLE)
        if isinstance(present, Table):
            assert present.storage is not None, "a stored table"
            transaction.added.pop(present.storage.location, None)
            catalog.objects.remove(present)
            return
        new = Table(catalog.objects.new_oid(), "public", _BRIEF_TABLE, COLUMNS, "parquet", "", ())
        self._history.note_oid(new.oid)
        made = self._make_folder(lambda: catalog.tables.create_table(new, partition_by=(_PARTITION_COLUMN,)))
        self._change(catalog, transaction, made, self._stage_files(made), (), appends_only=True)

    def _take_numbers(self) -> None:
        """Run nextval for some rows. The values are taken for good, whatever becomes of the transaction."""
        actor = self._stage.runs
        assert actor is not None, "a client is an actor"
        sequences = self._sequences.setdefault(actor, SessionSequences(self._store))
        taken = sequences.take(_NUMBERS, self._stage.chance.choice((1, 1, 3, 7)))
        self._history.note_numbers(taken.tolist())

    def _change_side_object(self, catalog: SessionCatalog, transaction: Transaction, table: Table) -> None:
        actor = self._stage.runs
        assert actor is not None, "a client is an actor"
        if catalog.in_transaction:
            transaction.defines = True
            change_side_object(catalog, self._stage.chance, actor.name.replace(" ", "."), table)

    def _keep(self, catalog: SessionCatalog, transaction: Transaction, table: Table) -> None:
        """INSERT a few rows that depend on nothing. They are in no file until the next statement or the commit."""
        assert table.storage is not None, "a stored table"
        numbers = self._new_numbers()
        if len(numbers) == 1:
            [row] = rows(table, numbers).to_pylist()
            catalog.pending.keep_row(table, tuple(row.values()))
        else:
            catalog.pending.keep_rows(table, rows(table, numbers))
        transaction.kept.setdefault(table.storage.location, []).extend(numbers)

    def _write_kept(self, catalog: SessionCatalog, transaction: Transaction) -> None:
        """Write the rows that the transaction has kept, before its next statement."""
        if not catalog.pending.keeps_rows:
            return
        catalog.write_kept(KEPT_BYTES)
        files = {
            (change.location, file.path): read_file(self._store.tables / change.location / file.path)
            for change in catalog.pending.changes
            if isinstance(change, DataChange)
            for file in change.files.added
            if (change.location, file.path) not in self._history.contents
        }
        self._history.note_written([transaction], files)
        transaction.kept.clear()
        for location, path in files:
            transaction.added.setdefault(location, set()).add(path)

    def _guard(self, catalog: SessionCatalog, transaction: Transaction, table: Table, *, whole: bool = False) -> None:
        """Run SELECT FOR UPDATE. whole: the transaction also depends on the absence of other rows in the table."""
        assert table.storage is not None, "a stored table"
        location = table.storage.location
        if whole:
            transaction.bases.setdefault(location, self._version(catalog, transaction))
        paths = {path_below(table, file) for file in table.files} - transaction.added.get(location, set())
        transaction.guarded.setdefault(location, set()).update(paths)
        catalog.tables.guard(table, whole=whole)

    def _change(
        self,
        catalog: SessionCatalog,
        transaction: Transaction,
        table: Table,
        added: Sequence[DataFile],
        removed: Sequence[str],
        *,
        appends_only: bool = False,
        whole: bool = False,
    ) -> None:
        assert table.storage is not None, "a stored table"
        location = table.storage.location
        if whole:
            transaction.bases.setdefault(location, self._version(catalog, transaction))
        transaction.added.setdefault(location, set()).update(file.path for file in added)
        transaction.removed.setdefault(location, set()).update(removed)
        # A change that neither removes files nor only appends depends on all rows, whether it says so or not.
        says_so = whole and bool(removed or self._stage.chance.random() < 0.5)
        catalog.tables.change_data(table, added, removed, appends_only=appends_only, whole=says_so)

    # -- statements while no actor runs --------------------------------------------------------------------------

    def append(self, name: str) -> None:
        """Run INSERT."""
        self._store.refresh()
        catalog = SessionCatalog(self._store)
        table = self._table(catalog, name)
        catalog.tables.change_data(table, self._stage_files(table), (), appends_only=True)

    def read_all(self, of: Sequence[Table]) -> None:
        """Read all files of these tables."""
        for table in of:
            for file in table.files:
                self.read(table, file)

    def delete(self, name: str) -> None:
        """Run DELETE of the rows of one file."""
        self._store.refresh()
        catalog = SessionCatalog(self._store)
        table = self._table(catalog, name)
        catalog.tables.change_data(table, (), (path_below(table, table.files[0]),), appends_only=False)

    def drop(self, name: str) -> None:
        """Run DROP TABLE."""
        self._store.refresh()
        catalog = SessionCatalog(self._store)
        catalog.objects.remove(self._table(catalog, name))

    # -- files ---------------------------------------------------------------------------------------------------

    def _stage_files(self, table: Table, folder: Path | None = None) -> tuple[DataFile, ...]:
        assert table.storage is not None, "a stored table"
        # All rows are in one partition, and so in one file.
        numbers = self._new_numbers()[: 1 if table.storage.partition_by else None]
        place = folder or Path(table.path)
        writer = TableWriter(place, table.columns, table.storage)
        try:
            writer.write(rows(table, numbers))
            files = writer.finish()
        except SqlError:
            writer.abandon()
            raise
        if [file.rows for file in files] != [len(numbers)]:
            raise Violation("so few rows are written as one file, with a footer that counts them")
        for file in files:
            written = WrittenFile(zlib.crc32((place / file.path).read_bytes()), tuple(numbers))
            self._history.contents[table.storage.location, file.path] = written
        return files

    def _new_numbers(self) -> list[int]:
        chance = self._stage.chance
        return [chance.randrange(1 << 30) for _ in range(chance.choice((1, 3)))]

    def _staged_elsewhere(self, table: Table) -> tuple[DataFile, ...]:
        """Write files in a staging area, as other processes do for a statement, and keep them."""
        area = StagingArea(Path(table.path), new_name())
        area.make()
        IN_FLIGHT_FILES.watch(area)
        files = self._stage_files(table, area.path)
        keep(area, table, files)
        return files

    # -- upkeep --------------------------------------------------------------------------------------------------

    def publisher(self) -> None:
        """Publish repeatedly, as `Publisher` does. After a failure, try again."""
        while not self.closing:
            self._stage.step("publisher rests")
            if self._stage.chance.random() < 0.3:
                self.publish()

    def publish(self) -> None:
        """Publish once."""
        with self._upkeep():
            self._store.publish()

    def upkeep(self, count: int) -> None:
        """Run compaction or VACUUM, `count` times in all."""
        for _ in range(count):
            self._pause("upkeep rests")
            with self._upkeep():
                if self._stage.chance.random() < 0.5:
                    self.vacuum()
                    continue
                self._compact(self._stage.chance.choice(TABLES))
                if self._stage.chance.random() < _SWEPT_AT_ONCE:
                    # What a compaction has removed, readers may still name.
                    self._store.publish()
                    self.vacuum()

    def sweep(self) -> None:
        """Run VACUUM once."""
        with self._upkeep():
            self.vacuum()

    def _pause(self, what: str) -> None:
        """Let others run, now and then for so long that they commit, publish and vacuum."""
        for _ in range(self._stage.chance.choice((1, 1, 10, 40))):
            self._stage.step(what)

    @contextmanager
    def _upkeep(self) -> Iterator[None]:
        """Tolerate errors of background work, which is retried. At the end of the run it must succeed. Nobody has restored
        the catalog, so that no log may seem to be newer.
        """
        try:
            yield
        except (SqlError, OSError) as error:
            if isinstance(error, DataCorrupted) and "newer than the catalog" in str(error):
                raise
            self._stage.note("upkeep fails:", type(error).__name__)

    def _compact(self, name: str) -> None:
        actor = self._stage.runs
        assert actor is not None, "upkeep is an actor"
        self._transactions[actor] = transaction = Transaction()
        self._store.refresh()
        catalog = SessionCatalog(self._store)
        table = self._read_table(catalog, transaction, name, self._history.told)
        small = [path_below(table, file) for file in table.files[:3]]
        if len(small) < 2:
            return
        added = self._stage_files(table)
        if is_contested(table):
            tables.unlink(Path(table.path), added)
            return
        transaction.gives_way_since = self._stage.steps
        self._change(catalog, transaction, table, added, small)
        self._history.note_commit(transaction)

    def vacuum(self) -> int:
        """Run VACUUM. Returns the number of removed files and folders."""
        self._store.refresh()
        known = [table.storage.location for table in self._store.snapshot.tables() if table.storage is not None]
        swept = sum(found.files for found in self._store.vacuum(known, RETENTION))
        return swept + len(self._store.vacuum_strays(RETENTION).removed)


def rows(table: Table, numbers: Sequence[int]) -> pa.RecordBatch:
    """Return the rows of these numbers. Columns that were added to the table are null."""
    added = [pa.nulls(len(numbers), pa.int32()) for _ in table.columns[len(COLUMNS) :]]
    columns = [pa.array(numbers, pa.int32()), pa.array([str(number) * 40 for number in numbers]), *added]
    return pa.RecordBatch.from_arrays(columns, names=[column.name for column in table.columns])


def other_table(name: str) -> str:
    return TABLES[1 - TABLES.index(name)]


def _has_none(path: Path, numbers: Sequence[int]) -> bool:
    """Return whether a file has none of these rows. An incomplete file belongs to an actor that is writing it."""
    try:
        return set(numbers).isdisjoint(read_file(path).numbers)
    except (OSError, pa.ArrowException):
        return True


def path_below(table: Table, file: str) -> str:
    """Return a file's path relative to its table's folder."""
    return file.removeprefix(f"{table.path}/")
