"""An object store for tests: an S3 server on loopback, and files in it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from moto.server import ThreadedMotoServer
from pyarrow import fs

from engine.lakes.stores import Store

Connection = psycopg.Connection[tuple[Any, ...]]
BUCKET = "a-lake"
SECRET = "xyzzy-never-told"


@contextlib.contextmanager
def store_server(bucket: str = BUCKET) -> Iterator[Store]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    made = Store("here", (bucket,), f"http://{host}:{port}", "us-east-1", "a-key", SECRET)
    files(made).create_dir(bucket)
    yield made
    server.stop()


def files(store: Store) -> fs.S3FileSystem:
    """Return the store's file system, with the permission to create buckets."""
    return fs.S3FileSystem(
        endpoint_override=store.endpoint,
        region=store.region,
        access_key=store.key,
        secret_key=store.secret,
        allow_bucket_creation=True,
    )


def put(store: Store, key: str, table: pa.Table) -> None:
    with files(store).open_output_stream(f"{store.buckets[0]}/{key}") as out:
        if key.endswith(".csv"):
            pc.write_csv(table, out)
        else:
            pq.write_table(table, out, row_group_size=3)


def attach(connection: Connection, key: str, bucket: str = BUCKET, **options: str) -> None:
    """Make `t` a foreign table over the object at `key`."""
    connection.execute("drop foreign table if exists t")
    told = ", ".join(f"{name} '{value}'" for name, value in {"path": f"s3://{bucket}/{key}", **options}.items())
    connection.execute(f"create foreign table t options ({told})".encode())


def rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql.encode()).fetchall()
