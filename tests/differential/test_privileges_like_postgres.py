"""Privileges against PostgreSQL: scripts (privileges/*.sql) run as several roles on both servers, and tags, rows,
notices and errors are compared.

`--- name` names the role of the following statements; each role has its own connection. Roles belong to a whole
PostgreSQL cluster, so a script drops those that it creates. The scripts contain only features that both servers have.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, Said, local_member, say
from support.postgres_server import Database

pytestmark = pytest.mark.postgres

SCRIPTS = sorted((Path(__file__).parent / "privileges").glob("*.sql"))
FIRST = "postgres"


def spoken(script: Path) -> Iterator[tuple[str, str]]:
    """Who says what."""
    who = FIRST
    for part in script.read_text().split(";\n"):
        statement = part.strip()
        while statement.startswith("---"):
            line, _, statement = statement.partition("\n")
            who, statement = line.removeprefix("---").strip(), statement.strip()
        if statement:
            yield who, statement


class Speakers:
    """A connection for each role."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._open: dict[str, psycopg.Connection[Any]] = {}

    def say(self, who: str, statement: str) -> Said:
        if who not in self._open:
            self._open[who] = psycopg.connect(self._dsn, user=who, autocommit=True)
        return say(self._open[who], statement)

    def close(self) -> None:
        for connection in self._open.values():
            connection.close()


def _ours(member: LocalMember) -> Speakers:
    with member.connect(user=FIRST) as first:
        first.execute("create role unused")
        first.execute("drop role unused")
    return Speakers(member.dsn)


@pytest.mark.table
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_same(script: Path, tmp_path: Path, postgres_roles: None, postgres_database: Database) -> None:
    with local_member(tmp_path) as member:
        theirs, ours = Speakers(postgres_database.dsn), _ours(member)
        try:
            for who, statement in spoken(script):
                assert ours.say(who, statement) == theirs.say(who, statement), f"{who}: {statement}"
        finally:
            ours.close()
            theirs.close()
