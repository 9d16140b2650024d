"""Window functions (chapter 9.22). Both engines have them all; what they count in differs, and is cast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.sql.functions import Function
from engine.sql.functions.building import window
from wire import types as t


def _ranks() -> Iterator[Function]:
    for name in ("row_number", "rank", "dense_rank"):
        yield window(name, (), t.INT8, f"CAST({name}() AS BIGINT)")
    for name in ("percent_rank", "cume_dist"):
        yield window(name, (), t.FLOAT8, f"{name}()")
    yield window("ntile", (t.INT4,), t.INT4, "CAST(ntile($1) AS INTEGER)")


def _neighbours() -> Iterator[Function]:
    for name in ("lag", "lead"):
        yield window(name, (t.ANYELEMENT,), t.ANYELEMENT, f"{name}($1)")
        yield window(name, (t.ANYELEMENT, t.INT4), t.ANYELEMENT, f"{name}($1, $2)")
        yield window(
            name,
            (t.ANYCOMPATIBLE, t.INT4, t.ANYCOMPATIBLE),
            t.ANYCOMPATIBLE,
            f"{name}($1, $2, $3)",
        )


def _values() -> Iterator[Function]:
    for name in ("first_value", "last_value"):
        yield window(name, (t.ANYELEMENT,), t.ANYELEMENT, f"{name}($1)")
    yield window("nth_value", (t.ANYELEMENT, t.INT4), t.ANYELEMENT, "nth_value($1, $2)")


ROWS: Final[tuple[Function, ...]] = (*_ranks(), *_neighbours(), *_values())
