"""Query ids: no two of a member are equal, whatever its clock says."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest
from support.local_member import local_member

from engine.contracts.query_id import QueryId


def test_a_clock_that_stands_still_or_goes_back_repeats_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three starts over one data directory."""
    ids: list[QueryId] = []
    for seconds in (1_700_000_000.0, 1_700_000_000.0, 1_600_000_000.0):
        monkeypatch.setattr(time, "time", lambda seconds=seconds: seconds)
        with local_member(tmp_path) as member:
            given = [member.engine.queries.new_query_id() for _ in range(100)]
        assert all(after.local == before.local + 1 for before, after in pairwise(given))
        ids += given
    assert len(set(ids)) == len(ids)
    assert all(QueryId.parse(str(each)) == each and each.local < 1 << 63 for each in ids)
