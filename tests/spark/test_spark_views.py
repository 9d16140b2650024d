"""Views of statements that are analysed at the same time: none is dropped or replaced for another statement meanwhile,
and none waits for the files of another statement.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
from engine.executors.spark.jobs import SparkJob
from engine.executors.spark.session import SparkRuntime
from engine.executors.spark.views import Views
from engine.sql.trees.storage_types import relation_name
from wire.errors import QueryCanceled, SqlError
from wire.types import pg_types as t

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


#: Longer than a test.
_LONG: Final = 3600.0


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkRuntime]:
    running = SparkRuntime(SparkConfig("local[1]"), tmp_path_factory.mktemp("spark"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def session(runtime: SparkRuntime) -> SparkSession:
    return runtime.session("UTC")


class Job(SparkJob):
    """A job that reads a table through `views`. `result` and `error` are there when it has ended."""

    def __init__(self, runtime: SparkRuntime, views: Views, found: Table, name: str = "") -> None:
        self.result: int | None = None
        self.error: SqlError | None = None
        name = name or relation_name(found)

        def work(session: SparkSession) -> int:
            with views.pin(session, {name: found}):
                return read(session, name)

        super().__init__(runtime, f"q{found.oid}", "UTC", work, self._end)
        self.start()

    def _end(self, result: Any, error: SqlError | None) -> None:
        self.result, self.error = result, error

    def stop(self) -> None:
        with own_connection():
            self.cancel()
            self.wait_gone()


def is_waiting(views: Views) -> bool:
    return len(views._changed._waiters) == 1  # type: ignore[attr-defined]


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
    kept = Views(_LONG)
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


def two_versions(folder: Path) -> tuple[str, Table, Table]:
    """Return one name for two versions of a table, as from a member that names its tables itself, and both versions."""
    older = table(folder, 10)
    return relation_name(older), older, replace(table(folder, 10, 2), name=older.name)


def test_no_other_statement_replaces_them(runtime: SparkRuntime, session: SparkSession, tmp_path: Path) -> None:
    kept = Views(_LONG)
    name, older, newer = two_versions(tmp_path)
    with kept.pin(session, {name: older}):
        other = Job(runtime, kept, newer, name)
        wait_until(lambda: is_waiting(kept))
        assert read(session, name) == 1
    wait_until(lambda: not other.is_running)
    assert (other.result, other.error) == (2, None)


def test_a_cancel_ends_the_wait_for_another_version(
    runtime: SparkRuntime, session: SparkSession, tmp_path: Path
) -> None:
    kept = Views(_LONG)
    name, older, newer = two_versions(tmp_path)
    with kept.pin(session, {name: older}):
        other = Job(runtime, kept, newer, name)
        wait_until(lambda: is_waiting(kept))
        other.stop()
        assert isinstance(other.error, QueryCanceled)
    with kept.pin(session, {name: newer}):
        assert read(session, name) == 2


def test_the_wait_for_another_version_has_a_bound(runtime: SparkRuntime, session: SparkSession, tmp_path: Path) -> None:
    kept = Views(1)
    name, older, newer = two_versions(tmp_path)
    with kept.pin(session, {name: older}):
        other = Job(runtime, kept, newer, name)
        wait_until(lambda: not other.is_running)
        assert other.error is not None
        assert other.error.sqlstate == "58000"
        assert other.error.message == "could not complete the query: it has waited for Spark for 1 s"


def begin_both(runtime: SparkRuntime, kept: Views, folder: Path) -> tuple[Path, Job, Job]:
    """Run two statements over a table. The first waits for its file, which is a pipe, and the second for the first.

    Returns the pipe, which nobody can read once it has been opened for writing, and the statements. The second has
    another file for the table.
    """
    slow, quick = table(folder, 20), table(folder, 21)
    pipe = Path(slow.files[0])
    pipe.unlink()
    os.mkfifo(pipe)
    first = Job(runtime, kept, slow)
    wait_until(lambda: any(names.busy for names in kept._sessions.values()))
    second = Job(runtime, kept, quick, relation_name(slow))
    wait_until(lambda: is_waiting(kept))
    return pipe, first, second


def release(pipe: Path) -> None:
    with pipe.open("wb"):
        pass


def test_files_of_one_statement_delay_no_other(runtime: SparkRuntime, session: SparkSession, tmp_path: Path) -> None:
    """A statement over the same table waits. It makes the view itself if the first statement could not."""
    kept, other = Views(_LONG), table(tmp_path, 22)
    pipe, first, second = begin_both(runtime, kept, tmp_path)
    with kept.pin(session, {relation_name(other): other}):
        assert read(session, relation_name(other)) == 1
    assert first.is_running
    release(pipe)
    wait_until(lambda: not first.is_running and not second.is_running)
    assert first.error is not None
    assert (second.result, second.error) == (1, None)


def test_a_cancel_ends_the_wait_for_files(runtime: SparkRuntime, tmp_path: Path) -> None:
    pipe, first, second = begin_both(runtime, Views(_LONG), tmp_path)
    second.stop()
    assert isinstance(second.error, QueryCanceled)
    assert first.is_running
    release(pipe)
    wait_until(lambda: not first.is_running)
