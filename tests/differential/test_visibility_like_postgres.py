"""Every system relation shows each role the same as PostgreSQL 15 does: the same objects, roles and grants are created
on both, and every relation of pg_catalog and information_schema is read as each role.

The comparison covers the rows that name an object of the test, all of which begin with `vis_`: which of them a role
sees, and which of the values that a superuser sees are hidden from it (null, or a word that stands for them). Rows that
only one of the superusers sees are left out, since relations may have other rows here for other reasons; `READ` names
the relations that must have some rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from support.local_member import local_member
from support.postgres_server import PostgresServer

pytestmark = [pytest.mark.postgres, pytest.mark.long]

FIRST = "postgres"
MARK = "vis_"
ROLES = ("vis_columns", "vis_stranger", "vis_member", "vis_monitor")
#: What stands for a value that is not shown.
_HIDDEN = (None, "<insufficient privilege>", "********")
#: Relations that name the test's objects: none may be left out of the comparison.
READ = (
    "pg_catalog.pg_stats", "pg_catalog.pg_class", "pg_catalog.pg_attribute", "pg_catalog.pg_sequences", "pg_catalog.pg_tables",
    "pg_catalog.pg_indexes", "pg_catalog.pg_matviews", "pg_catalog.pg_stat_activity", "pg_catalog.pg_roles",
    "pg_catalog.pg_user", "pg_catalog.pg_group", "pg_catalog.pg_namespace", "pg_catalog.pg_stat_user_tables",
    "information_schema.tables", "information_schema.columns", "information_schema.views", "information_schema.sequences",
    "information_schema.table_privileges", "information_schema.column_privileges", "information_schema.usage_privileges",
    "information_schema.table_constraints", "information_schema.check_constraints", "information_schema.key_column_usage",
    "information_schema.role_table_grants", "information_schema.enabled_roles", "information_schema.applicable_roles",
    "information_schema.schemata", "information_schema.view_table_usage", "information_schema.domains",
)  # fmt: skip
#: Closed to fewer roles here than there, and without rows: all but one column of the first, and two for pg_read_all_stats.
_WITHOUT_ROWS = (
    "pg_catalog.pg_subscription", "pg_catalog.pg_backend_memory_contexts", "pg_catalog.pg_shmem_allocations",
)  # fmt: skip

_GROUND = (
    "create role vis_owner",
    "create role vis_columns login",
    "create role vis_stranger login",
    "create role vis_member login in role vis_owner",
    "create role vis_monitor login in role pg_read_all_data, pg_read_all_stats, pg_read_all_settings",
    "create role vis_group",
    "alter role vis_owner set work_mem = '5MB'",
    "create schema vis_private",
    "create schema vis_open",
    "grant usage, create on schema vis_open to vis_owner",
    "grant usage on schema vis_open to public",
    "set role vis_owner",
    "create table vis_open.vis_t (vis_id int primary key, vis_secret text unique, vis_shown text default 'vis_x',"
    " constraint vis_check check (vis_secret <> 'vis_never'))",
    "insert into vis_open.vis_t select g, 'vis_secret' || g, 'vis_shown' || g % 3 from generate_series(1, 50) g",
    "create table vis_open.vis_child (vis_of int constraint vis_fk references vis_open.vis_t, vis_note text)",
    "insert into vis_open.vis_child select g, 'vis_note' || g % 2 from generate_series(1, 20) g",
    "create index vis_index on vis_open.vis_child (vis_note)",
    "create view vis_open.vis_view as select vis_id, vis_secret from vis_open.vis_t where vis_id < 3",
    "create materialized view vis_open.vis_kept as select vis_secret from vis_open.vis_t",
    "create sequence vis_open.vis_numbers",
    "select nextval('vis_open.vis_numbers')",
    "create domain vis_open.vis_domain as text default 'vis_d' constraint vis_domain_check check (value <> 'vis_never')",
    "create type vis_open.vis_enum as enum ('vis_a', 'vis_b')",
    "comment on table vis_open.vis_t is 'vis_comment'",
    "comment on column vis_open.vis_t.vis_secret is 'vis_column_comment'",
    "grant select (vis_id, vis_shown) on vis_open.vis_t to vis_columns",
    "grant update (vis_shown) on vis_open.vis_t to vis_columns",
    "grant usage on sequence vis_open.vis_numbers to vis_columns",
    "grant select on vis_open.vis_view to vis_columns",
    "alter default privileges in schema vis_open grant select on tables to vis_columns",
    "analyze vis_open.vis_t",
    "analyze vis_open.vis_child",
    "analyze vis_open.vis_kept",
    "reset role",
    "create table vis_private.vis_p (vis_a text)",
    "insert into vis_private.vis_p values ('vis_hidden'), ('vis_hidden')",
    "analyze vis_private.vis_p",
    "create sequence vis_private.vis_s",
)


@dataclass(frozen=True)
class Server:
    """A connection for each role, of which all are open at once: each is shown the sessions of the others."""

    connections: Mapping[str, psycopg.Connection[Any]]

    @classmethod
    def of(cls, dsn: str, stack: ExitStack) -> Server:
        def connected(role: str) -> psycopg.Connection[Any]:
            return stack.enter_context(psycopg.connect(dsn, user=role, dbname="sluice", autocommit=True))

        first = connected(FIRST)
        for statement in _GROUND:
            first.execute(statement.encode())
        return cls({FIRST: first, **{role: connected(role) for role in ROLES}})

    def relations(self, schema: str) -> dict[str, Sequence[str]]:
        """The relations of a schema of the system's, and the roles that read them: a table shows all of its rows or none, and what
        information_schema shows goes by privileges alone."""
        found = self.connections[FIRST].execute(
            "select c.relname, c.relkind from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname = %s and c.relkind in ('r', 'v')",
            (schema,),
        )
        some = ("vis_columns", "vis_stranger")
        return {f"{schema}.{name}": ROLES if kind == "v" and schema == "pg_catalog" else some for name, kind in found}

    def rows(self, role: str, sql: str) -> Sequence[Mapping[str, Any]]:
        """Return the rows of a query as `read` does. The query must not fail."""
        found = self.read(role, sql)
        assert not isinstance(found, tuple), found
        return found

    def read(self, role: str, sql: str) -> Sequence[Mapping[str, Any]] | tuple[str, str]:
        """Rows that have a value of the test's, by column; or an error: SQLSTATE and message."""
        try:
            cursor = self.connections[role].execute(sql.encode())
        except psycopg.Error as error:
            return error.sqlstate or "", error.diag.message_primary or ""
        names = [column.name for column in cursor.description or ()]
        rows = (dict(zip(names, row, strict=True)) for row in cursor)
        return [row for row in rows if any(MARK in str(value) for value in row.values())]


Identity = tuple[tuple[str, str], ...]
Rows = Sequence[Mapping[str, Any]]
#: Spelled by each server in its own way.
_SPELLED = ("definition", "query", "view_definition", "check_clause", "useconfig", "rolconfig")


def _identity(row: Mapping[str, Any]) -> Identity:
    """The names in a row, by which both servers mean the same."""
    names = ((name, value) for name, value in row.items() if isinstance(value, str) and name not in _SPELLED)
    return tuple((name, value) for name, value in names if MARK in value)


def _known(rows: Rows) -> dict[Identity, set[str]]:
    """Return, for each identity, the columns that have a value in at least one of its rows."""
    found: dict[Identity, set[str]] = {}
    for row in rows:
        found.setdefault(_identity(row), set()).update(n for n, value in row.items() if value not in _HIDDEN)
    return found


def _seen(rows: Rows, both: Mapping[Identity, set[str]]) -> set[tuple[Identity, str]]:
    """The names in each row, and which columns are hidden. both: those that superusers see on both servers."""
    found = ((_identity(row), {name for name, value in row.items() if value in _HIDDEN}) for row in rows)
    return {(identity, " ".join(sorted(hidden & both[identity]))) for identity, hidden in found if identity in both}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, postgres_packages: None) -> Iterator[tuple[Server, Server]]:
    with ExitStack() as stack:
        member = stack.enter_context(local_member(tmp_path_factory.mktemp("visibility") / "data"))
        theirs = stack.enter_context(PostgresServer())
        stack.enter_context(theirs.database("sluice"))
        with ExitStack() as connections:
            yield Server.of(member.dsn, connections), Server.of(theirs.dsn, connections)


@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("schema", ["pg_catalog", "information_schema"])
def test_same_rows_and_values(servers: tuple[Server, Server], schema: str) -> None:
    ours, theirs = servers
    differences: list[tuple[str, str, object, object]] = []
    compared: set[str] = set()
    relations = theirs.relations(schema)
    for relation in sorted((relations.keys() & ours.relations(schema).keys()) - {*_WITHOUT_ROWS}):
        sql = f"select * from {relation}"
        whole, theirs_whole = ours.read(FIRST, sql), theirs.read(FIRST, sql)
        if isinstance(whole, tuple) or isinstance(theirs_whole, tuple):
            # What is not supported is told to everybody.
            assert isinstance(whole, tuple), (relation, theirs_whole)
            assert whole[0] == "0A000", (relation, whole)
            continue
        known, theirs_known = _known(whole), _known(theirs_whole)
        both = {identity: known[identity] & theirs_known[identity] for identity in known if identity in theirs_known}
        compared |= {relation} if both else set()
        for role in relations[relation]:
            shown, expected = ours.read(role, sql), theirs.read(role, sql)
            if not shown and isinstance(expected, tuple) and expected[1].startswith("permission denied for function"):
                # It shows nobody anything here; there a role may read the view, and not call the function below it.
                continue
            mine = shown if isinstance(shown, tuple) else _seen(shown, both)
            other = expected if isinstance(expected, tuple) else _seen(expected, both)
            if mine != other:
                differences.append((relation, role, mine, other))
    assert differences == []
    assert sorted({name for name in READ if name.startswith(schema)} - compared) == []


@pytest.mark.parametrize("role", ROLES)
def test_same_settings_and_counters(servers: tuple[Server, Server], role: str) -> None:
    ours, theirs = servers
    for sql in (
        "select 'vis_' || name from pg_settings where name ~ '_preload_libraries$|dynamic_library' order by 1",
        "select 'vis_' || current_setting('dynamic_library_path')",
        "select current_setting('session_preload_libraries', true)",
        "show dynamic_library_path",
        "select 'vis_', last_value from pg_sequences where sequencename like 'vis%' order by 2",
        "select 'vis_', count(*) from pg_stats where tablename = 'vis_t'",
        "select 'vis_', most_common_vals::text as a from pg_stats where tablename = 'vis_child' order by attname",
        "select 'vis_', null_frac from pg_stats where schemaname = 'vis_private'",
    ):
        assert ours.read(role, sql) == theirs.read(role, sql), sql


def test_sequences_stand_where_only_those_see_it_that_may(servers: tuple[Server, Server]) -> None:
    """PostgreSQL refuses the function; in its view there is null."""
    ours, _ = servers
    sql = "select 'vis_', pg_sequence_last_value('vis_open.vis_numbers'::regclass) as at"
    at = {role: ours.rows(role, sql)[0]["at"] for role in ROLES}
    assert at == {"vis_columns": 1, "vis_stranger": None, "vis_member": 1, "vis_monitor": 1}


def test_queries_of_others_are_hidden(servers: tuple[Server, Server]) -> None:
    ours, _ = servers
    with ours.connections["vis_member"].transaction():
        ours.connections["vis_member"].execute("declare c cursor for select 1 as vis_running")
        shown = {role: ours.rows(role, "select * from sluice.queries where usename = 'vis_member'") for role in ROLES}
    statements = {role: {row["statement"] for row in rows} for role, rows in shown.items()}
    assert statements["vis_stranger"] == {"<insufficient privilege>"}
    assert {row[column] for row in shown["vis_stranger"] for column in ("cursor", "state", "started", "rows")} == {None}
    assert statements["vis_monitor"] == {"declare c cursor for select 1 as vis_running"}
