"""A publisher makes changes durable before the catalog forgets them, and repairs a log that a power failure has
truncated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest
from support.storage_ground import created, insert, table, values

from engine.catalog.model.objects import TableColumn
from engine.catalog.store.publication import pending_publications
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.common import sql_type as st
from engine.storage import delta, disk
from engine.storage.file_clock import FILE_CLOCK
from engine.storage.staging import TableWriter
from engine.storage.tables import DROPPED_SECONDS
from wire.errors import DataCorrupted, IoError
from wire.types import pg_types as t

T = TypeVar("T")


class Watched(disk.Disk):
    """The disk, with the names of what was synced in `synced`; `refuses` names what fails to be. read: the versions of logs that
    were read."""

    def __init__(self) -> None:
        self.synced: list[str] = []
        self.read: list[Hashable] = []
        self.refuses: Callable[[Path], bool] = lambda path: False

    def sync(self, path: Path) -> None:
        if self.refuses(path):
            raise OSError(5, "Input/output error", str(path))
        super().sync(path)
        self.synced.append(path.name)

    def let_read(self, log: Path, what: Hashable, read: Callable[[], T]) -> T:
        self.read.append(what)
        return super().let_read(log, what, read)


@contextmanager
def watched() -> Iterator[Watched]:
    made = Watched()
    with disk.replace_disk(made):
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CatalogStore]:
    made = CatalogStore(tmp_path / "catalog.sqlite")
    created(SessionCatalog(made), "t")
    yield made
    made.close()


def _commit(number: int) -> str:
    return f"{number:020}.json"


def _log(store: CatalogStore) -> Path:
    return Path(table(SessionCatalog(store)).path) / delta.LOG


def _publish_and_fail(store: CatalogStore) -> None:
    """Publish what is decided, up to the first sync of Delta's log: as a publisher that is killed there leaves it."""
    with watched() as watching:
        watching.refuses = lambda path: delta.LOG in path.parts
        with pytest.raises(IoError):
            store.publish()


def _reopened(store: CatalogStore) -> list[int]:
    other = CatalogStore(store.tables.parent / "catalog.sqlite")
    try:
        return values(SessionCatalog(other))
    finally:
        other.close()


def test_versions_that_another_left_behind_are_synced_before_a_later_one_is_pinned(store: CatalogStore) -> None:
    insert(SessionCatalog(store), 1)
    _publish_and_fail(store)
    insert(SessionCatalog(store), 2)
    with watched() as watching:
        store.publish()
    assert {_commit(1), _commit(2), delta.LOG} <= set(watching.synced)
    assert _commit(0) not in watching.synced, "what is pinned was synced before"
    assert store.pending_commits() == {}


def test_what_is_in_the_log_already_is_synced_before_it_is_pinned(store: CatalogStore) -> None:
    insert(SessionCatalog(store), 1)
    _publish_and_fail(store)
    with watched() as watching:
        store.publish()
    assert {_commit(1), delta.LOG} <= set(watching.synced)


def test_columns_that_are_added_are_synced(store: CatalogStore) -> None:
    catalog = SessionCatalog(store)
    before = table(catalog)
    column = TableColumn("c", st.of(t.INT4), 3)
    catalog.objects.put(replace(before, files=(), columns=(*before.columns, column)), replacing=True)
    insert_wider(catalog, 7)
    with watched() as watching:
        store.publish()
    assert {_commit(1), _commit(2)} <= set(watching.synced)


def insert_wider(catalog: SessionCatalog, value: int) -> None:
    """A row of a table with a third column."""
    into = table(catalog)
    assert into.storage is not None
    writer = TableWriter(Path(into.path), into.columns, into.storage)
    numbers = pa.array([value], pa.int32())
    writer.write(pa.RecordBatch.from_arrays([numbers, pa.array(["x"]), numbers], names=["a", "b", "c"]))
    catalog.tables.change_data(into, writer.finish(), (), appends_only=True)


@pytest.mark.parametrize("torn", [b"", b"\0" * 700, b'{"commitInfo":{"timest'], ids=["none", "zeros", "cut off"])
def test_a_commit_that_a_power_failure_has_torn_is_written_again(store: CatalogStore, torn: bytes) -> None:
    insert(SessionCatalog(store), 1)
    store.publish()
    insert(SessionCatalog(store), 2)
    _publish_and_fail(store)
    (_log(store) / _commit(2)).write_bytes(torn)
    delta.forget_opened()
    assert _reopened(store) == [1, 2]
    store.publish()
    assert store.pending_commits() == {}
    delta.forget_opened()
    assert _reopened(store) == [1, 2]
    assert sorted(delta.Log(str(_log(store).parent)).files.paths) == sorted(
        Path(file).name for file in table(SessionCatalog(store)).files
    )


def test_a_hint_to_a_checkpoint_that_was_lost_does_not_keep_a_table_from_being_published(store: CatalogStore) -> None:
    insert(SessionCatalog(store), 1)
    _publish_and_fail(store)
    (_log(store) / "_last_checkpoint").write_bytes(b'{"version":1,"size":5}')
    store.publish()
    assert store.pending_commits() == {}
    assert _reopened(store) == [1]


def test_vacuum_repairs_a_log_whose_torn_commit_holds_no_decision(store: CatalogStore) -> None:
    """A publisher that is late adds columns after another one has settled the decisions, and a power failure tears its commit."""
    catalog = SessionCatalog(store)
    insert(catalog, 1)
    store.publish()
    before = table(catalog)
    assert before.storage is not None
    delta.Log(before.path, 1).add_columns([TableColumn("c", st.of(t.INT4), 3)])
    (_log(store) / _commit(2)).write_bytes(b'{"metaData":{"id')
    assert [swept.left for swept in store.vacuum([before.storage.location], 0)] == [1]
    assert not (_log(store) / _commit(2)).exists()
    assert _reopened(store) == [1]


def test_columns_are_added_only_with_decisions(store: CatalogStore) -> None:
    """Decisions that another publisher has settled bring no commit of their own, which nobody would repair."""
    catalog = SessionCatalog(store)
    insert(catalog, 1)
    decisions = store._database.decisions()
    store.publish()
    before = table(catalog)
    catalog.objects.put(replace(before, columns=(*before.columns, TableColumn("c", st.of(t.INT4), 3))), replacing=True)
    (late,) = pending_publications(store._database, store.tables, decisions, store._database.load())
    for _ in late:
        pass
    assert not (_log(store) / _commit(2)).exists()


def test_a_log_that_is_broken_where_it_is_pinned_is_left_alone(store: CatalogStore) -> None:
    insert(SessionCatalog(store), 1)
    store.publish()
    insert(SessionCatalog(store), 2)
    (_log(store) / _commit(1)).write_bytes(b"\0" * 700)
    delta.forget_opened()
    with pytest.raises(DataCorrupted):
        store.publish()
    assert (_log(store) / _commit(1)).exists()
    assert list(store.pending_commits().values()) == [1]


def test_one_at_a_time_repairs(store: CatalogStore) -> None:
    insert(SessionCatalog(store), 1)
    _publish_and_fail(store)
    (_log(store) / _commit(1)).write_bytes(b"\0" * 700)
    with delta._repair_lock(_log(store)), pytest.raises(IoError, match="could not repair"):
        store.publish()
    store.publish()
    assert _reopened(store) == [1]


def test_a_commit_that_is_gone_when_it_is_to_be_made_durable_is_not_settled(store: CatalogStore) -> None:
    insert(SessionCatalog(store), 1)
    _publish_and_fail(store)
    log = delta.Log(str(_log(store).parent), 0)
    (_log(store) / _commit(1)).unlink()
    with pytest.raises(IoError):
        log.make_durable()


def test_readers_find_a_published_version_opened(store: CatalogStore) -> None:
    insert(SessionCatalog(store), 1)
    with watched() as watching:
        store.publish()
        watching.read.clear()
        assert values(SessionCatalog(store)) == [1]
        assert watching.read == []


def test_a_version_that_is_not_durable_is_not_kept_opened(store: CatalogStore) -> None:
    """A power failure may take it, and then it is made again with other files."""
    insert(SessionCatalog(store), 1)
    with watched() as watching:
        watching.refuses = lambda path: path.name == _commit(1)
        with pytest.raises(IoError):
            store.publish()
        watching.read.clear()
        delta.open_version(str(_log(store).parent), 1)
        assert watching.read == [1]


def test_a_removed_folder_is_gone_for_good_before_the_catalog_forgets_it(
    store: CatalogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = SessionCatalog(store)
    catalog.objects.remove(table(catalog))
    now = time.time()
    monkeypatch.setattr(FILE_CLOCK, "now", lambda: now + DROPPED_SECONDS + 1)
    with watched() as watching:
        watching.refuses = lambda path: path == store.tables
        with pytest.raises(OSError, match="Input/output"):
            store.publish()
        watching.refuses = lambda path: False
        assert store._database.dropped_locations(1 << 53), "it is tried again"
        store.publish()
    assert store.tables.name in watching.synced
    assert not store._database.dropped_locations(1 << 53)


def test_a_change_is_taken_back_where_its_files_cannot_be_removed(store: CatalogStore) -> None:
    class Refusing(disk.Disk):
        def remove(self, path: Path) -> None:
            raise OSError(5, "Input/output error", str(path))

    catalog = SessionCatalog(store)
    catalog.begin()
    catalog.claims.claim(table(catalog))
    insert(catalog, 1)
    with disk.replace_disk(Refusing()):
        catalog.rollback()
    assert values(catalog) == []
    assert not list(Path(table(catalog).path).glob("_staging-claim-*")), "its claim is gone"


@pytest.mark.parametrize(("torn", "removed"), [(0, True), (1, False)])
def test_a_folder_that_never_was_a_table_is_removed_though_its_log_is_torn(
    store: CatalogStore, torn: int, removed: bool
) -> None:
    """With a version beyond CREATE's it is somebody's table, in a catalog of another day."""
    catalog = SessionCatalog(store)
    catalog.begin()
    stray = Path(created(catalog, "u").path)
    catalog.end()
    (stray / delta.LOG / _commit(0)).write_bytes(b"\0" * 700)
    (stray / delta.LOG / _commit(torn)).write_bytes(b"\0" * 700)
    delta.forget_opened()
    strays = store.vacuum_strays(-1.0)
    assert (list(strays.removed), list(strays.kept)) == (([stray.name], []) if removed else ([], [stray.name]))
