"""Tables that change, through the catalog: what a session sees, what a commit makes visible, and where two commits
conflict.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from support.storage_ground import COLUMNS, created, delete, insert, on_disk, rows_of, staged, table, values

from engine.catalog.model.objects import Table
from engine.catalog.store.publication import remove_dropped
from engine.catalog.store.sqlite import SqliteDatabase
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.common import sql_type as st
from engine.storage.staging import TableWriter
from engine.storage.tables import DROPPED_SECONDS
from wire.errors import DataCorrupted, DuplicateTable, FeatureNotSupported, InternalError, SerializationFailure
from wire.types import pg_types as t


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CatalogStore]:
    store = CatalogStore(tmp_path / "catalog.sqlite")
    yield store
    store.close()


def test_rows_are_seen_by_their_session_at_once_and_by_others_at_the_commit(store: CatalogStore) -> None:
    mine, other = SessionCatalog(store), SessionCatalog(store)
    created(mine, "t")
    assert values(mine) == []
    mine.begin()
    first = insert(mine, 1, 2)
    insert(mine, 3)
    assert values(mine) == [1, 2, 3]
    assert values(other) == []
    delete(mine, *first)
    assert values(mine) == [3]
    mine.commit()
    assert values(mine) == values(other) == [3]
    assert values(SessionCatalog(store)) == [3]


def folders(store: CatalogStore) -> set[str]:
    return {path.name for path in store.tables.iterdir()} if store.tables.exists() else set()


def test_what_is_taken_back_leaves_no_file(store: CatalogStore) -> None:
    catalog = SessionCatalog(store)
    created(catalog, "t")
    insert(catalog, 1)
    kept = folders(store), on_disk(table(catalog))
    catalog.begin()
    insert(catalog, 2)
    token = catalog.savepoint()
    insert(catalog, 3)
    created(catalog, "u")
    insert(catalog, 4, name="u")
    assert len(on_disk(table(catalog))) == 3
    catalog.rollback_to(token)
    assert values(catalog) == [1, 2]
    catalog.rollback()
    assert (folders(store), on_disk(table(catalog))) == kept
    assert values(catalog) == [1]


def test_what_a_transaction_makes_and_does_away_with_leaves_no_file(store: CatalogStore) -> None:
    catalog = SessionCatalog(store)
    created(catalog, "t")
    catalog.begin()
    one = insert(catalog, 1)
    created(catalog, "u")
    insert(catalog, 2, name="u")
    catalog.objects.remove(table(catalog, "u"))
    created(catalog, "kept", "pg_temp")
    delete(catalog, *one)
    insert(catalog, 3)
    renamed = table(catalog)
    catalog.objects.remove(renamed)
    catalog.objects.put(replace(renamed, name="v"))
    catalog.objects.remove(table(catalog, "v"))
    catalog.objects.put(replace(renamed, name="w"))
    catalog.commit()
    assert values(catalog, "w") == [3]
    assert on_disk(table(catalog, "w")) == set(table(catalog, "w").files)
    assert folders(store) == {Path(table(catalog, name).path).name for name in ("w", "kept")}


def test_a_repeatable_transaction_sees_one_state(store: CatalogStore) -> None:
    mine, other = SessionCatalog(store, lambda: True), SessionCatalog(store)
    created(mine, "t")
    first = insert(mine, 1)
    mine.begin()
    assert values(mine) == [1]
    insert(other, 2)
    insert(mine, 3)
    assert values(mine) == [1, 3]
    assert mine.cache_key() is None
    mine.commit()
    assert values(mine) == [1, 2, 3]
    mine.begin()
    delete(mine, *first)
    delete(other, *first)
    assert values(mine) == [2, 3]
    with pytest.raises(SerializationFailure):
        mine.commit()
    assert values(mine) == [2, 3]


def test_the_changes_of_one_statement_are_committed_together_or_not_at_all(store: CatalogStore) -> None:
    catalog, other = SessionCatalog(store), SessionCatalog(store)
    with catalog.statement():
        created(catalog, "t")
        insert(catalog, 1)
        assert other.current().resolve(None, "t", ("public",)) is None
    assert values(other) == [1]

    def fails() -> None:
        with catalog.statement():
            insert(catalog, 2)
            created(catalog, "t")

    with pytest.raises(DuplicateTable):
        fails()
    assert values(catalog) == [1]
    assert len(on_disk(table(catalog))) == len(folders(store)) == 1


def test_appends_never_conflict(store: CatalogStore) -> None:
    first, second = SessionCatalog(store), SessionCatalog(store)
    created(first, "t")
    first.begin()
    second.begin()
    insert(first, 1)
    insert(second, 2)
    deleted = insert(second, 3)
    first.commit()
    delete(second, *deleted)
    second.commit()
    assert values(first) == [1, 2]


def test_a_change_that_depends_on_all_rows_conflicts_with_any_other(store: CatalogStore) -> None:
    first, second = SessionCatalog(store), SessionCatalog(store)
    created(first, "t")
    before = insert(first, 0)
    second.begin()
    insert(second, 1, whole=True)
    insert(second, 2, whole=True)
    insert(first, 1)
    with pytest.raises(SerializationFailure):
        second.commit()
    assert not second.in_transaction
    assert len(on_disk(table(first))) == 2
    insert(second, 2, whole=True)
    second.begin()
    insert(second, 3, whole=True)
    delete(first, *before)
    with pytest.raises(SerializationFailure, match='"t" was changed'):
        second.current()
    second.rollback()
    assert values(first) == [1, 2]


def test_two_that_write_the_same_file_anew_conflict_and_others_do_not(store: CatalogStore) -> None:
    first, second = SessionCatalog(store), SessionCatalog(store)
    created(first, "t")
    one, two = insert(first, 1), insert(first, 2)
    second.begin()
    into = table(second)
    second.tables.change_data(into, staged(into, [10]), [one[0].path], appends_only=False)
    delete(first, *two)
    insert(first, 3)
    assert values(second) == [10, 3]
    second.commit()
    assert values(first) == [10, 3]
    first.begin()
    ten, three = sorted(first.tables.files(table(first)), key=lambda file: file.path)
    delete(first, ten, three)
    delete(second, three)
    with pytest.raises(SerializationFailure):
        first.commit()
    assert values(second) == [10]


def test_a_path_that_is_not_the_tables_is_refused_however_it_is_spelled(store: CatalogStore) -> None:
    catalog = SessionCatalog(store)
    t = created(catalog, "t")
    (file,) = insert(catalog, 1)
    for path in ("nowhere.parquet", f"{t.path}/{file.path}", f"file://{t.path}/{file.path}", f"./{file.path}", ""):
        with pytest.raises(InternalError, match="does not have it"):
            catalog.tables.change_data(table(catalog), (), [path], appends_only=False)
    store.publish()
    delete(catalog, file)
    with pytest.raises(InternalError):
        delete(catalog, file)
    assert values(catalog) == []


def test_a_definition_conflicts_with_rows_and_with_another_definition(store: CatalogStore) -> None:
    first, second = SessionCatalog(store), SessionCatalog(store)
    created(first, "t")
    strict = tuple(replace(column, nullable=False) for column in COLUMNS)
    first.begin()
    first.objects.put(replace(table(first), columns=strict), replacing=True)
    assert table(first).columns == strict
    insert(first, 1)
    second.begin()
    insert(second, 2)
    first.commit()
    with pytest.raises(SerializationFailure):
        second.commit()
    first.begin()
    first.objects.put(replace(table(first), columns=COLUMNS), replacing=True)
    insert(second, 3)
    with pytest.raises(SerializationFailure):
        first.commit()
    assert values(first) == [1, 3]
    assert table(first).columns == strict


def test_a_renamed_table_keeps_what_was_committed_under_its_old_name(store: CatalogStore) -> None:
    first, second = SessionCatalog(store), SessionCatalog(store)
    created(first, "t")
    insert(first, 1)
    first.begin()
    old = table(first)
    first.objects.remove(old)
    token = first.savepoint()
    first.objects.put(replace(old, name="u"))
    first.rollback_to(token)
    first.objects.put(replace(old, name="v"))
    first.rollback()
    assert values(first) == [1]
    first.begin()
    first.objects.remove(old)
    first.objects.put(replace(old, name="u"))
    insert(first, 2, name="u")
    insert(second, 3)
    first.commit()
    assert sorted(values(second, "u")) == [1, 2, 3]
    store.publish()
    assert sorted(values(second, "u")) == [1, 2, 3]
    assert folders(store) == {Path(old.path).name}


def test_a_dropped_tables_folder_stays_for_those_who_read_it(store: CatalogStore, tmp_path: Path) -> None:
    first, second = SessionCatalog(store), SessionCatalog(store)
    created(first, "t")
    insert(first, 1)
    read = table(second)
    second.begin()
    insert(second, 2)
    first.objects.remove(table(first))
    with pytest.raises(SerializationFailure):
        second.commit()
    store.publish()
    assert rows_of(read) == [1]
    database = SqliteDatabase(tmp_path / "catalog.sqlite", store.tables)
    now = int(time.time())
    assert list(remove_dropped(database, store.tables, now)) == []
    assert len(list(remove_dropped(database, store.tables, now + DROPPED_SECONDS + 1))) == 1
    assert folders(store) == set()
    assert list(remove_dropped(database, store.tables, now + DROPPED_SECONDS + 1)) == []
    database.close()


def test_a_dropped_tables_folder_that_cannot_be_removed_is_tried_again(store: CatalogStore, tmp_path: Path) -> None:
    catalog = SessionCatalog(store)
    created(catalog, "t")
    insert(catalog, 1)
    folder, elsewhere = Path(table(catalog).path), tmp_path / "elsewhere"
    catalog.objects.remove(table(catalog))
    store.publish()
    later = int(time.time()) + DROPPED_SECONDS + 1
    # A link is no folder that a tree is removed of.
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    assert list(remove_dropped(store._database, store.tables, later)) == []
    assert elsewhere.exists()
    folder.unlink()
    elsewhere.rename(folder)
    assert len(list(remove_dropped(store._database, store.tables, later))) == 1
    assert folders(store) == set()


def test_files_that_come_and_go_in_one_transaction_conflict_with_nothing(store: CatalogStore) -> None:
    catalog = SessionCatalog(store)
    created(catalog, "t")
    insert(catalog, 1)
    before = store.snapshot.version
    catalog.begin()
    delete(catalog, *insert(catalog, 2))
    catalog.commit()
    assert store.snapshot.version == before + 1
    catalog.begin()
    insert(catalog, 3, whole=True)
    # The table is read anew: it is the one that the transaction has seen.
    store.publish()
    catalog.commit()
    assert sorted(values(catalog)) == [1, 3]


def test_a_table_that_is_written_anew_moves_to_another_folder(store: CatalogStore) -> None:
    first, second = SessionCatalog(store), SessionCatalog(store)
    created(first, "t")
    insert(first, 1, 2)
    wider = (replace(COLUMNS[0], type=st.of(t.INT8)), COLUMNS[1])

    def rewrite() -> None:
        old = table(first)
        new = first.tables.rewrite_table(old, replace(old, columns=wider))
        assert new.storage is not None
        writer = TableWriter(Path(new.path), new.columns, new.storage)
        writer.write(pa.RecordBatch.from_arrays([pa.array([7], pa.int64()), pa.array(["7"])], names=["a", "b"]))
        first.tables.change_data(new, writer.finish(), (), appends_only=True)

    first.begin()
    rewrite()
    assert values(first) == [7]
    assert values(second) == [1, 2]
    first.rollback()
    assert len(folders(store)) == 1
    with first.statement():
        rewrite()
    assert values(second) == [7]
    assert table(second).columns == wider
    first.begin()
    rewrite()
    deleted = second.tables.files(table(second))
    delete(second, *deleted)
    with pytest.raises(SerializationFailure):
        first.commit()
    assert values(second) == []


def test_temporary_tables_stay_with_their_session(store: CatalogStore) -> None:
    mine, other = SessionCatalog(store), SessionCatalog(store)
    created(mine, "t", "pg_temp")
    first = insert(mine, 1)
    mine.begin()
    insert(mine, 2)
    delete(mine, *first)
    assert values(mine) == [2]
    mine.rollback()
    assert values(mine) == [1]
    assert other.current().resolve(None, "t", ("public",)) is None
    assert store.snapshot.version == 0
    mine.temporary.discard()
    assert folders(store) == set()


def test_every_change_of_files_is_another_version_and_publishing_is_none(store: CatalogStore, tmp_path: Path) -> None:
    catalog = SessionCatalog(store)
    created(catalog, "t")
    versions = [table(catalog).version]

    def note() -> None:
        versions.append(table(catalog).version)
        published = table(catalog)
        store.publish()
        assert table(catalog).version == versions[-1]
        assert table(catalog).files == published.files

    first = insert(catalog, 1)
    note()
    insert(catalog, 2)
    note()
    delete(catalog, *first)
    note()
    catalog.begin()
    insert(catalog, 3)
    note()
    insert(catalog, 4)
    note()
    catalog.rollback()
    assert table(catalog).version == versions[3]
    catalog.begin()
    insert(catalog, 3)
    note()
    catalog.commit()
    note()
    assert len(set(versions)) == len(versions)
    again = CatalogStore(tmp_path / "catalog.sqlite")
    assert again.snapshot == store.snapshot
    assert table(SessionCatalog(again)).version == versions[-1]
    again.close()


def test_delta_tells_others_the_same(store: CatalogStore) -> None:
    catalog = SessionCatalog(store)
    catalog.begin()
    created(catalog, "t")
    first = insert(catalog, 1)
    insert(catalog, 2, 3)
    catalog.commit()
    insert(catalog, 5)
    store.publish()
    delete(catalog, *first)
    insert(catalog, 4)
    before = table(catalog)
    assert before.storage is not None
    assert (before.storage.version, len(before.storage.added), len(before.storage.removed)) == (1, 1, 1)
    store.publish()
    now = table(catalog)
    assert now.storage is not None
    assert (now.storage.version, now.storage.added, now.storage.removed) == (2, (), ())
    delta = DeltaTable(now.path)
    assert sorted(delta.file_uris()) == list(now.files) == list(before.files)
    actions = pa.table(delta.get_add_actions(flatten=True))
    assert sorted(actions["num_records"].to_pylist()) == [1, 1, 2]
    assert sorted(zip(actions["min.a"].to_pylist(), actions["max.a"].to_pylist(), strict=True)) == [
        (2, 3),
        (4, 4),
        (5, 5),
    ]
    assert sorted(delta.to_pyarrow_table()["b"].to_pylist()) == ["2", "3", "4", "5"]


def test_a_table_that_cannot_be_published_keeps_no_other_from_it_and_is_read_all_the_same(store: CatalogStore) -> None:
    catalog = SessionCatalog(store)
    for name in ("t", "u"):
        created(catalog, name)
        insert(catalog, 1, name=name)
    log = Path(table(catalog, "t").path) / "_delta_log"
    counted = store.statistics()
    assert {name: counted[name] for name in ("stored", "unpublished", "failing")} == {
        "stored": 2, "unpublished": 2, "failing": 0
    }  # fmt: skip
    assert counted["commits"] == counted["publish_pending"] > 0 == counted["commit_conflicts"]
    table(catalog, "t")
    log.rename(log.with_name("elsewhere"))
    with pytest.raises(DataCorrupted, match="could not read the table"):
        store.publish()
    assert store.statistics()["unpublished"] == 1
    insert(catalog, 2)
    assert values(catalog) == [1, 2]
    log.with_name("elsewhere").rename(log)
    store.publish()
    assert store.statistics()["unpublished"] == 0
    assert values(catalog) == [1, 2]


def test_partitions_have_folders_of_any_name(store: CatalogStore) -> None:
    catalog = SessionCatalog(store)
    made = Table(catalog.objects.new_oid(), "public", "t", COLUMNS, "parquet", "", ())
    into = catalog.tables.create_table(made, partition_by=["b"], sort_by=["a"])
    assert into.storage is not None
    names = ["a b", "50%/2", "é", None, "=", "x" * 300, "", ".", ".."]
    writer = TableWriter(Path(into.path), COLUMNS, into.storage)
    batch = [pa.array([*range(9, 0, -1)], pa.int32()), pa.array(names)]
    for _ in range(2):
        writer.write(pa.RecordBatch.from_arrays(batch, names=["a", "b"]))
    files = writer.finish()
    catalog.tables.change_data(into, files, (), appends_only=True)
    assert {file.partition[0]: file.rows for file in files} == dict.fromkeys(names, 2)
    store.publish()
    now = table(catalog)
    assert sorted(rows_of(now)) == sorted([*range(1, 10)] * 2)
    assert set(now.files) == on_disk(now) == {f"{now.path}/{file.path}" for file in files}
    delta = DeltaTable(now.path)
    assert delta.metadata().partition_columns == ["b"]
    for file in files[:4]:
        catalog.tables.change_data(table(catalog), (), [file.path], appends_only=False)
    store.publish()
    assert len(DeltaTable(now.path).file_uris()) == len(table(catalog).files) == 5
    wide = replace(COLUMNS[1], type=st.of(t.BYTEA))
    with pytest.raises(FeatureNotSupported, match="PARTITION BY"):
        catalog.tables.create_table(replace(made, name="u", columns=(wide,)), partition_by=["b"])
