"""The local executor: streams, cancel, errors, cursors, and nothing left behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import pytest_asyncio
import sqlglot
from support.compiled_plans import Data
from support.plans import table
from support.session_server import eventually

from engine.catalog.model.objects import SystemTable, TableColumn
from engine.common.sql_type import numeric, of
from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext, OutputColumn
from engine.contracts.query_id import QueryId
from engine.executors.engine_config import EngineConfig
from engine.executors.local import udf
from engine.executors.local.errors import translate
from engine.executors.local.executor import LocalExecutor
from engine.executors.local.page_reader import batch_rows
from engine.executors.local.stream import LocalStream
from engine.executors.local.zone_names import zone_name
from engine.planner.codegen import Bindings, compile_plan
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.sql.trees.engine_dialects import LocalSql
from wire.errors import AdminShutdown, InvalidParameterValue, QueryCanceled, SqlError
from wire.types import pg_types as t

MANY = 1_000_000
INT8, TEXT = of(t.INT8), of(t.TEXT)


@pytest_asyncio.fixture
async def executor(tmp_path: Path) -> AsyncIterator[LocalExecutor]:
    executor = LocalExecutor(EngineConfig(tmp_path, fragment_threads=2))
    await executor.start()
    yield executor
    assert executor.statistics()["streams"] == 0
    assert executor.statistics()["cursors"] == 0
    await executor.close()
    assert not any(thread.name.startswith("sluice-fragment") for thread in threading.enumerate())
    assert not (tmp_path / ".sluice" / "local").exists()


def fragment(sql: str, *types: Any) -> CompiledFragment:
    """A statement whose columns are c1, c2 ..."""
    columns = tuple(OutputColumn(f"c{i}", typ) for i, typ in enumerate(types, 1))
    tree = sqlglot.parse_one(sql, dialect=LocalSql)
    assert isinstance(tree, sqlglot.exp.Expression)
    return CompiledFragment("local", tree, columns)


def context(**more: Any) -> ExecutionContext:
    return ExecutionContext(QueryId("m1", 1), **more)


async def rows(stream: BatchStream) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    try:
        while (batch := await stream.next_batch()) is not None:
            assert batch.num_rows
            found += [tuple(row.values()) for row in batch.to_pylist()]
    finally:
        await stream.close()
    return found


async def test_rows_in_carriers(executor: LocalExecutor) -> None:
    stream = await executor.open(
        fragment("SELECT CAST(1.5 AS DECIMAL(4, 2)) AS c1, 'x' AS c2", numeric(4, 2), TEXT), context()
    )
    batch = await stream.next_batch()
    assert batch is not None
    assert batch.schema.types == [pa.decimal128(38, 2), pa.utf8()]
    assert await stream.next_batch() is None
    assert stream.statistics() == {"rows": 1, "bytes": batch.nbytes, "batches": 1}
    await stream.close()


async def test_no_columns_keep_their_rows(executor: LocalExecutor) -> None:
    stream = await executor.open(fragment("SELECT 1 AS one FROM RANGE(3)"), context())
    batch = await stream.next_batch()
    assert batch is not None
    assert (batch.num_rows, batch.num_columns) == (3, 0)
    await stream.close()


async def test_many_batches_arrive_in_order(executor: LocalExecutor) -> None:
    plan = fragment(f"SELECT range AS c1 FROM RANGE({MANY}) ORDER BY 1", INT8)
    stream = await executor.open(plan, context(page_bytes=1 << 17))
    expected = 0
    batches = 0
    while (batch := await stream.next_batch()) is not None:
        assert batch.column(0)[0].as_py() == expected
        expected += batch.num_rows
        batches += 1
    assert expected == MANY
    assert batches > 10
    await stream.close()


async def test_suspended_streams_hold_no_thread(executor: LocalExecutor) -> None:
    """Ten streams are half read at once, though the pool has two threads; another query runs among them."""
    plan = fragment(f"SELECT range AS c1 FROM RANGE({MANY})", INT8)
    streams = [await executor.open(plan, context(page_bytes=1 << 16)) for _ in range(10)]
    for stream in streams:
        assert await stream.next_batch() is not None
    assert await rows(await executor.open(fragment("SELECT 7 AS c1", INT8), context())) == [(7,)]
    assert executor.statistics()["streams"] == 10
    await asyncio.gather(*(stream.close() for stream in streams))


async def test_close_interrupts_a_running_pull(executor: LocalExecutor) -> None:
    slow = fragment("SELECT SUM(a.range * b.range) AS c1 FROM RANGE(1000000) AS a, RANGE(1000000) AS b", numeric(38, 0))
    stream = await executor.open(slow, context())
    assert isinstance(stream, LocalStream)
    pull = asyncio.ensure_future(stream.next_batch())
    await eventually(lambda: stream._statement.cursor is not None)
    await asyncio.gather(stream.close(), stream.close())
    with pytest.raises(QueryCanceled):
        await pull
    with pytest.raises(QueryCanceled):
        await stream.next_batch()
    assert await rows(await executor.open(fragment("SELECT 1 AS c1", INT8), context())) == [(1,)]


async def test_close_interrupts_regular_expressions_within_a_batch(executor: LocalExecutor) -> None:
    # Each text takes a second or so, and all of a vector half an hour, which DuckDB itself does not interrupt.
    call = "sluice_regexp_test(range || REPEAT('a', 151), $1, '', GETVARIABLE('sluice_cursor'))"
    pattern = r"'^\d+(a+)(a+)\1\2$'"
    slow = fragment(f"SELECT COUNT(*) AS c1 FROM RANGE(1000000) WHERE {call.replace('$1', pattern)}", INT8)
    stream = await executor.open(slow, context())
    assert isinstance(stream, LocalStream)
    pull = asyncio.ensure_future(stream.next_batch())
    await eventually(lambda: stream._statement.cursor is not None)
    await asyncio.sleep(0.2)
    assert await rows(await executor.open(fragment("SELECT 1 AS c1", INT8), context())) == [(1,)]
    await stream.close()
    with pytest.raises(QueryCanceled):
        await pull


async def test_an_interrupt_ends_no_other_regular_expression(executor: LocalExecutor) -> None:
    call = r"sluice_regexp_test('x' || range, '(\d)\1', '', GETVARIABLE('sluice_cursor'))"
    sql = f"SELECT COUNT(*) AS c1 FROM RANGE(5000) WHERE {call}"
    for _ in range(2):
        interrupted, whole = [await executor.open(fragment(sql, INT8), context()) for _ in range(2)]
        await interrupted.close()
        assert await rows(whole) == [(sum(any(a == b for a, b in pairwise(str(n))) for n in range(5000)),)]


async def test_close_before_anything_ran(executor: LocalExecutor) -> None:
    slow = fragment("SELECT SUM(a.range * b.range) AS c1 FROM RANGE(1000000) AS a, RANGE(1000000) AS b", numeric(38, 0))
    streams = [await executor.open(slow, context()) for _ in range(6)]
    await asyncio.gather(*(stream.close() for stream in streams))


async def test_a_cancelled_wait_leaves_the_stream_to_close(executor: LocalExecutor) -> None:
    slow = fragment("SELECT SUM(a.range * b.range) AS c1 FROM RANGE(1000000) AS a, RANGE(1000000) AS b", numeric(38, 0))
    stream = await executor.open(slow, context())
    assert isinstance(stream, LocalStream)
    pull = asyncio.ensure_future(stream.next_batch())
    await eventually(lambda: bool(stream._waiters))
    pull.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pull
    await stream.close()


async def test_executor_close_cancels_everything(tmp_path: Path) -> None:
    executor = LocalExecutor(EngineConfig(tmp_path))
    await executor.start()
    assert executor.state == "ready"
    stream = await executor.open(fragment(f"SELECT range AS c1 FROM RANGE({MANY})", INT8), context())
    assert await stream.next_batch() is not None
    await executor.close()
    await executor.close()
    assert executor.state == "closed"
    with pytest.raises(AdminShutdown):
        await executor.open(fragment("SELECT 1 AS c1", INT8), context())


async def test_a_database_of_no_more_use_is_replaced_and_those_under_way_go_on(executor: LocalExecutor) -> None:
    under_way = await executor.open(fragment(f"SELECT range AS c1 FROM RANGE({MANY})", INT8), context(page_bytes=1))
    first = await under_way.next_batch()
    assert first is not None
    general, single = executor._database, executor._single
    assert general is not None
    assert single is not None
    for broken in (general, single, general):
        executor._replace(broken)
    assert executor._replacing is not None
    await executor._replacing
    assert executor._database not in (None, general)
    assert executor._single not in (None, single)
    with pytest.raises(duckdb.FatalException):
        general.borrow("UTC")
    assert await rows(await executor.open(fragment("SELECT MAX(range) AS c1 FROM RANGE(7)", INT8), context())) == [(6,)]
    assert len(await rows(under_way)) == MANY - first.num_rows
    assert general.statistics() == single.statistics() == {"cursors": 0, "idle_cursors": 0}


async def test_time_zones(executor: LocalExecutor) -> None:
    plan = fragment("SELECT CAST(CAST('2020-07-01 00:00:00+00' AS TIMESTAMPTZ) AS VARCHAR) AS c1", TEXT)
    for zone, text in (
        ("UTC", "2020-07-01 00:00:00+00"),
        ("Europe/Paris", "2020-07-01 02:00:00+02"),
        ("<+05:30>-05:30", "2020-07-01 05:30:00+05:30"),
        ("UTC", "2020-07-01 00:00:00+00"),
    ):
        assert await rows(await executor.open(plan, context(time_zone=zone))) == [(text,)]
    stream = await executor.open(plan, context(time_zone="Nowhere/Land"))
    with pytest.raises(InvalidParameterValue):
        await rows(stream)


def test_zone_names() -> None:
    assert zone_name("<-03>03") == "GMT-03:00"
    assert zone_name("+02:00") == "GMT-02:00", "as POSIX has it, west of Greenwich"
    assert zone_name("GMT+2") == "GMT-02:00"
    assert zone_name("JST-9") == "GMT+09:00"
    assert zone_name("America/New_York") == "America/New_York"


async def test_a_new_version_of_a_table_is_read_anew(executor: LocalExecutor, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    for version, values in ((1, [1]), (2, [2, 3])):
        pq.write_table(pa.table({"x": pa.array(values, pa.int64())}), path)
        data = Data()
        reader = data.read(table("t", [str(path)], [("x", INT8)], version=version), "x")
        found = await rows(await executor.open(compile_plan(reader, "local", Bindings()), context()))
        assert found == [(v,) for v in values]


async def test_system_tables_are_read_from_memory(executor: LocalExecutor) -> None:
    columns = (TableColumn("oid", of(t.OID), 1), TableColumn("typname", of(t.NAME), 2))
    for version in range(200):
        held = pa.table({"oid": [16, version], "typname": ["bool", None]})
        data = Data()
        reader = data.read(SystemTable(1247, "pg_catalog", "pg_type", columns, held, version), "typname", "oid")
        found = await rows(await executor.open(compile_plan(reader, "local", Bindings()), context()))
        assert found == [("bool", 16), (None, version)]


async def test_missing_files_are_told(executor: LocalExecutor) -> None:
    with pytest.raises(SqlError) as raised:
        await rows(
            await executor.open(fragment("SELECT 1 AS c1 FROM READ_PARQUET(['/no/such.parquet'])", INT8), context())
        )
    assert raised.value.sqlstate == "58P01"


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("ERROR('SQLSTATE:2201E:cannot take logarithm of zero')", "2201E", "cannot take logarithm of zero"),
        ("1 // 0", "22012", "division by zero"),
        ("CAST(32767 AS SMALLINT) + CAST(1 AS SMALLINT)", "22003", "smallint out of range"),
        ("CAST(2147483647 AS INT) + CAST(1 AS INT)", "22003", "integer out of range"),
        ("9223372036854775807 + 1", "22003", "bigint out of range"),
        ("CAST(3000000000 AS INT)", "22003", "integer out of range"),
        ("CAST(99999 AS DECIMAL(4, 2))", "22003", "numeric field overflow"),
        ("CAST(1e300 AS REAL)", "22003", "value out of range: overflow"),
        ("CAST('abc' AS INT)", "22P02", 'invalid input syntax for type integer: "abc"'),
        ("CAST('' AS BIGINT)", "22P02", 'invalid input syntax for type bigint: ""'),
        ("CAST('99999999999' AS INT)", "22003", 'value "99999999999" is out of range for type integer'),
        ("CAST('x' AS DOUBLE)", "22P02", 'invalid input syntax for type double precision: "x"'),
        ("CAST('1.5x' AS DECIMAL(10, 2))", "22P02", 'invalid input syntax for type numeric: "1.5x"'),
        ("CAST('maybe' AS BOOLEAN)", "22P02", 'invalid input syntax for type boolean: "maybe"'),
        ("CAST('x' AS DATE)", "22007", 'invalid input syntax for type date: "x"'),
        ("CAST('2020-13-01' AS DATE)", "22008", 'date/time field value out of range: "2020-13-01"'),
        ("CAST('x' AS TIMESTAMP)", "22007", 'invalid input syntax for type timestamp: "x"'),
        ("CAST('x' AS INTERVAL)", "22007", 'invalid input syntax for type interval: "x"'),
        (
            "(SELECT x FROM (VALUES (1), (2)) AS t(x))",
            "21000",
            "more than one row returned by a subquery used as an expression",
        ),
    ],
)
async def test_errors(sql: str, sqlstate: str, message: str, executor: LocalExecutor) -> None:
    """Over a row that DuckDB cannot fold, so that the error comes while rows are made."""
    statement = f"SELECT {sql} AS c1 FROM RANGE(3) AS r(i)"
    with pytest.raises(SqlError) as raised:
        await rows(await executor.open(fragment(statement, TEXT), context()))
    assert (raised.value.sqlstate, raised.value.message) == (sqlstate, message)


def test_what_nobody_understands_is_ours_to_mend(caplog: pytest.LogCaptureFixture) -> None:
    error = translate(duckdb.BinderException("Binder Error: no such thing"), "SELECT nothing")
    assert error.sqlstate == "XX000"
    assert "no such thing" not in error.message
    assert "no such thing" in caplog.text


@udf.arrow_function("sluice_test_twice", ["BIGINT"], "BIGINT")
def _twice(values: pa.Array) -> pa.Array:
    return pc.multiply(values, 2)


@udf.arrow_function("sluice_test_refuses", ["BIGINT"], "BIGINT")
def _refuses(values: pa.Array) -> pa.Array:
    raise InvalidParameterValue("no such thing")


async def test_arrow_functions(executor: LocalExecutor) -> None:
    plan = fragment("SELECT SUM(SLUICE_TEST_TWICE(range)) AS c1 FROM RANGE(10000)", numeric(38, 0))
    assert await rows(await executor.open(plan, context())) == [(99990000,)]
    with pytest.raises(SqlError) as raised:
        await rows(
            await executor.open(fragment("SELECT SLUICE_TEST_REFUSES(range) AS c1 FROM RANGE(9)", INT8), context())
        )
    assert (raised.value.sqlstate, raised.value.message) == ("22023", "no such thing")


def test_batch_rows() -> None:
    schema = pa.schema([("c1", pa.int64()), ("c2", pa.utf8())])
    assert batch_rows(schema, 1 << 20) == 32_768
    assert batch_rows(schema, 1) == 2048
    assert batch_rows(pa.schema([]), 1 << 30) == 131_072


async def test_settings_are_locked(executor: LocalExecutor) -> None:
    assert executor._database is not None
    cursor = executor._database.borrow("UTC")
    with pytest.raises(duckdb.Error):
        cursor._connection.execute("SET threads = 8")
    executor._database.give_back(cursor, healthy=True)


async def test_batches_of_wide_values_have_the_size_of_a_page(executor: LocalExecutor) -> None:
    """However wide values are, what types do not tell: a batch has two pages at most, or the fewest rows that DuckDB gives."""
    statement = "SELECT range AS c1, repeat('x', {}) AS c2 FROM RANGE(20000)"
    for width in (10, 200, 2000):
        stream = await executor.open(fragment(statement.format(width), INT8, TEXT), context(page_bytes=1 << 20))
        batches = list[pa.RecordBatch]()
        while (batch := await stream.next_batch()) is not None:
            batches.append(batch)
        await stream.close()
        assert sum(batch.num_rows for batch in batches) == 20_000
        assert all(batch.nbytes <= 2 << 20 or batch.num_rows <= 2048 for batch in batches)


async def test_batches_become_smaller_with_many_streams(executor: LocalExecutor) -> None:
    statement = "SELECT range AS c1, repeat('x', 200) AS c2 FROM RANGE(20000)"
    plan, streams = fragment(statement, INT8, TEXT), list[BatchStream]()
    for _ in range(150):
        streams.append(await executor.open(plan, context(page_bytes=1 << 20)))
    sizes = [batch.nbytes for stream in (streams[0], streams[-1]) if (batch := await stream.next_batch()) is not None]
    assert sizes[0] > 1 << 20 > sizes[1]
    for stream in streams:
        await stream.close()
