"""Queries over the system catalog that are cached as long as their names resolve to the same objects: a session with
cached plans sees the same as one whose plans are all new.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from support.local_member import local_member

from engine.sql.binder import bind_query

_ASKED: Final = (
    "select relname, relkind, reltuples, relpages, relowner::regrole::text, relacl::text from pg_class "
    "where oid >= 16384 order by 1",
    "select c.relname, a.attname, pg_get_expr(d.adbin, d.adrelid) from pg_class c join pg_attribute a on a.attrelid = c.oid "
    "left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum where c.oid >= 16384 and attnum > 0 order by 1, 2",
    "select table_name, privilege_type from information_schema.table_privileges where table_schema = 'public' order by 1, 2",
    "select relname, pg_table_is_visible(oid) from pg_class where oid >= 16384 order by 1",
    "select tablename, attname, n_distinct from pg_stats order by 1, 2",
    "select relname, n_live_tup from pg_stat_user_tables order by 1",
    "select name, rows from sluice.tables order by 1",
    "select count(*) from pg_tables",
    "select 'kept'::regclass::oid = c.oid from pg_class c where relname = 'kept'",
    "select setting from pg_settings where name = 'work_mem'",
)
_STEPS: Final = (
    "create table kept (a int default 1, b text)", "insert into kept values (1, 'x')", "insert into kept values (2, 'y')",
    "analyze kept", "insert into kept select 3, 'z' from generate_series(1, 50)", "delete from kept where a = 3",
    "alter table kept rename to other", "create table kept (c int)", "insert into other values (4, 'v')", "drop table kept",
    "create table kept (d date)", "create role reader", "grant select on other to reader", "insert into other values (5, 'u')",
    "revoke select on other from reader", "create schema first", "create table first.kept (e int)",
    "set search_path = first, public", "insert into first.kept values (1)", "create table first.pg_tables (f int)",
    "set search_path = first, pg_catalog, public", "insert into first.pg_tables values (7)",
    "drop table first.pg_tables", "reset search_path", "create temp table kept (g int)",
    "insert into kept values (1)", "drop table pg_temp.kept", "set work_mem = '7MB'", "insert into kept values (null)",
    "begin", "insert into kept values (null)", "create table within (h int)", "rollback", "set role reader",
    "reset role", "truncate other", "vacuum other",
)  # fmt: skip


def _ask(connection: psycopg.Connection[Any], query: str) -> Any:
    try:
        return connection.execute(query.encode()).fetchall()
    except psycopg.Error as error:
        return error.sqlstate


@pytest.mark.table
@pytest.mark.parametrize("query", _ASKED)
def test_kept_queries_say_what_those_say_that_are_planned_anew(tmp_path: Path, query: str) -> None:
    with local_member(tmp_path) as member, member.connect() as asking:
        for number, step in enumerate(_STEPS):
            asking.execute(step.encode())
            # Another text is another statement to the cache.
            assert _ask(asking, query) == _ask(asking, f"{query} -- {number}"), step


def test_a_commit_elsewhere_does_not_bind_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[str] = []

    def note(query: Any, context: Any) -> Any:
        bound.append(query.text)
        return bind_query(query, context)

    monkeypatch.setattr("engine.statements.query.run.bind_query", note)
    asked = b"select relname from pg_class where oid >= 16384"
    with local_member(tmp_path) as member, member.connect() as asking:
        asking.execute(b"create table filled (a int)")
        asking.execute(asked)
        asking.execute(b"insert into filled values (1)")
        bound.clear()
        assert asking.execute(asked).fetchall() == [("filled",)]
        assert bound == []
        asking.execute(b"alter table filled rename to named")
        assert asking.execute(asked).fetchall() == [("named",)]
        assert bound == []
        # Which relation the name stands for is another matter.
        asking.execute(b"create table public.pg_class (relname text, oid oid)")
        asking.execute(b"set search_path = public, pg_catalog")
        assert asking.execute(asked).fetchall() == []
        assert bound == [asked.decode()]


def test_queries_that_differ_in_a_literal_share_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[str] = []

    def note(query: Any, context: Any) -> Any:
        bound.append(query.text)
        return bind_query(query, context)

    monkeypatch.setattr("engine.statements.query.run.bind_query", note)
    query = "select relname, attname from pg_class c join pg_attribute a on a.attrelid = c.oid where c.oid = '{}' and attnum = {}"
    with local_member(tmp_path) as member, member.connect() as asking:
        oids = {}
        for name in ("one", "two"):
            asking.execute(f"create table {name} (a int, b text)".encode())
            [(oids[name],)] = asking.execute(f"select '{name}'::regclass::oid".encode()).fetchall()
        for name, oid in oids.items():
            for number, column in ((1, "a"), (2, "b")):
                assert asking.execute(query.format(oid, number).encode()).fetchall() == [(name, column)]
        assert asking.execute(query.format(1, 1).encode()).fetchall() == []
    assert [text for text in bound if "attnum" in text] == [query.replace("'{}'", "$1").replace("{}", "$2")]
