"""The model of both engines: its choices with the constants that a member begins with, and how they are reported."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.planner.engine_model import (
    DEFAULT_MODEL,
    LOCAL_SPEED,
    SPARK_SPEED,
    SPARK_START,
    SPILL_MAX,
    WRITTEN_MAX,
    EngineModel,
)
from engine.planner.optimizer.plan_work import PlanWork

_GB = 1 << 30
#: TPC-H's first query at scale 1, and a thousand times as much.
_SMALL = PlanWork(64 << 20, 8_000_000, 2, 60_000, 60_000)
_LARGE = PlanWork(64 * _GB, 8_000_000_000, 2, 60_000, 60_000)


def test_on_the_same_cores_the_local_engine_is_faster() -> None:
    for work in (PlanWork(0), _SMALL, _LARGE):
        verdict = DEFAULT_MODEL.decide(work)
        assert verdict.engine == "local"
        assert verdict.estimate == verdict.local


def test_a_cluster_takes_over_once_its_cores_outweigh_its_start() -> None:
    cluster = replace(DEFAULT_MODEL, spark_cores=200)
    assert cluster.decide(_SMALL).engine == "local"
    assert cluster.decide(_LARGE).engine == "spark"
    assert cluster.over_members(16).decide(_LARGE).engine == "local"


def test_spark_that_has_not_started_costs_its_start() -> None:
    work = replace(_SMALL, rows=400_000_000)
    started = replace(DEFAULT_MODEL, spark_cores=200)
    assert started.decide(work).engine == "spark"
    waiting = replace(started, spark_start=SPARK_START).decide(work)
    assert waiting.engine == "local"
    assert waiting.reason.endswith(", which has not started")
    assert waiting.spark == started.decide(work).spark


def test_what_would_be_spilled_too_much_is_for_spark() -> None:
    memory = DEFAULT_MODEL.local_memory
    fits, spills = replace(_SMALL, held=memory), replace(_SMALL, held=3 * memory)
    assert DEFAULT_MODEL.estimate_local(fits) == DEFAULT_MODEL.estimate_local(_SMALL)
    assert DEFAULT_MODEL.estimate_local(spills).total > DEFAULT_MODEL.estimate_local(fits).total + 1
    beyond = DEFAULT_MODEL.decide(replace(_SMALL, held=SPILL_MAX * memory + 1))
    assert beyond.engine == "spark"
    assert beyond.estimate == beyond.spark
    assert beyond.reason.startswith("it holds 16 GB at once, over 8 times local.memory 2 GB; local ")


def test_what_writes_much_is_for_spark() -> None:
    some = DEFAULT_MODEL.decide(replace(_SMALL, written=WRITTEN_MAX >> 10))
    assert some.engine == "local"
    much = DEFAULT_MODEL.decide(replace(_SMALL, written=2 * WRITTEN_MAX))
    assert much.engine == "spark"
    assert much.reason.startswith("it writes 8 GB, over 4 GB; local ")


def test_one_thread_writes_here_and_all_tasks_of_spark() -> None:
    """CREATE TABLE AS of lineitem at scale 1, for which Spark took 5.4 s, and the local engine 11.7 s of one core."""
    work = PlanWork(200 << 20, 6_000_000, 0, 0, 0, 1_680_000_000)
    verdict = DEFAULT_MODEL.decide(work)
    assert verdict.engine == "spark"
    assert replace(DEFAULT_MODEL, local_cores=16).decide(work).engine == "spark"
    assert verdict.local.total == pytest.approx(11.4, rel=0.05)
    assert verdict.spark.total == pytest.approx(5.9, rel=0.05)


def test_both_estimates_are_told() -> None:
    assert DEFAULT_MODEL.decide(_SMALL).reason == "local 0.098 s, spark 1.5 s"
    assert DEFAULT_MODEL.decide(PlanWork(0)).reason == "local 0.002 s, spark 0.2 s"
    assert DEFAULT_MODEL.decide(_LARGE).reason == "local 95 s, spark 1172 s"


def test_fixed_time_and_work_are_scaled_apart() -> None:
    plain, slow = (speed.estimate(_SMALL, 2) for speed in (SPARK_SPEED, SPARK_SPEED.scale(2, 3)))
    assert (slow.fixed, slow.work) == pytest.approx((2 * plain.fixed, 3 * plain.work))
    assert LOCAL_SPEED.scale(1, 1) == LOCAL_SPEED


def test_a_model_is_a_value() -> None:
    assert EngineModel() == DEFAULT_MODEL
    assert hash(EngineModel()) == hash(DEFAULT_MODEL)
    assert replace(DEFAULT_MODEL, local_cores=4) != DEFAULT_MODEL
