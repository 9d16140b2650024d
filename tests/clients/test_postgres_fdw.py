"""postgres_fdw: a PostgreSQL 15 that reads and writes a member's tables, and beside them its own tables as those of
another server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest
from support.local_member import local_member
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

_OBJECTS: Final = (
    "create schema shop",
    """create table shop.items (id int primary key, name text, price numeric(10,2) default 1.5, at timestamptz,
      tags text[], ok bool, raw bytea, doc jsonb, f float8, d date, iv interval, u uuid)""",
    """insert into shop.items select g, 'n' || g, g * 1.25, timestamptz '2024-01-01 00:00Z' + g * interval '1 hour',
      array['a', g::text], g % 2 = 0, '\\x01ff', '{"a": 1}', g / 3.0::float8, date '2024-01-01' + g,
      case when g % 7 > 0 then interval '1 day' end, null from generate_series(1, 1000) g""",
    "create table shop.kinds (id int primary key, kind varchar(10) not null)",
    "insert into shop.kinds values (1, 'x'), (2, 'y'), (3, 'z')",
    "create view shop.few as select id, name from shop.items where id < 10",
)
#: Statements of one transaction each, in their order; the answer to the last is what is compared.
_SCRIPT: Final[tuple[tuple[str, ...], ...]] = (
    ("select * from items where id = 7",),
    ("select count(*), sum(price), min(at), max(tags), bool_and(ok), avg(f) from items",),
    ("select id, name from items where name = 'n12' or id in (3, 4) order by id",),
    ("select id from items where at > '2024-01-10' and ok and tags @> array['300'] order by id limit 3",),
    ("select count(*) from items where d between '2024-02-01' and '2024-02-10' and f > 1.5 and name like 'n%'",),
    ("select count(*) from items where doc->>'a' = '1' and iv is null and raw = '\\x01ff'",),
    ("select id from items order by price desc, id limit 2 offset 1",),
    ("select i.id, k.kind from items i join kinds k using (id) where i.price > 1 order by 1",),
    ("select k.kind, i.name from kinds k left join items i on i.id = k.id + 999 order by k.kind",),
    ("select k.kind, count(i.id) from kinds k left join items i on i.id % 3 = k.id - 1 group by 1 order by 1",),
    ("select ok, count(*), avg(price) from items group by ok having count(*) > 1 order by ok",),
    ("select count(*) from items a where exists (select from items b where b.id = a.id + 1)",),
    ("select id from items where id = (select max(id) - 1 from kinds)",),
    ("select few.id, few.name from few where id > 7 order by 1",),
    ("select tableoid::regclass::text like '%kinds', id from kinds where id = 1",),
    ("prepare q(int) as select name from items where id = $1", "execute q(5)"),
    ("select id from kinds where id < 3 order by id for update",),
    ("select pg_catalog.lower(kind) from kinds where id < 3 order by id",),
    # a cursor there is fetched from as one here is
    ("declare c cursor for select id from items order by id", "fetch 3 from c", "fetch 10 from c", "move 500 in c",
     "fetch 2 from c"),
    ("select sum(id) from items", "select count(*) from items i, kinds k where i.id > k.id"),
    # rows change
    ("insert into kinds values (10, 'w') returning id, kind",),
    ("insert into kinds select g, 'g' || g from generate_series(20, 270) g",),
    ("insert into kinds values (1, 'dup')",),
    ("insert into kinds values (1, 'dup'), (5, 'five') on conflict do nothing",),
    ("insert into kinds values (6, null)",),
    ("insert into kinds values (6, 'longer than ten')",),
    ("insert into items (id) values (2000) returning *",),
    ("update kinds set kind = 'xx' where id = 1",),
    ("update kinds set kind = upper(kind) where id = 2 returning *",),
    ("update kinds set kind = k.kind || 'j' from (values (3)) v(id), kinds k where kinds.id = v.id and k.id = kinds.id",),
    ("delete from kinds where id between 30 and 40 returning id",),
    ("delete from kinds using items i where i.id = kinds.id and i.price > 300",),
    ("update kinds set kind = 'r' where id = 1", "savepoint a", "insert into kinds values (99, 's')", "rollback to a",
     "insert into kinds values (98, 's')"),
    ("select count(*), min(kind), max(kind), sum(id) from kinds",),
    ("truncate kinds", "insert into kinds values (1, 'alone')"),
    ("select * from kinds",),
    ("analyze items", "analyze kinds", "select relname, reltuples from pg_class where relname in ('items', 'kinds')"
     " and relnamespace = current_schema()::regnamespace order by 1"),
)  # fmt: skip
#: Whose plans have to send the same statement to the member as to PostgreSQL.
_PUSHED: Final = (
    "select id from items where name like 'n1%' and price > 10 and ok",
    "select ok, count(*), avg(price) from items group by ok",
    "select id from items order by at desc limit 5",
    "select i.id, k.kind from items i join kinds k using (id) where i.price > 1",
    "update kinds set kind = 'xx' where id = 1",
    "delete from kinds where id = 1",
)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[list[psycopg.Connection[Any]]]:
    """Two sessions of one PostgreSQL: the first has the member's tables in its search path, the other those of itself. It joins
    where the tables are, if it can."""
    with (
        local_member(tmp_path_factory.mktemp("fdw")) as member,
        postgres.database("federated") as federated,
    ):
        far = {"member": (member.port, "sluice"), "itself": (federated.port, federated.name)}
        with member.connect(user="postgres") as here, federated.connect() as there:
            for statement in _OBJECTS:
                here.execute(statement.encode())
                there.execute(statement.encode())
            there.execute("create extension postgres_fdw")
            for name, (port, database) in far.items():
                for statement in (
                    f"create server {name} foreign data wrapper postgres_fdw"
                    f" options (host '127.0.0.1', port '{port}', dbname '{database}', fetch_size '7', batch_size '50')",
                    f"create user mapping for postgres server {name} options (user 'postgres', password_required 'false')",
                    f"create schema far_{name}",
                    f"import foreign schema shop from server {name} into far_{name}",
                ):
                    there.execute(statement.encode())
        joins = " ".join(f"-c enable_{way}=off" for way in ("hashjoin", "mergejoin", "nestloop"))
        sessions = [federated.connect(options=f"-c search_path=far_{name} {joins}", autocommit=False) for name in far]
        yield sessions
        for session in sessions:
            session.close()


def _said(session: psycopg.Connection[Any], statements: tuple[str, ...]) -> list[Any]:
    """Return the results of the statements of one transaction: tags, rows in their order, or the error that ended it."""
    said: list[Any] = []
    try:
        with session.transaction():
            for statement in statements:
                cursor = session.execute(statement.encode())
                said.append((cursor.statusmessage, cursor.fetchall() if cursor.description else None))
    except psycopg.Error as error:
        said.append((error.sqlstate, error.diag.message_primary, error.diag.message_detail))
    return said


def test_imports(both: list[psycopg.Connection[Any]]) -> None:
    query = (
        "select table_name, column_name, format_type(a.atttypid, atttypmod), attnotnull, attcollation::regcollation"
        " from information_schema.columns join pg_attribute a on attrelid = (table_schema || '.' || table_name)::regclass"
        " and attname = column_name where table_schema = current_schema() order by 1, ordinal_position",
    )
    ours, theirs = (_said(session, query) for session in both)
    assert ours == theirs
    assert ours[0][0] == "SELECT 16"


def test_answers(both: list[psycopg.Connection[Any]]) -> None:
    for statements in _SCRIPT:
        ours, theirs = (_said(session, statements) for session in both)
        assert ours == theirs, statements


def test_sends_the_same(both: list[psycopg.Connection[Any]]) -> None:
    """Conditions, joins, aggregates, orders and whole changes run there."""
    for statement in _PUSHED:
        plans = [_said(session, (f"explain (verbose, costs off) {statement}",))[0][1] for session in both]
        sent = [[row[0].strip() for row in plan if "Remote SQL" in row[0]] for plan in plans]
        assert sent[0] == sent[1]
        assert len(sent[0]) == 1, statement


def test_what_needs_a_ctid_is_refused(both: list[psycopg.Connection[Any]]) -> None:
    """Changes that PostgreSQL computes row by row; that they cannot be made is said before any row changes."""
    before = _said(both[0], ("select * from kinds order by id",))
    for statement in (
        "update kinds set kind = left(kind || random()::text, 4) where id = 1",
        "delete from kinds where random() < 2",
        "select ctid from kinds",
    ):
        assert _said(both[0], (statement,)) == [("0A000", "not supported: the system column ctid", None)]
    assert _said(both[0], ("select * from kinds order by id",)) == before


def test_estimates_are_its_own(both: list[psycopg.Connection[Any]], postgres: PostgresServer) -> None:
    """With use_remote_estimate it wants costs, which EXPLAIN does not give here; without, ANALYZE lets it estimate."""
    with psycopg.connect(postgres.dsn, dbname="federated", autocommit=True) as admin:
        admin.execute("alter server member options (add use_remote_estimate 'true')")
        [(state, message, _detail)] = _said(both[0], ("select * from kinds where id = 1",))
        admin.execute("alter server member options (drop use_remote_estimate)")
    assert state == "XX000"
    assert message.startswith("could not interpret EXPLAIN output")
    assert _said(both[0], ("select count(*) from kinds",)) == _said(both[1], ("select count(*) from kinds",))
