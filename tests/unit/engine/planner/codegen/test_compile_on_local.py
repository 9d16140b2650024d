"""The compiled plans run on DuckDB and give PostgreSQL's rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.compiled_plans import CASES, Data, write_tables

from engine.contracts.executor import ExecutionContext
from engine.contracts.query_id import QueryId
from engine.executors.engine_config import EngineConfig
from engine.executors.local.executor import LocalExecutor
from engine.planner.codegen import Bindings, Unsupported, compile_plan


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables")
    write_tables(path)
    return path


def _sortable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((value is None, str(value)) for value in row)


def test_all_nodes_have_a_case() -> None:
    assert len(CASES) > 50


@pytest.mark.table
@pytest.mark.parametrize("name", CASES)
async def test_rows(name: str, folder: Path, tmp_path: Path) -> None:
    case = CASES[name]
    plan = case.build(Data(str(folder)))
    fragment = compile_plan(plan, "local", Bindings({1: 2, 2: 1}))
    executor = LocalExecutor(EngineConfig(tmp_path))
    await executor.start()
    try:
        stream = await executor.open(fragment, ExecutionContext(QueryId("m1", 1)))
        rows: list[tuple[Any, ...]] = []
        while (batch := await stream.next_batch()) is not None:
            rows += [tuple(row.values()) for row in batch.to_pylist()]
        await stream.close()
    finally:
        await executor.close()
    if case.ordered:
        assert rows == case.rows
    else:
        assert sorted(rows, key=_sortable) == sorted(case.rows, key=_sortable)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.lacking])
def test_what_an_engine_lacks_is_named(name: str) -> None:
    case = CASES[name]
    with pytest.raises(Unsupported) as raised:
        compile_plan(case.build(Data()), case.lacking, Bindings({1: 2, 2: 1}))  # type: ignore[arg-type]
    assert raised.value.engine == case.lacking
    assert raised.value.what
