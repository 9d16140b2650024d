"""Delta tables of other systems: columns, versions, partitions, columns that were added later; and what is refused
explicitly.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from support.delta_logs import ID, by_hand, features, vector_in_file, vector_of
from support.distributed_ground import Layout, same
from support.local_member import LocalMember, local_member

from engine.catalog.model import partitions
from engine.catalog.model.objects import Table
from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.lakes import delta
from engine.lakes.foreign_files import DataRoots
from engine.planner.codegen import Bindings
from engine.planner.distribute import distribute
from engine.planner.distribute.dispatch import specs
from engine.runtime.readable_files import ReadableFiles

Connection = psycopg.Connection[tuple[Any, ...]]
INSTANT = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("member")) as running:
        yield running


@pytest.fixture
def connection(member: LocalMember) -> Iterator[Connection]:
    with member.connect() as client:
        yield client


def attach(connection: Connection, path: Path, columns: str = "", **options: str) -> None:
    connection.execute("drop foreign table if exists t")
    told = ", ".join(f"{name} '{value}'" for name, value in {"path": str(path), **options}.items())
    connection.execute(f"create foreign table t {columns} options ({told})")


def rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def refused(connection: Connection, path: Path, error: type[psycopg.Error], match: str, columns: str = "") -> None:
    with pytest.raises(error, match=match):
        attach(connection, path, columns, format="delta")


def test_what_a_log_says_and_nothing_else(connection: Connection, tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"id": [1, 2, 3], "s": ["a", "b", None]}))
    DeltaTable(tmp_path).delete("id = 2")
    for options in ({}, {"format": "delta"}):
        attach(connection, tmp_path, **options)
        assert rows(connection, "select * from t order by id") == [(1, "a"), (3, None)]
    attach(connection, tmp_path, format="parquet")
    assert rows(connection, "select count(*) from t") == [(5,)]


def test_each_statement_sees_the_newest_version(connection: Connection, tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"id": [0]}))
    attach(connection, tmp_path)
    for number in range(1, 6):
        write_deltalake(tmp_path, pa.table({"id": [number]}), mode="append")
        assert rows(connection, "select count(*), max(id) from t") == [(number + 1, number)]
        assert rows(connection, "select count(*) from t a join t b on a.id = b.id") == [(number + 1,)]


def test_earlier_versions(connection: Connection, tmp_path: Path) -> None:
    for number in range(3):
        write_deltalake(tmp_path, pa.table({"id": [number]}), mode="overwrite")
    attach(connection, tmp_path)
    for number in range(3):
        assert rows(connection, f"select id from t for version as of {number}") == [(number,)]
    assert rows(connection, "select a.id, b.id from t for version as of 0 a, t b") == [(0, 2)]
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="has no version 3"):
        rows(connection, "select * from t for version as of 3")
    times = [entry["timestamp"] for entry in reversed(DeltaTable(tmp_path).history())]
    moment = dt.datetime.fromtimestamp(times[1] / 1000, dt.UTC).isoformat()
    expected = max(number for number, made in enumerate(times) if made <= times[1])
    assert rows(connection, f"select id from t for timestamp as of '{moment}'") == [(expected,)]
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="no version of that time"):
        rows(connection, "select * from t for timestamp as of '2000-01-01'")
    for file in tmp_path.glob("*.parquet"):
        if str(file) not in DeltaTable(tmp_path).file_uris():
            file.unlink()
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="not there any more"):
        rows(connection, "select * from t for version as of 1")


def test_partitions(connection: Connection, tmp_path: Path) -> None:
    regions = ["EU", "a b/c%ü", None, "", "__x", "1+1"]
    days = [dt.date(2024, 1, 1 + i % 2) for i in range(6)]
    data = pa.table({"id": list(range(6)), "region": regions, "day": days, "ok": [True, None] * 3})
    write_deltalake(tmp_path, data, partition_by=["region", "day", "ok"])
    attach(connection, tmp_path)
    told = [region or None for region in regions]  # Delta has no empty text among its partitions
    assert rows(connection, "select id, region, day, ok from t order by id") == list(
        zip(range(6), told, days, [True, None] * 3, strict=True)
    )
    assert rows(connection, "select id from t where region = 'a b/c%ü' and day = '2024-01-02'") == [(1,)]
    assert rows(connection, "select id from t where region is null order by id") == [(2,), (3,)]
    assert rows(connection, "select id from t where region >= 'a' and ok is null") == [(1,)]


def test_a_column_that_came_later(connection: Connection, tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"id": [1], "p": ["x"]}), partition_by=["p"])
    later = pa.table({"extra": [[1.5]], "id": [2], "p": ["y"], "moment": [INSTANT]})
    write_deltalake(tmp_path, later, mode="append", schema_mode="merge")
    attach(connection, tmp_path)
    assert rows(connection, "select id, p, extra, moment from t order by id") == [
        (1, "x", None, None),
        (2, "y", [1.5], INSTANT),
    ]
    assert rows(connection, "select extra, moment from t where p = 'x'") == [(None, None)]
    assert rows(connection, "select count(*), count(extra) from t where extra is null") == [(1, 0)]


def test_columns_that_went_or_changed_are_told(connection: Connection, tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"id": [1], "v": ["x"]}))
    attach(connection, tmp_path)
    write_deltalake(tmp_path, pa.table({"id": [1], "v": [2.5]}), mode="overwrite", schema_mode="overwrite")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match='"v" is of type double precision'):
        rows(connection, "select * from t")
    attach(connection, tmp_path)
    assert rows(connection, "select * from t") == [(1, 2.5)]
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match='"v" is of type text'):
        rows(connection, "select * from t for version as of 0")
    write_deltalake(tmp_path, pa.table({"id": [1]}), mode="overwrite", schema_mode="overwrite")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match='no column "v" in version 2'):
        rows(connection, "select * from t")


def test_declared_columns(connection: Connection, tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"id": [1], "v": ["x"], "s": [{"a": 1}]}))
    refused(connection, tmp_path, psycopg.errors.ObjectNotInPrerequisiteState, "of type jsonb", "(s text)")
    attach(connection, tmp_path, "(v text, id bigint)", format="delta")
    assert rows(connection, "select * from t") == [("x", 1)]
    refused(connection, tmp_path, psycopg.errors.UndefinedColumn, '"w" does not exist', "(w text)")
    refused(connection, tmp_path, psycopg.errors.ObjectNotInPrerequisiteState, "of type bigint", "(id int)")


def test_instants_of_old(connection: Connection, tmp_path: Path) -> None:
    """Spark writes INT96, whose readers disagree about the zone: Delta's timestamps are instants."""
    write_deltalake(tmp_path, pa.table({"moment": [INSTANT]}))
    (file,) = tmp_path.glob("*.parquet")
    pq.write_table(pa.table({"moment": [INSTANT]}), file, use_deprecated_int96_timestamps=True)
    attach(connection, tmp_path)
    connection.execute("set TimeZone = 'America/New_York'")
    assert rows(connection, "select moment = '2024-02-29 12:00Z', moment::text from t") == [
        (True, "2024-02-29 07:00:00-05")
    ]
    write_deltalake(tmp_path, pa.table({"moment": [INSTANT]}), mode="append")
    connection.execute("set sluice.engine = local")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="instants in both of Parquet's ways"):
        rows(connection, "select * from t")


def test_nothing_there(connection: Connection, tmp_path: Path) -> None:
    refused(connection, tmp_path / "nowhere", psycopg.errors.UndefinedFile, "there is none")
    refused(connection, tmp_path, psycopg.errors.UndefinedFile, "there is none")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """Six files, the last two of which have a column more; not one of them is large."""
    for number in range(6):
        columns = {"id": list(range(number * 10, number * 10 + 10)), "p": [f"p {number % 2}"] * 10}
        if number > 3:
            columns["late"] = [f"v{number}"] * 10
        write_deltalake(tmp_path / "t", pa.table(columns), mode="append", schema_mode="merge", partition_by=["p"])
    state = delta.newest(str(tmp_path / "t"))
    found = state.table_columns("", lambda _column, _type: None)
    source = Table(
        20_001, "public", "t", found, "parquet", str(tmp_path / "t"), state.files, state.digest,
        partition_by=state.partition_by, lake="delta",
    )  # fmt: skip
    return Layout({"t": source})


@pytest.mark.parametrize(
    "text",
    [
        "select p, late, count(*), sum(id) from t group by 1, 2",
        "select id, late from t where p = 'p 1' and id > 5",
        "select late from t where late is null and id < 33",
    ],
)
def test_over_members(layout: Layout, tmp_path: Path, text: str) -> None:
    """An instance may read files none of which has a column."""
    engine = LocalDatabase(EngineConfig(tmp_path / "data"))
    try:
        assert len(same(layout, engine, text).fragments) > 1
    finally:
        engine.close()


def test_deletion_vectors_over_members(layout: Layout, tmp_path: Path) -> None:
    """Rows 0, 3 and 9 of the first file, of which one member reads a part."""
    source = layout.tables["t"]
    bits = bytes((0b1001_0000, 0b0100_0000))
    deleted = Layout({"t": replace(source, deleted=((source.files[0], bits),))})
    engine = LocalDatabase(EngineConfig(tmp_path / "data"))
    try:
        assert len(same(deleted, engine, "select p, count(*), sum(id) from t group by p").fragments) > 1
    finally:
        engine.close()


def test_what_another_members_spark_is_told(layout: Layout, tmp_path: Path) -> None:
    source = layout.tables["t"]
    pinned = dict(zip(source.files, "bbbccc", strict=True))
    plan = distribute(
        layout.plan("select p, count(late) from t group by p"), replace(layout.setting(), pinned=pinned, engine="spark")
    )
    _, members = specs(plan, Bindings(), "UTC", 4096)
    told = [instance for instance in members["b"].instances if instance.tables]
    (table,) = ReadableFiles("b", DataRoots(tmp_path)).of(told[0]).tables.values()
    assert table.files == source.files[:3]
    assert (table.lake, table.partition_by) == ("delta", ("p",))
    assert partitions.spark_base(table) == source.path


# -- logs that other writers write -----------------------------------------------------------------------------------


def test_deletion_vectors(connection: Connection, tmp_path: Path) -> None:
    """Within the log and in a file of their own, over one row group and several, in folders and in names with escapes."""
    (tmp_path / "p=x y").mkdir()
    many = [*range(70_000, 80_000), 199_999]
    files = {
        "f.parquet": ("x", vector_of(1)),
        "a b%.parquet": ("x", vector_in_file(tmp_path, *many)),
        "g.parquet": ("x", None),
    }
    named = []
    for name, (_, vector) in files.items():
        stored = f"p=x y/{name}"
        pq.write_table(pa.table({"id": range(200_000)}), tmp_path / stored, row_group_size=60_000)
        add = {"path": quote(stored, safe="/="), "partitionValues": {"p": "x y"}, "stats": '{"numRecords": 200000}'}
        named.append(add if vector is None else {**add, "deletionVector": vector})
    by_hand(tmp_path, [ID, {"name": "p", "type": "string"}], named, features("deletionVectors"), ["p"])
    attach(connection, tmp_path)
    assert rows(connection, "select count(*), count(distinct id) from t") == [(600_000 - 1 - len(many), 200_000)]
    asked = "select id, count(*), min(p) from t where id in (0, 1, 69999, 70000, 79999, 199999) group by 1 order by 1"
    assert rows(connection, asked) == [
        (0, 3, "x y"), (1, 2, "x y"), (69_999, 3, "x y"), (70_000, 2, "x y"), (79_999, 2, "x y"), (199_999, 2, "x y"),
    ]  # fmt: skip
    assert rows(connection, "select max(id), min(id) from t where id > 1000 and p = 'x y'") == [(199_999, 1001)]


def test_deletion_vectors_that_cannot_be_read(connection: Connection, tmp_path: Path) -> None:
    lost = {**vector_of(1), "storageType": "u", "pathOrInlineDv": "vBn[lx{q8@P<9BNH/isA", "offset": 1}
    file = {"path": "f.parquet", "deletionVector": lost, "stats": '{"numRecords": 3}'}
    by_hand(tmp_path, [ID], [file], features("deletionVectors"))
    refused(connection, tmp_path, psycopg.errors.DataCorrupted, "deletion vectors")


def test_deletion_vectors_over_more_rows_than_a_statement_can_carry(
    connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "_BITMAPS_BYTES", 1)
    file = {"path": "f.parquet", "deletionVector": vector_of(9), "stats": '{"numRecords": 30}'}
    by_hand(tmp_path, [ID], [file], features("deletionVectors"))
    refused(connection, tmp_path, psycopg.errors.FeatureNotSupported, "deletion vectors over more than 8 rows")


def test_a_table_without_deletion_vectors_that_may_have_some(connection: Connection, tmp_path: Path) -> None:
    by_hand(tmp_path, [ID], [{"path": "f.parquet"}], features("deletionVectors"))
    pq.write_table(pa.table({"id": [1, 2, 3]}), tmp_path / "f.parquet")
    attach(connection, tmp_path)
    assert rows(connection, "select count(*) from t") == [(3,)]


def test_what_deltalake_writes_with_deletion_vectors_enabled(connection: Connection, tmp_path: Path) -> None:
    """Its reader features name variants too, which no column is."""
    data = pa.table({"id": [1, 2, 3], "moment": pa.array([None] * 3, pa.timestamp("us"))})
    write_deltalake(tmp_path, data, configuration={"delta.enableDeletionVectors": "true"})
    attach(connection, tmp_path)
    DeltaTable(tmp_path).delete("id = 2")
    assert rows(connection, "select id from t order by id") == [(1,), (3,)]


@pytest.mark.parametrize(
    "feature",
    [
        "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "columnMapping", "deletionVectors", "typeWidening",
        "typeWidening-preview", "variantType", "variantType-preview", "variantShredding", "variantShredding-preview",
    ],
)  # fmt: skip
def test_features_that_a_table_may_use_and_does_not(connection: Connection, tmp_path: Path, feature: str) -> None:
    pq.write_table(pa.table({"id": [1, 2, 3]}), tmp_path / "f.parquet")
    by_hand(tmp_path, [ID], [{"path": "f.parquet"}], features(feature))
    attach(connection, tmp_path)
    assert rows(connection, "select sum(id) from t") == [(6,)]


@pytest.mark.parametrize(
    ("feature", "told"),
    [
        ("catalogManaged", "commits that a catalog keeps"),
        ("catalogOwned-preview", "commits that a catalog keeps"),
        ("geospatial", "the table feature geospatial"),
    ],
)
def test_features_that_are_not_known(connection: Connection, tmp_path: Path, feature: str, told: str) -> None:
    by_hand(tmp_path, [ID], [{"path": "f.parquet"}], features(feature))
    refused(connection, tmp_path, psycopg.errors.FeatureNotSupported, told)


@pytest.mark.parametrize("inside", [False, True])
def test_columns_that_were_widened(connection: Connection, tmp_path: Path, inside: bool) -> None:
    changed = {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}
    field = {"name": "n", "type": "long", "nullable": True, "metadata": changed}
    fields = [ID, {"name": "n", "type": {"type": "struct", "fields": [field]}} if inside else field]
    by_hand(tmp_path, fields, [{"path": "f.parquet"}], features("typeWidening"))
    refused(connection, tmp_path, psycopg.errors.FeatureNotSupported, 'column "n", whose type was widened')


def test_columns_of_variants_are_left_out(connection: Connection, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "f.parquet")
    inside = {"name": "x", "type": "variant", "nullable": True, "metadata": {}}
    fields: list[dict[str, Any]] = [
        ID,
        {"name": "v", "type": "variant"},
        {"name": "w", "type": {"type": "struct", "fields": [inside]}},
    ]
    by_hand(tmp_path, fields, [{"path": "f.parquet"}], features("variantType"))
    told: list[str] = []
    connection.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
    attach(connection, tmp_path)
    assert [notice.partition(" is left out: ")[0] for notice in told[-2:]] == ['column "v" of "t"', 'column "w" of "t"']
    assert rows(connection, "select * from t") == [(1,)]
    refused(connection, tmp_path, psycopg.errors.ObjectNotInPrerequisiteState, "of type variant", "(v jsonb)")


def test_fields_of_structs_that_are_mapped(connection: Connection, tmp_path: Path) -> None:
    def mapped(name: str, typ: Any, number: int) -> dict[str, Any]:
        told = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return {"name": name, "type": typ, "nullable": True, "metadata": told}

    pq.write_table(pa.table({"col-1": [[{"col-2": 7, "col-3": "v"}]]}), tmp_path / "f.parquet")
    struct_ = {"type": "struct", "fields": [mapped("col-3", "long", 2), mapped("s", "string", 3)]}
    fields = [mapped("list", {"type": "array", "elementType": struct_, "containsNull": True}, 1)]
    mode = {"delta.columnMapping.mode": "name"}
    by_hand(tmp_path, fields, [{"path": "f.parquet"}], {"minReaderVersion": 2, "minWriterVersion": 5}, **mode)
    attach(connection, tmp_path)
    assert rows(connection, "select list from t") == [([{"s": "v", "col-3": 7}],)]


def test_columns_that_are_mapped(connection: Connection, tmp_path: Path) -> None:
    def mapped(name: str, typ: str, number: int) -> dict[str, Any]:
        told = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return {"name": name, "type": typ, "metadata": told}

    (tmp_path / "col-2=z").mkdir()
    pq.write_table(pa.table({"col-1": [7], "col-3": ["v"]}), tmp_path / "col-2=z" / "f.parquet")
    fields = [mapped("col-3", "long", 1), mapped("p", "string", 2), mapped("s", "string", 3)]
    file = {"path": "col-2=z/f.parquet", "partitionValues": {"col-2": "z"}}
    mode = {"delta.columnMapping.mode": "name"}
    by_hand(tmp_path, fields, [file], {"minReaderVersion": 2, "minWriterVersion": 5}, ["p"], **mode)
    attach(connection, tmp_path)
    assert rows(connection, "select \"col-3\", p, s from t where p = 'z'") == [(7, "z", "v")]
    by_id = tmp_path / "id"
    mode = {"delta.columnMapping.mode": "id"}
    by_hand(by_id, fields, [file], {"minReaderVersion": 2, "minWriterVersion": 5}, ["p"], **mode)
    refused(connection, by_id, psycopg.errors.FeatureNotSupported, "column mapping by id")


@pytest.mark.parametrize("path", ["file:///etc/f.parquet", "/etc/f.parquet", "../f.parquet", "%2E%2E/f.parquet"])
def test_files_outside_of_the_folder(connection: Connection, tmp_path: Path, path: str) -> None:
    by_hand(tmp_path, [ID], [{"path": path}], {})
    refused(connection, tmp_path, psycopg.errors.FeatureNotSupported, "files outside of its folder")


def test_folders_that_do_not_say_what_the_log_says(connection: Connection, tmp_path: Path) -> None:
    fields = [ID, {"name": "p", "type": "string"}]
    for number, (path, value) in enumerate({"p=a/f.parquet": "b", "f.parquet": "a", "p=/f.parquet": "x"}.items()):
        folder = tmp_path / str(number)
        by_hand(folder, fields, [{"path": path, "partitionValues": {"p": value}}], {}, ["p"])
        refused(connection, folder, psycopg.errors.FeatureNotSupported, "whose values the names of folders do not say")
