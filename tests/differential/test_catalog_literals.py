"""Literals of catalog queries, which become parameters where they mean the same: answers and errors are PostgreSQL's,
in every execution.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import local_member
from support.postgres_server import Database

pytestmark = pytest.mark.postgres
_TABLES = "create table one (a int, b text); create table two (a int)"
_QUERIES = (
    "select relname from pg_class where oid = '99999999999'",
    "select relname from pg_class where oid = 'one'",
    "select relname from pg_class where oid = 7 or relname = 'one'",
    "select relname from pg_class where relhasindex = 'no' and relname = 'one'",
    "select relname from pg_class where relhasindex = 'perhaps' and relname = 'one'",
    "select relkind = 'r', count(*) from pg_class where relname = 'one' group by relkind = 'r'",
    "select relname from pg_class where relname = 'one' and relnatts = 99999",
    "select relname from pg_class where relname = 'one' and relnatts = '99999'",
    "select relname from pg_class where relname = 'one' and relnatts = '2'",
    r"select c.relname from pg_class c where c.relname = E'o\x6ee' or c.relname = U&'t\0077o' order by 1",
    "select relname from pg_class where relname = $$one$$ and relnatts = 2",
    "select (select json_agg(x) from unnest(array[1, 2]) x where c.relname = 'one') from pg_class c where relname = 'one'",
    "select array(select y from unnest(array['one', 'two']) y where y = c.relname) from pg_class c where relname = 'two'",
    "select c.relname, a.attname from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attnum = 2 "
    "where c.relname = 'one' or c.relname = 'two' order by 1",
    "select table_name, column_name from information_schema.columns where table_name = 'one' and ordinal_position = 2",
    "select json_build_object('k', relname = 'one', 'v', relnatts) from pg_class where relname = 'one'",
    "with pg_c as (select 'one' as x) select x from pg_c, pg_class where x = 'one' and relname = 'one'",
)


def _ask(connection: psycopg.Connection[Any], query: str) -> Any:
    try:
        return connection.execute(query.encode(), prepare=False).fetchall()
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary, error.diag.statement_position


def test_same_answers(tmp_path: Path, postgres_database: Database) -> None:
    with local_member(tmp_path) as member, member.connect() as ours, postgres_database.connect() as theirs:
        for connection in (ours, theirs):
            connection.execute(_TABLES.encode())
        for _ in range(3):
            for query in _QUERIES:
                assert (query, _ask(ours, query)) == (query, _ask(theirs, query))
