"""Group commit: one transaction of the catalog database for many, and an outcome for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.storage_ground import created, delete, insert, on_disk, table, values

from engine.catalog.snapshot import Snapshot
from engine.catalog.store.commit_group import CommitQueue, commit_together
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from wire.errors import IoError, SerializationFailure, StatementCompletionUnknown


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CatalogStore]:
    store = CatalogStore(tmp_path / "catalog.sqlite")
    created(SessionCatalog(store), "t")
    yield store
    store.close()


def keeping(store: CatalogStore, value: int, name: str = "t") -> SessionCatalog:
    """A session with an open transaction that keeps a row."""
    catalog = SessionCatalog(store)
    catalog.begin()
    batch = pa.record_batch({"a": pa.array([value], pa.int32()), "b": pa.array(["x"])})
    catalog.pending.keep_rows(table(catalog, name), batch)
    return catalog


def test_rows_of_many_transactions_come_in_one_file(store: CatalogStore) -> None:
    version = store.snapshot.version
    outcomes = commit_together(store, [keeping(store, value) for value in (1, 2, 3)])
    reader = SessionCatalog(store)
    assert sorted(values(reader)) == [1, 2, 3]
    assert len(table(reader).files) == 1
    assert [outcome.version for outcome in outcomes if isinstance(outcome, Snapshot)] == [version + 1] * 3


def test_rows_kept_as_values_and_in_batches_are_in_their_order(store: CatalogStore) -> None:
    catalogs = [keeping(store, 1), SessionCatalog(store), keeping(store, 4)]
    catalogs[1].begin()
    for row in ((2, "x"), (3, None)):
        catalogs[1].pending.keep_row(table(catalogs[1]), row)
    catalogs[2].pending.keep_row(table(catalogs[2]), (5, "y"))
    commit_together(store, catalogs)
    [file] = table(SessionCatalog(store)).files
    found = [tuple(row.values()) for row in pq.read_table(file).to_pylist()]
    assert found == [(1, "x"), (2, "x"), (3, None), (4, "x"), (5, "y")]


def test_a_conflict_ends_only_the_transaction_that_has_it(store: CatalogStore) -> None:
    first = insert(SessionCatalog(store), 1)
    losers = [SessionCatalog(store), SessionCatalog(store)]
    for catalog in losers:
        catalog.begin()
        delete(catalog, *first)
    appending = [keeping(store, 2), keeping(store, 3)]
    before = store.statistics()["commit_conflicts"]
    outcomes = commit_together(store, [appending[0], *losers, appending[1]])
    assert [isinstance(outcome, Snapshot) for outcome in outcomes] == [True, True, False, True]
    assert isinstance(outcomes[2], SerializationFailure)
    assert store.statistics()["commit_conflicts"] == before + 1
    reader = SessionCatalog(store)
    assert sorted(values(reader)) == [2, 3]
    store.refresh()
    assert sorted(values(SessionCatalog(CatalogStore(store.tables.parent / "catalog.sqlite")))) == [2, 3]


def test_another_member_reads_each_commit_of_a_group(store: CatalogStore) -> None:
    """It brings its snapshot up to date by the notes of the group, which all have one stamp."""
    other = CatalogStore(store.tables.parent / "catalog.sqlite")
    created(SessionCatalog(store), "u")
    other.refresh()
    commit_together(store, [keeping(store, 1), keeping(store, 2, "u")])
    other.refresh()
    assert [values(SessionCatalog(other), name) for name in ("t", "u")] == [[1], [2]]
    insert(SessionCatalog(other), 3)
    store.refresh()
    assert [sorted(values(SessionCatalog(store), name)) for name in ("t", "u")] == [[1, 3], [2]]
    other.close()


def test_a_changed_definition_is_in_the_way_of_all_that_append(store: CatalogStore) -> None:
    appending = [keeping(store, 1), keeping(store, 2)]
    definer = SessionCatalog(store)
    definer.objects.put(replace(table(definer), comment="another"), replacing=True)
    outcomes = commit_together(store, appending)
    assert all(isinstance(outcome, SerializationFailure) for outcome in outcomes)
    assert not any(catalog.in_transaction for catalog in appending)
    assert on_disk(table(SessionCatalog(store))) == set()


def test_a_definition_of_the_same_group_leaves_no_file_of_those_that_append(store: CatalogStore) -> None:
    definer = SessionCatalog(store)
    definer.begin()
    definer.objects.put(replace(table(definer), comment="another"), replacing=True)
    outcomes = commit_together(store, [definer, keeping(store, 1), keeping(store, 2)])
    assert [isinstance(outcome, Snapshot) for outcome in outcomes] == [True, False, False]
    assert on_disk(table(SessionCatalog(store))) == set()


def test_nobody_removes_files_of_a_group_whose_end_is_unknown(
    store: CatalogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = store._database.commit

    def lost(known: Snapshot, group: object) -> object:
        commit(known, group)  # type: ignore[arg-type]
        raise StatementCompletionUnknown("the connection was lost")

    monkeypatch.setattr(store._database, "commit", lost)
    outcomes = commit_together(store, [keeping(store, 1), keeping(store, 2)])
    assert all(isinstance(outcome, StatementCompletionUnknown) for outcome in outcomes)
    store.refresh()
    assert sorted(values(SessionCatalog(store))) == [1, 2]


def test_commits_that_come_while_one_runs_are_the_next_group(store: CatalogStore) -> None:
    calls: list[Callable[[], None]] = []
    queue = CommitQueue(store, calls.append)
    version = store.snapshot.version
    futures = [queue.commit(keeping(store, value)) for value in (1, 2, 3)]
    assert len(calls) == 1
    given_up = keeping(store, 4)
    futures.append(queue.commit(given_up))
    assert futures[3].cancel()
    calls.pop()()
    assert store.snapshot.version == version + 1
    assert [future.result(timeout=0) for future in futures[:3]] == [None] * 3
    with pytest.raises(CancelledError):
        futures[3].result(timeout=0)
    assert given_up.in_transaction
    assert not calls
    assert sorted(values(SessionCatalog(store))) == [1, 2, 3]


def test_each_of_a_group_that_fails_has_an_error_of_its_own(
    store: CatalogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session adds to its error what it knows, which is no other client's."""
    calls: list[Callable[[], None]] = []
    queue = CommitQueue(store, calls.append)
    lost = IoError("the catalog cannot be used", hint="A hint.")

    def fail(_known: Snapshot, _group: object) -> object:
        raise lost

    monkeypatch.setattr(store._database, "commit", fail)
    waiting = [queue.commit(keeping(store, value)) for value in (1, 2)]
    calls.pop()()
    errors = [future.exception(timeout=0) for future in waiting]
    assert [(type(error), str(error)) for error in errors] == [(IoError, str(lost))] * 2
    assert isinstance(errors[0], IoError)
    assert isinstance(errors[1], IoError)
    errors[0].position = 3
    errors[0].add_note("of the first")
    assert errors[1].position is None
    assert not hasattr(errors[1], "__notes__")
    assert errors[1].hint == "A hint."


def test_a_group_that_fails_holds_up_no_other(store: CatalogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Callable[[], None]] = []
    queue = CommitQueue(store, calls.append)
    broken = keeping(store, 1)
    failed = queue.commit(broken)
    monkeypatch.setattr(broken, "end", lambda: 1 / 0)
    calls.pop()()
    assert isinstance(failed.exception(timeout=0), ZeroDivisionError)
    committed = queue.commit(keeping(store, 2))
    calls.pop()()
    assert committed.result(timeout=0) is None
    assert values(SessionCatalog(store)) == [2]


def test_definitions_are_the_same_as_long_as_only_files_change(store: CatalogStore) -> None:
    other = CatalogStore(store.tables.parent / "catalog.sqlite")
    insert(SessionCatalog(store), 0)
    store.publish()
    other.refresh()
    known = store.snapshot.definitions, other.snapshot.definitions
    insert(SessionCatalog(store), 1)
    store.publish()
    other.refresh()
    assert (store.snapshot.definitions, other.snapshot.definitions) == known
    created(SessionCatalog(store), "u")
    other.refresh()
    assert store.snapshot.definitions != known[0]
    assert other.snapshot.definitions != known[1]
    other.close()
