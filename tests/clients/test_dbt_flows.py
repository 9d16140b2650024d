"""The statements that dbt's PostgreSQL adapter sends for its materializations, in its transactions: a table that
replaces its predecessor, incremental models by merge, by delete and insert and by appending, a view, a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import local_member

_SOURCE = "select g as id, g % 3 as kind, date '2024-01-01' + g as day from generate_series({}) g"


@pytest.fixture
def dbt(tmp_path: Path) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with local_member(tmp_path) as shared, shared.connect() as connection:
        connection.execute('create schema if not exists "analytics"')
        connection.execute("set search_path = analytics")
        yield connection


def in_one(connection: psycopg.Connection[tuple[Any, ...]], *statements: str) -> None:
    connection.execute("BEGIN")
    for statement in statements:
        connection.execute(statement.encode())
    connection.execute("COMMIT")


def rows(connection: psycopg.Connection[tuple[Any, ...]], sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql.encode()).fetchall()


def build(connection: psycopg.Connection[tuple[Any, ...]], series: str) -> None:
    """materialized='table': made beside the old one, and put in its place."""
    new = '"sluice"."analytics"."orders__dbt_tmp"'
    there = rows(connection, "select 1 from pg_tables where schemaname = 'analytics' and tablename = 'orders'")
    aside = ('alter table "sluice"."analytics"."orders" rename to "orders__dbt_backup"',) if there else ()
    in_one(
        connection,
        f"create table {new} as ({_SOURCE.format(series)})",
        *aside,
        f'alter table {new} rename to "orders"',
        'create index if not exists "by_day" on "sluice"."analytics"."orders" (day)' if not there else "select 1",
    )
    in_one(connection, 'drop table if exists "sluice"."analytics"."orders__dbt_backup" cascade')


def test_a_table_replaces_its_forerunner(dbt: psycopg.Connection[tuple[Any, ...]]) -> None:
    build(dbt, "1, 10")
    build(dbt, "1, 20")
    assert rows(dbt, "select count(*), max(id) from orders") == [(20, 20)]
    names = rows(dbt, "select tablename from pg_tables where schemaname = 'analytics'")
    assert names == [("orders",)]


def test_a_view_replaces_its_forerunner(dbt: psycopg.Connection[tuple[Any, ...]]) -> None:
    build(dbt, "1, 10")
    orders = '"sluice"."analytics"."orders"'
    for kind in (1, 2):
        in_one(
            dbt,
            f'create view "sluice"."analytics"."chosen__dbt_tmp" as (select * from {orders} where kind = {kind})',
            *(('alter table "sluice"."analytics"."chosen" rename to "chosen__dbt_backup"',) if kind == 2 else ()),
            'alter table "sluice"."analytics"."chosen__dbt_tmp" rename to "chosen"',
        )
        in_one(dbt, 'drop view if exists "sluice"."analytics"."chosen__dbt_backup" cascade')
    assert rows(dbt, "select distinct kind from chosen") == [(2,)]


@pytest.mark.parametrize("strategy", ["merge", "delete+insert", "append"])
def test_an_incremental_model_takes_what_is_new(dbt: psycopg.Connection[tuple[Any, ...]], strategy: str) -> None:
    build(dbt, "1, 10")
    dbt.execute(
        f'create temporary table "orders__dbt_tmp1" as ({_SOURCE.format("8, 15").replace("% 3", "* 0 + 7")})'.encode()
    )
    target, temporary = '"sluice"."analytics"."orders"', '"orders__dbt_tmp1"'
    insert = f'insert into {target} ("id", "kind", "day") (select "id", "kind", "day" from {temporary})'
    changes = {
        "append": (insert,),
        "delete+insert": (f"delete from {target} where (id) in (select (id) from {temporary})", insert),
        "merge": (
            f"merge into {target} as DBT_INTERNAL_DEST using {temporary} as DBT_INTERNAL_SOURCE on "
            "(DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id) when matched then update set "
            '"kind" = DBT_INTERNAL_SOURCE."kind", "day" = DBT_INTERNAL_SOURCE."day" when not matched then insert '
            '("id", "kind", "day") values ("id", "kind", "day")',
        ),
    }
    in_one(dbt, *changes[strategy])
    dbt.execute('drop table if exists "orders__dbt_tmp1" cascade')
    expected = (18, 15, 8) if strategy == "append" else (15, 15, 8)
    assert rows(dbt, "select count(*), max(id), count(*) filter (where kind = 7) from orders") == [expected]


def test_a_snapshot_keeps_what_was(dbt: psycopg.Connection[tuple[Any, ...]]) -> None:
    build(dbt, "1, 3")
    stamped = "md5(id::text) as dbt_scd_id, timestamp '2024-05-01' as dbt_valid_from, null::timestamp as dbt_valid_to"
    in_one(dbt, f'create table "analytics"."kept" as (select *, {stamped} from orders)')
    dbt.execute("update orders set kind = 9 where id = 2")
    changed = "orders o join kept k using (id) where o.kind <> k.kind"
    staged = f"select o.*, md5(o.id::text || o.kind) as dbt_scd_id, k.dbt_scd_id as before from {changed}"
    ended = "update kept set dbt_valid_to = timestamp '2024-06-01' from staged where staged.before = kept.dbt_scd_id"
    in_one(
        dbt,
        f'create temporary table "staged" as ({staged})',
        f"{ended} and kept.dbt_valid_to is null",
        "insert into kept select id, kind, day, dbt_scd_id, timestamp '2024-06-01', null from staged",
    )
    found = rows(dbt, "select kind, dbt_valid_to is null from kept where id = 2 order by dbt_valid_from")
    assert found == [(2, False), (9, True)]
