"""psqlODBC through unixODBC and pyodbc."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pyodbc
import pytest

pyodbc.pooling = False


def _connect(**more: str) -> pyodbc.Connection:
    words = {
        "Driver": "PostgreSQL Unicode",
        "Server": os.environ["PGHOST"],
        "Port": os.environ["PGPORT"],
        "Database": os.environ["PGDATABASE"],
        "Uid": os.environ["PGUSER"],
        **more,
    }
    return pyodbc.connect(";".join(f"{name}={value}" for name, value in words.items()), autocommit=True)


@pytest.fixture
def cursor() -> Iterator[pyodbc.Cursor]:
    connection = _connect()
    cursor = connection.cursor()
    cursor.execute("drop table if exists o_lines")
    cursor.execute("drop table if exists o_heads")
    cursor.execute("create table o_heads (id integer primary key, name varchar(20) not null)")
    cursor.execute("create table o_lines (head integer references o_heads, amount numeric(10,2), at timestamp)")
    yield cursor
    connection.close()


def test_browses(cursor: pyodbc.Cursor) -> None:
    tables = [(row.table_name, row.table_type) for row in cursor.tables(schema="public")]
    assert ("o_heads", "TABLE") in tables
    columns = [(c.column_name, c.type_name, c.column_size, c.nullable) for c in cursor.columns(table="o_heads")]
    assert columns == [("id", "int4", 10, 0), ("name", "varchar", 20, 0)]
    assert [row.column_name for row in cursor.primaryKeys(table="o_heads", schema="public")] == ["id"]
    assert [(r.pktable_name, r.fkcolumn_name) for r in cursor.foreignKeys(foreignTable="o_lines")] == [
        ("o_heads", "head")
    ]
    assert [r.column_name for r in cursor.statistics("o_heads", schema="public", unique=True) if r.column_name] == [
        "id"
    ]
    assert {"int4", "varchar", "numeric"} <= {row.type_name for row in cursor.getTypeInfo()}


def test_prepares(cursor: pyodbc.Cursor) -> None:
    for number in range(8):
        row = cursor.execute("select ? + 1, ?, cast(? as numeric(10,2))", number, "x'y", None).fetchone()
        assert tuple(row) == (number + 1, "x'y", None)


def test_pages() -> None:
    connection = _connect(UseDeclareFetch="1", Fetch="100")
    rows = connection.cursor().execute("select x from generate_series(1, 1000) x").fetchall()
    assert [row[0] for row in rows] == list(range(1, 1001))
    connection.close()


def test_batches(cursor: pyodbc.Cursor) -> None:
    cursor.fast_executemany = True
    cursor.executemany("insert into o_heads values (?, ?)", [(number, f"n{number}") for number in range(200)])
    assert tuple(cursor.execute("select count(*), max(name) from o_heads").fetchone()) == (200, "n99")


def test_cancels() -> None:
    connection, other = _connect(), _connect()
    cursor = connection.cursor()
    done = threading.Event()

    def cancel() -> None:
        asked = "select count(*) from pg_stat_activity where query like '%pg_sleep(600)%' and pid <> pg_backend_pid()"
        while not other.cursor().execute(asked).fetchone()[0]:
            time.sleep(0.05)
        while not done.wait(0.5):
            cursor.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(pyodbc.Error, match="canceling statement due to user request"):
            cursor.execute("select pg_sleep(600)")
    finally:
        done.set()
        thread.join()
    assert connection.cursor().execute("select 1").fetchone()[0] == 1
    connection.close()
    other.close()
