"""COPY as clients run it: psql, single messages, many rows, and what is left when it does not complete."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member
from support.member_process import wait_until
from support.packages import needs
from support.postgres_server import PostgresServer
from support.session_server import RawClient, raw_to

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(Path(tmp_path_factory.mktemp("copy"))) as running:
        yield running


@pytest.fixture
def connection(sluice: LocalMember) -> Iterator[Connection]:
    with sluice.connect() as opened:
        yield opened
        opened.execute("drop table if exists t")


def send(connection: Connection, statement: str, *pieces: str | bytes) -> str | None:
    with connection.cursor() as cursor:
        with cursor.copy(statement.encode()) as copy:
            for piece in pieces:
                copy.write(piece)
        return cursor.statusmessage


@needs("psql")
def test_psql_copies_both_ways(sluice: LocalMember, connection: Connection, tmp_path: Path) -> None:
    connection.execute("create table t (a int, b text)")
    source, target = tmp_path / "in.csv", tmp_path / "out.tsv"
    source.write_text('a,b\n1,"x, y"\n2,\n')
    for command in (f"\\copy t from '{source}' csv header", f"\\copy t to '{target}'"):
        done = subprocess.run(["psql", "-X", sluice.dsn, "-c", command], capture_output=True, text=True, check=True)
        assert done.stdout == "COPY 2\n"
    assert target.read_text() == "1\tx, y\n2\t\\N\n"


def test_many_rows_go_in_and_come_out(connection: Connection) -> None:
    connection.execute("create table t (a bigint, b text, c double precision, d timestamptz)")
    count, size = 300_000, 10_000
    lines = [f"{i}\tname {i}\t{i}.5\t2020-01-01 00:00:{i % 60:02}+00\n" for i in range(count)]
    pieces = ["".join(lines[i : i + size]) for i in range(0, count, size)]
    assert send(connection, "copy t from stdin", *pieces) == f"COPY {count}"
    assert connection.execute("select count(*), sum(a), sum(c) from t").fetchone() == (
        count, count * (count - 1) // 2, count * (count - 1) / 2 + count / 2,
    )  # fmt: skip
    with connection.cursor() as cursor, cursor.copy(b"copy (select * from t order by a) to stdout") as copy:
        assert b"".join(bytes(piece) for piece in copy) == "".join(lines).encode()


def test_many_rows_in_binary(connection: Connection) -> None:
    connection.execute("create table t (a bigint, b text, c numeric(12,2), d timestamptz)")
    connection.execute(
        "insert into t select case when i % 7 > 0 then i end, repeat('x', (i % 50)::int), i / 100.0, "
        "'2020-01-01'::timestamptz + i * interval '1 second' from generate_series(1, 100000) i"
    )
    with connection.cursor() as cursor, cursor.copy(b"copy t to stdout (format binary)") as copy:
        data = b"".join(bytes(piece) for piece in copy)
    before = connection.execute("select count(*), sum(a), sum(c), sum(length(b)), max(d) from t").fetchone()
    connection.execute("truncate t")
    assert send(connection, "copy t from stdin (format binary)", data) == "COPY 100000"
    assert connection.execute("select count(*), sum(a), sum(c), sum(length(b)), max(d) from t").fetchone() == before


def test_the_first_wrong_row_of_many_is_told(connection: Connection) -> None:
    connection.execute("create table t (a int, b text not null)")
    rows = [f"{i},x\n" for i in range(200_000)]
    rows[150_000] = "150000,\n"
    rows[160_000] = "q,x\n"
    with pytest.raises(psycopg.errors.NotNullViolation) as raised:
        send(connection, "copy t from stdin csv", "".join(rows))
    assert raised.value.diag.context == 'COPY t, line 150001: "150000,"'
    assert connection.execute("select count(*) from t").fetchone() == (0,)


def test_defaults_identity_and_keys(connection: Connection) -> None:
    connection.execute(
        "create table t (a int generated always as identity primary key, b text default 'none', c serial, d int default 1 + 1)"
    )
    send(connection, "copy t (b) from stdin", "x\n\\N\n")
    send(connection, "copy t (a, d) from stdin", "10\t3\n")
    assert connection.execute("select * from t order by a").fetchall() == [
        (1, "x", 1, 2), (2, None, 2, 2), (10, "none", 3, 3),
    ]  # fmt: skip
    for rows in ("10\n", "20\n21\n20\n"):
        with pytest.raises(psycopg.errors.UniqueViolation):
            send(connection, "copy t (a) from stdin", rows)
    assert connection.execute("select count(*) from t").fetchone() == (3,)


def test_a_copy_belongs_to_its_transaction(sluice: LocalMember) -> None:
    with sluice.connect(autocommit=False) as connection:
        connection.execute("create table u (a int)")
        send(connection, "copy u from stdin", "1\n2\n")
        assert connection.execute("select count(*) from u").fetchone() == (2,)
        connection.rollback()
        connection.execute("set transaction read only")
        with pytest.raises(psycopg.errors.UndefinedTable):
            send(connection, "copy u from stdin")


def give_up(connection: Connection) -> None:
    with connection.cursor() as cursor, cursor.copy(b"copy t from stdin") as copy:
        copy.write("1\n" * 2_000_000)
        raise psycopg.OperationalError("never mind")


def test_a_client_that_gives_up(connection: Connection, sluice: LocalMember) -> None:
    connection.execute("create table t (a int)")
    before = set(sluice.engine.store.tables.rglob("*.parquet"))
    with pytest.raises(psycopg.OperationalError, match="never mind"):
        give_up(connection)
    assert connection.execute("select count(*) from t").fetchone() == (0,)
    assert set(sluice.engine.store.tables.rglob("*.parquet")) == before


def progress(connection: Connection) -> list[tuple[Any, ...]]:
    return connection.execute(
        "select pid, datname, relid = (select 't'::regclass::oid), command, type, bytes_processed, bytes_total, "
        "tuples_processed, tuples_excluded from pg_stat_progress_copy"
    ).fetchall()


def test_progress_is_told(connection: Connection, sluice: LocalMember) -> None:
    connection.execute("create table t (a int)")
    data, pid = "".join(f"{i}\n" for i in range(1_000_000)), connection.info.backend_pid
    with sluice.connect() as watcher:
        with connection.cursor() as cursor, cursor.copy(b"copy t from stdin where a >= 1000") as copy:
            copy.write(data)
            found: list[tuple[Any, ...]] = []

            def some_are_taken() -> bool:
                found[:] = progress(watcher)
                return bool(found) and found[0][5] >= 1 << 22 and bool(found[0][7])

            wait_until(some_are_taken, seconds=100)
            [(*told, taken, size, rows, excluded)] = found
            assert told == [pid, "sluice", True, "COPY FROM", "PIPE"]
            assert taken <= len(data)
            assert (size, excluded) == (0, 1000)
            assert rows <= 999_000
        with connection.cursor() as cursor, cursor.copy(b"copy t to stdout") as copy:
            assert copy.read()
            [(*told, _, _, _, _)] = progress(watcher)
            assert told == [pid, "sluice", True, "COPY TO", "PIPE"]
            while copy.read():
                pass
        assert progress(watcher) == []
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            send(connection, "copy t from stdin", "x\n")
        assert progress(watcher) == []


def read_and_cancel(connection: Connection, canceller: Connection) -> None:
    with (
        connection.cursor() as cursor,
        cursor.copy(b"copy (select * from generate_series(1, 10000000)) to stdout") as copy,
    ):
        assert copy.read()
        canceller.execute("select pg_cancel_backend(%s)", (connection.info.backend_pid,))
        while copy.read():
            pass


def test_cancel(connection: Connection, sluice: LocalMember) -> None:
    with (
        sluice.connect() as canceller,
        pytest.raises(psycopg.errors.QueryCanceled, match="canceling statement due to user request"),
    ):
        read_and_cancel(connection, canceller)
    assert connection.execute("select 1").fetchone() == (1,)


# -- messages -----------------------------------------------------------------------------------------------------------


def _copying(client: RawClient, text: str) -> RawClient:
    return client.parse("", text).bind("", "").describe("P", "").execute("", 0)


SCRIPTS: dict[str, list[Callable[[RawClient], RawClient]]] = {
    "simple": [lambda c: c.query("copy t from stdin").message("d", b"1\n2").message("d", b"2\n").message("c")],
    "simple and more": [
        lambda c: c.query("copy t from stdin; select count(*) from t").message("d", b"1\n").message("c"),
    ],
    "sync and flush mean nothing": [
        lambda c: _copying(c, "copy t from stdin").sync().flush().message("d", b"1\n").sync().message("c").sync(),
    ],
    "an error before the rows": [
        lambda c: _copying(c, "copy nowhere from stdin").sync().message("d", b"1\n").message("c").sync(),
        lambda c: c.query("select 1"),
    ],
    "an error in the rows": [
        lambda c: _copying(c, "copy t from stdin").message("d", b"x\n").message("c").sync(),
        lambda c: c.query("select count(*) from t"),
    ],
    "a simple query's error in the rows": [
        lambda c: c.query("copy t from stdin").message("d", b"1\n").message("d", b"x\n").message("c"),
        lambda c: c.query("select count(*) from t"),
    ],
    "fail": [
        lambda c: c.query("copy t from stdin").message("d", b"1\n").message("f", b"why\0"),
        lambda c: _copying(c, "copy t from stdin").message("f", b"why\0").sync(),
    ],
    "out": [
        lambda c: c.query("copy (values (1, 'a'), (2, null)) to stdout"),
        lambda c: _copying(c, "copy (values (1, 'a'), (2, null)) to stdout").sync(),
    ],
}  # fmt: skip


async def _told(port: int, user: str, database: str, script: list[Callable[[RawClient], RawClient]]) -> list[Any]:
    found: list[Any] = []
    async with raw_to("127.0.0.1", port) as client:
        client.startup(user=user, database=database)
        await client.until("Z")
        # Gone with the session: what is left to be answered at its end, nobody waits for.
        client.query("create temporary table t (a int)")
        await client.until("Z")
        for step in script:
            step(client)
            client.query("select 'over'")
            while True:
                kind, body = await client.receive()
                found.append((kind, body if kind in "GHdCc" else b""))
                if kind == "C" and found[-2] == ("D", b"") and found[-3][0] == "T" and body == b"SELECT 1\0":
                    break
            await client.until("Z")
    return found


@pytest.mark.postgres
@pytest.mark.parametrize("name", SCRIPTS)
async def test_messages(sluice: LocalMember, postgres: PostgresServer, name: str) -> None:
    ours = await _told(sluice.port, "tester", "sluice", SCRIPTS[name])
    theirs = await _told(postgres.port, "postgres", "postgres", SCRIPTS[name])
    assert ours == theirs


@pytest.mark.postgres
@pytest.mark.parametrize("form", ["text", "binary"])
async def test_an_error_is_told_to_a_client_that_pauses(
    sluice: LocalMember, postgres: PostgresServer, form: str
) -> None:
    """The rows that have arrived are checked, however few they are: the client has not said that it is done."""
    good, wrong = b"\0\1\0\0\0\4\0\0\0\1", b"\0\1\xff\xff\xff\xff"
    data = b"1\n\\N\n" if form == "text" else b"PGCOPY\n\xff\r\n\0" + bytes(8) + good + wrong
    found = []
    for port, user, database in ((sluice.port, "tester", "sluice"), (postgres.port, "postgres", "postgres")):
        async with raw_to("127.0.0.1", port) as client:
            client.startup(user=user, database=database)
            await client.until("Z")
            client.query("create temporary table t (a int not null)")
            await client.until("Z")
            client.query(f"copy t from stdin (format {form})").message("d", data)
            found.append(await client.until("Z"))
    assert found == [["G", "E", "Z"]] * 2
