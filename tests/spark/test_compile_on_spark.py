"""The compiled plans run on Spark and give PostgreSQL's rows, as they do on DuckDB in `test_compile_on_local`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import pytest_asyncio
from support.compiled_plans import CASES, NATIONS, Data, write_tables
from support.literal_values import LITERALS
from support.plans import Plans

from engine.common.sql_type import of
from engine.contracts.executor import ExecutionContext
from engine.contracts.query_id import QueryId
from engine.executors.engine_config import SparkConfig
from engine.executors.spark.executor import SparkExecutor
from engine.plan_ir.expr import Const
from engine.plan_ir.logical import Root, Values
from engine.planner.codegen import Bindings, compile_plan
from engine.statements.maintenance.analyze_statistics import Meant, count_query, sample_query, statistics

pytestmark = [
    pytest.mark.spark,
    pytest.mark.asyncio(loop_scope="module"),
    # PySpark leaves the sockets of a collected result to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables")
    write_tables(path)
    return path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def spark(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SparkExecutor]:
    executor = SparkExecutor(SparkConfig("local[2]"), tmp_path_factory.mktemp("member"))
    await executor.start()
    yield executor
    await executor.close()


def _sortable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((value is None, str(value)) for value in row)


@pytest.mark.table
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.lacking != "spark"])
async def test_rows(name: str, folder: Path, spark: SparkExecutor) -> None:
    case = CASES[name]
    compiled = compile_plan(case.build(Data(str(folder))), "spark", Bindings({1: 2, 2: 1}))
    stream = await spark.open(replace(compiled, small=True), ExecutionContext(QueryId("m1", 1)))
    rows: list[tuple[Any, ...]] = []
    try:
        while (batch := await stream.next_batch()) is not None:
            rows += [tuple(row.values()) for row in batch.to_pylist()]
    finally:
        await stream.close()
    if case.ordered:
        assert rows == case.rows
    else:
        assert sorted(rows, key=_sortable) == sorted(case.rows, key=_sortable)


async def test_literals(spark: SparkExecutor) -> None:
    """All literals in one SELECT, far from UTC: each comes back as the value that it was."""
    constants = tuple(Const(of(typ), value) for typ, value in LITERALS)
    columns = Plans().columns(*(constant.type for constant in constants))
    compiled = compile_plan(Values(columns, (constants,)), "spark", Bindings())
    stream = await spark.open(compiled, ExecutionContext(QueryId("m1", 2), time_zone="America/St_Johns"))
    try:
        batch = await stream.next_batch()
    finally:
        await stream.close()
    assert batch is not None
    for column, (typ, value) in zip(batch.columns, LITERALS, strict=True):
        assert column[0].equals(pa.scalar(value, column.type)), (typ, value)


async def _answer(plan: Root, spark: SparkExecutor) -> pa.Table:
    compiled = compile_plan(plan, "spark", Bindings())
    stream = await spark.open(replace(compiled, small=True), ExecutionContext(QueryId("m1", 3)))
    batches = []
    try:
        while (batch := await stream.next_batch()) is not None:
            batches.append(batch)
    finally:
        await stream.close()
    return pa.Table.from_batches(batches)


async def test_what_analyze_asks(folder: Path, spark: SparkExecutor) -> None:
    nation = Data(str(folder)).nation
    meant = Meant(nation, nation.columns)
    counted = await _answer(count_query(meant), spark)
    sample = await _answer(sample_query(meant, 1_000_000, 900_000), spark)
    assert 0 < sample.num_rows <= len(NATIONS)
    whole = await _answer(sample_query(meant, len(NATIONS), 100), spark)
    found = statistics(meant, counted.to_batches()[0], whole, 10_000, 100)
    assert (found.rows, found.pages) == (len(NATIONS), 2)
    assert [(c.nulls, c.distinct, c.least, c.greatest) for c in found.columns] == [
        _expected(values) for values in zip(*NATIONS, strict=True)
    ]


def _expected(values: tuple[Any, ...]) -> tuple[Any, ...]:
    known = [value for value in values if value is not None]
    part = 1 - len(known) / len(values)
    distinct = -len(set(known)) / len(values)
    return pytest.approx(part), pytest.approx(distinct), str(min(known)), str(max(known))
