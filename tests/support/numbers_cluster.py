"""Three members with a table of several files, and a cursor over a distributed plan of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import sql

from support.local_cluster import LocalCluster

Connection = psycopg.Connection[tuple[Any, ...]]
ROWS, FILES = 60_000, 6
DECLARE = "declare c no scroll cursor {} for select n, d, t from numbers order by n"


@contextmanager
def members(folder: Path) -> Iterator[LocalCluster]:
    """Start three members with a table of several files."""
    with LocalCluster(folder, 3) as cluster:
        (folder / "numbers").mkdir()
        for file in range(FILES):
            values = range(file, ROWS, FILES)
            table = pa.table(
                {
                    "n": pa.array(values, pa.int64()),
                    "d": pa.array(values, pa.int64()).cast(pa.decimal128(21, 2)),
                    "t": pa.array([f"row {value}" for value in values]),
                }
            )
            pq.write_table(table, folder / "numbers" / f"{file}.parquet")
        with cluster.connect("m1") as connection:
            connection.execute("create foreign table numbers options (path 'numbers/*.parquet', format 'parquet')")
        yield cluster


def declare(owner: Connection, hold: str = "", user: str = "tester") -> str:
    """Declare a cursor over a distributed plan. Returns the id of its query, read from `sluice.queries` as a client
    reads it.
    """
    owner.execute("set sluice.distribution = always")
    owner.execute("set sluice.engine = local")
    owner.execute("set cursor_buffer_size = '16kB'")
    owner.execute("begin")
    owner.execute(sql.SQL(DECLARE).format(sql.SQL(hold)))
    columns = "query_id, member, usename, datname, state, rows"
    own = "pid = pg_backend_pid() and cursor = 'c'"
    [(query, *told)] = owner.execute(f"select {columns} from sluice.queries where {own}").fetchall()
    assert told == ["m1", user, "sluice", "suspended", 0]
    return str(query)
