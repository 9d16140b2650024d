"""A snapshot that is updated with only the changed rows equals one that is read completely, whatever was committed, by
whom, and in whatever order members refreshed.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from support.campaigns import long_seeds
from support.postgres_server import Database
from support.storage_ground import created, delete, insert, staged, table, values

from engine.catalog.model.acl import Item
from engine.catalog.model.objects import Schema, Table, View
from engine.catalog.model.rights import DefaultKey, ObjectRights
from engine.catalog.model.roles import Role
from engine.catalog.model.statistics import TableStatistics
from engine.catalog.model.user_types import EnumType, Label
from engine.catalog.snapshot import DECLARED_OIDS, RightsChange, Snapshot
from engine.catalog.store import difference
from engine.catalog.store.catalog_database import CatalogDatabase
from engine.catalog.store.store import CatalogStore, open_database
from engine.catalog.store.transaction import SessionCatalog
from wire.errors import SerializationFailure, SqlError


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    if request.param == "sqlite":
        return tmp_path / "catalog.sqlite"
    database: Database = request.getfixturevalue("postgres_database")
    return database.url


def require_same(found: Snapshot, whole: Snapshot) -> None:
    assert (found.version, found.stamp) == (whole.version, whole.stamp)
    assert found == whole
    for key, relation in whole.relations.items():
        if isinstance(relation, Table):
            same = found.relations[key]
            assert isinstance(same, Table)
            assert same.statistics == relation.statistics


class Changes:
    """Random changes of everything that a catalog has, by sessions of several members."""

    def __init__(self, stores: list[CatalogStore], chance: random.Random) -> None:
        self._stores = stores
        self._chance = chance
        self._kinds: tuple[Callable[[SessionCatalog], None], ...] = (
            self._create, self._drop, self._rename, self._insert, self._insert, self._delete, self._analyse, self._role,
            self._grant, self._default, self._type, self._schema, self._view, self._move,
        )  # fmt: skip

    def make(self) -> None:
        """One change, or a transaction of several, which may be rolled back."""
        store = self._chance.choice(self._stores)
        if self._chance.random() < 0.15:
            store.publish()
            return
        store.refresh()
        catalog = SessionCatalog(store)
        catalog.begin()
        for _ in range(self._chance.randint(1, 4)):
            with suppress(SqlError, LookupError):
                self._chance.choice(self._kinds)(catalog)
        if self._chance.random() < 0.1:
            catalog.rollback()
            return
        with suppress(SerializationFailure):
            catalog.commit()

    def _name(self) -> str:
        return self._chance.choice("tuvw")

    def _table(self, catalog: SessionCatalog) -> Table:
        return table(catalog, self._chance.choice([t.name for t in catalog.current().tables() if t.schema == "public"]))

    def _create(self, catalog: SessionCatalog) -> None:
        created(catalog, self._name())

    def _drop(self, catalog: SessionCatalog) -> None:
        catalog.objects.remove(self._table(catalog))

    def _rename(self, catalog: SessionCatalog) -> None:
        before = self._table(catalog)
        name = self._name()
        if catalog.current().resolve("public", name, ()) is None:
            catalog.objects.remove(before)
            catalog.objects.put(replace(before, name=name))

    def _move(self, catalog: SessionCatalog) -> None:
        before = self._table(catalog)
        made = catalog.tables.rewrite_table(before, before)
        catalog.tables.change_data(made, staged(made, [self._chance.randrange(100)]), (), appends_only=True)

    def _insert(self, catalog: SessionCatalog) -> None:
        insert(catalog, self._chance.randrange(100), name=self._table(catalog).name)

    def _delete(self, catalog: SessionCatalog) -> None:
        at = self._table(catalog)
        delete(catalog, self._chance.choice(catalog.tables.files(at)), name=at.name)

    def _analyse(self, catalog: SessionCatalog) -> None:
        catalog.tables.keep_statistics(self._table(catalog), TableStatistics(self._chance.randrange(1000), 1))

    def _role(self, catalog: SessionCatalog) -> None:
        name = f"role_{self._chance.randrange(3)}"
        known = catalog.current().roles.find_role(name)
        if known is None:
            catalog.objects.put_role(Role(catalog.objects.new_oid(), name))
        else:
            catalog.objects.remove_role(known)

    def _grant(self, catalog: SessionCatalog) -> None:
        of = self._table(catalog)
        before = catalog.current().rights.objects.get(of.oid)
        after = ObjectRights(acl=(Item(0, 10, self._chance.randrange(1, 4)),))
        catalog.objects.put_rights([RightsChange(of.oid, of.name, after, before)])

    def _default(self, catalog: SessionCatalog) -> None:
        said = self._chance.choice([None, (Item(0, 10, self._chance.randrange(1, 4)),)])
        catalog.objects.put_defaults(DefaultKey(10, 0, "r"), said)

    def _type(self, catalog: SessionCatalog) -> None:
        known = catalog.current().types.get(("public", "mood"))
        if known is None:
            label = Label(catalog.objects.new_oid(), 1, "fine")
            catalog.objects.put_type(
                EnumType(catalog.objects.new_oid(), catalog.objects.new_oid(), "public", "mood", (label,))
            )
        else:
            catalog.objects.remove_type(known)

    def _schema(self, catalog: SessionCatalog) -> None:
        if "more" in catalog.current().schemas:
            catalog.objects.remove_schema("more")
        else:
            catalog.objects.put_schema(
                Schema(catalog.objects.new_oid(), "more", self._chance.choice([None, "a comment"]))
            )

    def _view(self, catalog: SessionCatalog) -> None:
        of = self._table(catalog)
        catalog.objects.put(
            View(catalog.objects.new_oid(), "public", "seen", of.columns, f"select * from {of.name}", depends=(of.oid,))
        )


@pytest.mark.parametrize("seed", [0, 1, *long_seeds(range(2, 6))])
def test_what_was_touched_makes_the_state_that_all_rows_make(
    location: Path | str, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    if seed % 2:
        # Notes are removed after a few stamps, so that who looks seldom has to read everything.
        monkeypatch.setattr(difference, "_STAMPS_KEPT", 6)
        monkeypatch.setattr(difference, "_STAMPS_OF_A_ROUND", 2)
    tables = tmp_path / "tables"
    with closing(CatalogStore(location, tables)) as one, closing(CatalogStore(location, tables)) as two:
        changes = Changes([one, two], chance)
        with closing(open_database(location, tables)) as often, closing(open_database(location, tables)) as seldom:
            for step in range(60):
                changes.make()
                whole = read_whole(location, tables)
                require_same(often.load(), whole)
                if step % 10 == 9:
                    require_same(seldom.load(), whole)
            for store in (one, two):
                store.refresh()
                assert store.snapshot.version == whole.version
                assert values_of(store) == values_of(one)


def read_whole(location: Path | str, tables: Path) -> Snapshot:
    with closing(open_database(location, tables)) as fresh:
        return fresh.load()


def values_of(store: CatalogStore) -> dict[str, list[int]]:
    catalog = SessionCatalog(store)
    return {t.name: sorted(values(catalog, t.name)) for t in store.snapshot.tables() if t.schema == "public"}


@pytest.fixture
def counted(
    location: Path | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[CatalogDatabase, list[int]]]:
    """A database, and the stamps at which it has read all rows."""
    read: list[int] = []
    advance = difference.Difference.advance

    def counting(
        self: difference.Difference, known: Snapshot, ask: difference.Reader, whole: Callable[[int], Snapshot]
    ) -> Snapshot:
        def noted(stamp: int) -> Snapshot:
            read.append(stamp)
            return whole(stamp)

        return advance(self, known, ask, noted)

    with closing(open_database(location, tmp_path / "tables")) as database:
        database.load()
        monkeypatch.setattr(difference.Difference, "advance", counting)
        yield database, read


def test_a_commit_of_another_member_is_read_without_all_other_rows(
    location: Path | str, tmp_path: Path, counted: tuple[CatalogDatabase, list[int]]
) -> None:
    database, read = counted
    with closing(CatalogStore(location, tmp_path / "tables")) as other:
        read.clear()
        catalog = SessionCatalog(other)
        created(catalog, "t")
        insert(catalog, 1)
        database.load()
        other.publish()
        insert(catalog, 2)
        found = database.load()
    assert not read
    stored = found.relations["public", "t"]
    assert isinstance(stored, Table)
    assert stored.storage is not None
    assert (stored.storage.version, len(stored.storage.added)) == (1, 1), "published meanwhile"


def test_commits_that_leave_no_notes_are_seen(tmp_path: Path) -> None:
    """A member of an earlier release shares the catalog while members are replaced one by one."""
    location, tables = tmp_path / "catalog.sqlite", tmp_path / "tables"
    with closing(CatalogStore(location, tables)) as one, closing(CatalogStore(location, tables)) as two:
        created(SessionCatalog(one), "t")
        two.refresh()
        with closing(sqlite3.connect(location, isolation_level=None)) as earlier:
            earlier.execute("begin immediate")
            earlier.execute("update relations set name = 'renamed' where name = 't'")
            earlier.execute("update meta set value = value + 1 where key = 'version'")
            earlier.execute("commit")
        two.refresh()
        assert ("public", "renamed") in two.snapshot.relations
        assert ("public", "t") not in two.snapshot.relations
        created(SessionCatalog(two), "u")
        one.refresh()
        assert {name for _, name in one.snapshot.relations} == {"renamed", "u"}


def test_a_catalog_of_an_earlier_format_gets_notes(tmp_path: Path) -> None:
    location, tables = tmp_path / "catalog.sqlite", tmp_path / "tables"
    with closing(CatalogStore(location, tables)) as store:
        created(SessionCatalog(store), "t")
    with closing(sqlite3.connect(location, isolation_level=None)) as earlier:
        earlier.execute("drop table touched")
        earlier.execute("delete from meta where key in ('stamp', 'floor', 'noted')")
        earlier.execute("update meta set value = 5 where key = 'format'")
    with closing(CatalogStore(location, tables)) as one, closing(CatalogStore(location, tables)) as two:
        created(SessionCatalog(one), "u")
        two.refresh()
        assert two.snapshot.relations.keys() == {("public", "t"), ("public", "u")}


def test_privileges_of_what_a_topology_declares_outlive_what_is_dropped(tmp_path: Path) -> None:
    """No row of the catalog has a declared table, and a member that reads what others have written meanwhile has none either."""
    location, tables = tmp_path / "catalog.sqlite", tmp_path / "tables"
    with closing(CatalogStore(location, tables)) as one, closing(CatalogStore(location, tables)) as two:
        declared = Table(DECLARED_OIDS + 1, "public", "declared", (), "parquet", "declared", ())
        one.declare([declared])
        catalog = SessionCatalog(one)
        catalog.objects.put_rights([RightsChange(declared.oid, "declared", ObjectRights(acl=(Item(0, 10, 2),)), None)])
        dropped = created(catalog, "t")
        two.refresh()
        created(SessionCatalog(two), "u")
        catalog.objects.remove(dropped)
        assert declared.oid in one.snapshot.rights.objects
