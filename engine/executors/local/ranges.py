"""Functions that combine two ranges, build a range from bounds or read ranges of days and times, for the local engine,
where SQL would need an expression for every case.

Ranges are passed as their canonical texts (`wire.types.ranges`); `wire.types.range_ops` compares the positions of two
ranges.

Source: PostgreSQL 15, rangetypes.c (range_union_internal, range_intersect_internal, range_minus_internal).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from engine.executors.local.distinct_calls import register
from wire.errors import DataException, FeatureNotSupported, SqlSyntaxError
from wire.types import pg_types as t
from wire.types.input import InputSettings, parse_text
from wire.types.multiranges import RANGES, read_multirange
from wire.types.range_bounds import bound_text, read_bound
from wire.types.range_ops import are_adjacent, intersect, lower, merge, overlap, upper
from wire.types.ranges import SUBTYPES, Range, canonical, read_range, with_bounds, write_range

#: Bounds whose reading depends on the TimeZone at most, and others that may depend on DateStyle or on the present time.
_ISO_BOUND: Final = re.compile(
    r"\s*(\d{4,6}-\d{1,2}-\d{1,2}([^\d-].*)?|[+-]?infinity\s*|epoch\s*)", re.IGNORECASE | re.DOTALL
)
_STYLED_BOUND: Final = re.compile(r"\d|now|today|tomorrow|yesterday", re.IGNORECASE)
_FLAGS: Final = ("[]", "[)", "(]", "()")


def _read(subtype: t.PgType, text: str) -> Range:
    return with_bounds(subtype, text, read_bound)


def union(one: Range, two: Range) -> Range:
    """Return the union of two ranges. Raises DataException if there is a gap between them."""
    if not one.empty and not two.empty and not overlap(one, two) and not are_adjacent(one, two):
        raise DataException("result of range union would not be contiguous")
    return merge(one, two)


def minus(one: Range, two: Range) -> Range:
    """Return the part of `one` that is not in `two`. Raises DataException if that would be two ranges."""
    if one.empty or two.empty or not overlap(one, two):
        return one
    before, after = lower(one) < lower(two), upper(one) > upper(two)
    if before and after:
        raise DataException("result of range difference would not be contiguous")
    if before:
        return Range(one.lower, two.lower, one.lower_in, not two.lower_in)
    if after:
        return Range(two.upper, one.upper, not two.upper_in, one.upper_in)
    return Range(empty=True)


def _write_canonical(given: Range, subtype: t.PgType) -> str:
    return write_range(canonical(subtype, given), subtype, bound_text)


def _of_two(compute: Callable[[Range, Range], Range]) -> Callable[[str, str, str], str]:
    def compute_texts(typ: str, one: str, two: str) -> str:
        subtype = SUBTYPES[t.BY_NAME[typ]]
        return _write_canonical(compute(_read(subtype, one), _read(subtype, two)), subtype)

    return compute_texts


def _predicate_of(compute: Callable[[Range, Range], bool]) -> Callable[[str, str, str], bool]:
    def judge(typ: str, one: str, two: str) -> bool:
        subtype = SUBTYPES[t.BY_NAME[typ]]
        left, right = _read(subtype, one), _read(subtype, two)
        return not left.empty and not right.empty and compute(left, right)

    return judge


def _intersection(typ: str, texts: Sequence[str | None]) -> str | None:
    """Intersect all ranges that are not null; null if there is none."""
    subtype = SUBTYPES[t.BY_NAME[typ]]
    found: Range | None = None
    for text in texts:
        if text is not None:
            one = _read(subtype, text)
            found = one if found is None else intersect(found, one)
    return None if found is None else _write_canonical(found, subtype)


def _construct(typ: str, lower: str | None, upper: str | None, flags: str) -> str:
    if flags not in _FLAGS:
        raise SqlSyntaxError("invalid range bound flags", hint='Valid values are "[]", "[)", "(]", and "()".')
    subtype = SUBTYPES[t.BY_NAME[typ]]
    low, high = (None if bound is None else read_bound(subtype, bound) for bound in (lower, upper))
    inside = flags[0] == "[" and low is not None, flags[1] == "]" and high is not None
    return _write_canonical(Range(low, high, *inside), subtype)


def _from_text(typ: str, text: str, zone: str) -> str:
    """Read a range or multirange of days or times. zone: the session's TimeZone. Raises the errors of `parse_text`, and
    FeatureNotSupported for a bound that is not written as ISO 8601 writes it, as for days and times in columns of text.
    """
    settings = InputSettings(time_zone=zone)

    def read(subtype: t.PgType, bound: str) -> Any:
        if _ISO_BOUND.fullmatch(bound) is None and _STYLED_BOUND.search(bound) is not None:
            raise FeatureNotSupported(
                f'not supported: a bound of a range in a column of text that is written like "{bound}"'
            )
        return parse_text(subtype, bound, settings=settings)

    found = t.BY_NAME[typ]
    return (read_multirange if found in RANGES else read_range)(found, text, read, bound_text)


_V: Final = "VARCHAR"
register("sluice_range_from_text", [_V, _V, _V], _V, _from_text)
for _name, _compute in (("union", union), ("intersect", intersect), ("minus", minus), ("merge", merge)):
    register(f"sluice_range_{_name}", [_V, _V, _V], _V, _of_two(_compute))
register("sluice_range_not_right", [_V, _V, _V], "BOOLEAN", _predicate_of(lambda a, b: upper(a) <= upper(b)))
register("sluice_range_not_left", [_V, _V, _V], "BOOLEAN", _predicate_of(lambda a, b: lower(a) >= lower(b)))
register("sluice_range_intersection", [_V, "VARCHAR[]"], _V, _intersection)
register("sluice_range_made", [_V, _V, _V, _V], _V, _construct, strict=False)
