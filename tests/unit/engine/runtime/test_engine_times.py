"""Engines' times: what the model learns from statements, within which limits, and what is stored of it. Times are
given, not measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from engine.planner.engine_model import LOCAL_SPEED, SPARK_SPEED, SPARK_START, EngineModel, Expected
from engine.planner.optimizer.plan_work import PlanWork
from engine.runtime.engine_times import EngineTimes, Known, KnownFile, Machine
from wire.errors import SqlError

_WORK = PlanWork(400_000_000, 40_000_000, 3)


class Clock:
    """The clock of the engines' times."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Rows:
    """A stream of a few batches, each of which takes so long."""

    engine_name = "spark"

    def __init__(self, clock: Clock, seconds: float, batches: int = 1, error: SqlError | None = None) -> None:
        self._clock = clock
        self._seconds = seconds
        self._left = batches
        self._error = error
        self.closed = False

    async def next_batch(self) -> pa.RecordBatch | None:
        self._clock.now += self._seconds
        if self._error is not None:
            raise self._error
        self._left -= 1
        return pa.record_batch({"x": [1]}) if self._left >= 0 else None

    async def close(self) -> None:
        self.closed = True

    def statistics(self) -> Mapping[str, int]:
        return {"rows": 1}


def _model(times: EngineTimes) -> EngineModel:
    return times.model(2, spark_started=True)


def _times(clock: Clock | None = None) -> tuple[EngineTimes, list[Known]]:
    saved: list[Known] = []
    return EngineTimes(Machine(), Known(), saved.append, clock or Clock()), saved


def test_a_member_begins_with_the_constants() -> None:
    times, saved = _times()
    assert _model(times) == EngineModel()
    assert times.model(8, spark_started=False) == EngineModel(spark_cores=8, spark_start=SPARK_START)
    assert not times.is_measured
    assert saved == []


def test_statements_that_take_three_times_as_long_make_the_estimate_right() -> None:
    times, saved = _times()
    wanted = 3 * _model(times).estimate_spark(_WORK).work
    for _ in range(60):
        expected = _model(times).estimate_spark(_WORK)
        times.note("spark", expected, expected.fixed + wanted)
    # The model that planners see is as right as it needs be.
    assert _model(times).estimate_spark(_WORK).work == pytest.approx(wanted, rel=0.25)
    assert _model(times).spark.statement == SPARK_SPEED.statement
    assert _model(times).local == LOCAL_SPEED
    assert 1 <= len(saved) < 10


def test_what_is_fixed_is_learnt_from_short_statements() -> None:
    times, _ = _times()
    short = PlanWork(1000, 1000, 1)
    for _ in range(60):
        expected = _model(times).estimate_spark(short)
        times.note("spark", expected, 0.13)
    assert _model(times).estimate_spark(short).total == pytest.approx(0.13, rel=0.25)
    assert _model(times).spark.row == SPARK_SPEED.row


def test_one_statement_that_hung_changes_little() -> None:
    times, _ = _times()
    expected = _model(times).estimate_local(_WORK)
    times.note("local", expected, 1e6)
    assert _model(times).estimate_local(_WORK).work <= expected.work * 4**0.2 * 1.0001
    for _ in range(20):
        times.note("local", _model(times).estimate_local(_WORK), expected.total)
    assert _model(times).estimate_local(_WORK).work == pytest.approx(expected.work, rel=0.25)


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_no_factor_leaves_its_bounds(seconds: float) -> None:
    times, _ = _times()
    for _ in range(500):
        times.note("local", _model(times).estimate_local(_WORK), seconds)
    assert 1 / 8.001 <= _model(times).local.row / LOCAL_SPEED.row <= 8.001


def test_the_model_stays_the_same_object_until_something_moved() -> None:
    times, saved = _times()
    before = _model(times)
    times.note("spark", before.estimate_spark(_WORK), before.estimate_spark(_WORK).total * 1.3)
    assert times.known != Known()
    assert _model(times) is before
    assert saved == []
    times, saved = _times()
    times.note_speed(2.0)
    assert _model(times) is not before
    assert _model(times).local.row == pytest.approx(2 * LOCAL_SPEED.row)
    assert _model(times).spark.row == pytest.approx(2 * SPARK_SPEED.row)
    assert saved[-1].speed == 2.0


def test_a_clusters_cores_are_not_this_machines() -> None:
    times = EngineTimes(Machine(local_cores=8, shared=False), Known(speed=0.5))
    assert times.model(64, spark_started=True).spark == SPARK_SPEED
    cores = [times.model(64, spark_started=True, busy=busy).local_cores for busy in (0, 1, 2, 3, 4, 100)]
    assert cores == [8, 4, 2, 2, 1, 1]
    assert EngineTimes(Machine(local_cores=8), Known()).model(8, spark_started=True, busy=5).local_cores == 8


def test_sparks_start_is_what_it_took() -> None:
    times, _ = _times()
    times.note_spark_start(20.0)
    assert times.model(2, spark_started=False).spark_start == 20.0
    times.note_spark_start(1e9)
    assert times.model(2, spark_started=False).spark_start == 120.0


async def test_a_stream_tells_what_it_took() -> None:
    clock = Clock()
    times, _ = _times(clock)
    expected = Expected(0.1, 1.0)
    rows = Rows(clock, 1.0, batches=3)
    stream = times.watch(rows, "spark", expected, clock.now)
    assert stream.engine_name == "spark"  # type: ignore[attr-defined]
    while await stream.next_batch() is not None:
        clock.now += 0.5
    assert _told(times) == pytest.approx(0.2 * math.log(3.9))
    await stream.close()
    assert rows.closed
    assert stream.statistics() == {"rows": 1}
    assert _told(times) == pytest.approx(0.2 * math.log(3.9))


def _told(times: EngineTimes) -> float:
    """The logarithm of the factor of Spark's work, as known."""
    return times.known.spark[1]


async def test_a_slow_client_teaches_nothing() -> None:
    clock = Clock()
    times, _ = _times(clock)
    stream = times.watch(Rows(clock, 1.0, batches=3), "spark", Expected(0.1, 1.0), clock.now)
    while await stream.next_batch() is not None:
        clock.now += 2.0
    assert times.known == Known()


async def test_statements_at_the_same_time_teach_nothing() -> None:
    clock = Clock()
    times, _ = _times(clock)
    other = times.watch(Rows(clock, 1.0), "spark", Expected(0.1, 1.0), clock.now)

    class Busy(Rows):
        async def next_batch(self) -> pa.RecordBatch | None:
            await other.next_batch()
            return await super().next_batch()

    stream = times.watch(Busy(clock, 1.0), "spark", Expected(0.1, 1.0), clock.now)
    while await stream.next_batch() is not None:
        pass
    assert times.known == Known()


@pytest.mark.parametrize(("seconds", "factor"), [(0.2, 0.0), (3.0, 0.2 * math.log(2.9))])
async def test_a_stream_that_is_given_up_took_at_least_so_long(seconds: float, factor: float) -> None:
    clock = Clock()
    times, _ = _times(clock)
    stream = times.watch(
        Rows(clock, seconds, error=SqlError("gone", sqlstate="57014")), "spark", Expected(0.1, 1.0), clock.now
    )
    with pytest.raises(SqlError):
        await stream.next_batch()
    await stream.close()
    assert _told(times) == pytest.approx(factor)


async def test_short_local_statements_are_not_watched() -> None:
    clock = Clock()
    times, _ = _times(clock)
    rows = Rows(clock, 0.001)
    assert times.watch(rows, "local", Expected(0.002, 0.001), clock.now) is rows
    assert times.watch(rows, "spark", None, clock.now) is rows


def test_what_is_known_is_kept(tmp_path: Path) -> None:
    file = KnownFile(tmp_path / "engine_times.json")
    assert file.load() == Known()
    known = Known(1.5, (0.1, -0.2), (0.3, 0.4), 9.0)
    file.save(known)
    assert file.load() == known
    assert [path.name for path in tmp_path.iterdir()] == ["engine_times.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"speed": "fast"}', '{"local": [1]}'])
def test_a_file_that_cannot_be_read_is_done_without(tmp_path: Path, text: str) -> None:
    (tmp_path / "known").write_text(text)
    assert KnownFile(tmp_path / "known").load() == Known()


def test_a_file_that_exaggerates_is_held_to_the_bounds(tmp_path: Path) -> None:
    (tmp_path / "known").write_text('{"speed": 1e300, "local": [1e300, -1e300], "spark_start": -5}')
    known = KnownFile(tmp_path / "known").load()
    assert (known.speed, known.spark_start) == (8.0, 1.0)
    assert EngineTimes(Machine(), known).model(2, spark_started=False).estimate_local(_WORK).total > 0


def test_a_disk_that_is_full_is_only_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    KnownFile(tmp_path / "nowhere" / "known").save(Known())
    assert "could not write the engines' times" in caplog.text
