"""Fragments on a real Spark: both output paths, order, credits, cancel at every stage, failing tasks, and nothing left
behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
import pytest_asyncio
import sqlglot
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from support import tpch
from support.child_processes import python_workers, running_children
from support.lent_jvm import lent_process
from support.session_server import eventually

from engine.catalog.model.objects import Table
from engine.common import sql_type as st
from engine.contracts.executor import ExecutionContext, OutputColumn
from engine.contracts.query_id import QueryId
from engine.executors.engine_config import SparkConfig
from engine.executors.spark.collect import collect_arrow
from engine.executors.spark.executor import SparkExecutor
from engine.executors.spark.jobs import SparkJob
from engine.executors.spark.session import SparkRuntime
from engine.executors.spark.stream import SparkStream
from engine.lakes.infer import infer_columns
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.sql.trees.storage_types import relation_name
from wire.errors import SqlError
from wire.types import pg_types as t

pytestmark = [pytest.mark.spark, pytest.mark.asyncio(loop_scope="module")]

INT8 = st.of(t.INT8)
LINEITEMS = 600_572
_QUERIES = itertools.count(1)


class Ground:
    """An executor, TPC-H at scale 0.1, and short ways to run SQL in Spark's dialect over it."""

    def __init__(self, executor: SparkExecutor, data: Path) -> None:
        self.executor = executor
        self.tables = {name: self._table(data, number, name) for number, name in enumerate(tpch.TABLES, 20_000)}

    def _table(self, data: Path, oid: int, name: str) -> Table:
        path = str(data / f"{name}.parquet")
        return Table(oid, "public", name, infer_columns((path,), "parquet", {}), "parquet", path, (path,))

    def fragment(
        self, sql: str, types: Sequence[st.SqlType] = (INT8,), *, ordered: bool = False, small: bool = False
    ) -> CompiledFragment:
        names = {name: relation_name(table) for name, table in self.tables.items()}
        statement = sqlglot.parse_one(sql.format(**names), dialect="spark")
        assert isinstance(statement, sqlglot.exp.Expression)
        used = tuple(table for name, table in self.tables.items() if "{" + name + "}" in sql)
        columns = tuple(OutputColumn(f"c{i}", typ) for i, typ in enumerate(types))
        return CompiledFragment("spark", statement, columns, used, ordered, small)

    def star(self, name: str) -> CompiledFragment:
        return self.fragment(f"select * from {{{name}}}", [column.type for column in self.tables[name].columns])

    async def open(self, fragment: CompiledFragment, **context: object) -> SparkStream:
        query = QueryId("m1", next(_QUERIES))
        return await self.executor.open(fragment, ExecutionContext(query, **context))  # type: ignore[arg-type]

    async def rows(self, fragment: CompiledFragment, **context: object) -> pa.Table:
        stream = await self.open(fragment, **context)
        try:
            return await drain(stream)
        finally:
            await stream.close()

    async def fails(self, fragment: CompiledFragment) -> tuple[str, str]:
        with pytest.raises(SqlError) as caught:
            await self.rows(fragment)
        return caught.value.sqlstate, caught.value.message

    async def idle(self) -> None:
        """Nothing of any query is left, here or in Spark."""
        assert not self.executor.statistics()["streams"]
        assert not self.executor._spooler.bytes_used
        # A sender's socket closes a moment after its stream.
        await eventually(lambda: not self.executor.statistics()["connections"])
        assert [t.name for t in threading.enumerate() if t.name.startswith("sluice-") and "spool" not in t.name] == []
        assert await self.executor.call(self._active_in_spark) == ([], [])

    async def at_work(self) -> None:
        """Until Spark runs tasks."""
        while not await self.executor.call(self._tasks_active):  # noqa: ASYNC110 - it is asked of the JVM
            await asyncio.sleep(0.02)

    @property
    def runtime(self) -> SparkRuntime:
        assert self.executor.application._starting is not None
        return self.executor.application._starting.result()

    def _active_in_spark(self) -> tuple[list[int], list[int]]:
        runtime = self.runtime
        runtime.settle()
        tracker = runtime.context.statusTracker()
        return list(tracker.getActiveJobsIds()), list(tracker.getActiveStageIds())

    def _tasks_active(self) -> int:
        tracker = self.runtime.context.statusTracker()
        infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return sum(info.numActiveTasks for info in infos if info is not None)


async def drain(stream: SparkStream, limit: int = 1 << 60) -> pa.Table:
    batches: list[pa.RecordBatch] = []
    while sum(b.num_rows for b in batches) < limit and (batch := await stream.next_batch()) is not None:
        batches.append(batch)
    return pa.Table.from_batches(batches, schema=batches[0].schema if batches else stream._schema)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tpch.generate(tmp_path_factory.mktemp("tpch"), 0.1, "parquet")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_ground(tmp_path_factory: pytest.TempPathFactory, data: Path) -> AsyncIterator[Ground]:
    directory = tmp_path_factory.mktemp("member")
    children = set(running_children())
    executor = SparkExecutor(SparkConfig("local[2]"), directory)
    await executor.start()
    await executor.ready()
    yield Ground(executor, data)
    await executor.close()
    children.update(child for child in running_children() if child.pid == lent_process())
    # The JVM goes on, and ends the daemon of its Python workers in its own time.
    await eventually(lambda: set(running_children()) <= children)
    assert not [name for name in ("spark-warehouse", "metastore_db", "derby.log") if Path(name).exists()]  # noqa: ASYNC240


@pytest_asyncio.fixture(loop_scope="module")
async def ground(module_ground: Ground) -> AsyncIterator[Ground]:
    yield module_ground
    await module_ground.idle()


@pytest.mark.long
async def test_a_table_streams_whole(ground: Ground) -> None:
    stream = await ground.open(ground.star("lineitem"), page_bytes=1 << 18)
    rows = size = 0
    while (batch := await stream.next_batch()) is not None:
        assert batch.schema == stream._schema
        assert batch.nbytes < 1 << 19
        rows, size = rows + batch.num_rows, size + batch.nbytes
    await stream.close()
    assert rows == stream.statistics()["rows"] == LINEITEMS
    assert size > 50 << 20


async def test_small_results_come_through_the_driver(ground: Ground) -> None:
    sql = "select n_regionkey, count(*) from {nation} group by 1 order by 1"
    small = await ground.rows(ground.fragment(sql, (INT8, INT8), small=True))
    sent = await ground.rows(ground.fragment(sql, (INT8, INT8), ordered=True))
    assert small == sent
    assert small.to_pydict() == {"c0": [0, 1, 2, 3, 4], "c1": [5, 5, 5, 5, 5]}


@pytest.mark.parametrize("small", [True, False])
async def test_nothing_is_a_result_too(ground: Ground, small: bool) -> None:
    empty = await ground.rows(ground.fragment("select n_nationkey from {nation} where n_nationkey < 0", small=small))
    assert empty.num_rows == 0


async def test_order_holds_over_partitions(ground: Ground) -> None:
    sql = "select l_orderkey, l_linenumber from {lineitem} order by 1 desc nulls first, 2 asc nulls last"
    stream = await ground.open(ground.fragment(sql, (INT8, INT8), ordered=True), page_bytes=1 << 16)
    table = await drain(stream)
    await stream.close()
    assert stream.statistics()["streams"] > 1, "a sort of one partition shows nothing"
    keys = list(zip(*table.to_pydict().values(), strict=True))
    assert len(keys) == LINEITEMS
    assert keys == sorted(keys, key=lambda key: (-key[0], key[1]))


_KEYS = "select cast(l_orderkey as bigint) * 10 + l_linenumber as k from {lineitem} order by k"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def everything(module_ground: Ground) -> pa.Table:
    return await module_ground.rows(module_ground.fragment(_KEYS, ordered=True))


@pytest.mark.parametrize(
    "tail", ["limit 3000", "limit 3000 offset 100000", "offset 599000", "limit 300000"], ids=lambda tail: tail
)
async def test_order_holds_under_limit_and_offset(ground: Ground, everything: pa.Table, tail: str) -> None:
    words = tail.split()
    offset = int(words[words.index("offset") + 1]) if "offset" in words else 0
    limit = int(words[1]) if "limit" in words else LINEITEMS
    got = await ground.rows(ground.fragment(f"{_KEYS} {tail}", ordered=True))
    assert got["c0"].to_pylist() == everything["c0"].slice(offset, limit).to_pylist()


async def test_carriers_of_every_type(ground: Ground) -> None:
    sql = """
    select true, 1s, 2, 3L, 1.5f, 2.5D, 12.50BD, 'text', X'00ff', date'2024-02-29', 86400000000L,
      named_struct('micros', 1L, 'zone', 2), timestamp_ntz'2024-01-01 00:00:00.000001',
      timestamp'2024-01-01 00:00:00', named_struct('months', 1, 'days', -2, 'micros', 3L),
      array(1, null), array(array(1.5BD), array(2.5BD)), cast(null as boolean),
      named_struct('f0', 1, 'f1', 'x')
    union all
    select """ + ", ".join(["null"] * 19)
    plain = [t.BOOL, t.INT2, t.INT4, t.INT8, t.FLOAT4, t.FLOAT8]
    others = [t.TEXT, t.BYTEA, t.DATE, t.TIME, t.TIMETZ, t.TIMESTAMP, t.TIMESTAMPTZ, t.INTERVAL]
    types = [
        *map(st.of, plain),
        st.numeric(4, 2),
        *map(st.of, others),
        st.of(t.array_of(t.INT4)),
        st.SqlType(t.array_of(t.NUMERIC), precision=5, scale=1),
        st.of(t.VOID),
        st.SqlType(t.RECORD, fields=(("a", st.of(t.INT4)), ("b", st.of(t.TEXT)))),
    ]
    small = await ground.rows(ground.fragment(sql, types, small=True), time_zone="Europe/Paris")
    sent = await ground.rows(ground.fragment(sql, types), time_zone="Europe/Paris")
    order = [0, 1] if sent["c0"][0].as_py() else [1, 0]
    assert sent.take(order).combine_chunks() == small.combine_chunks()
    for column in small.columns:
        column.validate(full=column.type != pa.time64("us"))  # Arrow's time ends before 24:00:00.
        assert column[1].as_py() is None
    assert small["c10"].cast(pa.int64())[0].as_py() == 86_400_000_000
    assert small["c13"].cast(pa.int64())[0].as_py() == 1_704_063_600_000_000
    assert small["c14"][0].as_py() == pa.MonthDayNano([1, -2, 3000])
    assert small["c16"][0].as_py() == [[Decimal("1.5")], [Decimal("2.5")]]


async def test_each_query_keeps_its_time_zone(ground: Ground) -> None:
    sql = "select cast(hour(timestamp'1970-01-01 00:00:00+00:00') as bigint)"
    zones = {"UTC": 0, "Asia/Tokyo": 9, "<+05:30>-05:30": 5, "GMT+6": 18}
    got = await asyncio.gather(*(ground.rows(ground.fragment(sql), time_zone=zone) for zone in zones))
    assert [table["c0"][0].as_py() for table in got] == list(zones.values())


ERRORS = {
    "select 1 / (n_nationkey - 3) from {nation}": ("22012", "division by zero"),
    "select cast(9223372036854775807 as bigint) + n_nationkey from {nation}": ("22003", "bigint out of range"),
    "select 2147483647 + cast(n_nationkey as int) from {nation}": ("22003", "integer out of range"),
    "select cast(n_nationkey + 40000 as smallint) from {nation}": ("22003", "smallint out of range"),
    "select cast(n_name as int) from {nation} where n_nationkey = 7": (
        "22P02",
        'invalid input syntax for type integer: "GERMANY"',
    ),
    "select cast(n_name as date) from {nation} where n_nationkey = 7": (
        "22007",
        'invalid input syntax for type date: "GERMANY"',
    ),
    "select (select n_nationkey from {nation}) from {region}": (
        "21000",
        "more than one row returned by a subquery used as an expression",
    ),
    "select if(n_nationkey = 20, raise_error('SQLSTATE:2201E:cannot take logarithm of zero'), 1) from {nation}": (
        "2201E",
        "cannot take logarithm of zero",
    ),
    "select cast(99999999999999999999.5BD * n_nationkey as decimal(5, 2)) from {nation}": (
        "22003",
        "numeric field overflow",
    ),
}


@pytest.mark.table
@pytest.mark.parametrize("small", [True, False], ids=["small", "sent"])
@pytest.mark.parametrize("sql", ERRORS)
async def test_errors_are_postgresqls(ground: Ground, sql: str, small: bool) -> None:
    assert await ground.fails(ground.fragment(sql, small=small)) == ERRORS[sql]


async def test_an_error_amid_the_rows_is_the_cause(ground: Ground) -> None:
    """Rows of the failing task have been read; it is not tried again for an error of the query's."""
    sql = "select if(l_orderkey = 300000, 1 / (l_orderkey - 300000), l_orderkey) from {lineitem}"
    assert await ground.fails(ground.fragment(sql, (st.of(t.FLOAT8),))) == ("22012", "division by zero")


async def test_an_error_of_ours_says_no_java(ground: Ground) -> None:
    state, message = await ground.fails(ground.fragment("select no_such_function(n_nationkey) from {nation}"))
    assert state == "XX000"
    assert "\n" not in message
    assert "java" not in message


@pytest.mark.parametrize("late", [True, False], ids=["late", "failing"])
async def test_a_stream_is_closed_where_spark_does_not_tell_of_its_tasks(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """On a machine that is too busy, its status is not there in time. It is no reason to keep the stream for ever."""

    def settle(_runtime: SparkRuntime) -> bool:
        if late:
            return False
        raise RuntimeError("it does not say")

    stream = await ground.open(ground.star("lineitem"))
    assert await stream.next_batch() is not None
    with monkeypatch.context() as patched:
        patched.setattr(SparkRuntime, "settle", settle)
        with contextlib.nullcontext() if late else pytest.raises(RuntimeError):
            await stream.close()


async def test_a_statement_that_fails_is_not_logged(ground: Ground) -> None:
    said = logging.StreamHandler(io.StringIO())
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    logger.addHandler(said)
    try:
        state, _ = await ground.fails(ground.fragment("select cast(concat('secret', n_name) as int) from {nation}"))
    finally:
        logger.removeHandler(said)
    assert state == "22P02"
    assert said.stream.getvalue() == ""


async def test_what_the_parser_learns_is_counted(ground: Ground) -> None:
    """Spark counts it only where it is to forget it in time; else it keeps all of it for ever."""
    await ground.rows(ground.fragment("select n_nationkey from {nation} where n_nationkey between 3 and 5"))
    parser = ground.runtime.context._jvm.org.apache.spark.sql.catalyst.parser.AbstractParser  # type: ignore[union-attr]
    states = await ground.executor.call(parser.getDFACacheNumStates)
    assert 0 < states * parser.BYTES_PER_DFA_STATE() < 2**30 / 5


async def test_a_missing_file_is_named(ground: Ground, tmp_path: Path) -> None:
    path = str(tmp_path / "gone.parquet")
    columns = ground.tables["nation"].columns
    ground.tables["gone"] = Table(30_000, "public", "gone", columns, "parquet", path, (path,))
    try:
        state, message = await ground.fails(ground.fragment("select n_nationkey from {gone}"))
    finally:
        del ground.tables["gone"]
    assert state == "58P01"
    assert path in message


async def test_a_slow_consumer_holds_spark_back(ground: Ground) -> None:
    stream = await ground.open(ground.star("lineitem"), page_bytes=1 << 18)
    await drain(stream, 1)
    receiver = stream._receiver
    await eventually(lambda: len(receiver.streams.find_blocked(receiver.now())) == 2)
    held = [inbound.held for inbound in receiver.streams.by_partition.values()]
    assert all(0 < size <= receiver.window for size in held)
    assert len(held) == 2
    await stream.close()


#: Minutes; a task looks whether it was killed once in a batch of lineitem, so that what it joins with must be few rows.
LONG_CPU = "select count(*) from {lineitem} a join {customer} b on a.l_orderkey + b.c_custkey < 0"
LONG_SORT = "select l_comment, sha2(repeat(l_comment, 40), 512) k from {lineitem} order by k"


@pytest.mark.table
@pytest.mark.parametrize(
    "phase", ["at once", "planning", "scan", "first rows", "suspended", "sort", "aggregate", "driver"]
)
async def test_cancel_wherever_it_is(ground: Ground, phase: str) -> None:
    text = (st.of(t.TEXT), st.of(t.TEXT))
    fragment = {
        "sort": ground.fragment(LONG_SORT, text, ordered=True),
        "aggregate": ground.fragment(LONG_CPU),
        "driver": ground.fragment(LONG_CPU, small=True),
        "planning": ground.fragment(" union all ".join(["select l_orderkey from {lineitem}"] * 150)),
    }.get(phase) or ground.star("lineitem")
    stream = await ground.open(fragment)
    receiver = stream._receiver
    if phase in ("first rows", "suspended"):
        await drain(stream, 1)
    if phase == "suspended":
        await eventually(lambda: receiver.streams.find_blocked(receiver.now()))
    elif phase == "planning":
        await eventually(lambda: stream.job._java_thread is not None)
    elif phase in ("scan", "sort", "aggregate", "driver"):
        await ground.at_work()
    waiting = asyncio.create_task(stream.next_batch())
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await stream.close()
    await ground.idle()
    with contextlib.suppress(SqlError):
        await waiting
    with pytest.raises(SqlError) as caught:
        await stream.next_batch()
    assert caught.value.sqlstate == "57014"
    await stream.close()
    assert (await ground.rows(ground.fragment("select 7L"))).to_pydict() == {"c0": [7]}


async def test_cancel_between_planning_and_the_first_stage(ground: Ground) -> None:
    """Spark's scheduler does not refuse the stages that adaptive execution submits for a group cancelled before."""
    endless = (
        "select count(*) from {lineitem} where java_method('java.lang.Thread', 'sleep', l_orderkey + 1000L) is not null"
    )
    statement = ground.executor.sql(ground.fragment(endless))
    planned, cancelled = threading.Event(), threading.Event()
    ended: list[SqlError | None] = []

    def work(session: SparkSession) -> None:
        frame = session.sql(statement)
        planned.set()
        assert cancelled.wait(60)
        # The interrupt has met something that took it for its own and went on.
        runtime.jvm.java.lang.Thread.interrupted()
        collect_arrow(frame._jdf)

    await ground.rows(ground.fragment("select count(*) from {lineitem}"))
    runtime = ground.runtime
    job = SparkJob(runtime, "planned", "UTC", work, lambda _result, error: ended.append(error))
    job.start()
    assert await asyncio.to_thread(planned.wait, 60)

    def stop() -> None:
        job.cancel()
        cancelled.set()
        job.wait_gone()

    async with asyncio.timeout(60):
        await ground.executor.call(stop)
    assert [error.sqlstate for error in ended if error] == ["57014"]


@pytest.mark.long
async def test_a_killed_worker_whose_rows_nobody_read_is_tried_again(ground: Ground) -> None:
    stream = await ground.open(ground.star("lineitem"), page_bytes=1 << 16)
    await eventually(lambda: len(stream._receiver.streams.by_partition) >= 2)
    for worker in python_workers():
        os.kill(worker.pid, signal.SIGKILL)
    await eventually(lambda: stream._receiver.statistics()["streams"] >= 4)
    assert (await drain(stream)).num_rows == LINEITEMS
    await stream.close()


@pytest.mark.long
async def test_a_killed_worker_whose_rows_were_read_fails_the_query(ground: Ground) -> None:
    stream = await ground.open(ground.star("lineitem"), page_bytes=1 << 16)
    while sum(inbound.consumed for inbound in stream._receiver.streams.by_partition.values()) < 2:
        await stream.next_batch()
    for worker in python_workers():
        os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(SqlError) as caught:
        await drain(stream)
    await stream.close()
    assert caught.value.sqlstate == "40001"


@pytest.mark.long
async def test_suspended_portals_do_not_starve_a_query(ground: Ground) -> None:
    """Three portals hold both slots and more; a fourth query, by either way out, gets its turn, and they lose nothing."""
    portals = [await ground.open(ground.star("lineitem"), page_bytes=1 << 18) for _ in range(3)]
    await drain(portals[0], 1)
    async with asyncio.timeout(60):
        assert (await ground.rows(ground.fragment("select count(*) from {nation}"))).num_rows == 1
        assert (await ground.rows(ground.fragment("select count(*) from {nation}", small=True))).num_rows == 1
    assert sum(portal.statistics()["spooled_bytes"] for portal in portals) > 0
    for portal in portals[1:]:
        assert (await drain(portal)).num_rows == LINEITEMS
    for portal in portals:
        await portal.close()


@pytest.mark.long
async def test_many_at_once(ground: Ground) -> None:
    sql = "select o_orderpriority, count(*) from {orders} group by 1 order by 1"
    fragments = [ground.fragment(sql, (st.of(t.TEXT), INT8), ordered=True, small=i % 2 == 0) for i in range(12)]
    results = await asyncio.gather(*(ground.rows(fragment) for fragment in fragments))
    assert all(result == results[0] for result in results)


@pytest.mark.long
async def test_a_member_may_stop_while_spark_starts(tmp_path: Path) -> None:
    """In a process of its own, as a process has one Spark: nothing is left, and whoever waits is told."""
    program = (
        "import asyncio, sys, threading, psutil\n"
        "from pathlib import Path\n"
        "from engine.executors.engine_config import SparkConfig\n"
        "from engine.executors.spark.executor import SparkExecutor\n"
        "from wire.errors import AdminShutdown\n"
        "async def main():\n"
        "    executor = SparkExecutor(SparkConfig('local[1]'), Path(sys.argv[1]))\n"
        "    await executor.start()\n"
        "    waiting = asyncio.create_task(executor.ready())\n"
        "    while not psutil.Process().children():\n"
        "        await asyncio.sleep(0.01)\n"
        "    await executor.close()\n"
        "    [error] = await asyncio.gather(waiting, return_exceptions=True)\n"
        "    assert isinstance(error, AdminShutdown), error\n"
        "    assert psutil.Process().children() == []\n"
        "asyncio.run(main())\n"
        "assert threading.active_count() == 1, threading.enumerate()\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(tmp_path))
    assert await process.wait() == 0


@pytest.mark.long
async def test_the_jvm_dies_with_a_killed_member(tmp_path: Path) -> None:
    """A member of its own, killed: its JVM notices."""
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from engine.executors.engine_config import SparkConfig\n"
        "from engine.executors.spark.executor import SparkExecutor\n"
        "async def main():\n"
        "    executor = SparkExecutor(SparkConfig('local[1]'), Path(sys.argv[1]))\n"
        "    await executor.start()\n"
        "    await executor.ready()\n"
        "    print('ready', flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        str(tmp_path),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    children = psutil.Process(process.pid).children(recursive=True)
    assert any("java" in child.name() for child in children)
    process.kill()
    await process.wait()
    _, alive = await asyncio.to_thread(psutil.wait_procs, children, 60)
    assert alive == []
