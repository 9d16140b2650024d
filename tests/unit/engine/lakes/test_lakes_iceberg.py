"""Iceberg tables of other systems: named by a metadata file, by a folder with a version hint, or by a catalog; and what
is refused explicitly.
"""

from __future__ import annotations

import datetime as dt
import gc
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.table import Table as IcebergTable
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType
from support.local_member import LocalMember, local_member

from engine.lakes.iceberg import Catalog
from server.config.config import load
from server.config.errors import ConfigurationError

Connection = psycopg.Connection[tuple[Any, ...]]
INSTANT = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlCatalog]:
    folder = tmp_path_factory.mktemp("warehouse")
    catalog = SqlCatalog("house", uri=f"sqlite:///{folder}/catalog.sqlite", warehouse=f"file://{folder}")
    catalog.create_namespace("sales")
    yield catalog
    catalog.close()


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory, warehouse: SqlCatalog) -> Iterator[LocalMember]:
    known = Catalog("house", {"type": "sql", **{k: warehouse.properties[k] for k in ("uri", "warehouse")}})
    lost = Catalog("lost", {"type": "sql", "uri": "sqlite:////nowhere/secret.sqlite", "warehouse": "file:///nowhere"})
    with local_member(tmp_path_factory.mktemp("member"), catalogs=(known, lost)) as running:
        yield running


@pytest.fixture
def connection(member: LocalMember) -> Iterator[Connection]:
    with member.connect() as client:
        yield client


@pytest.fixture
def table(warehouse: SqlCatalog, request: pytest.FixtureRequest) -> IcebergTable:
    """Two rows."""
    rows = pa.table({"id": [1, 2], "s": ["a b", None], "at": pa.array([INSTANT] * 2, pa.timestamp("us", "UTC"))})
    made = warehouse.create_table(f"sales.{request.node.name}", schema=rows.schema)
    with made.update_spec() as spec:
        spec.add_identity("s")
    made.append(rows)
    return made


def folder_of(table: IcebergTable) -> Path:
    return Path(table.location().removeprefix("file://"))


def attach(connection: Connection, columns: str = "", **options: str) -> None:
    connection.execute("drop foreign table if exists t")
    told = ", ".join(f"{name} '{value}'" for name, value in options.items())
    connection.execute(f"create foreign table t {columns} options ({told})")


def rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def refused(connection: Connection, table: IcebergTable, match: str) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported, match=match):
        attach(connection, path=table.metadata_location.removeprefix("file://"))


def name_of(table: IcebergTable) -> str:
    return ".".join(table.name())


def test_a_catalogs_table(connection: Connection, table: IcebergTable) -> None:
    attach(connection, catalog="house", table=name_of(table))
    assert rows(connection, "select * from t order by id") == [(1, "a b", INSTANT), (2, None, INSTANT)]
    assert rows(connection, "select id from t where s = 'a b' and at = '2024-02-29 12:00Z'") == [(1,)]
    table.append(pa.table({"id": [3], "s": ["c"], "at": pa.array([None], pa.timestamp("us", "UTC"))}))
    assert rows(connection, "select count(*) from t a join t b on a.id = b.id") == [(3,)]
    table.delete("id = 1")
    assert rows(connection, "select id from t order by id") == [(2,), (3,)]


def test_structs_and_maps(connection: Connection, warehouse: SqlCatalog) -> None:
    maps = pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64()))
    inside = pa.array(
        [{"b": [1.5], "a": INSTANT}, None], pa.struct([("b", pa.list_(pa.float64())), ("a", pa.timestamp("us", "UTC"))])
    )
    data = pa.table({"id": [1, 2], "s": inside, "m": maps, "tm": pa.array([dt.time(1), None], pa.time64("us"))})
    made = warehouse.create_table("sales.nested", schema=data.schema)
    made.append(data)
    told: list[str] = []
    connection.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
    attach(connection, catalog="house", table="sales.nested")
    assert told[-1].startswith('column "tm" of "t" is left out')
    connection.execute("set TimeZone = 'UTC'")
    assert rows(connection, "select id, s::text, m from t order by id") == [
        (1, '{"a": "2024-02-29T12:00:00+00:00", "b": [1.5]}', {"k": 1}),
        (2, None, None),
    ]


def test_snapshots(connection: Connection, table: IcebergTable) -> None:
    first = table.current_snapshot()
    assert first is not None
    table.overwrite(pa.table({"id": [9], "s": ["x"], "at": pa.array([INSTANT], pa.timestamp("us", "UTC"))}))
    attach(connection, catalog="house", table=name_of(table))
    assert rows(connection, "select id from t") == [(9,)]
    assert rows(connection, f"select id from t for version as of {first.snapshot_id} order by id") == [(1,), (2,)]
    moment = dt.datetime.fromtimestamp(first.timestamp_ms / 1000, dt.UTC).isoformat()
    assert rows(connection, f"select count(*) from t for timestamp as of '{moment}'") == [(2,)]
    for past in ("version as of 7", "timestamp as of '2000-01-01'"):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="has no snapshot"):
            rows(connection, f"select * from t for {past}")


def test_a_file_of_metadata_is_one_version(connection: Connection, table: IcebergTable) -> None:
    attach(connection, path=table.metadata_location.removeprefix("file://"))
    table.delete("id = 1")
    assert rows(connection, "select count(*) from t") == [(2,)]


def test_a_folder_needs_a_hint(connection: Connection, table: IcebergTable) -> None:
    folder = folder_of(table)
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="is not known"):
        attach(connection, path=str(folder), format="iceberg")
    for number in (1, 2):
        if number == 2:
            table.delete("id = 1")
        shutil.copy(table.metadata_location.removeprefix("file://"), folder / "metadata" / f"v{number}.metadata.json")
        (folder / "metadata" / "version-hint.text").write_text(f"{number}\n")
        if number == 1:
            attach(connection, path=str(folder))
            assert rows(connection, "select count(*) from t") == [(2,)]
    assert rows(connection, "select count(*) from t") == [(1,)]


def test_a_column_that_came_later(connection: Connection, table: IcebergTable) -> None:
    with table.update_schema() as change:
        change.add_column("extra", DoubleType())
    attach(connection, "(extra float8, id bigint)", catalog="house", table=name_of(table))
    assert rows(connection, "select id, extra from t order by id") == [(1, None), (2, None)]
    table.append(
        pa.table({"id": [3], "s": ["c"], "at": pa.array([INSTANT], pa.timestamp("us", "UTC")), "extra": [1.5]})
    )
    assert rows(connection, "select id, extra from t where extra is not null or id = 1 order by id") == [
        (1, None),
        (3, 1.5),
    ]


def test_a_table_without_rows(connection: Connection, warehouse: SqlCatalog) -> None:
    warehouse.create_table("sales.empty", schema=pa.schema([("id", pa.int64())]))
    attach(connection, catalog="house", table="sales.empty")
    assert rows(connection, "select count(*), max(id) from t") == [(0, None)]


def test_columns_whose_names_changed(connection: Connection, table: IcebergTable) -> None:
    with table.update_schema() as change:
        change.rename_column("id", "key")
    refused(connection, table, 'column "key", which was renamed')


def test_a_name_that_came_again(connection: Connection, table: IcebergTable) -> None:
    with table.update_schema() as change:
        change.delete_column("id")
    with table.update_schema() as change:
        change.add_column("id", LongType())
    refused(connection, table, 'column "id", whose name another one had before')


def test_files_that_were_imported_by_name(connection: Connection, table: IcebergTable) -> None:
    file = folder_of(table) / "mine.parquet"
    pq.write_table(pa.table({"id": [7], "s": ["z"], "at": pa.array([INSTANT], pa.timestamp("us", "UTC"))}), file)
    table.add_files([f"file://{file}"])
    refused(connection, table, "a name mapping")


class _DeletesWriter(ManifestWriterV2):
    """pyiceberg reads delete files and writes none."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


@pytest.mark.parametrize("content", [DataFileContent.POSITION_DELETES, DataFileContent.EQUALITY_DELETES])
def test_delete_files(connection: Connection, warehouse: SqlCatalog, content: DataFileContent) -> None:
    data = pa.table({"id": [1, 2, 3]})
    made = warehouse.create_table(f"sales.deletes_{content.name.lower()}", schema=data.schema)
    made.append(data)
    snapshot = made.current_snapshot()
    assert snapshot is not None
    number = snapshot.snapshot_id
    file = folder_of(made) / "deletes.parquet"
    pq.write_table(pa.table({"id": [2]}), file)
    deletes = DataFile.from_args(
        content=content, file_path=f"file://{file}", file_format=FileFormat.PARQUET, partition=Record(), record_count=1,
        file_size_in_bytes=file.stat().st_size, equality_ids=[1] if content is DataFileContent.EQUALITY_DELETES else None,
    )  # fmt: skip
    output = made.io.new_output(f"{made.location()}/metadata/deletes.avro")
    with _DeletesWriter(made.spec(), made.schema(), output, number, "deflate") as writer:
        writer.add_entry(
            ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=number, data_file=deletes)
        )
    manifests = [*snapshot.manifests(made.io), writer.to_manifest_file()]
    listed = made.io.new_output(f"{made.location()}/metadata/list.avro")
    with write_manifest_list(2, listed, number, None, snapshot.sequence_number, "deflate") as writing:
        writing.add_manifests(manifests)
    metadata = json.loads(Path(made.metadata_location.removeprefix("file://")).read_text())
    metadata["snapshots"][-1]["manifest-list"] = listed.location
    changed = folder_of(made) / "metadata" / "changed.metadata.json"
    changed.write_text(json.dumps(metadata))
    with pytest.raises(
        psycopg.errors.FeatureNotSupported, match=r"(delete files|equality deletes).* in the Iceberg table"
    ):
        attach(connection, path=str(changed))


def test_files_outside_of_the_folder(connection: Connection, table: IcebergTable, tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    copied = tmp_path / "metadata" / "v1.metadata.json"
    shutil.copy(table.metadata_location.removeprefix("file://"), copied)
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="files outside of its folder"):
        attach(connection, path=str(copied))


def test_what_is_not_there_or_not_metadata(connection: Connection, tmp_path: Path) -> None:
    for options in ({"path": str(tmp_path / "x.metadata.json")}, {"catalog": "house", "table": "sales.nothing"}):
        with pytest.raises(psycopg.errors.UndefinedFile, match="there is none"):
            attach(connection, **options)
    with pytest.raises(psycopg.errors.UndefinedObject, match='catalog "none" is not configured'):
        attach(connection, catalog="none", table="a.b")
    (tmp_path / "x.metadata.json").write_text(json.dumps({"format-version": 2}))
    with pytest.raises(psycopg.errors.DataCorrupted):
        attach(connection, path=str(tmp_path / "x.metadata.json"))
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match='could not ask catalog "lost"') as raised:
        attach(connection, catalog="lost", table="a.b")
    assert "secret" not in str(raised.value)


def test_configuration(tmp_path: Path) -> None:
    file = tmp_path / "member.toml"
    section = '[catalogs.house]\ntype = "sql"\nuri = "postgresql://me:xyzzy@db/x"\nproperties = { token = "xyzzy" }\n'
    file.write_text(section)
    config = load(file, environment={})
    assert "xyzzy" not in repr(config)
    (made,) = config.engine().catalogs
    assert made.properties == {"type": "sql", "uri": "postgresql://me:xyzzy@db/x", "token": "xyzzy"}
    assert "xyzzy" not in repr(made)
    for wrong in ('type = "none"', 'type = "sql"\nuri = ["xyzzy"]', 'type = "sql"\nproperties = { token = ["xyzzy"] }'):
        file.write_text(f"[catalogs.house]\n{wrong}\n")
        with pytest.raises(ConfigurationError, match=r"catalogs\.house") as raised:
            load(file, environment={})
        assert "xyzzy" not in str(raised.value)


def test_a_catalog_is_closed_when_it_has_been_asked(connection: Connection, table: IcebergTable) -> None:
    """Its database's connections would be there until somebody collects the garbage."""
    attach(connection, path=f"iceberg://house/{'.'.join(table.name())}")
    gc.collect()
    gc.disable()
    try:
        before = _open_catalogs()
        for _ in range(3):
            assert rows(connection, "select count(*) from t") == [(2,)]
        assert _open_catalogs() <= before
    finally:
        gc.enable()


def _open_catalogs() -> int:
    return sum("catalog.sqlite" in file.path for file in psutil.Process().open_files())
