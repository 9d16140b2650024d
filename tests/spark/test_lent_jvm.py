"""The JVM of a test process: its tenants follow one another, and find nothing of earlier ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.lent_jvm import lender

from engine.executors.engine_config import SparkConfig
from engine.executors.spark.connection import own_connection
from engine.executors.spark.session import SparkRuntime

pytestmark = pytest.mark.spark


@contextmanager
def _tenant(directory: Path) -> Iterator[SparkRuntime]:
    with own_connection():
        runtime = SparkRuntime(SparkConfig("local[2]"), directory)
        try:
            yield runtime
        finally:
            runtime.stop()


def test_tenants_share_the_jvm_and_nothing_else(tmp_path: Path) -> None:
    is_lending = lender().is_lending
    with _tenant(tmp_path / "a") as first:
        spark = first.session("UTC")
        spark.range(3).createOrReplaceGlobalTempView("seen")
        spark.sql("create table kept using parquet as select 1 as a")
        first.context._jsc.hadoopConfiguration().set("fs.kept", "yes")
        process, application = first._process.pid, first.context.applicationId
    assert first.has_ended() != is_lending
    with _tenant(tmp_path / "b") as second:
        assert (second._process.pid == process) == is_lending
        assert second.context.applicationId != application
        spark = second.session("UTC")
        assert spark.sql("show tables in global_temp").count() == 0
        assert spark.sql("show tables").count() == 0
        assert second.context._jsc.hadoopConfiguration().get("fs.kept") is None
        assert str(tmp_path / "b" / "warehouse") in str(spark.conf.get("spark.sql.warehouse.dir"))
        assert second.settle()
        tracker = second.context.statusTracker()
        assert (list(tracker.getActiveJobsIds()), list(tracker.getActiveStageIds())) == ([], [])
