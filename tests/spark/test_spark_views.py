"""Views of statements that are analysed at the same time: none is dropped or replaced for another statement meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.member_process import wait_until

from engine.catalog.model.objects import Table, TableColumn
from engine.common import sql_type as st
from engine.executors.engine_config import SparkConfig
from engine.executors.spark import views
from engine.executors.spark.collect import collect_arrow
from engine.executors.spark.connection import own_connection
from engine.executors.spark.session import SparkRuntime
from engine.executors.spark.views import Views
from engine.sql.trees.storage_types import relation_name
from wire.types import pg_types as t

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    runtime = SparkRuntime(SparkConfig("local[1]"), tmp_path_factory.mktemp("spark"))
    yield runtime.session("UTC")
    runtime.stop()


def table(folder: Path, number: int, version: int = 1) -> Table:
    """A table whose only row is its version."""
    file = folder / f"{number}-{version}.parquet"
    pq.write_table(pa.table({"v": pa.array([version], pa.int64())}), file)
    columns = (TableColumn("v", st.of(t.INT8), 1),)
    return Table(70_000 + number, "public", f"t{number}", columns, "parquet", str(file), (str(file),), version=version)


def read(session: SparkSession, name: str) -> int:
    [batch] = collect_arrow(session.sql(f"select v from {name}")._jdf)
    [value] = batch.column(0).to_pylist()
    return int(value)


def test_no_other_statement_drops_them(session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_VIEWS_MAX", 2)
    kept = Views()
    first, *others = ({relation_name(found): found} for found in (table(tmp_path, number) for number in range(6)))
    with kept.pin(session, first):
        for other in others:
            with kept.pin(session, other):
                pass
        assert [read(session, name) for name in first] == [1]
    names = {name for views_of in (first, *others) for name in views_of}

    def count() -> int:
        return len(names & {found.name for found in session.catalog.listTables()})

    # Now it is the oldest.
    assert count() == 2
    with kept.pin(session, {name: found for other in others for name, found in other.items()}):
        assert [read(session, name) for other in others for name in other] == [1] * 5
    assert count() == 2


def test_no_other_statement_replaces_them(session: SparkSession, tmp_path: Path) -> None:
    kept, older = Views(), table(tmp_path, 10)
    name = relation_name(older)
    # As from a member that names its tables itself: the same name for two versions.
    newer = replace(table(tmp_path, 10, 2), name=older.name)
    found: list[int] = []

    def read_newer() -> None:
        with own_connection(), kept.pin(session, {name: newer}):
            found.append(read(session, name))

    other = threading.Thread(target=read_newer)
    with kept.pin(session, {name: older}):
        other.start()
        wait_until(lambda: len(kept._unpinned._waiters) == 1)  # type: ignore[attr-defined]
        assert read(session, name) == 1
    other.join()
    assert found == [2]
