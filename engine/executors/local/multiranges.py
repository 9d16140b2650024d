"""Multiranges in the local engine: their set operations, their comparison with each other and with ranges, and their
construction from ranges.

They are passed as their canonical texts (`wire.types.multiranges`). An operand that is a range is treated as a
multirange of that one range, and the empty range as the empty multirange, as in each of PostgreSQL's operators.

Source: PostgreSQL 15, multirangetypes.c (multirange_union, multirange_minus_internal, multirange_intersect_internal,
multirange_contains_multirange_internal and its neighbours).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from engine.executors.local.distinct_calls import register
from wire.errors import NullValueNotAllowed
from wire.types import pg_types as t
from wire.types.multiranges import all_written, pieces, subtype_of
from wire.types.range_bounds import bound_text, read_bound
from wire.types.range_ops import contains, follows, intersect, lower, normalize_ranges, overlap, upper
from wire.types.ranges import Range, canonical, with_bounds

_Ranges = list[Range]


def _read(subtype: t.PgType, text: str) -> _Ranges:
    """Read the ranges of a multirange, or of a range."""
    texts = pieces(text) if text.startswith("{") else (text,)
    return [found for one in texts if not (found := with_bounds(subtype, one, read_bound)).empty]


def _write_multirange(ranges: Iterable[Range], subtype: t.PgType) -> str:
    return all_written(normalize_ranges(canonical(subtype, range_) for range_ in ranges), subtype, bound_text)


# -- what two of them make ------------------------------------------------------------------------------------------------


def _union(one: _Ranges, two: _Ranges) -> _Ranges:
    return one + two


def _intersection(one: _Ranges, two: _Ranges) -> _Ranges:
    return [intersect(left, right) for left in one for right in two]


def _minus(one: _Ranges, two: _Ranges) -> _Ranges:
    for taken in two:
        one = [left for given in one for left in _without(given, taken)]
    return one


def _without(given: Range, taken: Range) -> _Ranges:
    if not overlap(given, taken):
        return [given]
    left = []
    if lower(given) < lower(taken):
        left.append(Range(given.lower, taken.lower, given.lower_in, not taken.lower_in))
    if upper(taken) < upper(given):
        left.append(Range(taken.upper, given.upper, not taken.upper_in, given.upper_in))
    return left


def _of_two(compute: Callable[[_Ranges, _Ranges], _Ranges]) -> Callable[[str, str, str], str]:
    def compute_texts(typ: str, one: str, two: str) -> str:
        subtype = subtype_of(t.BY_NAME[typ])
        return _write_multirange(compute(_read(subtype, one), _read(subtype, two)), subtype)

    return compute_texts


# -- how they lie -----------------------------------------------------------------------------------------------------------


def _contains(one: _Ranges, two: _Ranges) -> bool:
    return all(any(contains(whole, part) for whole in one) for part in two)


def _overlap(one: _Ranges, two: _Ranges) -> bool:
    return any(overlap(left, right) for left in one for right in two)


def _before(one: _Ranges, two: _Ranges) -> bool:
    return bool(one and two) and upper(one[-1]) < lower(two[0])


def _are_adjacent(one: _Ranges, two: _Ranges) -> bool:
    return bool(one and two) and (follows(one[-1], two[0]) or follows(two[-1], one[0]))


def _not_right(one: _Ranges, two: _Ranges) -> bool:
    return bool(one and two) and upper(one[-1]) <= upper(two[-1])


def _not_left(one: _Ranges, two: _Ranges) -> bool:
    return bool(one and two) and lower(one[0]) >= lower(two[0])


def _predicate_of(compute: Callable[[_Ranges, _Ranges], bool]) -> Callable[[str, str, str], bool]:
    def judge(typ: str, one: str, two: str) -> bool:
        subtype = subtype_of(t.BY_NAME[typ])
        return compute(_read(subtype, one), _read(subtype, two))

    return judge


def _has(typ: str, text: str, element: str) -> bool:
    """Return whether a multirange contains an element. element: the element as DuckDB prints it."""
    subtype = subtype_of(t.BY_NAME[typ])
    value = read_bound(subtype, element)
    point = Range(value, value, lower_in=True, upper_in=True)
    return any(contains(whole, point) for whole in _read(subtype, text))


# -- what makes one ---------------------------------------------------------------------------------------------------------


def _construct(typ: str, ranges: Sequence[str | None]) -> str:
    subtype, found = subtype_of(t.BY_NAME[typ]), list[Range]()
    for text in ranges:
        if text is None:
            raise NullValueNotAllowed("multirange values cannot contain null members")
        found += _read(subtype, text)
    return _write_multirange(found, subtype)


def _unite(typ: str, texts: Sequence[str | None]) -> str | None:
    """Unite all ranges or multiranges that are not null; null if there is none."""
    present = [text for text in texts if text is not None]
    return _construct(typ, present) if present else None


def _common(typ: str, texts: Sequence[str | None]) -> str | None:
    """Intersect all multiranges that are not null; null if there is none."""
    subtype, found = subtype_of(t.BY_NAME[typ]), None
    for text in texts:
        if text is not None:
            one = _read(subtype, text)
            found = one if found is None else normalize_ranges(_intersection(found, one))
    return None if found is None else _write_multirange(found, subtype)


_V: Final = "VARCHAR"
for _name, _compute in (("union", _union), ("intersect", _intersection), ("minus", _minus)):
    register(f"sluice_multirange_{_name}", [_V, _V, _V], _V, _of_two(_compute))
for _name, _judge in (
    ("contains", _contains), ("overlaps", _overlap), ("before", _before), ("adjacent", _are_adjacent), ("not_right", _not_right),
    ("not_left", _not_left),
):  # fmt: skip
    register(f"sluice_multirange_{_name}", [_V, _V, _V], "BOOLEAN", _predicate_of(_judge))
register("sluice_multirange_has", [_V, _V, _V], "BOOLEAN", _has)
register("sluice_multirange_made", [_V, "VARCHAR[]"], _V, _construct)
register("sluice_multirange_gathered", [_V, "VARCHAR[]"], _V, _unite)
register("sluice_multirange_common", [_V, "VARCHAR[]"], _V, _common)
register("sluice_multirange_ranges", [_V], "VARCHAR[]", lambda text: list(pieces(text)))
