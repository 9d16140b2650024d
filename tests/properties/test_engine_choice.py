"""Properties of the engine choice for every engine model and all work: more work is never faster, and fewer Spark cores
or a later start of Spark never make Spark win.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as some

from engine.planner.engine_model import EngineModel, EngineSpeed
from engine.planner.optimizer.plan_work import PlanWork

_COUNTS = some.integers(0, 10**13)
_SECONDS = some.floats(0, 60)
_RATES = some.floats(1e3, 1e11)
_SPEEDS = some.builds(
    EngineSpeed,
    statement=_SECONDS,
    stage=_SECONDS,
    read=_RATES,
    row=_RATES,
    write=_RATES,
    result=_RATES,
    writers=some.floats(1, 1e4),
)
_CORES = some.floats(0.1, 10_000)
_MODELS = some.builds(
    EngineModel,
    local=_SPEEDS,
    spark=_SPEEDS,
    local_cores=_CORES,
    spark_cores=_CORES,
    local_memory=some.integers(1, 1 << 44),
    spark_start=_SECONDS,
)
_WORKS = some.builds(
    PlanWork,
    read=_COUNTS,
    rows=_COUNTS,
    stages=some.integers(0, 500),
    result_bytes=_COUNTS,
    held=_COUNTS,
    written=some.just(0) | some.integers(1, 10**13),
)
_MORE = some.floats(1, 1000)


@given(_MODELS, _WORKS, some.sampled_from(("read", "rows", "stages", "result_bytes", "held")), _MORE)
def test_more_work_never_takes_less_time(model: EngineModel, work: PlanWork, what: str, times: float) -> None:
    more = replace(work, **{what: int(getattr(work, what) * times)})
    assert model.estimate_local(more).total >= model.estimate_local(work).total
    assert model.estimate_spark(more).total >= model.estimate_spark(work).total


@given(_MODELS, _WORKS, _MORE)
def test_more_cores_never_take_more_time(model: EngineModel, work: PlanWork, times: float) -> None:
    local = replace(model, local_cores=model.local_cores * times)
    spark = replace(model, spark_cores=model.spark_cores * times)
    assert local.estimate_local(work).total <= model.estimate_local(work).total
    assert spark.estimate_spark(work).total <= model.estimate_spark(work).total


@given(_MODELS, _WORKS, _MORE, _SECONDS)
def test_nothing_goes_to_less_of_spark(model: EngineModel, work: PlanWork, times: float, later: float) -> None:
    if model.decide(work).engine == "local":
        fewer = replace(model, spark_cores=model.spark_cores / times, spark_start=model.spark_start + later)
        assert fewer.decide(work).engine == "local"


@given(_MODELS, _WORKS, some.integers(1, 100))
def test_nothing_leaves_more_of_the_local_engine(model: EngineModel, work: PlanWork, members: int) -> None:
    if model.decide(work).engine == "local":
        assert model.over_members(members).decide(work).engine == "local"


@given(_MODELS, _WORKS)
def test_the_choice_is_the_faster_one_within_the_bounds(model: EngineModel, work: PlanWork) -> None:
    bounded = replace(work, held=0, written=0)
    verdict = model.decide(bounded)
    waiting = verdict.spark.total + model.spark_start
    assert (verdict.engine == "local") == (verdict.local.total <= waiting)
    assert model.decide(bounded) == verdict
