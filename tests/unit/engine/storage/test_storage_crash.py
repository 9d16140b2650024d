"""A commit stopped after any of its steps, and processes killed at any moment: acknowledged transactions are there,
completely, and others completely or not at all; any process can finish the remaining work, once or many times.
"""

from __future__ import annotations

import itertools
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from deltalake import DeltaTable
from support.storage_ground import created, delete, insert, table, values

from engine.catalog.store.publication import Step, pending_publications
from engine.catalog.store.sqlite import SqliteDatabase
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from wire.errors import DataCorrupted

ROUNDS = 3
BEFORE = {"t": [1], "u": [1, 2]}
AFTER = {"t": [1, 3, 4], "u": [2, 5], "v": [6]}


def prepared(folder: Path) -> None:
    store = CatalogStore(folder / "catalog.sqlite")
    catalog = SessionCatalog(store)
    for name in ("t", "u"):
        created(catalog, name)
    insert(catalog, 1)
    insert(catalog, 1, name="u")
    store.publish()
    insert(catalog, 2, name="u")
    store.close()


def publication(folder: Path, database: SqliteDatabase) -> Iterator[Step]:
    """All that there is to publish, step by step."""
    for table_publication in pending_publications(database, folder / "tables", database.decisions(), database.load()):
        yield from table_publication


def transaction(folder: Path) -> Iterator[str]:
    """A transaction over three tables, one of them new; told after each step that leaves something on disk."""
    store = CatalogStore(folder / "catalog.sqlite")
    catalog = SessionCatalog(store)
    catalog.begin()
    insert(catalog, 3)
    yield "staged"
    insert(catalog, 4)
    one = min(catalog.tables.files(table(catalog, "u")), key=lambda file: file.path)
    delete(catalog, one, name="u")
    insert(catalog, 5, name="u")
    yield "staged"
    created(catalog, "v")
    yield "created"
    insert(catalog, 6, name="v")
    yield "staged"
    catalog.commit()
    yield "committed"
    database = SqliteDatabase(folder / "catalog.sqlite", folder / "tables")
    for step in publication(folder, database):
        yield step.done


def content(store: CatalogStore) -> dict[str, list[int]]:
    names = sorted(name for _, name in store.snapshot.relations)
    return {name: sorted(values(SessionCatalog(store), name)) for name in names}


def require_published(store: CatalogStore) -> None:
    """Delta says the same to others, and nothing is left to do."""
    for stored in store.snapshot.tables():
        assert stored.storage is not None
        assert not stored.storage.added
        assert not stored.storage.removed
        found = table(SessionCatalog(store), stored.name)
        assert sorted(DeltaTable(stored.path).file_uris()) == list(found.files)
    database = SqliteDatabase(store.tables.parent / "catalog.sqlite", store.tables)
    assert database.decisions() == []
    database.close()


def test_a_commit_that_stops_anywhere_is_whole_or_nothing(tmp_path: Path) -> None:
    stops = 0
    for steps in itertools.count():
        folder = tmp_path / str(steps)
        prepared(folder)
        taken = list(itertools.islice(transaction(folder), steps))
        stops += 1
        expected = AFTER if "committed" in taken else BEFORE
        store = CatalogStore(folder / "catalog.sqlite")
        assert content(store) == expected, taken
        store.publish()
        assert content(store) == expected, taken
        require_published(store)
        insert(SessionCatalog(store), 9)
        store.publish()
        assert content(store) == expected | {"t": sorted([*expected["t"], 9])}, taken
        store.close()
        if len(taken) < steps:
            break
    assert taken == ["staged", "staged", "created", "staged", "committed", *["published", "settled"] * 3]
    assert stops == len(taken) + 2


@pytest.mark.parametrize("order", sorted(set(itertools.permutations("aabb"))), ids="".join)
def test_two_that_publish_the_same_do_it_once(order: tuple[str, ...], tmp_path: Path) -> None:
    prepared(tmp_path)
    databases = {name: SqliteDatabase(tmp_path / "catalog.sqlite", tmp_path / "tables") for name in "ab"}
    steps = {name: publication(tmp_path, database) for name, database in databases.items()}
    store = CatalogStore(tmp_path / "catalog.sqlite")
    for number, name in enumerate(order, 10):
        next(steps[name], None)
        insert(SessionCatalog(store), number, name="u")
        assert content(store) == {"t": [1], "u": [1, 2, *range(10, number + 1)]}
    for name, database in databases.items():
        list(steps[name])
        database.close()
    store.publish()
    require_published(store)
    assert content(store) == {"t": [1], "u": [1, 2, 10, 11, 12, 13]}
    store.close()


def test_a_catalog_that_was_put_back_alone_loses_nothing_in_silence(tmp_path: Path) -> None:
    """It gives numbers of decisions that the tables' logs have already: those are not taken for published."""
    prepared(tmp_path)
    store = CatalogStore(tmp_path / "catalog.sqlite")
    store.publish()
    with (
        closing(sqlite3.connect(tmp_path / "catalog.sqlite")) as now,
        closing(sqlite3.connect(tmp_path / "copy")) as copy,
    ):
        now.backup(copy)
    insert(SessionCatalog(store), 7)
    insert(SessionCatalog(store), 8)
    store.publish()
    store.close()
    with (
        closing(sqlite3.connect(tmp_path / "catalog.sqlite")) as now,
        closing(sqlite3.connect(tmp_path / "copy")) as copy,
    ):
        copy.backup(now)
    store = CatalogStore(tmp_path / "catalog.sqlite")
    assert content(store) == {"t": [1], "u": [1, 2]}
    for number in (20, 21, 22, 23):
        insert(SessionCatalog(store), number)
        insert(SessionCatalog(store), number, name="u")
        with pytest.raises(DataCorrupted, match="newer than the catalog"):
            store.publish()
    expected = {"t": [1, 20, 21, 22, 23], "u": [1, 2, 20, 21, 22, 23]}
    assert content(store) == expected
    store.close()
    store = CatalogStore(tmp_path / "catalog.sqlite")
    assert content(store) == expected
    store.close()


def test_many_write_and_publish_at_once(tmp_path: Path) -> None:
    prepared(tmp_path)
    failed: list[BaseException] = []

    def write(first: int) -> None:
        store = CatalogStore(tmp_path / "catalog.sqlite")
        store.start_publishing()
        try:
            for number in range(first, first + 20):
                store.refresh()
                insert(SessionCatalog(store), number)
                store.publish()
        except BaseException as error:  # noqa: BLE001
            failed.append(error)
        finally:
            store.close()

    threads = [threading.Thread(target=write, args=(first,)) for first in (100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    store = CatalogStore(tmp_path / "catalog.sqlite")
    store.publish()
    assert content(store)["t"] == [1, *range(100, 120), *range(200, 220), *range(300, 320)]
    require_published(store)
    store.close()


@pytest.mark.long
def test_killed_writers_lose_nothing_and_show_nothing_by_halves(tmp_path: Path) -> None:
    """Each transaction inserts its number into two tables. One writer is killed at some moment, the other goes on."""
    prepared(tmp_path)
    chance = random.Random(5)
    acknowledged: list[int] = []
    for number in range(ROUNDS):
        first = 2000 * (number + 1)
        with _writer(tmp_path, first) as killed, _writer(tmp_path, first + 1000) as other:
            lines = _lines(killed, chance.randrange(1, 30))
            time.sleep(chance.random() / 50)
            killed.kill()
            lines += [*_lines(killed), *_lines(other)]
        assert other.returncode == 0
        acknowledged += [int(line) for line in lines if line.endswith("\n")]
        store = CatalogStore(tmp_path / "catalog.sqlite")
        found = content(store)
        assert found["t"][1:] == found["u"][2:]
        assert len(set(found["t"])) == len(found["t"])
        assert set(acknowledged) <= set(found["t"])
        assert len(found["t"]) <= 1 + len(acknowledged) + number + 1
        store.publish()
        assert content(store) == found
        require_published(store)
        store.close()


def _lines(process: subprocess.Popen[str], most: int | None = None) -> list[str]:
    assert process.stdout is not None
    return list(itertools.islice(process.stdout, most))


def _writer(folder: Path, first: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "support.storage_writer", str(folder / "catalog.sqlite"), str(first), "60"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3])
