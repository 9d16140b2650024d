"""A member and a PostgreSQL that receive the same statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from support.local_member import local_member
from support.postgres_server import PostgresServer

Connection = psycopg.Connection[tuple[Any, ...]]


@contextmanager
def member_beside_postgres(
    folder: Path, postgres: PostgresServer, setup: Iterable[str] = (), *, ctype: str = "C"
) -> Iterator[tuple[Connection, Connection]]:
    """Open connections to a member over a new data directory and to a new PostgreSQL database with the directory's
    name. setup: statements that both run first. ctype: as in `database`.
    """
    with (
        local_member(folder) as member,
        member.connect() as ours,
        postgres.database(folder.name, ctype=ctype) as database,
        database.connect() as theirs,
    ):
        for statement in setup:
            for connection in (ours, theirs):
                connection.execute(statement.encode())
        yield ours, theirs


def rows_or_error(connection: Connection, statement: str) -> list[tuple[Any, ...]] | tuple[str | None, ...]:
    """Return the rows of a statement, or the SQLSTATE, message and position of its error."""
    try:
        return connection.execute(statement.encode()).fetchall()
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary, error.diag.statement_position
