"""`FROM 'file.parquet'`: what it reads, how the relation is named, and that it does not bypass privileges and roots."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from psycopg import errors
from support.local_member import LocalMember, local_member, say
from support.member_process import MemberProcess

Connection = psycopg.Connection[tuple[Any, ...]]

#: Paths that lead out of the root, as somebody may write them.
OUTSIDE = [
    "in/../out/deep/a.parquet", "out/deep", "out/*/a.parquet", "in/linked/a.parquet", "in/linked", "in/l*/a.parquet",
    "in/*/*.parquet", "in/**/*.parquet", "in/[l]inked/a.parquet", "in/?ixed/b.parquet", "in/mixed", "in/*/../../out/deep/a.parquet",
    "out/lake", "in/lake_link",
]  # fmt: skip


def lay(folder: Path) -> None:
    """Files of each format with the same two rows."""
    rows = pa.table({"a": pa.array([1, 2], pa.int32()), "b": ["x", "y"]})
    pq.write_table(rows, folder / "orders.parquet")
    pyarrow.csv.write_csv(rows, folder / "orders.csv")
    (folder / "orders.json").write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))
    (folder / "parts").mkdir()
    for number in (0, 1):
        pq.write_table(rows.slice(number, 1), folder / "parts" / f"part-{number}.parquet")
    write_deltalake(folder / "lake", rows)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`in`, which members may read, with links into `out`, which they may not."""
    folder = tmp_path_factory.mktemp("ground")
    for name in ("in", "out"):
        (folder / name / "deep").mkdir(parents=True)
        pq.write_table(pa.table({"a": [name]}), folder / name / "deep" / "a.parquet")
    lay(folder / "in")
    write_deltalake(folder / "out" / "lake", pa.table({"a": ["out"]}))
    (folder / "in" / "linked").symlink_to(folder / "out" / "deep")
    (folder / "in" / "lake_link").symlink_to(folder / "out" / "lake")
    (folder / "in" / "mixed").mkdir()
    (folder / "in" / "mixed" / "b.parquet").symlink_to(folder / "out" / "deep" / "a.parquet")
    return folder


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, ground: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("files"), base=ground / "in", roots=(ground / "in",)) as running:
        yield running


@pytest.fixture
def connection(local: LocalMember) -> Iterator[Connection]:
    with local.connect() as made:
        yield made


def rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql.encode()).fetchall()


# -- what is read ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["orders.parquet", "orders.csv", "orders.json", "parts", "parts/", "p*s/*.parquet", "lake"]
)
def test_each_kind(connection: Connection, ground: Path, path: str) -> None:
    for named in (path, f"{ground}/in/{path}"):
        assert rows(connection, f"select a, b from '{named}' order by a") == [(1, "x"), (2, "y")]


def test_types_are_those_of_a_foreign_table(connection: Connection) -> None:
    for path in ("orders.parquet", "orders.csv", "orders.json", "lake"):
        connection.execute("drop foreign table if exists f")
        connection.execute(f"create foreign table f options (path '{path}')".encode())
        types = [
            [(column.name, column.type_code) for column in connection.execute(sql.encode()).description or ()]
            for sql in (f"select * from '{path}'", "select * from f")
        ]
        assert types[0] == types[1]
    connection.execute("drop foreign table f")


def test_names(connection: Connection) -> None:
    assert rows(connection, "select orders.a from 'orders.parquet' where orders.b = 'y'") == [(2,)]
    assert rows(connection, "select o.x, b from 'orders.parquet' as o(x) order by x limit 1") == [(1, "x")]
    joined = "select p.a, o.b from 'parts' p join 'orders.csv' o using (a) order by 1"
    assert rows(connection, joined) == [(1, "x"), (2, "y")]
    with pytest.raises(errors.DuplicateAlias, match='table name "orders" specified more than once'):
        rows(connection, "select * from 'orders.parquet', 'orders.csv'")
    assert rows(connection, "select o from 'orders.csv' o order by a limit 1") == [(("1", "x"),)]
    assert rows(connection, "select count(*) from 'parts' p, 'parts' q") == [(4,)]
    assert rows(connection, "with w as (select * from 'parts') select sum(a) from w") == [(3,)]


def test_an_earlier_version_of_a_delta_table(connection: Connection, ground: Path) -> None:
    lake = ground / "in" / "grown"
    for value in (1, 2):
        write_deltalake(lake, pa.table({"a": [value]}), mode="append")
    assert rows(connection, "select sum(a) from 'grown' for version as of 0") == [(1,)]
    assert rows(connection, "select sum(a) from 'grown'") == [(3,)]


def test_statements_that_write(connection: Connection) -> None:
    connection.execute("create temporary table copied as select * from 'orders.parquet'")
    connection.execute("insert into copied select a + 2, b from 'orders.csv'")
    connection.execute("update copied set b = o.b || '!' from 'orders.json' o where o.a = copied.a")
    connection.execute("merge into copied using 'lake' l on l.a = copied.a when matched and l.a = 1 then delete")
    assert rows(connection, "select * from copied order by a") == [(2, "y!"), (3, "x"), (4, "y")]
    for statement in (
        "insert into 'orders.csv' values (1)",
        "delete from 'orders.csv'",
        "update 'orders.csv' set a = 1",
    ):
        told = say(connection, statement)
        assert told.error is not None
        assert told.error[0] == "42601"


def test_a_file_that_changes(connection: Connection, ground: Path) -> None:
    """Its rows and its columns are those of now, for a prepared statement too, which must keep its columns."""
    file = ground / "in" / "changing.parquet"
    pq.write_table(pa.table({"a": [1]}), file)
    connection.execute("prepare p as select * from 'changing.parquet'")
    assert rows(connection, "execute p") == [(1,)]
    pq.write_table(pa.table({"a": [2, 3]}), file)
    assert rows(connection, "execute p") == [(2,), (3,)]
    assert rows(connection, "select * from 'changing.parquet'") == [(2,), (3,)]
    pq.write_table(pa.table({"z": ["new"]}), file)
    assert rows(connection, "select * from 'changing.parquet'") == [("new",)]
    with pytest.raises(errors.FeatureNotSupported, match="cached plan must not change result type"):
        rows(connection, "execute p")


def test_explain_shows_the_file(connection: Connection, ground: Path) -> None:
    plan = "\n".join(line for (line,) in rows(connection, "explain select a from 'orders.parquet' where a > 1"))
    assert f"File: {ground}/in/orders.parquet" in plan


def test_errors(connection: Connection, ground: Path) -> None:
    for statement, code, message in (
        ("select * from 'nonesuch.parquet'", "58P01", "nonesuch.parquet"),
        ("select * from ''", "0A000", "as one table, since tables lie in it"),
        ("select * from 'orders.parquet' for update", None, ""),
        ("select z from 'orders.csv'", "42703", 'column "z" does not exist'),
        ("select * from 'orders.csv' for update of orders", "0A000", "FOR UPDATE cannot be applied to a file"),
        ("create view v as select * from 'orders.csv'", "0A000", "a file in the definition of a view"),
        ("create view v as with w as (select 1 from (select * from 'lake') x) table w", "0A000", "in the definition"),
        ("create materialized view v as select * from 'orders.csv'", "0A000", "a file in the definition of a view"),
    ):
        told = say(connection, statement)
        assert (told.error[0] if told.error else None) == code, (statement, told)
        assert told.error is None or message in (told.error[1] or ""), told
    told = say(connection, "select 1, a from 'nonesuch.parquet'")
    assert told.error is not None
    assert told.error[4] == "18"


# -- who may -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_outside_the_roots(connection: Connection, ground: Path, path: str) -> None:
    for named in (f"{ground}/{path}", f"../{path}"):
        told = say(connection, f"select * from '{named}'")
        assert told.error is not None, told.rows
        assert told.error[0] == "42501", told.error


def test_a_link_that_takes_a_files_place(connection: Connection, ground: Path) -> None:
    file = ground / "in" / "swapped.parquet"
    pq.write_table(pa.table({"a": ["in"]}), file)
    connection.execute("prepare s as select * from 'swapped.parquet'")
    assert rows(connection, "execute s") == [("in",)]
    file.unlink()
    file.symlink_to(ground / "out" / "deep" / "a.parquet")
    for statement in ("execute s", "select * from 'swapped.parquet'"):
        with pytest.raises(errors.InsufficientPrivilege, match="lies outside"):
            rows(connection, statement)


def test_only_who_may_read_the_servers_files(local: LocalMember, connection: Connection) -> None:
    connection.execute("create role reader login")
    connection.execute("grant create on schema public to reader")
    connection.execute("grant pg_read_server_files to reader")
    with psycopg.connect(local.dsn.replace("tester", "reader"), autocommit=True) as reader:
        statements = (
            "select * from 'orders.parquet'", "explain select * from 'orders.parquet'", "select * from 'nonesuch'",
            "create temporary table mine as select * from 'lake'", "copy (select * from 'orders.csv') to stdout",
            "declare c cursor with hold for select * from 'orders.csv'", "execute p", "prepare q as table r; select * from 'lake'",
            "select (select max(a) from 'lake')", "insert into r select a from 'orders.parquet'",
        )  # fmt: skip
        reader.execute("create table r (a int4)")
        reader.execute("prepare p as select * from 'orders.parquet'")
        reader.execute("prepare i as insert into r select a from 'orders.parquet'")
        assert rows(reader, "execute p") == [(1, "x"), (2, "y")]
        reader.execute("execute i")
        reader.execute("begin")
        reader.execute("declare open cursor for select a from 'orders.parquet' order by a")
        connection.execute("revoke pg_read_server_files from reader")
        # A cursor that is open reads on, as PostgreSQL's does.
        assert rows(reader, "fetch 1 from open") == [(1,)]
        reader.execute("rollback")
        for statement in (*statements, "execute i"):
            told = say(reader, statement)
            assert told.error is not None, statement
            assert told.error[:2] in {
                ("42501", f'permission denied for file "{path}"')
                for path in ("orders.parquet", "nonesuch", "lake", "orders.csv")
            }, (statement, told.error)
    connection.execute("drop table r")
    connection.execute("revoke create on schema public from reader")
    connection.execute("drop role reader")


def test_set_role_counts(connection: Connection) -> None:
    connection.execute("create role nobody_much")
    connection.execute("prepare as_super as select a from 'orders.parquet' order by a")
    connection.execute("set role nobody_much")
    for statement in ("execute as_super", "select * from 'orders.parquet'"):
        with pytest.raises(errors.InsufficientPrivilege, match="permission denied for file"):
            rows(connection, statement)
    connection.execute("reset role")
    assert rows(connection, "execute as_super") == [(1,), (2,)]
    connection.execute("drop role nobody_much")


# -- Spark -------------------------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_both_engines(member: MemberProcess, tmp_path: Path) -> None:
    lay(tmp_path)
    with member.connect() as connection:
        for engine in ("local", "spark"):
            connection.execute(f"set sluice.engine = {engine}".encode())
            for path in ("orders.parquet", "orders.csv", "orders.json", "parts", "lake"):
                query = f"select sum(a), max(b), count(*) from '{tmp_path}/{path}' where b <> ''"
                assert rows(connection, query) == [(3, "y", 2)]
                plan = [line for (line,) in rows(connection, f"explain {query}")]
                assert any(line.startswith(f"Engine: {engine}") for line in plan)
