"""Sums of the figures that several members report for the same statement: pg_stat_statements of a server of several
processes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from engine.contracts.activity import StatementFigures, StatementsKept


def merge_statements(kept: Iterable[StatementsKept]) -> list[StatementFigures]:
    """Return the statements of all members, with one entry for each user and statement."""
    found: dict[tuple[str, int], StatementFigures] = {}
    for each in kept:
        for figures in each.statements:
            key = figures.user, figures.query_id
            before = found.get(key)
            found[key] = figures if before is None else _both(before, figures)
    return list(found.values())


def _both(one: StatementFigures, other: StatementFigures) -> StatementFigures:
    """Add the figures of one statement from two members. engine: that of the member with more calls, since it is
    unknown which ran last. Deviations are added as Chan, Golub and LeVeque do ("Updating formulae and a pairwise
    algorithm for computing sample variances", 1979).
    """
    calls, total = one.calls + other.calls, one.total + other.total
    apart = other.mean - one.mean
    squares = sum(f.deviation**2 * f.calls for f in (one, other)) + apart**2 * one.calls * other.calls / calls
    more, fewer = (one, other) if one.calls >= other.calls else (other, one)
    return StatementFigures(
        one.user, one.query_id, one.text, calls, one.rows + other.rows, total, min(one.least, other.least),
        max(one.most, other.most), total / calls, math.sqrt(squares / calls), more.engine or fewer.engine,
    )  # fmt: skip
