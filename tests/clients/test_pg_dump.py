"""PostgreSQL's pg_dump, pg_restore, pg_dumpall and smaller programs: their output for a member equals that for a
PostgreSQL 15 with the same objects, letter for letter, and either dump can be restored into the other server.

`dumped_objects.sql` has objects of all kinds and rows with values that are hard to write. A dump that was loaded into a
member is compared with the member's own dump, which contains rows, definitions, owners, privileges and comments.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from support.local_member import local_member
from support.packages import postgres_programs
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

OBJECTS = Path(__file__).parent.parent / "support" / "dumped_objects.sql"
ROLES = "create role dump_reader; create role dump_writer"


def run(program: str, *arguments: str) -> str:
    """Run one of PostgreSQL's programs, which must succeed. Returns its output."""
    folder = postgres_programs()
    assert folder is not None
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
    command = [str(folder / program), *arguments]
    done = subprocess.run(command, env={**kept, "LANG": "C.UTF-8"}, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), command
    return done.stdout


def dump(dsn: str, *options: str) -> list[str]:
    """Its lines, but for those that name the server's version and keep scripts apart."""
    told = ("-- Dumped from", "\\restrict", "\\unrestrict")
    return [line for line in run("pg_dump", *options, dsn).splitlines() if not line.startswith(told)]


def load(dsn: str, script: Path) -> None:
    run("psql", "-X", "-q", "-o", os.devnull, "-v", "ON_ERROR_STOP=1", "-f", str(script), dsn)


@contextmanager
def empty_member(folder: Path) -> Iterator[str]:
    """One that has the roles and nothing else."""
    with local_member(folder) as member:
        dsn = f"host=127.0.0.1 port={member.port} user=postgres dbname=sluice sslmode=disable"
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(ROLES)
        yield dsn


@pytest.fixture(scope="module")
def roles(postgres: PostgresServer) -> Iterator[None]:
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        admin.execute(ROLES)
        yield
        admin.execute("drop role dump_reader, dump_writer")


@pytest.fixture(scope="module")
def theirs(postgres: PostgresServer, roles: None) -> Iterator[str]:
    """A database of PostgreSQL with the objects."""
    with postgres.database("sluice", ctype="C.UTF-8") as made:
        load(made.dsn, OBJECTS)
        yield made.dsn


@pytest.fixture(scope="module")
def ours(theirs: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A member that the plain dump of PostgreSQL's was loaded into."""
    script = tmp_path_factory.mktemp("dump") / "plain.sql"
    run("pg_dump", "-f", str(script), theirs)
    with empty_member(tmp_path_factory.mktemp("member")) as dsn:
        load(dsn, script)
        yield dsn


@pytest.mark.table
@pytest.mark.parametrize(
    "options",
    [
        (), ("--column-inserts", "--rows-per-insert=2"),
        ("-t", "customers", "-t", "shop.*"), ("-N", "shop", "-T", "children", "--if-exists", "--clean"),
        ("-n", "shop", "--no-owner", "--no-privileges", "--data-only", "--disable-triggers"),
        ("--serializable-deferrable", "-C", "--schema-only"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_both_dump_the_same(options: tuple[str, ...], ours: str, theirs: str) -> None:
    """And what was loaded into the member is what was dumped."""
    found, expected = dump(ours, *options), dump(theirs, *options)
    assert len(expected) > 30
    assert found == expected


@pytest.mark.long
def test_a_script_of_statements_loads(theirs: str, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    run("pg_dump", "--inserts", "--clean", "--if-exists", "-f", str(script), theirs)
    with empty_member(tmp_path / "member") as dsn:
        load(dsn, script)
        assert dump(dsn) == dump(theirs)


@pytest.mark.long
@pytest.mark.parametrize("form", [("-Fc",), ("-Fd", "-j2")], ids=" ".join)
def test_an_archive_of_postgres_is_restored(form: tuple[str, ...], theirs: str, tmp_path: Path) -> None:
    archive = str(tmp_path / "archive")
    run("pg_dump", *form, "-f", archive, theirs)
    with empty_member(tmp_path / "member") as dsn:
        run("pg_restore", "--exit-on-error", "-d", dsn, archive)
        assert dump(dsn) == dump(theirs)


@pytest.mark.long
@pytest.mark.parametrize("form", [("-Fc",), ("-Fd",)], ids=" ".join)
def test_an_archive_of_a_member_is_restored(
    form: tuple[str, ...], ours: str, theirs: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    archive = str(tmp_path / "archive")
    run("pg_dump", *form, "-f", archive, ours)
    with postgres.database("restored") as made:
        run("pg_restore", "--exit-on-error", "-d", made.dsn, archive)
        assert dump(made.dsn) == dump(theirs)


def test_what_was_made_in_a_member_is_the_same_database_in_postgres(
    theirs: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    """Here expressions are dumped as they were written; PostgreSQL reads them as it read those that it was given itself."""
    script = tmp_path / "script.sql"
    with empty_member(tmp_path / "member") as dsn, postgres.database("restored") as made:
        load(dsn, OBJECTS)
        run("pg_dump", "-f", str(script), dsn)
        load(made.dsn, script)
        assert dump(made.dsn) == dump(theirs)


CHANGED = """
create type moody as enum ('a', 'b');
create table moods (m moody default 'a'::moody, check (m = 'a'::moody or m = any ('{b}'::moody[])));
create unique index moods_a on moods (m) where m = 'b'::moody;
create schema "S'q";
create sequence "S'q".numbers;
create table below (a int, b int default nextval('"S''q".numbers'));
create view named as select a, below.b from below;
create view starred as select * from below;
create view common as with below as (select a from below where b > 0) select (select count(*) from below) as n, t.* from below t;
create view within as select x.a, (select count(*) from below where below.a = x.a) as n, 'a'::moody as m from below x
  where exists (with below as (select 1) select from below);
alter table below rename to under;
alter table under rename a to aa;
alter table under add c int;
insert into under values (1, 2, 3);
"""


@pytest.mark.long
def test_views_are_dumped_as_what_they_mean_now(postgres: PostgresServer, tmp_path: Path) -> None:
    """A column that was renamed below a view keeps its name in it, and one that came later is not in it."""
    script, query = tmp_path / "script.sql", "select to_json(v) from {} v"
    changes = tmp_path / "changes.sql"
    changes.write_text(CHANGED)
    with local_member(tmp_path / "member") as member, postgres.database("restored") as made:
        dsn = f"host=127.0.0.1 port={member.port} user=postgres dbname=sluice sslmode=disable"
        load(dsn, changes)
        run("pg_dump", "-f", str(script), dsn)
        load(made.dsn, script)
        with psycopg.connect(dsn) as ours, made.connect() as theirs:
            for view in ("named", "starred", "common", "within"):
                rows = ours.execute(query.format(view)).fetchall()
                assert len(rows) == 1
                assert theirs.execute(query.format(view)).fetchall() == rows


@pytest.mark.long
def test_foreign_tables_are_dumped_with_their_options(tmp_path: Path) -> None:
    """For another member, that is: a PostgreSQL has no such server."""
    files, script = tmp_path / "files", tmp_path / "script.sql"
    files.mkdir()
    (files / "a.csv").write_text("a;b\n1;x\n")
    with local_member(tmp_path / "one") as one, local_member(tmp_path / "two") as two:
        there, here = (f"host=127.0.0.1 port={m.port} user=postgres dbname=sluice sslmode=disable" for m in (one, two))
        with psycopg.connect(there, autocommit=True) as connection:
            options = f"path '{files}', format 'csv', header 'true', delimiter ';'"
            connection.execute(f"create foreign table f (a int4, b text) options ({options})".encode())
        run("pg_dump", "-f", str(script), there)
        load(here, script)
        with psycopg.connect(here) as connection:
            assert connection.execute("select * from f").fetchall() == [(1, "x")]
        assert dump(here) == dump(there)


def test_roles_are_dumped_the_same(ours: str, postgres: PostgresServer) -> None:
    """The test compares the roles that both have."""

    def told(dsn: str, database: str) -> list[str]:
        lines = run("pg_dumpall", "--roles-only", "-d", dsn, "-l", database).splitlines()
        return [line for line in lines if "dump_" in line or " postgres" in line]

    assert len(told(postgres.dsn, "postgres")) == 6
    assert told(ours, "sluice") == told(postgres.dsn, "postgres")


def test_smaller_programs(ours: str) -> None:
    """Their effect is tested with the statements that they send."""
    assert run("pg_isready", "-d", ours).endswith(" - accepting connections\n")
    for options in (("--analyze",), ("--analyze-in-stages",), ("-t", "customers", "--full")):
        run("vacuumdb", "--quiet", *options, "-d", ours)
    for about in ((), ("-t", "customers"), ("-i", "customers_lower"), ("-S", "shop")):
        run("reindexdb", "--quiet", *about, "-d", ours)


@pytest.mark.parametrize(
    ("program", "said"), [("createdb", "CREATE DATABASE"), ("dropdb", "DROP DATABASE"), ("clusterdb", "CLUSTER")]
)
def test_what_is_not_here_is_named(program: str, said: str, ours: str) -> None:
    folder = postgres_programs()
    assert folder is not None
    place = dict(pair.split("=") for pair in ours.split())
    options = ["-h", place["host"], "-p", place["port"], "-U", place["user"]]
    named = ["-d", "sluice"] if program == "clusterdb" else ["elsewhere"]
    environment = {**os.environ, "PGDATABASE": "sluice"}
    done = subprocess.run(
        [str(folder / program), *options, *named], env=environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert f"not supported: {said}" in done.stderr


def test_a_role_is_made_and_dropped(ours: str) -> None:
    place = dict(pair.split("=") for pair in ours.split())
    options = ("-h", place["host"], "-p", place["port"], "-U", place["user"])
    with psycopg.connect(ours, autocommit=True) as connection:
        run("createuser", *options, "--createrole", "--role=dump_reader", "made")
        query = "select rolcreaterole, rolcanlogin from pg_roles where rolname = 'made'"
        assert connection.execute(query).fetchall() == [(True, True)]
        member_of = "select pg_has_role('made', 'dump_reader', 'member')"
        assert connection.execute(member_of).fetchall() == [(True,)]
        run("dropuser", *options, "made")
        assert connection.execute(query).fetchall() == []
