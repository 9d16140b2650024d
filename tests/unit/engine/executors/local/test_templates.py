"""Functions over templates: interrupts, nulls."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine.executors.local import own_functions  # noqa: F401
from engine.executors.local.cursor_work import CursorWork
from engine.executors.local.udf import FUNCTIONS
from wire.errors import QueryCanceled


def test_an_interrupt_ends_the_call() -> None:
    work = CursorWork()
    read_dates = FUNCTIONS["sluice_to_date"].compute
    columns = pa.array(["2024-01-05"] * 3), pa.array(["YYYY-MM-DD"] * 3), pa.array([work.number] * 3)
    assert read_dates(*columns).to_pylist() == [19727] * 3
    work.interrupt()
    with pytest.raises(QueryCanceled):
        read_dates(*columns)


def test_nulls_are_passed_over_and_no_cursor_is_needed() -> None:
    texts, shapes = pa.array(["1,0", None, "2,0"]), pa.array(["9G9", "9", None])
    found = FUNCTIONS["sluice_to_number"].compute(texts, shapes, pa.nulls(3, pa.int64()))
    assert found.to_pylist() == ["10", None, None]
    nothing = FUNCTIONS["sluice_to_number"].compute(texts.slice(1, 1), shapes.slice(1, 1), pa.nulls(1, pa.int64()))
    assert nothing.to_pylist() == [None]
