"""The operators' row counts in EXPLAIN ANALYZE, and tables to run it on."""

from __future__ import annotations

import re
from typing import Any

import psycopg

Connection = psycopg.Connection[tuple[Any, ...]]


def make_tables(connection: Connection) -> None:
    """Create `t` with 5000 rows and `u` with 20."""
    connection.execute("create table t (a int, b int, s text)")
    connection.execute("insert into t select i, i % 10, 'w' || i % 17 from generate_series(1, 5000) i")
    connection.execute("create table u (k int, v int)")
    connection.execute("insert into u select i, i from generate_series(1, 20) i")


def explained_rows(
    connection: Connection, query: str, options: str = "analyze, costs off"
) -> list[tuple[str, int | None]]:
    """Return (operator, its actual rows) for each operator, from the top."""
    found = []
    for (line,) in connection.execute(f"explain ({options}) {query}".encode()):
        match = re.match(r" *(?:->  )?([A-Z][A-Z ]+[A-Z])(?:  \(actual rows=(\d+)\))?$", line)
        if match:
            found.append((match[1], int(match[2]) if match[2] else None))
    return found
