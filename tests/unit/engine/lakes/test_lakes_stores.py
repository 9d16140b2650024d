"""Foreign tables in an object store: an S3 server on loopback, files and Delta tables in it, credentials that are never
revealed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from support.local_member import LocalMember, local_member
from support.store_ground import BUCKET, SECRET, Connection, attach, files, put, rows, store_server

from engine.executors.local.errors import translate
from engine.lakes import stores
from engine.lakes.stores import Store
from server.config.config import load
from server.config.errors import ConfigurationError


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with store_server() as made:
        yield made


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory, store: Store) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("member"), stores=(store,)) as running:
        yield running


@pytest.fixture
def connection(member: LocalMember) -> Iterator[Connection]:
    with member.connect() as client:
        yield client


def test_parquet_in_folders(connection: Connection, store: Store) -> None:
    for day, raw in enumerate(("a%20b", "EU")):
        put(store, f"t/region={raw}/part 0.parquet", pa.table({"x": [day * 10 + i for i in range(10)]}))
    put(store, "t/_tmp/part.parquet", pa.table({"x": [99]}))
    attach(connection, "t/")
    assert rows(connection, "select region, count(*), sum(x) from t group by region order by region") == [
        ("EU", 10, 145),
        ("a b", 10, 45),
    ]
    assert rows(connection, "select x from t where region = 'EU' and x > 18") == [(19,)]
    put(store, "t/region=EU/more.parquet", pa.table({"x": [1000]}))
    assert rows(connection, "select max(x) from t") == [(1000,)]


def test_one_file(connection: Connection, store: Store) -> None:
    put(store, "one.csv", pa.table({"a": [1, 2], "b": ["x", "y"]}))
    attach(connection, "one.csv", header="true")
    assert rows(connection, "select a, b from t order by a") == [(1, "x"), (2, "y")]
    files(store).delete_file(f"{BUCKET}/one.csv")
    with pytest.raises(psycopg.errors.UndefinedFile):
        rows(connection, "select * from t")


def test_delta(connection: Connection, store: Store) -> None:
    path = f"s3://{BUCKET}/delta"
    options = {**store.delta_options(), "AWS_S3_ALLOW_UNSAFE_RENAME": "true"}
    write_deltalake(path, pa.table({"x": [1, 2], "p": ["u v", None]}), partition_by=["p"], storage_options=options)
    attach(connection, "delta")
    assert rows(connection, "select x, p from t order by x") == [(1, "u v"), (2, None)]
    write_deltalake(path, pa.table({"x": [3], "p": ["w"]}), mode="append", storage_options=options)
    assert rows(connection, "select x from t where p = 'w'") == [(3,)]
    assert rows(connection, "select count(*) from t for version as of 0") == [(2,)]


def test_iceberg(connection: Connection, store: Store, tmp_path: Path) -> None:
    warehouse = {"uri": f"sqlite:///{tmp_path}/catalog.sqlite", "warehouse": f"s3://{BUCKET}/house"}
    catalog = SqlCatalog("any", **warehouse, **store.iceberg_options())
    catalog.create_namespace("n")
    data = pa.table({"x": [1, 2], "p": ["u v", None]})
    table = catalog.create_table("n.t", schema=data.schema)
    table.append(data)
    attach(connection, table.metadata_location.removeprefix(f"s3://{BUCKET}/"))
    assert rows(connection, "select x, p from t where x > 1") == [(2, None)]
    catalog.close()


def test_what_is_refused(connection: Connection, store: Store) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match='bucket "elsewhere" belongs to no object store'):
        connection.execute("create foreign table u options (path 's3://elsewhere/x.parquet')")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="wildcards"):
        attach(connection, "*.parquet")
    with pytest.raises(psycopg.errors.UndefinedFile, match="could not find parquet, csv or json files"):
        attach(connection, "nowhere/")


def test_what_cannot_cross_to_spark_is_read_in_process(connection: Connection, store: Store) -> None:
    put(store, "large/f.parquet", pa.table({"x": [dt.time(1, 2)] * 100}))
    attach(connection, "large")
    connection.execute("set sluice.local_limit = '1kB'")
    assert rows(connection, "select max(x) from t") == [(dt.time(1, 2),)]
    told = rows(connection, "explain select max(x) from t")
    assert any('spark does not have column "x" of type time' in line for (line,) in told)


def test_a_store_that_does_not_answer(tmp_path: Path, store: Store) -> None:
    gone = Store("gone", ("gone-lake",), "http://127.0.0.1:9", "us-east-1", "k", SECRET)
    with (
        local_member(tmp_path, stores=(gone,)) as running,
        running.connect() as connection,
        pytest.raises(psycopg.errors.IoError, match='could not list "s3://gone-lake/t'),
    ):
        connection.execute("create foreign table t options (path 's3://gone-lake/t')")
    with duckdb.connect() as engine:
        from engine.lakes.store_files import StoreFiles

        engine.register_filesystem(StoreFiles())
        with pytest.raises(Exception, match="AWS Error") as raised:
            engine.sql("select * from read_parquet('s3://gone-lake/t/f.parquet')")
    assert translate(raised.value).sqlstate == "58030"


def test_nobody_is_told_the_secret(connection: Connection, store: Store) -> None:
    put(store, "secret/f.parquet", pa.table({"x": [1]}))
    attach(connection, "secret")
    for sql in (
        "show all",
        "select * from pg_settings",
        "explain (verbose) select * from t",
        "select * from sluice.tables",
    ):
        try:
            said = str(rows(connection, sql))
        except psycopg.Error as error:
            said = str(error)
        assert SECRET not in said
    assert SECRET not in repr(store)


def test_a_bucket_belongs_to_one_store(store: Store) -> None:
    stores.register((store,))
    with pytest.raises(ValueError, match="another store"):
        stores.register((replace(store, name="other", secret="s"),))


def test_configuration(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    file = tmp_path / "member.toml"
    file.write_text(
        f'[stores.here]\nbuckets = ["a", "b"]\nendpoint = "http://x"\nkey = "k"\nsecret_file = "{tmp_path}/secret"\n'
    )
    config = load(file, environment={})
    assert SECRET not in repr(config)
    (made,) = config.engine().stores
    assert made == Store("here", ("a", "b"), "http://x", None, "k", SECRET)
    wrong = {
        f'secret = "{SECRET}"': "expected both key and secret",
        f'secret = ["{SECRET}"]': "stores.here.secret",
        f'key = "k"\nsecret = "{SECRET}"\n[stores.there]\nbuckets = ["a"]': 'bucket "a" is in two stores',
    }
    for text, told in wrong.items():
        file.write_text(f'[stores.here]\nbuckets = ["a"]\n{text}\n')
        with pytest.raises(ConfigurationError, match=told) as raised:
            load(file, environment={})
        assert SECRET not in str(raised.value)
