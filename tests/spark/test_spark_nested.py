"""Structs and maps of files on Spark: its tasks, which read them through DuckDB, return the same as the local engine."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from support.delta_logs import ID, by_hand, features, vector_in_file, vector_of
from support.local_member import LocalMember, local_member
from support.nested_files import NESTED

pytestmark = pytest.mark.spark
Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("member")) as running:
        yield running


@pytest.fixture
def connection(member: LocalMember) -> Iterator[Connection]:
    with member.connect() as client:
        client.execute("set TimeZone = 'America/New_York'")
        yield client


def same(connection: Connection, path: Path, columns: str, *asked: str) -> None:
    """Both engines give the same rows, and some."""
    connection.execute("drop foreign table if exists t")
    connection.execute(f"create foreign table t {columns} options (path '{path}')")
    for sql in asked:
        found = []
        for engine in ("local", "spark"):
            connection.execute(f"set sluice.engine = {engine}")
            found.append(connection.execute(sql).fetchall())
        assert found[0] == found[1], sql
        assert found[0], sql


def test_parquet_files(connection: Connection, tmp_path: Path) -> None:
    pq.write_table(NESTED, tmp_path / "f.parquet")
    same(
        connection, tmp_path, "",
        "select id, s::text, m::text, days::text, ll::text from t order by id",
        "select count(*), count(s), count(ll), max(id) from t",
        "select t.id, u.m::text from t join t u on t.id = u.id where u.m is not null and t.id < 3 order by 1",
        "select id from t order by id",
    )  # fmt: skip
    same(connection, tmp_path, "(s jsonb)", "select count(*) from t")


def test_delta_tables(connection: Connection, tmp_path: Path) -> None:
    moment = {"at": dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)}
    first = pa.table({"id": [1], "s": [moment], "p": ["x"]})
    write_deltalake(tmp_path, first, partition_by=["p"])
    later = pa.table({"id": [2], "p": ["y"], "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))})
    write_deltalake(tmp_path, later, mode="append", schema_mode="merge")
    for file in tmp_path.glob("*/*.parquet"):
        pq.write_table(pq.ParquetFile(file).read(), file, use_deprecated_int96_timestamps=True)
    same(
        connection, tmp_path, "", "select id, p, s::text, m::text from t order by id", "select id, p from t order by id",
        "select s::text from t where p = 'x'",
    )  # fmt: skip


def test_deletion_vectors(connection: Connection, tmp_path: Path) -> None:
    """Read files with several row groups, which tasks share."""
    named = []
    for name, vector in (("f", vector_of(1, 70_000)), ("g", vector_in_file(tmp_path, *range(50_000, 150_000)))):
        pq.write_table(pa.table({"id": range(200_000)}), tmp_path / f"{name}.parquet", row_group_size=60_000)
        named.append({"path": f"{name}.parquet", "deletionVector": vector, "stats": '{"numRecords": 200000}'})
    by_hand(tmp_path, [ID], named, features("deletionVectors"))
    same(
        connection, tmp_path, "", "select count(*), sum(id), max(id) from t",
        "select id, count(*) from t where id in (0, 1, 49999, 50000, 70000, 149999, 150000) group by 1 order by 1",
    )  # fmt: skip
    assert connection.execute("select count(*) from t").fetchall() == [(400_000 - 100_002,)]


def test_csv_files_whose_headers_differ(connection: Connection, tmp_path: Path) -> None:
    for name, text in (("f", "a,b\n1,x\n"), ("g", 'b,c,a\n"y, z",0,2\n,1,3\n'), ("h", "b\nw\n")):
        (tmp_path / f"{name}.csv").write_text(text)
    same(
        connection, tmp_path, "", "select a, b from t order by b", "select b, count(*), sum(a) from t group by b order by b",
        "select a from t where b = 'y, z'",
    )  # fmt: skip


def test_documents_in_text_files(connection: Connection, tmp_path: Path) -> None:
    lines = [{"id": 1, "s": {"bb": [1.5, {"x": None}], "a": "\u00e9"}}, {"id": 2, "s": None}]
    (tmp_path / "f.ndjson").write_text("\n".join(map(json.dumps, lines)))
    same(connection, tmp_path, "", "select id, s::text from t order by id", "select id from t order by id")
    (tmp_path / "f.csv").write_text('id,doc\n1,"{""b"":1,""a"":2}"\n')
    same(connection, tmp_path / "f.csv", "(id int, doc jsonb)", "select id, doc::text from t", "select id from t")
