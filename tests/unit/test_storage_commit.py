"""Tables that change, through the catalog: what a session sees, what a commit makes visible, where two commits meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.catalog.files import refresh
from engine.catalog.objects import DataFile, Table, TableColumn
from engine.catalog.store import CatalogStore
from engine.catalog.transaction import SessionCatalog
from engine.sql import types as st
from engine.storage.staging import TableWriter
from wire import types as t

COLUMNS = (TableColumn("a", st.of(t.INT4), 1), TableColumn("b", st.of(t.TEXT), 2))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CatalogStore]:
    store = CatalogStore(tmp_path / "catalog.sqlite")
    yield store
    store.close()


def created(catalog: SessionCatalog, name: str, schema: str = "public") -> Table:
    return catalog.create_table(Table(catalog.new_oid(), schema, name, COLUMNS, "parquet", "", ()))


def table(catalog: SessionCatalog, name: str = "t") -> Table:
    found = catalog.current().resolve(None, name, ("public",))
    assert isinstance(found, Table)
    return refresh(found)


def staged(of: Table, values: Sequence[int]) -> tuple[DataFile, ...]:
    assert of.storage is not None
    writer = TableWriter(Path(of.path), of.columns, of.storage)
    arrays = [pa.array(values, pa.int32()), pa.array([str(value) for value in values])]
    writer.write(pa.RecordBatch.from_arrays(arrays, names=["a", "b"]))
    return writer.finish()


def insert(catalog: SessionCatalog, *values: int, name: str = "t", whole: bool = False) -> tuple[DataFile, ...]:
    into = table(catalog, name)
    files = staged(into, values)
    catalog.change_data(into, files, (), appends_only=not whole, whole=whole)
    return files


def delete(catalog: SessionCatalog, *files: DataFile, name: str = "t") -> None:
    catalog.change_data(table(catalog, name), (), [file.path for file in files], appends_only=False)


def values(catalog: SessionCatalog, name: str = "t") -> list[int]:
    return rows_of(table(catalog, name))


def rows_of(of: Table) -> list[int]:
    return [row for file in of.files for row in pq.read_table(file, partitioning=None)["a"].to_pylist()]


def test_rows_are_seen_by_their_session_at_once_and_by_others_at_the_commit(store: CatalogStore) -> None:
    mine, other = SessionCatalog(store), SessionCatalog(store)
    created(mine, "t")
    assert values(mine) == []
    mine.begin()
    first = insert(mine, 1, 2)
    insert(mine, 3)
    assert values(mine) == [1, 2, 3]
    assert values(other) == []
    delete(mine, *first)
    assert values(mine) == [3]
    mine.commit()
    assert values(mine) == values(other) == [3]
    assert values(SessionCatalog(store)) == [3]
