"""A member and a PostgreSQL that are asked the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from support.local_member import local_member
from support.postgres_server import PostgresServer

Connection = psycopg.Connection[tuple[Any, ...]]


@contextmanager
def member_beside_postgres(
    folder: Path, postgres: PostgresServer, *, ctype: str = "C"
) -> Iterator[tuple[Connection, Connection]]:
    """Connections to a member over a new data directory, and to a new database, named as that is. ctype: as in `database`."""
    with (
        local_member(folder) as member,
        member.connect() as ours,
        postgres.database(folder.name, ctype=ctype) as database,
        database.connect() as theirs,
    ):
        yield ours, theirs
