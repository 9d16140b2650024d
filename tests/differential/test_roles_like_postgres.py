"""Statements about roles against PostgreSQL: one script runs on both servers, and tags, rows, notices and errors are
compared. Roles belong to a whole PostgreSQL cluster, so the script drops those that it creates.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.local_member import local_member, say
from support.postgres_server import Database

pytestmark = pytest.mark.postgres

SCRIPT = Path(__file__).parent / "roles.sql"
#: While nobody has made a role, PostgreSQL's own are there.
BEFORE = (
    "set role pg_monitor",
    "select current_user, session_user",
    "select pg_has_role('pg_monitor', 'pg_read_all_stats', 'member')",
    "reset role",
    "set role pg_nothing",
    "drop role pg_monitor",
    "alter role pg_monitor login",
)


def test_same(tmp_path: Path, postgres_roles: None, postgres_database: Database) -> None:
    with (
        local_member(tmp_path) as member,
        postgres_database.connect() as theirs,
        member.connect(user="postgres") as ours,
    ):
        for statement in BEFORE:
            assert say(ours, statement) == say(theirs, statement), statement
        assert [message for _, message, _ in say(ours, "create role first").notices] == [
            'role "postgres" is a superuser, as there was no role before'
        ]
        ours.execute("drop role first")
        for statement in filter(None, map(str.strip, SCRIPT.read_text().split(";\n"))):
            assert say(ours, statement) == say(theirs, statement), statement
