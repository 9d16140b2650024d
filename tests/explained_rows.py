"""What EXPLAIN ANALYZE says that operators gave."""

from __future__ import annotations

import re
from typing import Any

import psycopg


def explained_rows(
    connection: psycopg.Connection[tuple[Any, ...]], query: str, options: str = "analyze, costs off"
) -> list[tuple[str, int | None]]:
    """(operator, its actual rows) from the top."""
    found = []
    for (line,) in connection.execute(f"explain ({options}) {query}".encode()):
        match = re.match(r" *(?:->  )?([A-Z][A-Z ]+[A-Z])(?:  \(actual rows=(\d+)\))?$", line)
        if match:
            found.append((match[1], int(match[2]) if match[2] else None))
    return found
