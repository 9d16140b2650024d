"""FOR UPDATE and its variants: which tables they lock, and what a transaction that has locked their rows depends on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.binding_ground import TestCatalog, bind
from support.storage_ground import created, delete, insert, table, values

from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from wire.errors import SerializationFailure


@pytest.fixture(scope="module")
def relations() -> TestCatalog:
    return TestCatalog()


@pytest.mark.parametrize(
    ("sql", "asked"),
    [
        ("select 1 from region, nation for update", ["FOR UPDATE region", "FOR UPDATE nation"]),
        ("select 1 from region r, nation for share of r", ["FOR SHARE region"]),
        ("select 1 from region for key share of region for no key update of region",
         ["FOR KEY SHARE region", "FOR NO KEY UPDATE region"]),
        ("select 1 from asia for update", ["FOR UPDATE nation"]),
        ("select 1 from (select * from asia, region) x for update", ["FOR UPDATE nation", "FOR UPDATE region"]),
        ("select 1 from region where exists (select from nation) for update", ["FOR UPDATE region"]),
        ("select 1 from region where exists (select from nation for share)", ["FOR SHARE nation"]),
        ("with n as (select * from nation) select 1 from n, region for update", ["FOR UPDATE region"]),
        ("with n as (select * from nation for update) select 1 from n", ["FOR UPDATE nation"]),
        ("select 1 from region for read only", []),
    ],
)  # fmt: skip
def test_which_relations_are_meant(relations: TestCatalog, sql: str, asked: list[str]) -> None:
    found = bind(sql, relations).locks
    assert [f"{lock.strength} {lock.relation.name}" for lock in found] == asked


# -- the transaction ----------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CatalogStore]:
    store = CatalogStore(tmp_path / "catalog.sqlite")
    yield store
    store.close()


def test_rows_that_were_asked_for_may_not_go(store: CatalogStore) -> None:
    mine, other = SessionCatalog(store), SessionCatalog(store)
    created(mine, "t")
    created(mine, "u")
    first = insert(mine, 1)
    mine.begin()
    mine.tables.guard(table(mine))
    insert(mine, 7, name="u")
    delete(other, *first)
    with pytest.raises(SerializationFailure):
        mine.current()
    with pytest.raises(SerializationFailure):
        mine.commit()
    assert values(mine, "u") == []


def test_rows_may_come(store: CatalogStore) -> None:
    mine, other = SessionCatalog(store), SessionCatalog(store)
    created(mine, "t")
    insert(mine, 1)
    mine.begin()
    mine.tables.guard(table(mine))
    insert(other, 2)
    assert values(mine) == [1, 2]
    before = store.snapshot.version
    mine.commit()
    assert store.snapshot.version == before, "a transaction that only read writes nothing"


def test_what_the_transaction_does_itself_is_no_conflict(store: CatalogStore) -> None:
    mine = SessionCatalog(store)
    created(mine, "t")
    first = insert(mine, 1)
    mine.begin()
    mine.tables.guard(table(mine))
    delete(mine, *first)
    second = insert(mine, 2)
    mine.tables.guard(table(mine))
    delete(mine, *second)
    mine.commit()
    assert values(mine) == []


def test_a_savepoint_that_is_rolled_back_asked_for_nothing(store: CatalogStore) -> None:
    mine, other = SessionCatalog(store), SessionCatalog(store)
    created(mine, "t")
    first = insert(mine, 1)
    mine.begin()
    point = mine.savepoint()
    mine.tables.guard(table(mine))
    mine.rollback_to(point)
    delete(other, *first)
    mine.commit()


def test_a_table_that_was_defined_anew(store: CatalogStore) -> None:
    mine, other = SessionCatalog(store), SessionCatalog(store)
    created(mine, "t")
    mine.begin()
    mine.tables.guard(table(mine))
    other.objects.remove(table(other))
    with pytest.raises(SerializationFailure):
        mine.commit()
