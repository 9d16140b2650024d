"""Figures of pg_stat_statements from several members: their sums are those of all runs together."""

from __future__ import annotations

import statistics

import pytest

from engine.contracts.activity import StatementsKept
from engine.pg_catalog.merged_statements import merge_statements
from server.session.statement_statistics import StatementStatistics

_TEXT = ("select 1", True)


def _kept(*runs: tuple[float, int, str | None], user: str = "me") -> StatementsKept:
    counting = StatementStatistics()
    for seconds, rows, engine in runs:
        counting.add(user, _TEXT, seconds, rows, engine)
    return counting.snapshot()


def test_figures_are_those_of_all_runs() -> None:
    parts = (
        [(0.5, 2, "spark"), (0.25, 1, "spark")],
        [(0.001, 1, "local")],
        [(2.0, 7, None), (0.125, 0, None), (0.5, 4, None)],
    )
    [merged] = merge_statements(_kept(*part) for part in parts)
    [alone] = _kept(*(run for part in parts for run in part)).statements
    for name in ("total", "least", "most", "mean", "deviation"):
        assert getattr(merged, name) == pytest.approx(getattr(alone, name)), name
    times = [run[0] * 1000 for part in parts for run in part]
    assert merged.deviation == pytest.approx(statistics.pstdev(times))
    assert (merged.calls, merged.rows, merged.text, merged.query_id) == (6, 15, alone.text, alone.query_id)
    # Of three calls each, the first; the last member knows of none.
    assert merged.engine == "spark"


def test_users_stay_apart() -> None:
    merged = merge_statements([_kept((1.0, 1, None)), _kept((1.0, 1, None), user="you"), _kept((3.0, 1, None))])
    assert {each.user: each.calls for each in merged} == {"me": 2, "you": 1}
