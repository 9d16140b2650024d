"""Comparison and combination of two ranges whose bounds are canonical values.

Two bounds are compared by their positions: an exclusive lower bound is directly after its value, an exclusive upper
bound directly before it.

Source: PostgreSQL 15, rangetypes.c (range_cmp_bounds, range_union_internal, range_intersect_internal),
multirangetypes.c (multirange_canonicalize).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wire.types.ranges import Range

#: A position: before all values (-1), among them (0), after them (1); the value; before, at or after it (-1, 0, 1).
Place = tuple[int, Any, int]


def lower(given: Range) -> Place:
    return (-1, 0, 0) if given.lower is None else (0, given.lower, 0 if given.lower_in else 1)


def upper(given: Range) -> Place:
    return (1, 0, 0) if given.upper is None else (0, given.upper, 0 if given.upper_in else -1)


def span(low: Range, high: Range) -> Range:
    """Return the range from the lower bound of one to the upper bound of another."""
    return Range(low.lower, high.upper, low.lower_in, high.upper_in)


def overlap(one: Range, two: Range) -> bool:
    """Return whether two non-empty ranges overlap."""
    return lower(one) <= upper(two) and lower(two) <= upper(one)


def follows(one: Range, two: Range) -> bool:
    """Return whether the second range begins exactly where the first ends, and they share no value."""
    return one.upper is not None and two.lower is not None and one.upper == two.lower and one.upper_in != two.lower_in


def are_adjacent(one: Range, two: Range) -> bool:
    return follows(one, two) or follows(two, one)


def contains(one: Range, two: Range) -> bool:
    """Return whether one range contains another; neither is empty."""
    return lower(one) <= lower(two) and upper(two) <= upper(one)


def merge(one: Range, two: Range) -> Range:
    """Return the smallest range that contains both. Of two equal bounds with different digits, the second's is taken."""
    if one.empty or two.empty:
        return two if one.empty else one
    return span(one if lower(one) < lower(two) else two, one if upper(one) > upper(two) else two)


def intersect(one: Range, two: Range) -> Range:
    """Return the range of values that both ranges have. Of two equal bounds with different digits, the first's is
    taken.
    """
    if one.empty or two.empty or not overlap(one, two):
        return Range(empty=True)
    return span(max(one, two, key=lower), min(one, two, key=upper))


def normalize_ranges(given: Iterable[Range]) -> list[Range]:
    """Return the same values as non-empty ranges in order, with gaps between them."""
    found: list[Range] = []
    for one in sorted(
        (range_ for range_ in given if not range_.empty), key=lambda range_: (lower(range_), upper(range_))
    ):
        if found and (overlap(found[-1], one) or follows(found[-1], one)):
            found[-1] = merge(found[-1], one)
        else:
            found.append(one)
    return found
