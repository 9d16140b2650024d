"""Spark's tasks that read an object store through DuckDB: the same rows as in process, and no secret revealed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.local_member import LocalMember, local_member
from support.store_ground import SECRET, Connection, attach, files, put, rows, store_server

from engine.lakes.stores import Store

pytestmark = pytest.mark.spark
#: Other tests of the process have a store of their own.
BUCKET = "a-lake-for-spark"
_ASKED = (
    "select * from t order by i",
    "select count(*) from t",
    "select region, count(*), sum(n), min(w), max(s) from t where i > 3 and s <> 's5' group by region order by region",
    "select i from t where region = 'EU' and z < '2024-01-01 00:00:17+00' and x is null order by i",
    "select t.i, u.i from t join t as u on t.i = u.i + 1 where t.i > 1 + u.i / 100 order by t.i",
)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with store_server(BUCKET) as made:
        yield made


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("member")


@pytest.fixture(scope="module")
def member(data: Path, store: Store) -> Iterator[LocalMember]:
    with local_member(data, stores=(store,)) as running:
        yield running


@pytest.fixture
def connection(member: LocalMember) -> Iterator[Connection]:
    with member.connect() as client:
        client.execute("set timezone = 'Asia/Tokyo'")
        yield client


def some(first: int, count: int = 10) -> pa.Table:
    numbers = range(first, first + count)
    start = dt.datetime(2024, 1, 1)
    return pa.table(
        {
            "i": pa.array(numbers, pa.int32()),
            "n": pa.array([Decimal(n) / 4 for n in numbers], pa.decimal128(9, 2)),
            "s": [f"s{n}" for n in numbers],
            "x": [None if n % 2 else n / 3 for n in numbers],
            "w": [start + dt.timedelta(seconds=n) for n in numbers],
            "z": pa.array([start + dt.timedelta(seconds=n) for n in numbers], pa.timestamp("us", "UTC")),
            "b": [bytes([n]) for n in numbers],
            "d": [dt.date(1900, 1, 1) + dt.timedelta(n) for n in numbers],
        }
    )


def same(connection: Connection) -> None:
    """Both engines say the same."""
    for sql in _ASKED:
        found = []
        for engine in ("local", "spark"):
            connection.execute(f"set sluice.engine = {engine}".encode())
            found.append(rows(connection, sql))
        assert found[0] == found[1] != []


@pytest.mark.long
def test_files_of_each_format(connection: Connection, store: Store) -> None:
    for format_ in ("parquet", "csv"):
        for first, raw in ((0, "a%20b"), (10, "EU"), (20, "")):
            put(
                store,
                f"{format_}/region={raw}/part {first}.{format_}",
                some(first).drop(["b"] if format_ == "csv" else []),
            )
        attach(connection, format_, BUCKET, format=format_)
        same(connection)
        assert rows(connection, "select distinct region from t order by region") == [("",), ("EU",), ("a b",)]


@pytest.mark.long
def test_delta(connection: Connection, store: Store) -> None:
    path, options = f"s3://{BUCKET}/delta", {**store.delta_options(), "AWS_S3_ALLOW_UNSAFE_RENAME": "true"}
    for first, region in ((0, "EU"), (10, None)):
        part = some(first).append_column("region", pa.array([region] * 10, pa.string()))
        write_deltalake(path, part, partition_by=["region"], mode="append", storage_options=options)
    attach(connection, "delta", BUCKET)
    same(connection)


def test_what_is_read_is_written(connection: Connection, store: Store) -> None:
    put(store, "source/f.parquet", some(0, 100))
    attach(connection, "source", BUCKET)
    connection.execute("set sluice.engine = spark")
    assert connection.execute("create table made as select * from t where i >= 50").statusmessage == "SELECT 50"
    for difference in (
        "table made except all select * from t where i >= 50",
        "select * from t where i >= 50 except table made",
    ):
        assert rows(connection, difference) == []
    connection.execute("drop table made")


def test_what_goes_wrong_is_told_without_the_secret(connection: Connection, store: Store, data: Path) -> None:
    with files(store).open_output_stream(f"{BUCKET}/wrong/f.csv") as out:
        out.write(b"i,s\n1,a\nx,b\n")
    connection.execute("drop foreign table if exists t")
    connection.execute(
        f"create foreign table t (i int, s text) options (path 's3://{BUCKET}/wrong', format 'csv', header 'true')"
    )
    states = []
    for engine in ("local", "spark"):
        connection.execute(f"set sluice.engine = {engine}".encode())
        with pytest.raises(psycopg.Error) as caught:
            rows(connection, "select sum(i) from t")
        states.append(caught.value.sqlstate)
        assert SECRET not in str(caught.value)
    assert states[0] == states[1]
    assert SECRET not in str(rows(connection, "explain (verbose) select * from t"))
    logs = [path for path in data.rglob("*.log*") if path.is_file()]
    assert logs != []
    assert all(SECRET not in path.read_text(errors="replace") for path in logs)
