"""The files that VACUUM removes and keeps, rule by rule; VACUUM as a client's statement."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import local_member, say
from support.storage_ground import COLUMNS, created, delete, insert, on_disk, staged, table, values

from engine.catalog.snapshot import Snapshot
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.storage import delta, tables
from engine.storage.disk import Disk, replace_disk
from engine.storage.in_flight_files import IN_FLIGHT_FILES, Keeper
from engine.storage.staging_area import StagingArea, new_name
from wire.errors import DataCorrupted

HOUR = 3600.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CatalogStore]:
    store = CatalogStore(tmp_path / "catalog.sqlite")
    yield store
    store.close()


@pytest.fixture
def catalog(store: CatalogStore) -> SessionCatalog:
    catalog = SessionCatalog(store)
    created(catalog, "t")
    return catalog


def age(folder: Path, hours: float = 2) -> None:
    """Make everything below a folder, logs and all, look as if nothing had touched it for so long."""
    then = time.time() - hours * HOUR
    for base, folders, names in os.walk(folder):
        for name in (".", *folders, *names):
            os.utime(Path(base, name), (then, then))


def orphan(catalog: SessionCatalog) -> Path:
    """A file that a crash left: it has a name of its own, as the process that wrote it is gone."""
    folder = Path(table(catalog).path)
    (written,) = staged(table(catalog), [9])
    left = folder / f"left-{written.path}"
    (folder / written.path).rename(left)
    return left


def vacuumed(store: CatalogStore, catalog: SessionCatalog) -> int:
    """How many files went."""
    storage = table(catalog).storage
    assert storage is not None
    return sum(swept.files for swept in store.vacuum([storage.location], HOUR))


def folders(store: CatalogStore) -> set[str]:
    return {path.name for path in store.tables.iterdir()}


# -- files -----------------------------------------------------------------------------------------------------------


def test_orphans_go_when_they_are_old(store: CatalogStore, catalog: SessionCatalog) -> None:
    insert(catalog, 1, 2)
    left = orphan(catalog)
    assert vacuumed(store, catalog) == 0
    age(store.tables)
    assert vacuumed(store, catalog) == 1
    assert not left.exists()
    assert values(catalog) == [1, 2]
    assert on_disk(table(catalog)) == set(table(catalog).files)


def test_the_folder_of_a_statement_that_crashed_goes_with_its_files(
    store: CatalogStore, catalog: SessionCatalog
) -> None:
    over, running = (StagingArea(Path(table(catalog).path), new_name()) for _ in range(2))
    for area in (over, running):
        area.make()
        (area.path / "a.parquet").write_bytes(b"rows")
    IN_FLIGHT_FILES.watch(running)
    age(store.tables)
    assert vacuumed(store, catalog) == 1
    assert not over.path.exists()
    assert (running.path / "a.parquet").exists()


def test_what_waits_to_be_published_stays(store: CatalogStore, catalog: SessionCatalog) -> None:
    files = insert(catalog, 1)
    insert(catalog, 2)
    delete(catalog, *files)
    age(store.tables)
    assert vacuumed(store, catalog) == 0
    store.publish()
    age(store.tables)
    assert vacuumed(store, catalog) == 1
    assert values(catalog) == [2]


def test_what_was_published_and_is_not_pinned_stays(store: CatalogStore, catalog: SessionCatalog) -> None:
    """A crash between the two steps of publishing, and another member's VACUUM."""
    insert(catalog, 1)
    store.publish()
    (added,) = staged(table(catalog), [5])
    log = delta.Log(table(catalog).path)
    log.commit(store.snapshot.version, [added], ())
    assert log.published_version.number == store.snapshot.version
    path = Path(table(catalog).path) / added.path
    del added
    age(store.tables)
    assert vacuumed(store, catalog) == 0
    assert path.exists()


def test_what_was_taken_away_goes_when_that_is_long_ago(store: CatalogStore, catalog: SessionCatalog) -> None:
    files = insert(catalog, 1)
    insert(catalog, 2)
    store.publish()
    reader = table(catalog)
    age(store.tables)
    delete(catalog, *files)
    store.publish()
    assert vacuumed(store, catalog) == 0
    assert on_disk(reader) == set(reader.files)
    age(store.tables)
    assert vacuumed(store, catalog) == 1
    assert values(catalog) == [2]


def test_files_of_open_transactions_stay(store: CatalogStore, catalog: SessionCatalog) -> None:
    catalog.begin()
    insert(catalog, 1)
    age(store.tables)
    assert vacuumed(store, SessionCatalog(store)) == 0
    catalog.commit()
    assert values(catalog) == [1]


def commit_after_load(store: CatalogStore, monkeypatch: pytest.MonkeyPatch, commit: Callable[[], object]) -> None:
    """Have a transaction commit as soon as VACUUM has read the catalog."""
    load = store._database.load

    def loaded() -> Snapshot:
        found = load()
        monkeypatch.undo()
        commit()
        return found

    monkeypatch.setattr(store._database, "load", loaded)


def test_a_file_that_is_committed_while_vacuum_looks_stays(
    store: CatalogStore, catalog: SessionCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks old, since the machine has slept and nothing of what is under way was touched since."""
    into = table(catalog)
    files = staged(into, [1])
    age(store.tables)
    commit_after_load(store, monkeypatch, lambda: catalog.tables.change_data(into, files, (), appends_only=True))
    assert vacuumed(store, catalog) == 0
    assert values(catalog) == [1]


def test_a_table_that_is_committed_while_vacuum_looks_stays(
    store: CatalogStore, catalog: SessionCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.begin()
    created(catalog, "u")
    age(store.tables)
    commit_after_load(store, monkeypatch, catalog.commit)
    assert store.vacuum_strays(HOUR).removed == []
    insert(catalog, 1, name="u")
    assert values(catalog, "u") == [1]


def test_files_of_running_statements_stay(store: CatalogStore, catalog: SessionCatalog) -> None:
    into = table(catalog)
    files = staged(into, [1])
    age(store.tables)
    assert vacuumed(store, catalog) == 0
    catalog.tables.change_data(into, files, (), appends_only=True)
    assert values(catalog) == [1]


def test_a_member_keeps_its_own_young_for_the_others(store: CatalogStore, catalog: SessionCatalog) -> None:
    catalog.begin()
    (file,) = insert(catalog, 1)
    made = created(catalog, "u")
    age(store.tables)
    Keeper(store.tables).touch()
    for path in (Path(table(catalog).path) / file.path, Path(made.path)):
        assert path.stat().st_mtime > time.time() - HOUR
    catalog.rollback()


def test_a_catalog_of_yesterday_removes_nothing(store: CatalogStore, catalog: SessionCatalog, tmp_path: Path) -> None:
    insert(catalog, 1)
    store.publish()
    copied = tmp_path / "yesterday"
    copied.mkdir()
    for part in tmp_path.glob("catalog.sqlite*"):
        shutil.copy(part, copied)
    insert(catalog, 2)
    insert(catalog, 3)
    store.publish()
    age(store.tables)
    before = on_disk(table(catalog))
    older = CatalogStore(copied / "catalog.sqlite", store.tables)
    try:
        with pytest.raises(DataCorrupted, match="newer than the catalog"):
            vacuumed(older, SessionCatalog(older))
    finally:
        older.close()
    assert on_disk(table(catalog)) == before


def test_what_others_publish_meanwhile_is_no_later_catalog(store: CatalogStore, catalog: SessionCatalog) -> None:
    created(catalog, "u")
    insert(catalog, 1)
    insert(catalog, 1, name="u")
    locations = [each.storage.location for each in (table(catalog), table(catalog, "u")) if each.storage is not None]
    vacuum = iter(store.vacuum(locations, HOUR))
    assert next(vacuum).left == 1
    insert(catalog, 2, name="u")
    store.publish()
    next(vacuum)
    assert values(catalog, "u") == [1, 2]


# -- folders ---------------------------------------------------------------------------------------------------------


def test_folders_that_a_crash_left_go_when_they_are_old(store: CatalogStore, catalog: SessionCatalog) -> None:
    insert(catalog, 1)
    known = folders(store)
    left = tables.create(store.tables, COLUMNS)
    (store.tables / "notes").mkdir()
    assert store.vacuum_strays(HOUR).removed == []
    age(store.tables)
    assert store.vacuum_strays(HOUR).removed == [left.location]
    assert folders(store) == known | {"notes"}


def test_a_folder_that_is_being_made_is_touched(store: CatalogStore) -> None:
    """No session has it yet, and its member may stand still for long: the Keeper has it look young to VACUUM of other members."""

    class StandsStill(Disk):
        def let_write(self, folder: Path, write: Callable[[], Any]) -> Any:
            written = super().let_write(folder, write)
            age(store.tables)
            Keeper(store.tables).touch()
            ages.append(time.time() - folder.stat().st_mtime)
            return written

    ages: list[float] = []
    with replace_disk(StandsStill()):
        tables.create(store.tables, COLUMNS)
    assert ages[0] < HOUR
    assert IN_FLIGHT_FILES.folders() == set()


def test_folders_of_sessions_and_of_dropped_tables_stay(store: CatalogStore, catalog: SessionCatalog) -> None:
    created(catalog, "dropped")
    insert(catalog, 1, name="dropped")
    store.publish()
    catalog.objects.remove(table(catalog, "dropped"))
    catalog.begin()
    created(catalog, "new")
    other = SessionCatalog(store)
    created(other, "temporary", "pg_temp")
    before = folders(store)
    age(store.tables)
    assert store.vacuum_strays(HOUR).removed == []
    assert folders(store) == before
    assert len(before) == 4
    catalog.rollback()


def test_a_folder_with_rows_that_the_catalog_does_not_know_is_left_and_told(
    store: CatalogStore, catalog: SessionCatalog, tmp_path: Path
) -> None:
    insert(catalog, 1)
    store.publish()
    age(store.tables)
    empty = CatalogStore(tmp_path / "another.sqlite", store.tables, allow_empty=True)
    strays = empty.vacuum_strays(HOUR)
    empty.close()
    storage = table(catalog).storage
    assert storage is not None
    assert (strays.removed, strays.kept) == ([], [storage.location])
    assert values(catalog) == [1]


# -- a client --------------------------------------------------------------------------------------------------------


def test_a_client_vacuums(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect() as connection:
        store = member.engine.store
        connection.execute("create table t (a int); create view v as select 1")
        connection.execute("insert into t values (1), (2)")
        connection.execute("insert into t values (3)")
        connection.execute("delete from t where a = 3")
        store.publish()
        age(store.tables)
        said = say(connection, "vacuum verbose t, v, pg_class")
        assert said.tag == "VACUUM"
        assert [(severity, text.split(":")[0]) for severity, text, _ in said.notices] == [
            ("WARNING", 'skipping "v" --- cannot vacuum non-tables or special system tables'),
            ("INFO", 'finished vacuuming "sluice.public.t"'),
        ]
        assert len(list(store.tables.rglob("*.parquet"))) == 1
        assert connection.execute("select sum(a) from t").fetchone() == (3,)
        assert say(connection, "vacuum").tag == "VACUUM"
        error = say(connection, "vacuum nowhere").error
        assert error is not None
        assert error[:5] == ("42P01", 'relation "nowhere" does not exist', None, None, "8")


def test_paths_that_the_log_spells_otherwise(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect() as connection:
        store = member.engine.store
        connection.execute("create table t (a int, p text) partition by list (p)")
        connection.execute("insert into t values (1, 'a/b c%'), (2, 'ü=:'), (3, null)")
        store.publish()
        connection.execute("update t set a = a + 10")
        store.publish()
        for path in store.tables.rglob("*.parquet"):
            os.utime(path, (0, 0))
        connection.execute("vacuum t")
        assert len(list(store.tables.rglob("*.parquet"))) == 6
        age(store.tables)
        connection.execute("vacuum t")
        assert len(list(store.tables.rglob("*.parquet"))) == 3
        assert connection.execute("select sum(a), count(*) from t").fetchone() == (36, 3)


def test_vacuum_is_no_part_of_a_transaction(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect() as connection:
        connection.execute("begin")
        with pytest.raises(psycopg.errors.ActiveSqlTransaction, match="VACUUM cannot run inside a transaction block"):
            connection.execute("vacuum")
        connection.execute("rollback")
        with pytest.raises(psycopg.errors.ActiveSqlTransaction):
            connection.execute("select 1; vacuum")
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="valid range"):
            connection.execute("set sluice.vacuum_retention = 0")
        assert connection.execute("show sluice.vacuum_retention").fetchone() == ("1h",)


def test_tables_are_shown_as_they_lie_on_disk(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect() as connection:
        assert connection.execute("select * from sluice.tables").fetchall() == []
        connection.execute("create schema s")
        connection.execute("create table s.t (a int)")
        connection.execute("insert into s.t values (1), (2)")
        connection.execute("insert into s.t values (3)")
        shown = "select schema, name, oid = 's.t'::regclass, files, rows, pending from sluice.tables"
        first = connection.execute(shown).fetchall()
        assert [row[:5] for row in first] == [("s", "t", True, 2, 3)]
        member.engine.store.publish()
        assert connection.execute(shown).fetchall() == [("s", "t", True, 2, 3, 0)]
        ((location, version, size),) = connection.execute(
            "select location, version, bytes from sluice.tables"
        ).fetchall()
        folder = member.engine.store.tables / location
        assert version > 0
        assert size == sum(file.stat().st_size for file in folder.glob("*.parquet"))
        connection.execute("begin")
        connection.execute("delete from s.t where a = 3")
        assert connection.execute("select files, rows from sluice.tables").fetchall() == [(1, 2)]
        connection.execute("rollback")
