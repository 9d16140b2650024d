"""The cost of a statement in a transaction does not grow with the statements before it, and what it sees is the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.storage_ground import created, delete, insert, table, values

from engine.catalog import replay
from engine.catalog.model.objects import DataFile, Table
from engine.catalog.snapshot import AnyChange, Snapshot, net_changes
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.storage.kept_rows import KeptRows
from engine.storage.tables import FileChange


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SessionCatalog]:
    store = CatalogStore(tmp_path / "catalog.sqlite")
    catalog = SessionCatalog(store)
    created(catalog, "t")
    yield catalog
    store.close()


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[AnyChange]:
    """Each change when it is replayed."""
    replayed: list[AnyChange] = []
    one = replay._apply_change

    def counted(snapshot: Snapshot, change: AnyChange, moving: dict[str, Table]) -> Snapshot:
        replayed.append(change)
        return one(snapshot, change, moving)

    monkeypatch.setattr(replay, "_apply_change", counted)
    return replayed


def test_changes_are_replayed_once(catalog: SessionCatalog, replayed: list[AnyChange]) -> None:
    catalog.begin()
    for number in range(20):
        insert(catalog, number)
        assert values(catalog) == list(range(number + 1))
    assert len(replayed) == 20


def test_definitions_are_replayed_once(catalog: SessionCatalog, replayed: list[AnyChange]) -> None:
    """And anew after ROLLBACK TO SAVEPOINT."""
    catalog.begin()
    for number in range(20):
        created(catalog, f"t{number}")
        insert(catalog, number, name=f"t{number}")
        assert values(catalog, f"t{number}") == [number]
    changes = len(catalog.pending.changes)
    assert changes >= 40
    assert len(replayed) == changes
    savepoint = catalog.savepoint()
    created(catalog, "gone")
    catalog.rollback_to(savepoint)
    replayed.clear()
    assert values(catalog, "t7") == [7]
    assert len(replayed) == changes
    created(catalog, "more")
    catalog.current()
    assert len(replayed) == len(catalog.pending.changes)


def test_definitions_one_after_the_other_are_as_all_at_once(catalog: SessionCatalog) -> None:
    """A table that is removed and put elsewhere takes its files with it, whichever statements see the state between."""
    catalog.begin()
    insert(catalog, 1)
    created(catalog, "other")
    insert(catalog, 2)
    now = table(catalog)
    catalog.objects.remove(now)
    assert catalog.current().resolve(None, "t", ("public",)) is None
    catalog.objects.put(replace(now, name="moved"))
    insert(catalog, 3, name="moved")
    assert sorted(values(catalog, "moved")) == [1, 2, 3]
    shown = catalog.current()
    recorded = [change for change in catalog.pending.changes if not isinstance(change, KeptRows)]
    whole = replay.replay(catalog._store.snapshot, recorded)
    assert (shown.relations, shown.schemas, shown.types) == (whole.relations, whole.schemas, whole.types)
    assert (shown.rights, shown.version) == (whole.rights, whole.version)
    catalog.commit()
    assert sorted(values(catalog, "moved")) == [1, 2, 3]


def test_changes_on_another_commit_are_replayed_on_it(tmp_path: Path, catalog: SessionCatalog) -> None:
    other = CatalogStore(tmp_path / "catalog.sqlite")
    try:
        catalog.begin()
        insert(catalog, 1)
        insert(SessionCatalog(other), 2)
        catalog._store.refresh()
        insert(catalog, 3)
        assert sorted(values(catalog)) == [1, 2, 3]
        catalog.commit()
        assert sorted(values(catalog)) == [1, 2, 3]
    finally:
        other.close()


def test_a_version_is_one_more_than_the_committed_one(catalog: SessionCatalog) -> None:
    committed = catalog.current().version
    catalog.begin()
    for number in range(3):
        insert(catalog, number)
        assert catalog.current().version == committed + 1


def test_guards_that_are_forgotten(catalog: SessionCatalog) -> None:
    insert(catalog, 1)
    catalog.begin()
    table = catalog.current().resolve(None, "t", ("public",))
    catalog.tables.guard(table)  # type: ignore[arg-type]
    assert values(catalog) == [1]
    catalog.tables.forget_guards()
    insert(catalog, 2)
    assert sorted(values(catalog)) == [1, 2]


def test_files_that_come_and_go_in_one_transaction(catalog: SessionCatalog) -> None:
    catalog.begin()
    first = insert(catalog, 1)
    second = insert(catalog, 2)
    delete(catalog, *first)
    third = insert(catalog, 3)
    assert sorted(values(catalog)) == [2, 3]
    recorded = [change for change in catalog.pending.changes if not isinstance(change, KeptRows)]
    [change] = net_changes(recorded).values()
    assert set(change.added) == {*second, *third}
    assert not change.removed


def test_a_sequence_is_each_after_the_other() -> None:
    files = [DataFile(str(number), 1, 1) for number in range(4)]
    changes = [
        FileChange((files[0],)), FileChange((files[1],), ("x",)), FileChange((files[2],)),
        FileChange((), ("0", "2")), FileChange((files[3],)),
    ]  # fmt: skip
    folded = FileChange()
    for change in changes:
        folded = folded.then(change)
    assert FileChange.sequence(changes) == folded == FileChange((files[1], files[3]), ("x",))
