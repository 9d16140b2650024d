"""The two servers that suites run against, each new and empty: a member as `sluice serve` runs it, and PostgreSQL 15.

Both have a database `sluice` and a superuser `tester` who needs no password, so that a suite gets the same parameters
for both.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psycopg
from support.member_process import MemberProcess
from support.postgres_server import PostgresServer

Kind = Literal["sluice", "postgres"]


@dataclass(frozen=True, slots=True)
class Server:
    """Where a suite connects."""

    kind: Kind
    host: str
    port: int
    user: str = "tester"
    database: str = "sluice"

    def url(self, driver: str) -> str:
        """The URL, as SQLAlchemy writes it."""
        return f"postgresql+{driver}://{self.user}@{self.host}:{self.port}/{self.database}"

    def environment(self) -> dict[str, str]:
        """For libpq and whoever reads its variables."""
        return {
            "PGHOST": self.host, "PGPORT": str(self.port), "PGUSER": self.user, "PGDATABASE": self.database,
        }  # fmt: skip

    def execute(self, *statements: str) -> None:
        """Run statements that create what a suite's authors require before it runs."""
        with psycopg.connect(
            host=self.host, port=self.port, user=self.user, dbname=self.database, autocommit=True
        ) as connection:
            for statement in statements:
                connection.execute(statement.encode())


@contextmanager
def running(kind: Kind, log: Path) -> Iterator[Server]:
    """A new server. log: where a member writes its log."""
    with _member(log) if kind == "sluice" else _postgres() as server:
        yield server


@contextmanager
def _member(log: Path) -> Iterator[Server]:
    with (
        tempfile.TemporaryDirectory(prefix="sluice-suite-") as data,
        MemberProcess(Path(data), "--spark-master", "local[1]", log=log) as member,
    ):
        yield Server("sluice", member.host, member.port)


@contextmanager
def _postgres() -> Iterator[Server]:
    with PostgresServer() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("create role tester superuser login")
        with server.database("sluice", owner="tester"):
            yield Server("postgres", server.host, server.port)
