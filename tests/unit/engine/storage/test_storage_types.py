"""Every PostgreSQL type in a stored table: rows read equal rows written, and values that cannot be stored are refused
explicitly.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support import stored_values
from support.plans import Plans
from support.stored_values import ROWS, comparable

from engine.catalog.model.objects import Table, TableColumn
from engine.common import sql_type as st
from engine.contracts.executor import ExecutionContext
from engine.contracts.query_id import QueryId
from engine.executors.engine_config import EngineConfig
from engine.executors.local.executor import LocalExecutor
from engine.plan_ir.logical import Root
from engine.planner.codegen import Bindings, compile_plan
from engine.storage.types import file_schema
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t


async def read_locally(table: Table, folder: Path) -> pa.RecordBatch:
    reader = Plans().read(table, *(column.name for column in table.columns))
    fragment = compile_plan(Root(reader.columns, reader), "local", Bindings({}))
    executor = LocalExecutor(EngineConfig(folder))
    await executor.start()
    try:
        stream = await executor.open(fragment, ExecutionContext(QueryId("m1", 1)))
        batch = await stream.next_batch()
        assert batch is not None
        assert await stream.next_batch() is None
        return batch.rename_columns(ROWS.schema.names)
    finally:
        await executor.close()


async def test_values_come_back_as_they_were_written(tmp_path: Path) -> None:
    table = stored_values.written(tmp_path)
    assert comparable(await read_locally(table, tmp_path)) == comparable(ROWS)


@pytest.mark.parametrize("pg", [t.RECORD, t.VOID, t.UNKNOWN, t.array_of(t.RECORD)])
def test_types_that_cannot_be_kept_are_refused_by_name(pg: t.PgType) -> None:
    with pytest.raises(FeatureNotSupported, match=r'column "c" of type'):
        file_schema([TableColumn("c", st.of(pg), 1)])
