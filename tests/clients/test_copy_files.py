"""COPY of the server's files: every format written and read back, what is refused, and what a failure leaves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest
from support.local_member import LocalMember, local_member

Connection = psycopg.Connection[tuple[Any, ...]]

_COLUMNS = "a int, b text, c numeric(6,2), d timestamptz, e interval, f time, g int[], h timetz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(tmp_path_factory.mktemp("copied"))


@pytest.fixture(scope="module")
def sluice(folder: Path) -> Iterator[LocalMember]:
    with local_member(folder) as running:
        yield running


@pytest.fixture
def connection(sluice: LocalMember) -> Iterator[Connection]:
    with sluice.connect() as opened:
        opened.execute(f"create table t ({_COLUMNS})".encode())
        opened.execute(
            "insert into t values (1, 'x,\"y', 1.5, '2020-01-01 10:00+00', '2 days', '10:11', '{1,2}', '10:11+02'), "
            "(2, null, null, null, null, null, null, null), "
            "(3, '', null, null, null, null, null, null)"
        )
        yield opened
        opened.execute("drop table if exists t, u")


def run(connection: Connection, statement: str) -> str | None:
    return connection.execute(statement.encode()).statusmessage


def rows(connection: Connection, table: str) -> list[tuple[Any, ...]]:
    return connection.execute(f"select row_to_json({table})::text from {table} order by a".encode()).fetchall()


@pytest.mark.table
@pytest.mark.parametrize("form", ["csv", "text", "binary", "parquet", "json"])
def test_there_and_back(connection: Connection, folder: Path, form: str) -> None:
    file = folder / "files" / f"t.{form}"
    assert run(connection, f"copy t to '{file}' (format {form})") == "COPY 3"
    run(connection, f"create table u ({_COLUMNS})")
    assert run(connection, f"copy u from '{file.name}' (format {form})") == "COPY 3"
    assert rows(connection, "u") == rows(connection, "t")
    assert run(connection, f"copy u from '{file.name}' (format {form}) where a = 2") == "COPY 1"


def test_files_say_what_their_columns_are(connection: Connection, folder: Path) -> None:
    file = folder / "files" / "some.parquet"
    run(connection, f"copy (select b, a from t) to '{file}' (format parquet)")
    assert pq.read_schema(file).names == ["b", "a"]
    run(connection, "create table u (a bigint, b varchar(5), z int default 7)")
    assert run(connection, "copy u from 'some.parquet' (format parquet)") == "COPY 3"
    assert connection.execute("select a, z from u order by a").fetchall() == [(1, 7), (2, 7), (3, 7)]
    run(connection, "create table v (a int)")
    with pytest.raises(psycopg.errors.UndefinedColumn, match=r'"b" of "some\.parquet" does not exist in relation "v"'):
        run(connection, "copy v from 'some.parquet' (format parquet)")
    assert run(connection, "copy v (a) from 'some.parquet' (format parquet)") == "COPY 3"
    with pytest.raises(psycopg.errors.UndefinedColumn, match=r'"z" does not exist in "some\.parquet"'):
        run(connection, "copy u (z) from 'some.parquet' (format parquet)")
    run(connection, "drop table v")


def test_a_folder_of_part_files(connection: Connection, folder: Path) -> None:
    parts = folder / "files" / "parts"
    parts.mkdir(parents=True)
    for part in range(3):
        run(connection, f"copy (select a + {part} * 10 as a from t) to '{parts}/{part}.parquet' (format parquet)")
    run(connection, "create table u (a int)")
    assert run(connection, "copy u from 'parts' (format parquet)") == "COPY 9"


FOLDERS = [
    ("csv", "csv, header, force_quote (b), null 'none'"),
    ("csv", "csv, delimiter ';', encoding 'LATIN1'"),
    ("txt", "text, header"),
    ("json", "json"),
]


@pytest.mark.table
@pytest.mark.parametrize(("suffix", "options"), FOLDERS)
def test_a_folder_has_the_rows_that_a_file_has(connection: Connection, folder: Path, suffix: str, options: str) -> None:
    file, parts = folder / "files" / "one", folder / "files" / f"{suffix}-parts"
    query = "select *, a / 7.0 as q, interval '1 mon' * a as i from t order by a"
    for settings in (
        "set datestyle to sql, dmy; set intervalstyle to iso_8601",
        "reset datestyle; reset intervalstyle",
    ):
        run(connection, settings)
        assert run(connection, f"copy ({query}) to '{file}' (format {options})") == "COPY 3"
        assert run(connection, f"copy ({query}) to '{parts}/' (format {options})") == "COPY 3"
        assert sorted(os.listdir(parts)) == [f"part-00000.{suffix}"]
        assert (parts / f"part-00000.{suffix}").read_bytes() == file.read_bytes()
        shutil.rmtree(parts)
    assert run(connection, f"copy (select * from t where a > 9) to '{parts}/' (format {options})") == "COPY 0"
    run(connection, f"copy (select * from t where a > 9) to '{file}' (format {options})")
    assert (parts / f"part-00000.{suffix}").read_bytes() == file.read_bytes()
    shutil.rmtree(parts)
    with pytest.raises(psycopg.errors.DivisionByZero):
        run(connection, f"copy (select b, 1 / (a - 3) from t) to '{parts}/' (format {options})")
    assert not parts.exists()
    assert not list((folder / ".sluice" / "tables").glob("*/*.csv")), "staged parts are gone"


REFUSED = [
    ("copy t to '/etc/sluice-was-here'", "42501"),
    ("copy t from '/etc/passwd'", "42501"),
    ("copy t from '../.sluice/catalog.sqlite'", "42501"),
    ("copy t from 'link'", "42501"),
    ("copy t from 'link' (format parquet)", "42501"),
    ("copy t from 'nothing'", "58P01"),
    ("copy t from 'nothing' (format parquet)", "58P01"),
    ("copy t from ''", "42809"),
    ("copy t to 'relative'", "42602"),
    ("copy t from program 'ls'", "0A000"),
    ("copy t to program 'cat'", "0A000"),
    ("copy t to stdout (format parquet)", "0A000"),
    ("copy t from stdin (format json)", "0A000"),
    ("copy t from 'nothing' (format json, header)", "0A000"),
]


@pytest.mark.table
@pytest.mark.parametrize(("statement", "sqlstate"), REFUSED)
def test_refused(connection: Connection, folder: Path, statement: str, sqlstate: str) -> None:
    (folder / "files").mkdir(exist_ok=True)
    link = folder / "files" / "link"
    if not link.is_symlink():
        link.symlink_to("/etc/passwd")
    with pytest.raises(psycopg.Error) as raised:
        run(connection, statement)
    assert raised.value.sqlstate == sqlstate


def test_only_superusers_reach_files(connection: Connection, folder: Path) -> None:
    run(connection, "create role reader")
    try:
        run(connection, "set role reader")
        for statement in ("copy t from 'x'", f"copy t to '{folder}/files/x'", "copy t from 'x' (format parquet)"):
            with pytest.raises(
                psycopg.errors.InsufficientPrivilege, match="must be superuser or have privileges of the pg_"
            ):
                run(connection, statement)
    finally:
        run(connection, "reset role")
        run(connection, "drop role reader")


def test_a_failure_leaves_the_file_as_it_was(connection: Connection, folder: Path) -> None:
    file = folder / "files" / "kept.csv"
    run(connection, f"copy (select a from t) to '{file}' csv")
    with pytest.raises(psycopg.errors.DivisionByZero):
        run(connection, f"copy (select 1 / (a - 3) from t) to '{file}' csv")
    assert file.read_text() == "1\n2\n3\n"
    assert not [name for name in os.listdir(file.parent) if name.startswith(".")]
    file.write_text("1\nx\n")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation) as raised:
        run(connection, "copy t (a) from 'kept.csv' csv")
    assert raised.value.diag.context == 'COPY t, line 2, column a: "x"'
    assert connection.execute("select count(*) from t").fetchone() == (3,)


@pytest.mark.table
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_foreign_keys_hold(connection: Connection, folder: Path, form: str) -> None:
    file = folder / "files" / f"keys.{form}"
    run(connection, f"copy (select a from t) to '{file}' (format {form})")
    run(connection, "create table k (a int primary key)")
    run(connection, "create table u (a int references k)")
    try:
        run(connection, "insert into k values (1), (2)")
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            run(connection, f"copy u from 'keys.{form}' (format {form})")
        assert run(connection, f"copy u from 'keys.{form}' (format {form}) where a < 3") == "COPY 2"
    finally:
        run(connection, "drop table u, k")


def test_a_folder_is_whole_or_not_there(connection: Connection, folder: Path) -> None:
    pieces = folder / "files" / "pieces"
    columns = "a, b, c, d, f, g"
    assert run(connection, f"copy t ({columns}) to '{pieces}/' (format parquet)") == "COPY 3"
    assert [file.name for file in pieces.iterdir()] == ["part-00000.parquet"]
    assert pq.read_schema(pieces / "part-00000.parquet").names == columns.split(", ")
    run(connection, f"create table u ({_COLUMNS})")
    assert run(connection, "copy u from 'pieces/' (format parquet)") == "COPY 3"
    assert run(connection, "copy u from 'pieces/*.parquet' (format parquet) where a = 2") == "COPY 1"
    same = f"select count(*) from (select {columns} from t except select {columns} from u) as x"
    assert connection.execute(same.encode()).fetchone() == (0,)
    with pytest.raises(psycopg.errors.IoError, match="it is not empty"):
        run(connection, f"copy t (a) to '{pieces}/' (format parquet)")
    (folder / "files" / "empty").mkdir()
    assert (
        run(connection, f"copy (select a from t where a < 0) to '{folder}/files/empty/' (format parquet)") == "COPY 0"
    )
    assert run(connection, "copy u (a) from 'empty/' (format parquet)") == "COPY 0"
    for refused in ("copy t to '{}/more/' (format binary)", "copy t (e) to '{}/more/' (format parquet)"):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="COPY TO a folder"):
            run(connection, refused.format(folder / "files"))
    with pytest.raises(psycopg.errors.DivisionByZero):
        run(connection, f"copy (select 1 / (a - 3) as q from t) to '{folder}/files/more/' (format parquet)")
    assert sorted(path.name for path in (folder / "files").glob("*ore*")) == []
    assert [path for path in (folder / "tables").iterdir() if not (path / "_delta_log").exists()] == []


def test_lists_of_times_are_texts_in_parquet_and_those_of_intervals_are_refused(
    connection: Connection, folder: Path
) -> None:
    for target in ("times.parquet", "times/"):
        query = "select array[time '24:00', null, '00:00:00.000001'] as a, time '01:00' as b"
        assert run(connection, f"copy ({query}) to '{folder}/files/{target}' (format parquet)") == "COPY 1"
        run(connection, "create table times (a time[], b time)")
        try:
            assert run(connection, f"copy times from '{target}' (format parquet)") == "COPY 1"
            rows = connection.execute("select a::text, b::text from times").fetchall()
            assert rows == [("{24:00:00,NULL,00:00:00.000001}", "01:00:00")]
        finally:
            run(connection, "drop table times")
        for value in ("array[interval '1 day']", "array[timetz '12:00+02']"):
            with pytest.raises(psycopg.errors.FeatureNotSupported, match=r'of column "a", of type .*\[\]'):
                run(connection, f"copy (select {value} as a) to '{folder}/files/other{target[5:]}' (format parquet)")
    assert not list((folder / "files").glob("other*"))
