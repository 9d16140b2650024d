"""Definitions, and statements that change rows, against PostgreSQL: the same scripts run on both servers, and tags,
rows, notices and errors (SQLSTATE, message, detail and hint) are compared. A script is one family, run from an empty
database; at its end every table's rows are compared.

The rows of RETURNING are compared without their order where they are those of the table, which has none.
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

FOLDER = Path(__file__).parent
SCRIPTS = [*FOLDER.glob("definitions/*.sql"), *FOLDER.glob("changes/*.sql")]
_UNORDERED = ("update", "delete", "with", "insert into loop (id) select")


@pytest.fixture
def member(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


def _compared(said: Said, statement: str) -> Said:
    if said.rows is not None and statement.startswith(_UNORDERED):
        said.rows.sort(key=repr)
    return said


def _tables(connection: psycopg.Connection[tuple[Any, ...]]) -> dict[str, list[str]]:
    names = connection.execute(
        "select relname from pg_class c join pg_namespace n on n.oid = relnamespace where nspname = 'public' and relkind = 'r'"
    ).fetchall()
    return {name: sorted(map(repr, connection.execute(f"select * from {name}").fetchall())) for (name,) in names}


@pytest.mark.table
@pytest.mark.parametrize("script", sorted(SCRIPTS), ids=lambda script: f"{script.parent.name}-{script.stem}")
def test_same(script: Path, member: LocalMember, postgres_database: Database) -> None:
    statements = script.read_text().split(";\n")
    with member.connect() as ours, postgres_database.connect() as theirs:
        for statement in filter(None, map(str.strip, statements)):
            expected = _compared(say(theirs, statement), statement)
            assert _compared(say(ours, statement), statement) == expected, statement
        if script.parent.name == "changes":  # definitions have random defaults
            assert _tables(ours) == _tables(theirs)
