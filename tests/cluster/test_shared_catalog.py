"""One catalog for several members: SQLite on one machine, PostgreSQL where they share no disk."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from deltalake import DeltaTable
from psycopg import sql
from support import storage_ground
from support.catalog_writer import table
from support.postgres_server import Database
from support.recoveries import Recovery

from engine.catalog.model.counters import Count
from engine.catalog.model.objects import Constraint, Schema, Seen, Sequence, Table, TableColumn, View
from engine.catalog.model.statistics import ColumnStatistics, TableStatistics
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.common import sql_type as st
from engine.statements.shared.sequences import SessionSequences
from engine.storage import tables
from wire.errors import DataCorrupted, IoError, SerializationFailure
from wire.types import pg_types as t


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "catalog.sqlite")
    database: Database = request.getfixturevalue("postgres_database")
    return database.url


@pytest.fixture
def stores(location: str, tmp_path: Path) -> Iterator[tuple[CatalogStore, CatalogStore]]:
    tables = tmp_path / "tables"
    pair = CatalogStore(location, tables), CatalogStore(location, tables)
    yield pair
    for store in pair:
        store.close()


Pair = tuple[CatalogStore, CatalogStore]


def test_a_commit_is_seen_by_the_other_member_when_it_asks(stores: Pair) -> None:
    here, there = stores
    mine, other = SessionCatalog(here), SessionCatalog(there)
    oid = mine.objects.new_oid()
    mine.objects.put(table(oid, "t"))
    mine.objects.put(
        View(mine.objects.new_oid(), "public", "v", table(1, "t").columns, "select * from t", ("a", "b"), (oid,))
    )
    mine.objects.put_schema(Schema(mine.objects.new_oid(), "s"))
    assert other.current().resolve(None, "t", ("public",)) is None
    assert not there.is_current()
    there.refresh()
    assert there.snapshot == here.snapshot
    other.objects.remove(other.current().relations["public", "v"])
    other.objects.remove_schema("s")
    here.refresh()
    assert here.snapshot == there.snapshot
    assert set(here.snapshot.relations) == {("public", "t")}


def test_statistics_are_shared_and_go_with_their_table(stores: Pair) -> None:
    here, there = stores
    mine, other = SessionCatalog(here), SessionCatalog(there)
    mine.objects.put(table(mine.objects.new_oid(), "t"))
    known = mine.current().relations["public", "t"]
    assert isinstance(known, Table)
    for rows in (5.0, 7.0):
        mine.tables.keep_statistics(known, TableStatistics(rows, 1, (ColumnStatistics(1, 23, 0, 4, rows),)))
    there.refresh()
    [seen] = there.snapshot.tables()
    assert seen.statistics == TableStatistics(7.0, 1, (ColumnStatistics(1, 23, 0, 4, 7.0),))
    other.objects.remove(seen)
    other.objects.put(table(seen.oid, "t"))
    here.refresh()
    assert [found.statistics for found in here.snapshot.tables()] == [None]


def test_a_commit_begins_on_what_others_committed_meanwhile(stores: Pair) -> None:
    here, there = stores
    mine, other = SessionCatalog(here), SessionCatalog(there)
    mine.begin()
    mine.objects.put(table(mine.objects.new_oid(), "mine"))
    other.objects.put(table(other.objects.new_oid(), "other"))
    mine.commit()
    assert set(here.snapshot.relations) == {("public", "mine"), ("public", "other")}
    assert here.snapshot.version == 2


def test_the_same_name_on_two_members_is_a_conflict_and_changes_nothing(stores: Pair) -> None:
    here, there = stores
    mine, other = SessionCatalog(here), SessionCatalog(there)
    mine.begin()
    mine.objects.put(table(mine.objects.new_oid(), "kept_out"))
    mine.objects.put(table(mine.objects.new_oid(), "t"))
    other.objects.put(table(other.objects.new_oid(), "t"))
    with pytest.raises(SerializationFailure):
        mine.commit()
    for store in stores:
        store.refresh()
        assert set(store.snapshot.relations) == {("public", "t")}
        assert store.snapshot.version == 1


def test_rows_are_seen_by_the_other_member_whoever_publishes_them(stores: Pair) -> None:
    here, there = stores
    mine, other = SessionCatalog(here), SessionCatalog(there)
    storage_ground.created(mine, "t")
    first = storage_ground.insert(mine, 1)
    there.refresh()
    assert there.snapshot == here.snapshot
    storage_ground.insert(other, 2)
    there.publish()
    other.begin()
    other_files = storage_ground.insert(other, 3)
    storage_ground.delete(mine, *first)
    here.publish()
    other.commit()
    here.publish()
    here.refresh()
    there.publish()
    assert storage_ground.values(mine) == storage_ground.values(other) == [2, 3]
    now = storage_ground.table(mine)
    assert sorted(DeltaTable(now.path).file_uris()) == list(now.files)
    assert now.storage is not None
    assert (now.storage.version, now.storage.added, now.storage.removed) == (3, (), ())
    mine.begin()
    storage_ground.delete(mine, *other_files)
    storage_ground.delete(other, *other_files)
    with pytest.raises(SerializationFailure):
        mine.commit()
    other.objects.remove(storage_ground.table(other))
    here.refresh()
    assert here.snapshot.relations == {}
    here.publish()
    assert storage_ground.rows_of(now) == [2, 3]


def test_oids_are_never_given_twice(stores: Pair, location: str) -> None:
    given = [store.next_oid() for _ in range(5) for store in stores]
    third = CatalogStore(location)
    given.append(third.next_oid())
    third.close()
    assert given == sorted(set(given))


def test_questions_at_the_same_time_are_all_answered(stores: Pair) -> None:
    here, there = stores
    writer = SessionCatalog(here)
    failures: list[int] = []

    def look(number: int) -> None:
        there.refresh()
        if ("public", f"t{number}") not in there.snapshot.relations:
            failures.append(number)

    for number in range(20):
        writer.objects.put(table(writer.objects.new_oid(), f"t{number}"))
        threads = [threading.Thread(target=look, args=(number,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_processes_that_commit_at_the_same_time(location: str) -> None:
    """All open the database at once as well, when it does not exist yet."""
    count, prefixes = 15, ("a", "b", "c")
    command = [sys.executable, "-m", "support.catalog_writer", location]
    writers = [
        subprocess.Popen([*command, prefix, str(count)], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1],
                         env={"PYTHONPATH": f"{Path(__file__).parents[2]}"})
        for prefix in prefixes
    ]  # fmt: skip
    told = [[int(line) for line in writer.communicate()[0].split()] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * len(prefixes)
    oids = [oid for numbers in told for oid in numbers[:-1]]
    assert len(set(oids)) == len(oids) == len(prefixes) * count * 2
    store = CatalogStore(location)
    names = {f"{prefix}_{number}" for prefix in prefixes for number in range(count)} | {"contended"}
    assert {name for _, name in store.snapshot.relations} == names
    assert store.snapshot.version == len(prefixes) * count * 2
    store.close()


def test_a_later_release_is_recognised(location: str) -> None:
    CatalogStore(location).close()
    if location.startswith("postgresql"):
        with psycopg.connect(location, autocommit=True) as connection:
            connection.execute("update sluice_catalog.meta set value = 99 where key = 'format'")
    else:
        with closing(sqlite3.connect(location, isolation_level=None)) as file:
            file.execute("update meta set value = 99 where key = 'format'")
    with pytest.raises(DataCorrupted, match="later release"):
        CatalogStore(location)


def test_a_file_that_is_no_catalog_is_named(tmp_path: Path) -> None:
    (tmp_path / "c.sqlite").write_text("not a database, and long enough to be looked at" * 100)
    with pytest.raises(DataCorrupted, match=r"c\.sqlite"):
        CatalogStore(tmp_path / "c.sqlite")


@pytest.mark.postgres
def test_a_connection_that_broke_is_made_again(postgres_database: Database) -> None:
    store = CatalogStore(postgres_database.url)
    catalog = SessionCatalog(store)
    catalog.objects.put(table(catalog.objects.new_oid(), "before"))
    with postgres_database.connect() as admin:
        admin.execute(
            sql.SQL("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sluice catalog'")
        )
    fault = Recovery("the connection to the catalog's database breaks")
    store.refresh()
    catalog.objects.put(table(catalog.objects.new_oid(), "after"))
    fault.reached("a change committed")
    assert set(store.snapshot.relations) == {("public", "before"), ("public", "after")}
    store.close()


@pytest.mark.postgres
def test_a_database_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(IoError) as caught:
        CatalogStore("postgresql://me:secret@127.0.0.1:1/none")
    assert "127.0.0.1:1/none" in caught.value.message
    assert "secret" not in caught.value.message


def test_members_share_the_counters_of_sequences(stores: Pair) -> None:
    s = Sequence(16_400, "public", "s", st.of(t.INT8), counter=16_400)
    SessionCatalog(stores[0]).objects.put(s)
    stores[1].refresh()
    assert stores[1].snapshot.relations["public", "s"] == s
    taken = [SessionSequences(store).take(s, 3).tolist() for store in stores]
    assert taken == [[1, 2, 3], [4, 5, 6]]
    SessionSequences(stores[1]).set(s, 100, called=False)
    assert [store.read_sequence(s) for store in stores] == [Count(100, called=False)] * 2
    given: list[int] = []

    def take(store: CatalogStore) -> None:
        mine = SessionSequences(store)
        given.extend(mine.next(s) for _ in range(20))

    threads = [threading.Thread(target=take, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given) == list(range(100, 140))


def test_comments_and_definitions_cross_members(stores: Pair) -> None:
    here, there = stores
    catalog = SessionCatalog(here)
    columns = (
        TableColumn("a", st.of(t.INT4), 1, False, "nextval('5'::regclass)", "always", "", "a comment"),
        TableColumn("b", st.of(t.TEXT), 3, default="'x'", stored="c"),
    )
    check = Constraint(9, "k", "check", ("a",), "a > 0", "why")
    made = catalog.tables.create_table(
        Table(7, "public", "t", columns, "parquet", "", (), constraints=(check,), comment="c", last_number=4)
    )
    catalog.objects.put_schema(Schema(2200, "public", "mine"), replacing=True)
    seen = Seen(None, "t", 7, ((1, "a"), (3, "b")), (1,))
    catalog.objects.put(View(8, "public", "v", columns[:1], "select a from t", depends=(7,), comment="v", sees=(seen,)))
    there.refresh()
    found = there.snapshot.relations["public", "t"]
    assert isinstance(found, Table)
    assert (found.columns, found.constraints, found.comment) == (made.columns, made.constraints, "c")
    assert found.next_number == 5
    assert there.snapshot.relations["public", "v"] == here.snapshot.relations["public", "v"]
    assert there.snapshot.schemas["public"].comment == "mine"


def test_a_member_vacuums_what_others_wrote(stores: Pair) -> None:
    here, there = stores
    catalog, other = SessionCatalog(here), SessionCatalog(there)
    storage_ground.created(catalog, "t")
    first = storage_ground.insert(catalog, 1)
    storage_ground.insert(catalog, 2)
    storage_ground.delete(catalog, *first)
    storage_ground.created(catalog, "dropped")
    catalog.objects.remove(storage_ground.table(catalog, "dropped"))
    left = tables.create(here.tables, storage_ground.COLUMNS)
    there.refresh()
    for path in here.tables.rglob("*"):
        os.utime(path, (0, 0))
    of = storage_ground.table(other)
    assert of.storage is not None
    assert [swept.files for swept in there.vacuum([of.storage.location], 3600)] == [0]
    here.publish()
    for path in here.tables.rglob("*"):
        os.utime(path, (0, 0))
    assert [swept.files for swept in there.vacuum([of.storage.location], 3600)] == [1]
    assert there.vacuum_strays(3600).removed == [left.location]
    assert storage_ground.values(other) == [2]
