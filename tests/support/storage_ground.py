"""Stored tables of two columns, written and read through a session's catalog, for tests of commits and crashes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from engine.catalog.model.objects import DataFile, Table, TableColumn
from engine.catalog.store.transaction import SessionCatalog
from engine.common import sql_type as st
from engine.lakes.foreign_files import refresh
from engine.storage.staging import TableWriter
from wire.types import pg_types as t

COLUMNS = (TableColumn("a", st.of(t.INT4), 1), TableColumn("b", st.of(t.TEXT), 2))


def created(catalog: SessionCatalog, name: str, schema: str = "public") -> Table:
    return catalog.tables.create_table(Table(catalog.objects.new_oid(), schema, name, COLUMNS, "parquet", "", ()))


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
    catalog.tables.change_data(into, files, (), appends_only=not whole, whole=whole)
    return files


def delete(catalog: SessionCatalog, *files: DataFile, name: str = "t") -> None:
    catalog.tables.change_data(table(catalog, name), (), [file.path for file in files], appends_only=False)


def values(catalog: SessionCatalog, name: str = "t") -> list[int]:
    return rows_of(table(catalog, name))


def rows_of(of: Table) -> list[int]:
    return [row for file in of.files for row in pq.read_table(file, partitioning=None)["a"].to_pylist()]


def on_disk(of: Table) -> set[str]:
    return {str(path) for path in Path(of.path).rglob("*.parquet") if "_delta_log" not in path.parts}
