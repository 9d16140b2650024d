"""PostgreSQL 15 with the rows of a TPC-H table: the server for which the clients were made, as a reference."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import psycopg
from psycopg import sql

from benchmarks.ground import Ground

#: The folder of the tests' package `support`, which contains their PostgreSQL server.
_TESTS: Final = Path(__file__).parents[1] / "tests"
_TYPES: Final = {"DATE": "date", "INTEGER": "int", "BIGINT": "bigint", "VARCHAR": "text"}
_CHUNK_BYTES: Final = 1 << 20


@contextlib.contextmanager
def running(ground: Ground, table: str) -> Iterator[str]:
    """Run a server that has the table. Yields its connection string. Raises RuntimeError if PostgreSQL 15 is not
    installed.
    """
    if str(_TESTS) not in sys.path:
        sys.path.append(str(_TESTS))
    module: Any = importlib.import_module("support.postgres_server")
    with module.PostgresServer() as server:
        _load(server.dsn, ground, table)
        yield server.dsn


def _load(dsn: str, ground: Ground, table: str) -> None:
    rows = duckdb.read_parquet(str(ground.table(table)))
    text = ground.scratch / f"{table}.csv"
    rows.write_csv(str(text), header=False)
    columns = [
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(_TYPES.get(str(typ), str(typ))))
        for name, typ in zip(rows.columns, rows.types, strict=True)
    ]
    name = sql.Identifier(table)
    with psycopg.connect(dsn) as connection:
        connection.execute(sql.SQL("create table {} ({})").format(name, sql.SQL(", ").join(columns)))
        into = sql.SQL("copy {} from stdin (format csv)").format(name)
        with connection.cursor().copy(into) as copy, text.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                copy.write(chunk)
        connection.execute(sql.SQL("analyze {}").format(name))
