"""Statements that change tables with Spark's tasks as writers: the tables afterwards, and that no other files are left."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest
from support import tpch
from support.child_processes import python_workers
from support.local_member import LocalMember, local_member
from support.member_process import wait_until

from engine.catalog.model.objects import Table
from engine.lakes.foreign_files import refresh
from engine.statements.dml import tasks

pytestmark = pytest.mark.spark

ORDERS = 30_000
LINEITEMS = 120_515
#: Rows that take their time, so that somebody can come between.
_LONG = "insert into t select l_orderkey, repeat(encode(sha256(repeat(l_comment, 500)::bytea), 'hex'), 4) from lineitem"


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    # Two files a table, and so two tasks.
    data = tpch.generate(tmp_path_factory.mktemp("tpch"), 0.02, "parquet", parts=2)
    with local_member(data) as running:
        with running.connect() as connection:
            for name in ("orders", "lineitem"):
                connection.execute(
                    f"create foreign table {name} options (path '{data / name}', format 'parquet')".encode()
                )
        yield running


@pytest.fixture
def spark(member: LocalMember) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A connection whose statements go to Spark; `t` is its table."""
    with member.connect() as connection:
        connection.execute("set sluice.engine = spark")
        yield connection
        connection.execute("drop table if exists t")


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each job that wrote."""
    counted: list[int] = []
    write = tasks.write

    async def counting(*arguments: Any) -> Any:
        written = await write(*arguments)
        counted.append(written.rows)
        return written

    monkeypatch.setattr("engine.statements.dml.mutation_queries.write", counting)
    return counted


def table(member: LocalMember) -> Table:
    (found,) = [t for t in member.engine.store.snapshot.tables() if t.name == "t"]
    return refresh(found)


def on_disk(member: LocalMember) -> set[str]:
    """Data files, those that tasks have not ended yet among them."""
    below = os.walk(table(member).path)
    return {str(Path(folder, name)) for folder, _, names in below for name in names if name.endswith(".parquet")}


def one(connection: psycopg.Connection[tuple[Any, ...]], sql: str) -> Any:
    row = connection.execute(sql.encode()).fetchone()
    assert row is not None
    return row


def refused(connection: psycopg.Connection[tuple[Any, ...]], sql: str) -> tuple[str | None, str | None, str | None]:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(sql.encode())
    return caught.value.sqlstate, caught.value.diag.message_primary, caught.value.diag.message_detail


@pytest.mark.long
def test_the_life_of_a_table(member: LocalMember, spark: psycopg.Connection[tuple[Any, ...]], jobs: list[int]) -> None:
    assert spark.execute("create table t as select * from orders").statusmessage == f"SELECT {ORDERS}"
    same = "select count(*), sum(o_totalprice), min(o_orderdate), max(o_comment) from "
    assert one(spark, same + "t") == one(spark, same + "orders")
    update = "update t set o_comment = 'changed', o_totalprice = o_totalprice + 1 where o_orderkey <= 600"
    assert spark.execute(update).statusmessage == "UPDATE 151"
    assert one(spark, "select count(*) from t where o_comment = 'changed'") == (151,)
    gone = one(spark, "select count(*) from orders where o_orderkey % 5 = 0")[0]
    assert spark.execute("delete from t where o_orderkey % 5 = 0").statusmessage == f"DELETE {gone}"
    merge = """merge into t using (select o_orderkey k from orders where o_orderkey < 40) s on t.o_orderkey = s.k
        when matched then update set o_comment = 'merged'
        when not matched then insert (o_orderkey, o_comment) values (s.k, 'new')"""
    assert spark.execute(merge).statusmessage == "MERGE 15"
    kept = "count(*) filter (where o_comment = 'merged'), count(*) filter (where o_comment = 'new'), count(*)"
    assert one(spark, f"select {kept} from t") == (13, 2, ORDERS - gone + 2)
    assert spark.execute("delete from t where o_orderkey < 0").statusmessage == "DELETE 0"
    assert jobs == [ORDERS, 151, gone, 15]


def test_rows_of_many_types_are_those_that_were_read(
    member: LocalMember, spark: psycopg.Connection[tuple[Any, ...]], jobs: list[int]
) -> None:
    rows = """select o_orderkey::int2 % 7 a, o_orderkey b, o_totalprice c, o_orderdate d, o_orderdate::timestamptz e,
        o_orderdate - timestamp '2000-01-01 00:00:01' f, array[o_orderstatus, null] g, o_comment::varchar(9) h,
        time '12:34:56.789' i, o_orderkey::float8 / 3 j, o_orderkey % 2 = 0 k, o_clerk::bytea l from orders
        where o_orderkey < 30000"""
    spark.execute(f"create table t as {rows}".encode())
    assert jobs == [one(spark, "select count(*) from orders where o_orderkey < 30000")[0]]
    read = spark.execute(f"{rows} order by o_orderkey".encode()).fetchall()
    assert spark.execute("select * from t order by b").fetchall() == read
    assert on_disk(member) == set(table(member).files)


def test_files_of_sparks_own_writer_say_what_ours_do(
    member: LocalMember, spark: psycopg.Connection[tuple[Any, ...]], jobs: list[int]
) -> None:
    """The same rows are written once by Spark alone and once by tasks with the sink, which a check makes necessary."""
    rows = """select o_orderkey k, (o_orderkey % 100)::int2 i, o_totalprice n, o_orderdate d, o_comment s,
        o_orderdate + time '12:34:56.789012' w, (o_orderdate + time '23:00:00')::timestamptz z,
        nullif(o_orderkey % 3, 1) = 0 b, case when o_orderkey > 5 then date '0044-03-15' else '9999-12-31' end old,
        repeat(o_orderpriority, 20) long, (o_totalprice * -1)::numeric(20, 3) m, null::text never
        from orders where o_orderkey < 20000"""
    told, answers = [], []
    for further in ("", ", check (k > 0)"):
        spark.execute(f"create table t as {rows} limit 0".encode())
        if further:
            spark.execute("alter table t add check (k > 0)")
        spark.execute(f"insert into t {rows}".encode())
        told.append(widest(table(member)))
        answers.append(spark.execute("select * from t order by k").fetchall())
        spark.execute("drop table t")
    assert answers[0] == answers[1]
    assert told[0] == told[1]
    assert len(jobs) == 2


def widest(table: Table) -> dict[str, Any]:
    """Return the combined statistics of the files."""
    assert table.storage is not None
    told = [json.loads(file.statistics, parse_float=Decimal) for file in table.storage.added]
    whole: dict[str, Any] = {"rows": sum(one["numRecords"] for one in told)}
    for name in told[0]["nullCount"]:
        least = [one["minValues"][name] for one in told if name in one["minValues"]]
        most = [one["maxValues"][name] for one in told if name in one["maxValues"]]
        nulls = sum(one["nullCount"][name] for one in told)
        whole[name] = (nulls, min(least, default=None), max(most, default=None))
    return whole


def test_what_is_wrong_with_a_row_is_told_as_ever_and_leaves_nothing(
    member: LocalMember, spark: psycopg.Connection[tuple[Any, ...]], jobs: list[int]
) -> None:
    spark.execute(
        "create table t (k int8 not null, s text not null, n numeric(6, 2), constraint big check (k < 120000))"
    )
    below = "from orders where o_orderkey < 120000"
    assert refused(spark, f"insert into t select o_orderkey, nullif(o_orderkey, 70)::text {below}") == (
        "23502",
        'null value in column "s" of relation "t" violates not-null constraint',
        "Failing row contains (70, null, null).",
    )
    assert refused(spark, "insert into t select o_orderkey, 'x', 1 from orders where o_orderkey = 120000") == (
        "23514",
        'new row for relation "t" violates check constraint "big"',
        "Failing row contains (120000, x, 1.00).",
    )
    assert refused(spark, "insert into t select 1, 'x', o_orderkey from orders")[0] == "22003"
    assert refused(spark, "insert into t select 1 / (o_orderkey - 70), 'x' from orders")[0] == "22012"
    assert on_disk(member) == set()
    assert one(spark, "select count(*) from t") == (0,)
    assert jobs == []


def test_a_statement_that_fails_later_leaves_nothing(
    member: LocalMember, spark: psycopg.Connection[tuple[Any, ...]]
) -> None:
    spark.execute("create table t (k int8 primary key)")
    assert refused(spark, "insert into t select o_custkey from orders")[0] == "23505"
    assert refused(spark, "insert into t select 1 / (o_orderkey - 70) from orders") == (
        "22012",
        "division by zero",
        None,
    )
    null = 'null value in column "k" of relation "t" violates not-null constraint'
    given = "insert into t select nullif(o_orderkey, 70) from orders"
    assert refused(spark, given) == ("23502", null, "Failing row contains (null).")
    assert on_disk(member) == set()
    spark.execute("begin")
    spark.execute("insert into t select o_orderkey from orders")
    assert len(on_disk(member)) >= 1
    spark.execute("rollback")
    assert on_disk(member) == set()


def test_what_only_the_member_can_do_it_does(spark: psycopg.Connection[tuple[Any, ...]], jobs: list[int]) -> None:
    spark.execute("create table t (n int generated always as identity, k int8)")
    spark.execute("insert into t (k) select o_orderkey from orders")
    assert one(spark, "select count(distinct n), min(n), max(n) from t") == (ORDERS, 1, ORDERS)
    assert jobs == []


@pytest.mark.long
def test_rows_that_are_returned_come_from_the_tasks(
    member: LocalMember, spark: psycopg.Connection[tuple[Any, ...]], jobs: list[int]
) -> None:
    spark.execute("create table t (k int8, n numeric(12, 2), w interval)")
    rows = "select o_orderkey, o_totalprice, interval '1 month' * (o_orderkey % 3)::int from orders"
    told = spark.execute(f"insert into t {rows} returning n * 2, k, w".encode()).fetchall()
    assert sorted(told, key=repr) == sorted(spark.execute("select n * 2, k, w from t").fetchall(), key=repr)
    update = spark.execute("update t set n = 1 where k % 10 = 1 returning k, n")
    assert sorted(update.fetchall()) == spark.execute("select k, n from t where k % 10 = 1 order by k").fetchall() != []
    assert spark.execute("delete from t where k < 0 returning *").fetchall() == []
    assert one(spark, "with gone as (delete from t where k < 33 returning k) select count(*) from gone") == (8,)
    assert jobs == [ORDERS, update.rowcount, 8]
    assert list(Path(table(member).path).glob("_staging-*")) == []


def test_partitions_are_written_side_by_side_and_files_are_sorted(
    member: LocalMember, spark: psycopg.Connection[tuple[Any, ...]], jobs: list[int]
) -> None:
    spark.execute(
        "create table t (k int8, p text, d date) partition by list (p) with (sort_by = 'd, k')",
    )
    spark.execute("insert into t select o_orderkey, nullif(o_orderpriority, '5-LOW'), o_orderdate from orders")
    same = "count(*), sum(k), count(p), min(d), max(d)"
    asked = f"select {same} from (select o_orderkey k, nullif(o_orderpriority, '5-LOW') p, o_orderdate d from orders) o"
    assert one(spark, f"select {same} from t") == one(spark, asked)
    # As many as there are values: none of them is more than a task takes.
    assert len(table(member).files) == 5
    for file in table(member).files:
        rows = pq.read_table(file)
        assert len(set(rows["p"].to_pylist())) == 1
        assert rows.sort_by([("d", "ascending"), ("k", "ascending")]).equals(rows)
    spark.execute("update t set p = 'moved' where p = '1-URGENT'")
    assert one(spark, "select count(*) from t where p in ('1-URGENT', 'moved') and p <> 'moved'") == (0,)
    assert len(table(member).files) == 5
    assert len(jobs) == 2


@pytest.mark.table
@pytest.mark.parametrize("form", ["csv", "json"])
def test_tasks_write_the_parts_of_a_folder(
    member: LocalMember, spark: psycopg.Connection[tuple[Any, ...]], jobs: list[int], form: str
) -> None:
    folder = Path(member.engine.config.data)
    columns = "l_orderkey, l_linenumber, l_quantity / 7 as q, l_shipdate, l_comment"
    query = f"select {columns} from lineitem where l_tax > 0.02 and l_linenumber = 1"
    one, parts = folder / "files" / f"one.{form}", folder / "files" / f"parts-{form}"
    tag = spark.execute(f"copy ({query}) to '{parts}/' (format {form})".encode()).statusmessage
    assert jobs, "tasks wrote"
    spark.execute("set sluice.engine = local")
    assert spark.execute(f"copy ({query}) to '{one}' (format {form})".encode()).statusmessage == tag
    written = [line for part in sorted(parts.glob(f"part-*.{form}")) for line in part.read_bytes().splitlines()]
    assert sorted(written) == sorted(one.read_bytes().splitlines())


def test_of_rows_that_conflict_among_themselves_tasks_write_one(
    spark: psycopg.Connection[tuple[Any, ...]], jobs: list[int]
) -> None:
    spark.execute("create table t (k int8 primary key, n int8 unique)")
    spark.execute("insert into t values (5, -1)")
    insert = "insert into t select o_orderkey % 100, o_orderkey % 100 from orders on conflict"
    assert spark.execute(f"{insert} (k) do nothing".encode()).statusmessage == "INSERT 0 99"
    assert one(spark, "select count(*), count(distinct k), min(n) from t") == (100, 100, -1)
    assert jobs == [99]


def test_cancel_leaves_nothing(member: LocalMember, spark: psycopg.Connection[tuple[Any, ...]]) -> None:
    spark.execute("create table t (k int8, s text)")
    insert = Insert(spark)
    wait_until(lambda: on_disk(member) or insert.ended, 120)
    with member.connect() as other:
        assert one(other, f"select pg_cancel_backend({spark.info.backend_pid})") == (True,)
    assert insert.end() == "57014"
    # At once, though killed tasks may not have noticed: they find nowhere to write.
    assert on_disk(member) == set()
    assert one(spark, "select count(*) from t") == (0,)


@pytest.mark.long
def test_a_task_that_is_tried_again_doubles_no_rows(
    member: LocalMember, spark: psycopg.Connection[tuple[Any, ...]]
) -> None:
    spark.execute("create table t (k int8 check (k > 0), s text)")
    insert = Insert(spark)
    wait_until(lambda: on_disk(member) or insert.ended, 120)
    begun = on_disk(member)
    for worker in python_workers():
        worker.kill()
    assert insert.end() is None
    assert one(spark, "select count(*), count(distinct k) from t") == (LINEITEMS, ORDERS)
    assert on_disk(member) == set(table(member).files)
    assert {Path(path).name for path in begun} - {Path(path).name for path in on_disk(member)}


class Insert:
    """The long one, in a thread of its own."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection
        self._state: str | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def end(self) -> str | None:
        """Wait for it. Its error's SQLSTATE."""
        self._thread.join()
        return self._state

    def _run(self) -> None:
        try:
            self._connection.execute(_LONG)
        except psycopg.Error as error:
            self._state = error.sqlstate
