"""A block of whole rows, and the positions of its delimiters, line ends, quotes and escapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wire.dataclass import dataclass
from wire.types.byte_columns import Bools, Bytes2D, Ints, binary_array

Bytes1D = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Marks:
    """The positions of separators, quotes and escapes that a dialect found in bytes that begin with a row.

    separators: delimiters and ends of rows, in their order. ends: which of them end a row. drop: bytes that are no part
    of any value. replaced: bytes that stand for another, and by_: the replacements. marked: positions within a field
    (quotes) that show that the field cannot be null. closed: whether the bytes might end here without cutting a value
    in two.
    """

    separators: Ints
    ends: Bools
    drop: Ints
    replaced: Ints
    by: Bytes1D
    marked: Ints
    closed: bool = True

    def upto(self, size: int) -> Marks:
        """Return the marks of the first `size` bytes."""
        kept, replaced = self.separators < size, self.replaced < size
        return Marks(
            self.separators[kept], self.ends[kept], self.drop[self.drop < size], self.replaced[replaced],
            self.by[replaced], self.marked[self.marked < size],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one block.

    data: its bytes. starts, stops: the extent of each field, row after row. firsts: the number of the first field of
    each row, followed by the total number of fields. lines: the number of the line on which each row ends.
    """

    data: Bytes1D
    starts: Ints
    stops: Ints
    firsts: Ints
    lines: Ints
    marks: Marks

    @property
    def count(self) -> int:
        return len(self.firsts) - 1

    def upto(self, count: int) -> Rows:
        """Return the first `count` rows."""
        fields = int(self.firsts[count])
        return Rows(
            self.data,
            self.starts[:fields],
            self.stops[:fields],
            self.firsts[: count + 1],
            self.lines[:count],
            self.marks,
        )

    def after(self, count: int) -> Rows:
        """Return the rows without the first `count`."""
        fields = int(self.firsts[count])
        firsts = self.firsts[count:] - fields
        return Rows(self.data, self.starts[fields:], self.stops[fields:], firsts, self.lines[count:], self.marks)

    def line(self, row: int) -> bytes:
        """Return a row as it was sent."""
        first, last = int(self.firsts[row]), int(self.firsts[row + 1]) - 1
        return self.data[int(self.starts[first]) : int(self.stops[last])].tobytes()

    def widths(self) -> Ints:
        """Return the number of fields of each row."""
        return np.diff(self.firsts)

    def lengths(self) -> Ints:
        """Return the number of bytes of each row."""
        lengths: Ints = self.stops[self.firsts[1:] - 1] - self.starts[self.firsts[:-1]]
        return lengths

    def fields(self) -> pa.BinaryArray:
        """Return the values of all fields, with escapes replaced."""
        data, starts, stops, marks = self.data, self.starts, self.stops, self.marks
        if len(marks.drop) or len(marks.replaced):
            kept = np.ones(len(data), np.bool_)
            kept[marks.drop] = False
            changed = data.copy()
            changed[marks.replaced] = marks.by
            moved = np.concatenate(([0], np.cumsum(kept)))
            data, starts, stops = changed[kept], moved[starts], moved[stops]
        between = np.empty(2 * len(starts), np.int64)
        between[0::2], between[1::2] = starts, stops
        # Each field and the separator after it are two items of one array; only the fields are taken.
        pairs = binary_array(np.append(between, between[-1:]), data)
        return pairs.take(pa.array(np.arange(0, 2 * len(starts), 2)))

    def equal(self, text: bytes) -> Bools:
        """Return which fields are written as `text`, byte by byte."""
        same: Bools = (self.stops - self.starts) == len(text)
        for offset, byte in enumerate(text):
            at = np.flatnonzero(same)
            same[at] = self.data[self.starts[at] + offset] == byte
        return same

    def has_mark(self) -> Bools:
        """Return which fields have a mark in them."""
        marked = self.marks.marked
        return np.asarray(np.searchsorted(marked, self.starts) != np.searchsorted(marked, self.stops))


def places(data: Bytes1D, byte: bytes) -> Ints:
    """Return the positions of a byte."""
    return np.flatnonzero(data == byte[0])


def empty_ints() -> Any:
    return np.empty(0, np.int64)


__all__ = ["Bytes1D", "Bytes2D", "Marks", "Rows", "empty_ints", "places"]
