"""Predicates that are tested against many files at a time prune the same files as one by one.

Files have random bounds, some of which are unknown, truncated, equal or null only: the mask over all of them is
compared with the test of each.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from engine.common import sql_type as st
from engine.planner.optimizer.bounds_masks import FileBounds, FileValues, mask_of
from engine.planner.optimizer.column_bounds import (
    AllOf,
    AnyOf,
    ColumnBounds,
    Comparison,
    ListTest,
    NullTest,
    PrefixTest,
    RangeOverlap,
    Test,
    Told,
)
from wire.dataclass import dataclass
from wire.types import pg_types as t

_DAY: Final = dt.date(2024, 5, 1)
_MOMENT: Final = dt.datetime(2024, 5, 1, 12, 0, 0, 1500)
#: Of each column: its type, what its bounds are in a log, and values.
_COLUMNS: Final[dict[str, tuple[t.PgType, pa.DataType, Sequence[Any]]]] = {
    "i": (t.INT4, pa.int32(), [-(1 << 31), -1, 0, 1, 7, (1 << 31) - 1]),
    "l": (t.INT8, pa.int64(), [-(1 << 63), -1, 0, 7, (1 << 63) - 1]),
    "s": (t.TEXT, pa.string(), ["", "a", "ab", "ab\U0010ffff", "abc", "b", "é", "\U0001f600"]),
    "w": (t.VARCHAR, pa.string_view(), ["", "a", "ab", "b%"]),
    "d": (t.DATE, pa.date32(), [_DAY, _DAY + dt.timedelta(days=1), dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    "m": (t.TIMESTAMP, pa.timestamp("us"), [_MOMENT, _MOMENT.replace(microsecond=2000), dt.datetime(1, 1, 1)]),
    "z": (
        t.TIMESTAMPTZ,
        pa.timestamp("us", "UTC"),
        [_MOMENT.replace(tzinfo=dt.UTC), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)],
    ),
    "f": (t.FLOAT8, pa.float64(), [float("-inf"), -1.5, 0.0, 2.5, float("inf")]),
    # The log has another type than the table declares.
    "o": (t.INT4, pa.string(), ["1", "7"]),
    "p": (t.INT4, pa.int32(), [1, 2, 3]),
}
_PARTITION: Final = "p"
_OPERATORS: Final = ["=", "<>", "<", "<=", ">", ">="]
_CUT: Final = dt.timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a log: of each the facts of its columns."""

    files: Sequence[dict[str, tuple[int | None, int | None, Any, Any]]]

    @property
    def count(self) -> int:
        return len(self.files)

    def bounds(self, name: str) -> FileBounds | FileValues | None:
        if name == _PARTITION:
            values = [file[name][2] for file in self.files]
            known = list(dict.fromkeys(values))
            numbers = pa.array([known.index(value) for value in values], pa.int32())
            return FileValues(numbers, tuple(None if value is None else _one(value) for value in known))
        rows, nulls, least, greatest = zip(*(file[name] for file in self.files), strict=True)
        typ = _COLUMNS[name][1]
        counts = (pa.array(rows, pa.int64()), pa.array(nulls, pa.int64()))
        return FileBounds(*counts, pa.array(least, typ), pa.array(greatest, typ))

    def told(self, number: int) -> Told:
        """Return the known bounds of one file, as `column_bounds` takes them."""

        def bounds(name: str) -> ColumnBounds | None:
            rows, nulls, least, greatest = self.files[number][name]
            if name == _PARTITION:
                return None if least is None else _one(least)
            if rows is None:
                return None
            if least is None or greatest is None or isinstance(least, float):
                return ColumnBounds(rows, nulls)
            return ColumnBounds(
                rows, nulls, (least, greatest + _CUT if isinstance(greatest, dt.datetime) else greatest)
            )

        return bounds


def _one(value: Any) -> ColumnBounds:
    return ColumnBounds(1, 0, (value, value))


@some.composite
def _facts(draw: some.DrawFn, name: str) -> tuple[int | None, int | None, Any, Any]:
    values = _COLUMNS[name][2]
    rows = draw(some.sampled_from([None, 0, 1, 5]))
    nulls = draw(some.sampled_from([None, 0, 1, 5]))
    ends = sorted(draw(some.lists(some.sampled_from(values), min_size=2, max_size=2)))
    least, greatest = (draw(some.sampled_from([end, end, end, None])) for end in ends)
    return rows, nulls, least, greatest


_FILES = some.builds(
    _Files, some.lists(some.fixed_dictionaries({name: _facts(name) for name in _COLUMNS}), min_size=1, max_size=6)
)


def _leaves(name: str) -> some.SearchStrategy[Test]:
    pg, _, values = _COLUMNS[name]
    typ = st.of(pg)
    wanted = [1, 7] if name == "o" else values
    operator, value = some.sampled_from(_OPERATORS), some.sampled_from(wanted)
    comparison = some.builds(Comparison, some.just(name), some.just(typ), operator, value)
    listed = some.lists(value, min_size=1, max_size=3).map(lambda values: tuple(sorted(values)))
    leaves: some.SearchStrategy[Test] = comparison | some.builds(NullTest, some.just(name), some.booleans())
    leaves = leaves | some.builds(ListTest, some.just(name), some.just(typ), listed, some.booleans())
    if pg in (t.TEXT, t.VARCHAR):
        prefixes = some.sampled_from(["a", "ab", "b", "é", "\U0001f600"])
        leaves = leaves | some.builds(PrefixTest, some.just(name), some.just(typ), prefixes)
    return leaves


_TESTS = some.recursive(
    some.one_of(*map(_leaves, _COLUMNS)),
    lambda inner: (
        some.builds(AllOf, some.lists(inner, min_size=1, max_size=3).map(tuple))
        | some.builds(AnyOf, some.lists(inner, max_size=3).map(tuple))
    ),
    max_leaves=5,
)


def _passing(test: Test, files: _Files) -> list[bool]:
    mask = mask_of(test, files)
    return [True] * files.count if mask is None else mask.to_pylist()


@settings(max_examples=150, deadline=None)
@given(test=_TESTS, files=_FILES)
def test_a_mask_leaves_out_the_files_that_the_test_leaves_out(test: Test, files: _Files) -> None:
    assert _passing(test, files) == [test(files.told(number)) for number in range(files.count)]


@settings(max_examples=60, deadline=None)
@given(name=some.sampled_from(["i", "l", "s", "d", "m", "f"]), files=_FILES, data=some.data())
def test_a_mask_of_keys_keeps_the_files_that_may_have_one(name: str, files: _Files, data: some.DataObject) -> None:
    pg, _, values = _COLUMNS[name]
    low, high = sorted(data.draw(some.lists(some.sampled_from(values), min_size=2, max_size=2)))
    test = RangeOverlap(name, st.of(pg), (low, high))
    for kept, number in zip(_passing(test, files), range(files.count), strict=True):
        assert kept or not test(files.told(number))


@settings(max_examples=150, deadline=None)
@given(name=some.sampled_from(sorted(_COLUMNS)), negated=some.booleans(), files=_FILES, data=some.data())
def test_a_list_is_judged_as_its_comparisons_are(
    name: str, negated: bool, files: _Files, data: some.DataObject
) -> None:
    pg, _, values = _COLUMNS[name]
    listed = data.draw(some.lists(some.sampled_from([1, 7] if name == "o" else values), min_size=1, max_size=4))
    comparisons = tuple(Comparison(name, st.of(pg), "<>" if negated else "=", value) for value in listed)
    whole = AllOf(comparisons) if negated else AnyOf(comparisons)
    test = ListTest(name, st.of(pg), tuple(sorted(listed)), negated)
    assert _passing(test, files) == _passing(whole, files)
    assert [test(files.told(number)) for number in range(files.count)] == [
        whole(files.told(number)) for number in range(files.count)
    ]


class _FilesOfIntervals:
    """The log counts the nulls of each field of an interval."""

    count = 2

    def bounds(self, _name: str) -> FileBounds:
        nulls = pa.array([{"months": 0, "days": 0, "micros": 5}, None])
        return FileBounds(pa.array([5, 5], pa.int64()), nulls, None, None)


@pytest.mark.parametrize("wanted", [True, False])
def test_nulls_of_values_that_have_fields_are_not_known(wanted: bool) -> None:
    mask = mask_of(NullTest("iv", wanted), _FilesOfIntervals())
    assert mask is not None
    assert mask.to_pylist() == [True, True]
