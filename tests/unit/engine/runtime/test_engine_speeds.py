"""A member measures its machine, stores the result, and plans by it."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from support.local_member import local_member

from engine.executors.engine_config import PRIVATE
from engine.planner.engine_model import EngineModel
from engine.runtime import engine_speeds
from engine.runtime.engine_times import Known, KnownFile

_PATIENCE_SECONDS = 60


def test_a_member_measures_its_machine_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_speeds, "_MEASURED_SECONDS", 0.01)
    file = KnownFile(tmp_path / PRIVATE / engine_speeds.FILE)
    with local_member(tmp_path):
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while file.load().speed is None:
            assert time.monotonic() < deadline, "nothing was measured"
            time.sleep(0.02)
    file.save(Known(speed=4.0))
    with local_member(tmp_path) as member:
        model = member.engine.speeds.model
        assert model.local.row == pytest.approx(4 * EngineModel().local.row)
        assert model is member.engine.speeds.model
        assert model.spark_start > 0, "Spark has not started"
    assert file.load() == Known(speed=4.0)


def test_statements_are_planned_by_the_members_model(tmp_path: Path) -> None:
    (tmp_path / PRIVATE).mkdir()
    file = KnownFile(tmp_path / PRIVATE / engine_speeds.FILE)
    estimates = []
    for factor in (-2.0, 2.0):
        file.save(Known(speed=1.0, local=(factor, factor)))
        with local_member(tmp_path) as member, member.connect() as connection:
            connection.execute(
                "create table if not exists t as select i as id, md5(i::text) as text from generate_series(1, 100000) i"
            )
            lines = [line for (line,) in connection.execute("explain select text, count(*) from t group by text")]
            found = re.search(
                r"^Engine: local \(it reads .* of column data; local ([0-9.]+) s, ", "\n".join(lines), re.M
            )
            assert found is not None, lines
            estimates.append(float(found[1]))
    assert estimates[1] > 3 * estimates[0]
