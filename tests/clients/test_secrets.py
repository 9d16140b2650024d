"""Secrets are never revealed: passwords of roles and credentials of stores are in no relation, log, plan or error.

Each statement has the same marker in place of its secret. Afterwards the test reads everything that the member shows of
itself, as a role that may read all of it, and the log that the statements have written, debug messages included.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member, say

from engine.lakes.stores import Store

MARK = "swordfish"
Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    """Nobody listens at its store."""
    store = Store("here", ("lake",), "http://127.0.0.1:1", "us-east-1", "a-key", MARK)
    with local_member(tmp_path_factory.mktemp("secrets"), stores=(store,)) as running:
        with running.connect() as connection:
            connection.execute("create role ann login")
        yield running


#: Right ones, and wrong ones of each kind: in their syntax before and after the password, in their meaning, in a string's form.
_STATEMENTS = [
    f"alter role ann password '{MARK}'",
    f"ALTER ROLE ann ENCRYPTED PASSWORD '{MARK}'",
    f"alter user ann with password E'{MARK}\\x21'",
    f"alter role ann password $${MARK}$$",
    f"alter role ann password $x${MARK}$x$",
    f"alter role ann password U&'{MARK}'",
    f"alter role ann /* her */ password\n  '{MARK}' -- new\n",
    f"create role bob{{n}} login password '{MARK}'",
    f"create user carl{{n}} password '{MARK}' valid until 'never'",
    f"select 1; alter role ann password '{MARK}'; select 2",
    f"alter role nobody password '{MARK}'",
    f"alter role ann password '{MARK}' no such option",
    f"alter role ann password '{MARK}",
    f"alter role ann password $${MARK}",
    f"explain alter role ann password '{MARK}'",
]

#: The store has credentials, and nobody listens at it.
_OF_STORES = (
    "create foreign table t (a int4) options (path 's3://lake/t.parquet', format 'parquet')",
    "create foreign table t options (path 's3://lake/t.csv')",
    "create foreign table t options (path 's3://elsewhere/t.csv')",
    "explain (analyze, verbose) select * from t",
    "select * from t",
)


def _shown(watcher: Connection) -> str:
    """All rows of everything that anybody may read of a member, but what everybody is shown of types and functions."""
    named = watcher.execute(
        "select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace "
        "where c.relkind in ('r', 'v') and n.nspname in ('pg_catalog', 'sluice') and c.relname not in ("
        "'pg_proc', 'pg_type', 'pg_operator', 'pg_attribute', 'pg_description', 'pg_depend', 'pg_cast', 'pg_collation', "
        "'pg_amop', 'pg_amproc', 'pg_class', 'pg_stats', 'pg_statistic')"
    ).fetchall()
    rows: list[object] = []
    for schema, name in named:
        told = say(watcher, f'select * from {schema}."{name}"')
        assert told.error is None or told.error[0] in {"0A000", "42501"}, (name, told.error)
        rows.append(told.rows)
    assert any("pg_stat_activity" in pair for pair in named)
    return f"{rows} {watcher.execute('show all').fetchall()}"


def test_passwords_of_roles_and_credentials_of_stores(local: LocalMember, caplog: pytest.LogCaptureFixture) -> None:
    """Everything that a member shows is read once, after both: it is most of what this costs."""
    caplog.set_level(logging.DEBUG)
    with local.connect() as watcher, local.connect() as admin:
        for extended, statement in itertools.product((False, True), _STATEMENTS):
            text = statement.replace("{n}", str(int(extended)))
            error = _error(admin, text, extended=extended)
            # Who made a mistake in its syntax is told where, of what was said: as by PostgreSQL. Nothing else is.
            assert error is None or error.sqlstate == "42601" or MARK not in str(error), text
            assert MARK not in _activity(watcher), text
        own = admin.execute("select statement from pg_prepared_statements").fetchall()
        assert MARK not in str(own)
        for statement in _OF_STORES:
            assert MARK not in str(say(watcher, statement)), statement
        # Compared apart: pytest explains a failed `in` of megabytes for minutes.
        is_shown = MARK in _shown(watcher)
        assert not is_shown
    assert MARK not in _logged(caplog)
    assert MARK not in repr(local.engine.config)


def _error(connection: Connection, text: str, *, extended: bool) -> psycopg.Error | None:
    try:
        if extended:
            connection.execute(text.encode(), (), prepare=True, binary=True)
        else:
            connection.execute(text.encode())
    except psycopg.Error as error:
        return error
    return None


def _activity(watcher: Connection) -> str:
    return str(watcher.execute("select query from pg_stat_activity").fetchall())


def _logged(caplog: pytest.LogCaptureFixture) -> str:
    """Return the member's log; the client is in the same process."""
    ours = [record for record in caplog.records if not record.name.startswith("psycopg")]
    formatter = logging.Formatter()
    return "\n".join(formatter.format(record) for record in ours)


def test_a_password_in_a_role_that_runs(local: LocalMember) -> None:
    """The catalog stores a verifier, and a role that is not a superuser does not see even that."""
    with local.connect() as admin:
        admin.execute(f"create role dora login password '{MARK}'".encode())
        kept = admin.execute("select rolpassword from pg_authid where rolname = 'dora'").fetchone()
        assert kept is not None
        assert str(kept[0]).startswith("SCRAM-SHA-256$")
        for relation in ("pg_roles", "pg_user"):
            assert "SCRAM" not in str(admin.execute(f"select * from {relation}".encode()).fetchall())
        admin.execute("set role dora")
        assert say(admin, "select * from pg_authid").error is not None
