"""The catalog: snapshots as values, transactions over them, the store that outlives a member, files and type inference."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.catalog.model.objects import Schema, Table, TableColumn, View
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.common import sql_type as st
from engine.lakes.foreign_files import DataRoots, list_files, refresh
from engine.lakes.infer import infer_columns
from wire.errors import DuplicateTable, InsufficientPrivilege, SerializationFailure, UndefinedFile
from wire.types import pg_types as t

COLUMNS = (TableColumn("a", st.of(t.INT4), 1), TableColumn("b", st.of(t.NUMERIC, t.numeric_typmod(15, 2)), 2, False))


def table(oid: int, name: str, schema: str = "public") -> Table:
    return Table(oid, schema, name, COLUMNS, "parquet", f"/data/{name}", (), options={"header": "true"})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CatalogStore]:
    store = CatalogStore(tmp_path / "catalog.sqlite")
    yield store
    store.close()


def test_objects_and_oids_survive_a_restart(tmp_path: Path) -> None:
    store = CatalogStore(tmp_path / "c.sqlite")
    catalog = SessionCatalog(store)
    oid = catalog.objects.new_oid()
    catalog.objects.put(table(oid, "t"))
    catalog.objects.put(View(catalog.objects.new_oid(), "public", "v", COLUMNS, "select * from t", ("a", "b"), (oid,)))
    catalog.objects.put_schema(Schema(catalog.objects.new_oid(), "s"))
    before = store.snapshot
    store.close()
    again = CatalogStore(tmp_path / "c.sqlite")
    assert again.snapshot == before
    assert again.next_oid() == oid + 3
    again.close()


def test_changes_are_seen_by_others_at_commit_and_not_before(store: CatalogStore) -> None:
    mine, other = SessionCatalog(store), SessionCatalog(store)
    mine.begin()
    mine.objects.put(table(1, "t"))
    assert mine.current().resolve(None, "t", ("public",)) is not None
    assert other.current().resolve(None, "t", ("public",)) is None
    mine.commit()
    assert other.current().resolve(None, "t", ("public",)) is not None


def test_rollback_and_savepoints_undo(store: CatalogStore) -> None:
    catalog = SessionCatalog(store)
    catalog.begin()
    catalog.objects.put(table(1, "kept"))
    token = catalog.savepoint()
    catalog.objects.put(table(2, "undone"))
    catalog.objects.put(table(3, "temporary", "pg_temp"))
    catalog.rollback_to(token)
    catalog.commit()
    assert set(store.snapshot.relations) == {("public", "kept")}
    assert catalog.current().resolve(None, "temporary", ("public",)) is None
    catalog.begin()
    catalog.objects.remove(store.snapshot.relations["public", "kept"])
    catalog.rollback()
    assert catalog.current().resolve(None, "kept", ("public",)) is not None


def test_two_transactions_that_create_the_same_name_meet_at_commit(store: CatalogStore) -> None:
    first, second = SessionCatalog(store), SessionCatalog(store)
    first.begin()
    second.begin()
    first.objects.put(table(1, "t"))
    second.objects.put(table(2, "t"))
    first.commit()
    with pytest.raises(SerializationFailure):
        second.commit()
    second.begin()
    with pytest.raises(DuplicateTable):
        second.objects.put(table(3, "t"))
    second.rollback()


def test_temporary_relations_hide_lasting_ones_and_stay_with_their_session(store: CatalogStore) -> None:
    mine, other = SessionCatalog(store), SessionCatalog(store)
    mine.objects.put(table(1, "t"))
    mine.objects.put(table(2, "t", "pg_temp"))
    found = [
        catalog.current().resolve(schema, "t", ("public",))
        for catalog, schema in ((mine, None), (mine, "public"), (other, None))
    ]
    assert [relation.oid for relation in found if relation is not None] == [2, 1, 1]


def test_a_path_is_a_file_a_folder_or_a_glob(tmp_path: Path) -> None:
    for name in ("a.parquet", "deep/b.parquet", "_hidden.parquet", "c.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"x": [1]}), tmp_path / name)
    whole, version = list_files(str(tmp_path), "parquet")
    assert [Path(f).name for f in whole] == ["a.parquet", "b.parquet"]
    assert list_files(str(tmp_path / "*.parquet"), "parquet")[0] == (
        str(tmp_path / "_hidden.parquet"), str(tmp_path / "a.parquet"),
    )  # fmt: skip
    assert list_files(str(tmp_path / "a.parquet"), "parquet")[0] == (str(tmp_path / "a.parquet"),)
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "a.parquet")
    assert list_files(str(tmp_path), "parquet")[1] != version
    with pytest.raises(UndefinedFile, match=r"nowhere\.parquet"):
        list_files(str(tmp_path / "nowhere.parquet"), "parquet")


def test_refresh_makes_another_table_only_when_files_changed(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    old = refresh(Table(1, "public", "t", COLUMNS, "parquet", str(tmp_path), ()))
    assert refresh(old) is old
    pq.write_table(pa.table({"x": [1]}), tmp_path / "b.parquet")
    assert len(refresh(old).files) == 2


def test_roots_confine_paths(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    roots = DataRoots(tmp_path / "in", (tmp_path / "in",))
    assert roots.absolute("x.parquet") == str(tmp_path / "in" / "x.parquet")
    for path in ("../out/x", str(tmp_path / "out"), "link/x.parquet", "../*/x.parquet"):
        with pytest.raises(InsufficientPrivilege):
            roots.absolute(path)
    assert DataRoots(tmp_path).absolute("/elsewhere") == "/elsewhere"


def test_columns_are_inferred_from_each_format(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "i": pa.array([1], pa.int32()),
            "n": pa.array([1], pa.decimal128(15, 2)),
            "s": ["x"],
            "z": pa.array([0], pa.timestamp("us", "UTC")),
            "l": pa.array([[1]], pa.list_(pa.int64())),
        }
    )
    pq.write_table(rows, tmp_path / "t.parquet")
    found = infer_columns((str(tmp_path / "t.parquet"),), "parquet", {})
    assert [str(c.type) for c in found] == ["integer", "numeric(15,2)", "text", "timestamp with time zone", "bigint[]"]
    (tmp_path / "t.csv").write_text("a;b\n1;2020-01-01\n")
    found = infer_columns((str(tmp_path / "t.csv"),), "csv", {"header": "true", "delimiter": ";"})
    assert [(c.name, str(c.type)) for c in found] == [("a", "bigint"), ("b", "date")]
    (tmp_path / "t.json").write_text('{"a": 1.5, "b": "x"}\n')
    found = infer_columns((str(tmp_path / "t.json"),), "json", {})
    assert [(c.name, str(c.type)) for c in found] == [("a", "double precision"), ("b", "text")]
    pq.write_table(pa.table({"m": [{"a": 1}]}), tmp_path / "m.parquet")
    [column] = infer_columns((str(tmp_path / "m.parquet"),), "parquet", {})
    assert (str(column.type), column.nested is not None) == ("jsonb", True)


def test_a_catalog_of_the_first_format_is_brought_up(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as old:
        old.executescript(
            """
            create table meta (key text primary key, value integer not null) strict;
            create table schemas (name text primary key, oid integer not null) strict;
            create table relations (
                schema text not null, name text not null, oid integer not null, kind text not null, body text not null,
                primary key (schema, name)
            ) strict;
            insert into meta values ('format', 1), ('version', 7), ('next_oid', 16390);
            insert into schemas values ('public', 2200), ('s', 16384);
            """
        )
        column = '{"name":"a","type":23,"typmod":-1,"number":1,"nullable":true}'
        table_body = f'{{"columns":[{column}],"format":"csv","path":"/f.csv","options":{{"header":"true"}}}}'
        view_body = (
            f'{{"columns":[{column}],"definition":"select a from t","search_path":["public"],"depends":[16385]}}'
        )
        old.execute("insert into relations values ('public', 't', 16385, 'table', ?)", (table_body,))
        old.execute("insert into relations values ('s', 'v', 16386, 'view', ?)", (view_body,))
        old.commit()
    store = CatalogStore(path)
    found, view = store.snapshot.relations["public", "t"], store.snapshot.relations["s", "v"]
    assert isinstance(found, Table)
    assert (found.columns[0].default, found.storage, found.options) == (None, None, {"header": "true"})
    assert isinstance(view, View)
    assert view.reads_column(16385, 1)
    SessionCatalog(store).objects.put_schema(Schema(16384, "s", "a comment"), replacing=True)
    store.close()
    again = CatalogStore(path)
    assert again.snapshot.schemas["s"].comment == "a comment"
    assert again.next_oid() == 16390
    again.close()
