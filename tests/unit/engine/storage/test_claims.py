"""Claims on tables: how long they count, and which statements of a transaction make them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.local_member import local_member
from support.storage_ground import created, insert, table

from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.lakes.foreign_files import refresh
from engine.statements.maintenance.compaction import is_contested
from engine.storage.claims import Claim, is_claimed


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SessionCatalog]:
    store = CatalogStore(tmp_path / "catalog.sqlite")
    catalog = SessionCatalog(store)
    created(catalog, "t")
    yield catalog
    store.close()


def test_a_claim_is_its_transactions(catalog: SessionCatalog) -> None:
    folder = Path(table(catalog).path)
    catalog.claims.claim(table(catalog))
    assert not is_claimed(folder)
    for end in (catalog.commit, catalog.rollback):
        catalog.begin()
        for _ in range(2):
            catalog.claims.claim(table(catalog))
        assert len(list(folder.glob("_staging-claim-*"))) == 1
        insert(catalog, 1)
        assert is_claimed(folder)
        end()
        assert not is_claimed(folder)


def test_it_goes_with_a_commit_that_fails(catalog: SessionCatalog, tmp_path: Path) -> None:
    folder = Path(table(catalog).path)
    catalog.begin()
    catalog.claims.claim(table(catalog))
    insert(catalog, 1, whole=True)
    other = CatalogStore(tmp_path / "catalog.sqlite")
    insert(SessionCatalog(other), 2)
    other.close()
    with pytest.raises(Exception, match="could not commit"):
        catalog.commit()
    assert not is_claimed(folder)


def test_one_whose_member_is_gone_does_not_count(tmp_path: Path) -> None:
    claim = Claim(tmp_path)
    assert is_claimed(tmp_path)
    long_ago = time.time() - 3600
    os.utime(claim.path, (long_ago, long_ago))
    assert not is_claimed(tmp_path)
    claim.release()
    assert list(tmp_path.iterdir()) == []


def test_a_transaction_claims_what_it_changes_and_not_what_it_appends_to(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect() as session:
        for name in ("changed", "appended", "keyed"):
            session.execute(f"create table {name} (a int {'primary key' if name == 'keyed' else ''})".encode())
        session.execute("begin")
        session.execute("delete from changed")
        session.execute("insert into appended values (1)")
        session.execute("insert into keyed values (1)")

        def contested() -> dict[str, bool]:
            snapshot = member.engine.store.snapshot
            return {of.name: is_contested(refresh(of)) for of in snapshot.tables() if of.storage is not None}

        assert contested() == {"changed": True, "appended": False, "keyed": True}
        session.execute("commit")
        assert set(contested().values()) == {False}
        session.execute("begin isolation level repeatable read")
        session.execute("select 1 from appended")
        assert set(contested().values()) == {True}
        session.execute("delete from changed")
        session.execute("commit")
        assert set(contested().values()) == {False}
