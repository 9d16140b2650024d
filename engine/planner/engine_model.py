"""Estimates how long each engine takes for a plan's work, and chooses between the engines.

    verdict = model.decide(work)

The module is pure arithmetic over `PlanWork` (`engine.planner.optimizer.plan_work`). The model is a value and an input
of planning, as settings are, so that the same model chooses the same engine on every machine. `EngineModel()` has the
constants below, which were measured on two cores of an AMD EPYC with TPC-H; a member measures its own and corrects them
by the times of its statements (`engine.runtime.engine_times`).

An engine takes a fixed time for a statement, a fixed time for each exchange (between Spark's tasks, with a stage to
plan and to schedule), and then the time that its cores take for the bytes and rows. The time to give rows to a client
or a writer is added.

**Not decided by time**: a plan that the local engine would spill beyond `SPILL_MAX` of its memory, and one that writes more
than `WRITTEN_MAX`, goes to Spark, whose tasks share the work and write for themselves.

The estimates are monotone: more bytes, rows or stages never take less time, more cores never take more. So where Spark
has fewer cores, or a longer start, no plan goes to Spark that stayed here before
(`tests/properties/test_engine_choice.py`).

Rejected: costs as PostgreSQL has them, in units of a page that is read. Spark plans by itself, and nobody would know
what those units are worth there. Also a model of each operator: the choice between two engines that differ by a factor
of ten depends on the order of magnitude, and statements cannot tell further parameters apart.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import Final

from engine.contracts.query_id import EngineName
from engine.planner.optimizer.plan_work import PlanWork
from engine.settings.session_settings import size_text
from wire.dataclass import dataclass

#: How many times the memory of the local engine a plan may need: the rest is spilled to disk.
SPILL_MAX: Final = 8
#: Bytes of rows, as they are in memory, up to which the local engine writes.
WRITTEN_MAX: Final = 4 << 30
#: Bytes per second that are spilled and read again.
_SPILL_RATE: Final = 250e6
_CORES_MIN: Final = 1e-3
#: The shortest time that is shown.
_SECONDS_MIN: Final = 0.001
#: Seconds from which on no fraction is shown.
_WHOLE_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class Expected:
    """The estimated seconds of a statement. fixed: independent of its work. work: the time for its work."""

    fixed: float
    work: float

    @property
    def total(self) -> float:
        return self.fixed + self.work


@dataclass(frozen=True, slots=True)
class EngineSpeed:
    """An engine's speed. statement, stage: seconds. read, row, write: bytes, rows, and bytes written, per second and
    core. result: bytes per second that it gives to this member. writers: how many cores can write at most.
    """

    statement: float
    stage: float
    read: float
    row: float
    write: float
    result: float
    writers: float = math.inf

    def estimate(self, work: PlanWork, cores: float) -> Expected:
        """Estimate the seconds for this work on `cores` cores."""
        cores = max(cores, _CORES_MIN)
        shared = (work.read / self.read + work.rows / self.row) / cores
        given = (
            work.written / self.write / min(cores, self.writers) if work.written else work.result_bytes / self.result
        )
        return Expected(self.statement + self.stage * work.stages, shared + given)

    def scale(self, fixed: float, work: float) -> EngineSpeed:
        """Return an engine whose fixed times and times for work are multiplied by these factors."""
        return EngineSpeed(
            self.statement * fixed, self.stage * fixed, self.read / work, self.row / work, self.write / work, self.result / work,
            self.writers,
        )  # fmt: skip


#: Rows that are written here pass through one thread.
LOCAL_SPEED: Final = EngineSpeed(
    statement=0.002, stage=0.0005, read=1.2e9, row=60e6, write=150e6, result=1e9, writers=1
)
SPARK_SPEED: Final = EngineSpeed(statement=0.2, stage=0.06, read=200e6, row=4e6, write=190e6, result=120e6)
#: Seconds that Spark takes to start on this machine.
SPARK_START: Final = 6.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The engine for some work, the estimates of both engines, and the reason in words."""

    engine: EngineName
    local: Expected
    spark: Expected
    reason: str

    @property
    def estimate(self) -> Expected:
        return self.local if self.engine == "local" else self.spark


@dataclass(frozen=True, slots=True)
class EngineModel:
    """Both engines of a member. local_cores: cores that are free for a statement here. spark_cores: of Spark's cluster.
    local_memory: bytes that the local engine has. spark_start: seconds until Spark takes statements; 0: it has started.
    """

    local: EngineSpeed = field(default=LOCAL_SPEED)
    spark: EngineSpeed = field(default=SPARK_SPEED)
    local_cores: float = 2
    spark_cores: float = 2
    local_memory: int = 2 << 30
    spark_start: float = 0.0

    def estimate_local(self, work: PlanWork) -> Expected:
        """Estimate the local engine's seconds, including those for spilled data."""
        expected = self.local.estimate(work, self.local_cores)
        spilled = max(0, work.held - self.local_memory)
        return Expected(expected.fixed, expected.work + spilled / _SPILL_RATE) if spilled else expected

    def estimate_spark(self, work: PlanWork) -> Expected:
        """Estimate Spark's seconds once it has started."""
        return self.spark.estimate(work, self.spark_cores)

    def over_members(self, count: int) -> EngineModel:
        """Return the model in which the local engines of `count` members share the work."""
        return replace(self, local_cores=self.local_cores * count, local_memory=self.local_memory * count)

    def decide(self, work: PlanWork) -> Verdict:
        """Choose the engine for some work."""
        local, spark = self.estimate_local(work), self.estimate_spark(work)
        waiting = spark.total + self.spark_start
        told = f"local {_seconds_text(local.total)}, spark {_seconds_text(waiting)}"
        if self.spark_start:
            told += ", which has not started"
        if work.held > SPILL_MAX * self.local_memory:
            most = f"{SPILL_MAX} times local.memory {size_text(self.local_memory)}"
            return Verdict("spark", local, spark, f"it holds {size_text(work.held)} at once, over {most}; {told}")
        if work.written > WRITTEN_MAX:
            written = f"it writes {size_text(work.written)}, over {size_text(WRITTEN_MAX)}"
            return Verdict("spark", local, spark, f"{written}; {told}")
        return Verdict("local" if local.total <= waiting else "spark", local, spark, told)


#: The model of a member that has measured nothing.
DEFAULT_MODEL: Final = EngineModel()


def _seconds_text(seconds: float) -> str:
    """Format seconds for people to read: `0.13 s`."""
    seconds = max(seconds, _SECONDS_MIN)
    return f"{seconds:.0f} s" if seconds >= _WHOLE_SECONDS else f"{seconds:.2g} s"
