"""Backup and restore: the contents of a backup, what is refused, and that nothing is removed while files are copied."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.postgres_server import PostgresServer
from support.storage_ground import created, delete, insert, on_disk, table, values

from engine.catalog.model.counters import Count
from engine.catalog.model.objects import Schema, Sequence, View
from engine.catalog.store.backup import back_up, restore
from engine.catalog.store.publication import remove_dropped
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.common import sql_type as st
from engine.storage import tables
from engine.storage.claims import Hold, is_held
from wire.errors import DataCorrupted, ObjectInUse, SqlError, UndefinedFile
from wire.types import pg_types as t

LONG_AGO = 1_000_000_000
FOR_EVER = 1 << 40


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CatalogStore]:
    with closing(CatalogStore(tmp_path / "catalog.sqlite")) as made:
        yield made


@pytest.fixture
def catalog(store: CatalogStore) -> SessionCatalog:
    return SessionCatalog(store)


def backed_up(store: CatalogStore) -> Path:
    target = store.tables.parent / "backup"
    back_up(store.tables.parent / "catalog.sqlite", store.tables, target)
    return target


def restored(backup: Path, folder: Path) -> CatalogStore:
    restore(backup, folder / "catalog.sqlite", folder / "tables")
    return CatalogStore(folder / "catalog.sqlite")


def all_of(store: CatalogStore) -> dict[str, list[int]]:
    catalog = SessionCatalog(store)
    return {found.name: sorted(values(catalog, found.name)) for found in store.snapshot.tables()}


def test_what_is_committed_is_in_it_published_or_not(
    store: CatalogStore, catalog: SessionCatalog, tmp_path: Path
) -> None:
    """Sixty versions: Delta's log has a checkpoint. Then decisions that its log does not have yet."""
    created(catalog, "t")
    created(catalog, "empty")
    for number in range(60):
        insert(catalog, number)
        store.publish()
    delete(catalog, *insert(catalog, 1000))
    insert(catalog, 60)
    catalog.objects.put_schema(Schema(catalog.objects.new_oid(), "s"))
    sequence = Sequence(catalog.objects.new_oid(), "s", "numbers", st.of(t.INT8))
    catalog.objects.put(sequence)
    store.advance(sequence, 7)
    catalog.begin()
    insert(catalog, 2000)
    backup = backed_up(store)
    catalog.rollback()
    expected = store.snapshot
    insert(catalog, 3000)
    with closing(restored(backup, tmp_path / "new")) as again:
        assert all_of(again) == {"t": list(range(61)), "empty": []}
        assert again.read_sequence(sequence) == Count(7, called=True)
        assert again.next_oid() > sequence.oid
        assert again.snapshot.version == expected.version
        assert again.snapshot.schemas == expected.schemas
        # And it goes on from there.
        insert(SessionCatalog(again), 61)
        again.publish()
        assert not again.pending_commits()
        assert all_of(again)["t"] == list(range(62))
    assert not is_held(store.tables)


def test_a_log_that_is_ahead_of_the_catalog_is_cut(
    store: CatalogStore, catalog: SessionCatalog, tmp_path: Path
) -> None:
    """Published, and not settled: the catalog pins the version before. What is published while files are copied is the same."""
    created(catalog, "t")
    insert(catalog, 1)
    database = store._database
    settled, database.settle = database.settle, lambda location, published: None  # type: ignore[method-assign]
    store.publish()
    backup = backed_up(store)
    database.settle = settled  # type: ignore[method-assign]
    with closing(restored(backup, tmp_path / "new")) as again:
        assert all_of(again) == {"t": [1]}
        again.publish()
        assert not again.pending_commits()
        assert all_of(again) == {"t": [1]}


def test_nothing_is_removed_while_it_is_held(store: CatalogStore, catalog: SessionCatalog) -> None:
    created(catalog, "t")
    created(catalog, "gone")
    first = insert(catalog, 1)
    insert(catalog, 2)
    delete(catalog, *first)
    store.publish()
    catalog.objects.remove(table(catalog, "gone"))
    before, there = on_disk(table(catalog)), {path.name for path in store.tables.iterdir()}
    for path in store.tables.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    hold = Hold(store.tables)
    assert all(not swept.files for swept in store.vacuum([_location(catalog)], 900))
    assert not store.vacuum_strays(900).removed
    assert not list(remove_dropped(store._database, store.tables, FOR_EVER))
    assert on_disk(table(catalog)) == before
    hold.release()
    assert [swept.files for swept in store.vacuum([_location(catalog)], 900)] == [1]
    assert len(list(remove_dropped(store._database, store.tables, FOR_EVER))) == 1
    assert len({path.name for path in store.tables.iterdir()}) == len(there) - 1


def _location(catalog: SessionCatalog) -> str:
    storage = table(catalog).storage
    assert storage is not None
    return storage.location


def test_a_hold_whose_process_is_gone_does_not_count(store: CatalogStore, catalog: SessionCatalog) -> None:
    created(catalog, "t")
    hold = Hold(store.tables)
    assert is_held(store.tables)
    os.utime(hold.path, (LONG_AGO, LONG_AGO))
    assert not is_held(store.tables)
    hold.release()


def test_it_takes_the_place_of_nothing(store: CatalogStore, catalog: SessionCatalog, tmp_path: Path) -> None:
    created(catalog, "t")
    insert(catalog, 1)
    backup = backed_up(store)
    with pytest.raises(ObjectInUse, match="is not empty"):
        backed_up(store)
    with pytest.raises(ObjectInUse, match="is not empty"):
        restore(backup, tmp_path / "catalog.sqlite", tmp_path / "elsewhere")
    with pytest.raises(ObjectInUse, match="is not empty"):
        restore(backup, tmp_path / "another.sqlite", store.tables)
    assert all_of(store) == {"t": [1]}
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(UndefinedFile, match="there is no catalog"):
        back_up(tmp_path / "nothing.sqlite", store.tables, tmp_path / "b")
    assert not (tmp_path / "nothing.sqlite").exists()


def test_a_backup_that_is_damaged_or_not_whole_is_refused(
    store: CatalogStore, catalog: SessionCatalog, tmp_path: Path
) -> None:
    created(catalog, "t")
    insert(catalog, 1, 2, 3)
    whole = backed_up(store)
    files = [path for path in whole.rglob("*") if path.is_file()]
    assert len(files) >= 4
    for number, file in enumerate(files):
        for damage in ("changed", "gone"):
            backup, new = tmp_path / f"{damage}{number}", tmp_path / f"new-{damage}{number}"
            shutil.copytree(whole, backup)
            victim = backup / file.relative_to(whole)
            if damage == "gone":
                victim.unlink()
            else:
                data = bytearray(victim.read_bytes())
                data[len(data) // 2] ^= 1
                victim.write_bytes(data)
            with pytest.raises(SqlError) as told:
                restore(backup, new / "catalog.sqlite", new / "tables")
            assert str(backup) in told.value.message
            # No member starts on what was restored so far as if it were all.
            if any((new / "tables").rglob("*.json")):
                with closing(CatalogStore(new / "catalog.sqlite", allow_empty=True)) as half:
                    assert half.snapshot.version == 0


def test_a_file_that_is_not_as_the_catalog_says_makes_no_backup(
    store: CatalogStore, catalog: SessionCatalog, tmp_path: Path
) -> None:
    created(catalog, "t")
    insert(catalog, 1)
    (file,) = on_disk(table(catalog))
    os.truncate(file, 100)
    with pytest.raises(DataCorrupted, match="has 100 bytes"):
        backed_up(store)
    assert not any((tmp_path / "backup").iterdir())
    assert not is_held(store.tables)


@pytest.mark.postgres
def test_from_one_kind_of_catalog_to_the_other_and_back(
    postgres_packages: None, store: CatalogStore, catalog: SessionCatalog, tmp_path: Path
) -> None:
    created(catalog, "t")
    insert(catalog, 1)
    store.publish()
    insert(catalog, 2)
    view = View(catalog.objects.new_oid(), "public", "v", table(catalog).columns, "select * from t", ("a", "b"), ())
    catalog.objects.put(view)
    sequence = Sequence(catalog.objects.new_oid(), "public", "s", st.of(t.INT8))
    catalog.objects.put(sequence)
    store.advance(sequence, 3)
    with PostgresServer() as server:
        restore(backed_up(store), server.url, tmp_path / "shared" / "tables")
        with closing(CatalogStore(server.url, tmp_path / "shared" / "tables")) as shared:
            assert all_of(shared) == {"t": [1, 2]}
            assert shared.read_sequence(sequence) == Count(3, called=True)
            assert shared.next_oid() > sequence.oid
            insert(SessionCatalog(shared), 3)
            with pytest.raises(ObjectInUse, match="is not empty"):
                restore(tmp_path / "backup", server.url, tmp_path / "other")
            shared.publish()
        back_up(server.url, tmp_path / "shared" / "tables", tmp_path / "again")
    with closing(restored(tmp_path / "again", tmp_path / "new")) as again:
        assert all_of(again) == {"t": [1, 2, 3]}
        assert again.snapshot.relations["public", "v"] == view
        assert tables.files(again.snapshot.relations["public", "t"])  # type: ignore[arg-type]
