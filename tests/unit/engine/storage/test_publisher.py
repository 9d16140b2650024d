"""The publisher's thread survives every failure of its rounds, and catches up after it."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake.exceptions import DeltaError
from support.member_process import wait_until
from support.storage_ground import created, insert

from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.storage import delta


@pytest.mark.table
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), DeltaError("no"), KeyError("unexpected")])
def test_what_could_not_be_published_is_when_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_arguments: object) -> None:
        raise error

    store = CatalogStore(tmp_path / "catalog.sqlite")
    catalog = SessionCatalog(store)
    created(catalog, "t")
    store.start_publishing()
    wait_until(lambda: store.statistics()["publish_pending"] == 0)
    monkeypatch.setattr(delta.Log, "commit", fails)
    insert(catalog, 1)
    insert(catalog, 2)
    wait_until(lambda: store.background.status()["publisher"]["failures"] >= 2)
    assert sum(store.pending_commits().values()) == 2
    assert store.statistics()["failing"] == 1
    assert store.statistics()["publish_pending"] == 2
    assert store.statistics()["publish_lag_ms"] > 0
    monkeypatch.undo()
    wait_until(lambda: not store.pending_commits())
    wait_until(lambda: store.background.status()["publisher"]["failing"] == 0)
    assert store.background.status()["publisher"]["failures"] >= 2
    assert (store.statistics()["publish_pending"], store.statistics()["publish_lag_ms"]) == (0, 0)
    store.close()


def test_a_folder_that_cannot_be_removed_holds_up_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    store = CatalogStore(tmp_path / "catalog.sqlite")
    catalog = SessionCatalog(store)
    created(catalog, "t")
    insert(catalog, 1)
    monkeypatch.setattr("engine.catalog.store.store.remove_dropped", fails)
    with pytest.raises(PermissionError):
        store.publish()
    assert not store.pending_commits()
    store.close()
