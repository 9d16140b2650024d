"""The background loop of a member's Spark: its errors are counted, and it continues."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.common.supervised import Background, Backoff
from engine.contracts.mesh import MemberInfo
from engine.contracts.shared_spark import Application, SharedSpark, key_of
from engine.executors.engine_config import SparkConfig
from engine.executors.spark import watch
from engine.executors.spark.executor import SparkExecutor

_MASTER = "spark://127.0.0.1:1"


class Members:
    """Two members, of which m1 hosts Spark; they are unknown as often as `failures` says."""

    member = "m2"

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self._answers = 0
        self.answered_twice = asyncio.Event()

    def members(self) -> Sequence[MemberInfo]:
        if self.failures:
            self.failures -= 1
            raise KeyError("m1")
        self._answers += 1
        if self._answers == 2:
            self.answered_twice.set()
        spark = SharedSpark(key_of(_MASTER), Application.READY)
        return (
            MemberInfo("m1", "1", "", "", "data", "up", 0, "", spark=spark),
            MemberInfo("m2", "1", "", "", "data", "up", 0, "", local=True, spark=SharedSpark(spark.key)),
        )


async def test_the_loop_continues_after_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_MEETING_SECONDS", 0.0)
    monkeypatch.setattr(watch, "_PERIOD_SECONDS", 0.01)
    background = Background()
    background.supervise("spark", Backoff(0.001, 0.001))
    members = Members(failures=3)
    config = SparkConfig(_MASTER, allocation="shared")
    executor = SparkExecutor(config, tmp_path, mesh=members)
    looping = watch.SparkWatch(config, executor, background.supervise("spark"))
    await executor.start()
    looping.start()
    try:
        await members.answered_twice.wait()
        assert background.status()["spark"] == {"failures": 3, "failing": 0, "error": None}
        assert executor.state == "on member m1"
    finally:
        await looping.close()
        await executor.close()
