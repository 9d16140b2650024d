"""COPY of partitions of one query from three real members, by clients in separate threads."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from psycopg import sql
from support.local_cluster import LocalCluster
from support.member_process import wait_until
from support.numbers_cluster import ROWS, Connection, declare, members

QUERY: Final = "select n, d, t from numbers order by n"
DOCUMENTED: Final = Path(__file__).parents[2] / "docs" / "clients" / "parallel_readers.md"
Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with members(tmp_path_factory.mktemp("partitions") / "c") as cluster:
        yield cluster


def statement(query: str, partition: str, options: str = "") -> sql.Composed:
    made = sql.SQL("copy ({}) to stdout (partition {}, query {}{})")
    return made.format(sql.SQL(QUERY), sql.SQL(partition), sql.Literal(query), sql.SQL(options))


def read(connection: Connection, made: sql.Composed) -> list[Row]:
    """In binary format, so that values are those that were sent."""
    connection.execute("set cursor_buffer_size = '64kB'")
    with connection.cursor().copy(made) as copy:
        copy.set_types(["int8", "numeric", "text"])
        return list(copy.rows())


def read_all(cluster: LocalCluster, query: str, at: Sequence[str]) -> list[list[Row]]:
    with ExitStack() as stack, ThreadPoolExecutor(len(at)) as pool:
        readers = [stack.enter_context(cluster.connect(member)) for member in at]
        made = [statement(query, f"{number} of {len(at)}", ", format binary") for number in range(1, len(at) + 1)]
        return list(pool.map(read, readers, made))


@pytest.mark.parametrize("at", [("m1",) * 4, ("m2", "m3"), ("m1", "m2", "m3", "m2", "m3", "m1")])
def test_partitions_from_any_members_are_the_answer_once(cluster: LocalCluster, at: Sequence[str]) -> None:
    with cluster.connect("m1") as owner:
        parts = read_all(cluster, declare(owner), at)
        assert sorted(row for part in parts for row in part) == [(n, Decimal(n), f"row {n}") for n in range(ROWS)]
        assert all(part == sorted(part) for part in parts)
        owner.execute("commit")


def test_all_partitions_see_the_snapshot_of_the_cursor(cluster: LocalCluster) -> None:
    with cluster.connect("m1") as owner, cluster.connect("m2") as reader, cluster.connect("m3") as writer:
        writer.execute("create table kept as select * from generate_series(1, 1000) g(n)")
        owner.execute("begin")
        owner.execute("declare c cursor for select n from kept")
        [(query,)] = owner.execute("select query_id from sluice.queries where cursor = 'c'").fetchall()
        writer.execute("delete from kept where n > 10")
        got = []
        for number in (1, 2):
            made = sql.SQL("copy (select n from kept) to stdout (partition {} of 2, query {})")
            with reader.cursor().copy(made.format(sql.Literal(number), sql.Literal(query))) as copy:
                got += [int(row[0]) for row in copy.rows()]
        assert sorted(got) == list(range(1, 1001))
        owner.execute("rollback")
        writer.execute("drop table kept")


def test_another_user_reads_no_partition(cluster: LocalCluster) -> None:
    with cluster.connect("m1") as owner, cluster.connect("m2", user="other") as other:
        query = declare(owner)
        with pytest.raises(psycopg.errors.InvalidCursorName, match=f'cursor "{query}" does not exist'):
            read(other, statement(query, "1 of 2"))


def test_a_reader_that_is_cancelled_ends_all(cluster: LocalCluster) -> None:
    """Its client has read nothing, so that the COPY waits for room in the socket."""
    with cluster.connect("m1") as owner, cluster.connect("m2") as stuck, cluster.connect("m3") as other:
        owner.execute("begin")
        text = "select g, repeat('x', 1000) from generate_series(1, 2000000) g"
        owner.execute(sql.SQL("declare c cursor for {}").format(sql.SQL(text)))
        own = "pid = pg_backend_pid() and cursor = 'c'"
        [(query,)] = owner.execute(f"select query_id from sluice.queries where {own}").fetchall()
        made = sql.SQL("copy ({}) to stdout (partition {}, query {})")
        stuck.pgconn.send_query(
            made.format(sql.SQL(text), sql.SQL("1 of 2"), sql.Literal(query)).as_string(stuck).encode()
        )
        moved = sql.SQL("select rows > 0 from sluice.queries where query_id = {}").format(sql.Literal(query))
        wait_until(lambda: other.execute(moved).fetchone() == (True,))
        other.execute("select pg_cancel_backend(%s)", (stuck.info.backend_pid,))
        with (
            pytest.raises(
                psycopg.errors.ObjectNotInPrerequisiteState, match="partition 1 of 2 was not read to its end"
            ),
            other.cursor().copy(made.format(sql.SQL(text), sql.SQL("2 of 2"), sql.Literal(query))) as copy,
        ):
            for _ in copy:
                pass
        stuck.close()


def test_the_program_of_the_documentation(cluster: LocalCluster) -> None:
    [program] = re.findall(r"```python\n(.*?)```", DOCUMENTED.read_text(), re.DOTALL)
    for host, member in (("a", "m2"), ("b", "m3")):
        program = program.replace(f"me@{host}:5432", f"tester@127.0.0.1:{cluster.port_of(member)}")
    program = program.replace("select * from lineitem", QUERY)
    names: dict[str, Any] = {}
    exec(compile(program, str(DOCUMENTED), "exec"), names)
    with cluster.connect("m1") as alone, alone.cursor().copy(f"copy ({QUERY}) to stdout (format binary)") as copy:
        alone_bytes = sum(len(piece) for piece in copy)
    # Each has a header of 19 bytes and a trailer of 2.
    assert names["total"] == alone_bytes + 21 * 3


def test_the_member_of_the_cursor_is_killed(tmp_path: Path) -> None:
    with members(tmp_path / "c") as cluster, cluster.connect("m2") as reader:
        owner = cluster.connect("m1")
        query = declare(owner)
        assert len(read(reader, statement(query, "1 of 2", ", format binary"))) == ROWS
        os.kill(int(cluster.members["m1"]["pid"]), signal.SIGKILL)
        with pytest.raises(psycopg.errors.SerializationFailure, match="member m1, which has the cursor"):
            read(reader, statement(query, "2 of 2", ", format binary"))
        owner.close()
