"""Definitions say what PostgreSQL says: the same statements are sent to both, and tags, rows, notices and errors (SQLSTATE,
message, detail and hint) compared. A script is one family, run from an empty database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from local_member import LocalMember, local_member, say
from postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

SCRIPTS = Path(__file__).parent / "definitions"


@pytest.fixture
def member(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        admin.execute("create database definitions")
        yield postgres.dsn.replace("dbname=postgres", "dbname=definitions")
        admin.execute("drop database definitions with (force)")


@pytest.mark.parametrize("script", sorted(path.stem for path in SCRIPTS.glob("*.sql")))
def test_same(script: str, member: LocalMember, database: str) -> None:
    statements = (SCRIPTS / f"{script}.sql").read_text().split(";\n")
    with member.connect() as ours, psycopg.connect(database, autocommit=True) as theirs:
        for statement in filter(None, map(str.strip, statements)):
            assert say(ours, statement) == say(theirs, statement), statement
