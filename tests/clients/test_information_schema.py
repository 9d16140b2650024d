"""information_schema and the views of pg_catalog: the same rows as PostgreSQL 15 gives for the same objects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import local_member
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres
_OBJECTS = (
    "create schema shop",
    "create table shop.item (a int primary key, b varchar(7) not null, c numeric(9,2) default 1.5, d timestamptz(3), e interval,"
    " f text[], g int generated always as identity, h serial, i name, unique (b, c))",
    "create table shop.sale (x int references shop.item on delete cascade, y char(3), z float8, constraint much check (x > 1))",
    "create view shop.shown as select a from shop.item",
    "create materialized view shop.kept as select b from shop.item",
    "create sequence shop.steps as int2 start 3",
    "create domain shop.positive as int check (value > 0)",
    "create table shop.typed (p shop.positive not null)",
)
#: Queries that show the same. Views are not updatable here, so what says that is not asked for.
_SAME = (
    "select schemaname, tablename, tablespace, hasindexes, rowsecurity from pg_tables where schemaname = 'shop' order by 2",
    "select schemaname, viewname from pg_views where schemaname = 'shop'",
    "select schemaname, matviewname, hasindexes, ispopulated from pg_matviews where schemaname = 'shop'",
    "select * from pg_indexes where schemaname = 'shop' order by indexname",
    "select * from information_schema.information_schema_catalog_name",
    "select catalog_name, schema_name from information_schema.schemata"
    " where schema_name in ('shop', 'pg_catalog', 'information_schema') order by 2",
    "select * from information_schema.columns where table_schema = 'shop' and table_name <> 'shown'"
    " order by table_name, ordinal_position",
    "select table_name, column_name, data_type from information_schema.columns where table_name = 'shown'",
    "select * from information_schema.tables where table_schema = 'shop' and table_name <> 'shown' order by table_name",
    "select table_type from information_schema.tables where table_name in ('shown', 'pg_class', 'columns') order by 1",
    "select table_name, check_option from information_schema.views where table_schema = 'shop'",
    "select * from information_schema.table_constraints where table_schema = 'shop' and constraint_name !~ 'not_null'"
    " order by constraint_name",
    "select count(*) from information_schema.table_constraints where table_schema = 'shop' and constraint_name ~ 'not_null'",
    "select * from information_schema.key_column_usage where table_schema = 'shop' order by constraint_name, ordinal_position",
    "select * from information_schema.constraint_column_usage where table_schema = 'shop' order by constraint_name, column_name",
    "select * from information_schema.referential_constraints",
    "select * from information_schema.sequences where sequence_schema = 'shop' order by sequence_name",
    "select relkind, relname from pg_class where oid = 'information_schema.columns'::regclass",
)


def _told(connection: psycopg.Connection[Any], query: str) -> tuple[list[tuple[str, int]], list[tuple[Any, ...]]]:
    cursor = connection.execute(query.encode())
    return [(column.name, column.type_code) for column in cursor.description or ()], cursor.fetchall()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[list[psycopg.Connection[Any]]]:
    with (
        local_member(Path(tmp_path_factory.mktemp("views"))) as member,
        postgres.database("sluice") as database,
        member.connect() as here,
        database.connect() as there,
    ):
        for statement in _OBJECTS:
            here.execute(statement.encode())
            there.execute(statement.encode())
        yield [here, there]


def _own(connection: psycopg.Connection[Any], view: str) -> tuple[list[Any], list[str]]:
    """A view's columns, and its rows of what the test has made."""
    cursor = connection.execute(f"select * from information_schema.{view}".encode())
    columns = [(c.name, c.type_code, c.internal_size, c.precision, c.scale) for c in cursor.description or ()]
    return columns, sorted(repr(row) for row in cursor if "shop" in row)


#: Those that say something of what the test has made, and quickly.
_VIEWS = (
    "column_column_usage", "column_domain_usage", "column_udt_usage", "constraint_column_usage", "constraint_table_usage",
    "domain_constraints", "domain_udt_usage", "domains", "key_column_usage", "referential_constraints", "sequences",
    "view_column_usage", "view_table_usage",
)  # fmt: skip


@pytest.mark.parametrize("view", _VIEWS)
def test_the_same_of_what_was_made(both: list[psycopg.Connection[Any]], view: str) -> None:
    here, there = (_own(connection, view) for connection in both)
    assert here == there


@pytest.mark.table
@pytest.mark.parametrize("query", _SAME)
def test_the_same_rows(both: list[psycopg.Connection[Any]], query: str) -> None:
    here, there = both
    assert _told(here, query) == _told(there, query)
