"""Roles in a catalog database: they survive a restart, an upgrade from an earlier release, and two concurrent
transactions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from support.postgres_server import Database

from engine.catalog.model.rights import DATABASE_OID, ObjectRights
from engine.catalog.model.roles import Membership, Role, Roles
from engine.catalog.store import rows
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from wire.errors import SerializationFailure

Open = Callable[[], CatalogStore]
_ANN = Role(20_000, "ann", login=True, password="SCRAM-SHA-256$...", settings=(("work_mem", "8MB"),))
_BI = Role(20_001, "bi", inherit=False, valid_until=7, member_of=(Membership(20_000, True, 10),))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens the store once more, as another member does."""
    if request.param == "sqlite":
        return lambda: CatalogStore(tmp_path / "catalog.sqlite")
    database: Database = request.getfixturevalue("postgres_database")
    return lambda: CatalogStore(database.url, tmp_path)


def test_they_are_what_they_were(reopen: Open) -> None:
    with closing(reopen()) as one, closing(reopen()) as other:
        session = SessionCatalog(one)
        session.objects.put_role(_ANN)
        session.objects.put_role(_BI)
        other.refresh()
        assert other.snapshot.roles == Roles({"ann": _ANN, "bi": _BI})
        session.objects.remove_role(_ANN)
    with closing(reopen()) as again:
        assert again.snapshot.roles == Roles({"bi": _BI})


def test_two_that_change_one_role(reopen: Open) -> None:
    with closing(reopen()) as one, closing(reopen()) as other:
        SessionCatalog(one).objects.put_role(_ANN)
        other.refresh()
        first, second = SessionCatalog(one), SessionCatalog(other)
        first.begin()
        second.begin()
        first.objects.put_role(Role(20_000, "ann", superuser=True))
        second.objects.put_role(Role(20_000, "ann", login=False))
        second.objects.put_role(_BI)
        first.commit()
        with pytest.raises(SerializationFailure):
            second.commit()
        other.refresh()
        assert other.snapshot.roles == Roles({"ann": Role(20_000, "ann", superuser=True)})


def test_a_catalog_of_before_roles(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    CatalogStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("drop table roles")
        connection.execute("update meta set value = 2 where key = 'format'")
        connection.commit()
    with closing(CatalogStore(path)) as store:
        assert not store.snapshot.roles
        SessionCatalog(store).objects.put_role(_ANN)
    with closing(CatalogStore(path)) as store:
        assert store.snapshot.roles.find_role("ann") == _ANN


def test_members_of_members() -> None:
    a, b = Role(1, "a"), Role(2, "b", member_of=(Membership(1),))
    c, d = Role(3, "c", inherit=False, member_of=(Membership(2),)), Role(4, "d", superuser=True)
    roles = Roles({role.name: role for role in (a, b, c, d)})
    assert roles.all_of(c) == {1, 2, 3}
    assert roles.all_of(c, inherited=True) == {3}
    assert roles.is_member(c, a)
    assert not roles.is_member(a, c)
    assert roles.is_member(d, a)
    assert not roles.belongs("d", "a")
    assert roles.belongs("c", "a")
    assert not roles.belongs("nobody", "a")


def test_privileges_of_the_database_under_its_former_oid() -> None:
    """Catalogs that were written when the database's OID was 5 keep its owner and its privileges."""
    body = msgspec.json.encode(ObjectRights(owner=16400)).decode()
    assert rows.read_rights([("5", body)]).of(DATABASE_OID).owner == 16400
    newer = msgspec.json.encode(ObjectRights(owner=16401)).decode()
    assert rows.read_rights([(str(DATABASE_OID), newer), ("5", body)]).of(DATABASE_OID).owner == 16401
