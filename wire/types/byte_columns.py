"""Columns of byte strings, built with numpy and Arrow kernels and never value by value.

An output function returns a whole column as a `ByteColumn`: pieces side by side, each either a matrix of fixed-width
bytes or an Arrow binary array. Pieces stay separate until they are joined with the other parts of a row
(`wire.pg.datarow`), so a date or the decimals of a number are never copied into a column of their own.

A `Sheet` builds pieces where the shape of the text differs from row to row (`2 mons -03:00:00`): every character that
any row may have gets a column of a byte matrix, and a mask marks the rows that keep it. The code for a format is then
one line for each part.

Neighbours: `wire.types.output` (text formats) and `wire.pg.values.binary` (binary formats) produce `ByteColumn`s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wire.dataclass import dataclass

Bytes2D = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[Any]
#: A matrix of shape (rows, width), or an Arrow binary array without offset; the content of null rows is undefined.
Piece: TypeAlias = Bytes2D | pa.BinaryArray

#: The two ASCII digits of each number below 100, as one 16-bit item.
_PAIRS: Final = np.array([list(b"%02d" % n) for n in range(100)], np.uint8).view(np.uint16).ravel()
_EMPTY: Final = pa.scalar(b"", pa.binary())


def values_of(array: pa.Array, dtype: npt.DTypeLike) -> Ints:
    """Return the value buffer of a fixed-width Arrow array as numpy, its slice applied; undefined under nulls."""
    if len(array) == 0:
        return np.empty(0, dtype)
    kind = np.dtype(dtype)
    buffer = array.buffers()[1]
    return np.frombuffer(buffer, kind, len(array), array.offset * kind.itemsize)


def offsets_of(array: pa.Array) -> npt.NDArray[np.int32]:
    """Return the len + 1 offsets of a binary, string or list array, its slice applied (so they may begin above 0)."""
    if len(array) == 0:
        return np.zeros(1, np.int32)
    return np.frombuffer(array.buffers()[1], np.int32, len(array) + 1, array.offset * 4)


def data_of(array: pa.Array) -> npt.NDArray[np.uint8]:
    """Return the whole data buffer of a binary or string array, to which `offsets_of` refers."""
    buffer = array.buffers()[2]
    return np.empty(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)


def lengths_of(array: pa.Array) -> npt.NDArray[np.int32]:
    """Return the length in bytes of each item of a binary array; undefined under nulls."""
    return np.diff(offsets_of(array))


def binary_array(offsets: Ints, data: Any, validity: pa.Buffer | None = None) -> pa.BinaryArray:
    """Return an Arrow binary array over numpy offsets (rows + 1) and contiguous bytes."""
    buffers = [validity, pa.py_buffer(np.ascontiguousarray(offsets, np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)


def as_binary(array: pa.Array) -> pa.BinaryArray:
    """Return a string array as binary, without copying."""
    return array if pa.types.is_binary(array.type) else array.view(pa.binary())


def validity_of(array: pa.Array) -> Bools | None:
    """Return which rows are not null, or None if all are."""
    if array.null_count == 0:
        return None
    return np.asarray(pc.is_valid(array).to_numpy(zero_copy_only=False))


def to_ragged(matrix: Bytes2D, keep: Bools) -> pa.BinaryArray:
    """Return the kept bytes of each row of a matrix; `keep` has the matrix's shape."""
    offsets = np.zeros(len(matrix) + 1, np.int64)
    np.cumsum(np.count_nonzero(keep, axis=1), out=offsets[1:])
    return binary_array(offsets, matrix[keep])


def fixed_array(matrix: Bytes2D) -> pa.BinaryArray:
    """Return a matrix as a binary array whose items all have the same length."""
    rows, width = matrix.shape
    return (
        binary_array(np.arange(0, rows * width + 1, width or 1)[: rows + 1], np.ascontiguousarray(matrix))
        if width
        else (binary_array(np.zeros(rows + 1), b""))
    )


def matrix_of(array: pa.Array, width: int) -> tuple[Bytes2D, npt.NDArray[np.int32]]:
    """Return the items of a binary array left-aligned in a matrix, followed by zero bytes, and their lengths, at most
    `width`.
    """
    offsets, data = offsets_of(array), data_of(array)
    lengths = np.diff(offsets)
    columns = np.arange(width)
    inside = columns < lengths[:, None]
    index = np.where(inside, offsets[:-1, None] + columns, 0)
    if not len(data):
        return np.zeros((len(array), width), np.uint8), lengths
    return np.where(inside, data[index], 0).astype(np.uint8), lengths


def digit_matrix(values: Ints, width: int) -> Bytes2D:
    """Return the last `width` decimal digits of non-negative integers, zero-padded, as ASCII."""
    out = np.empty((len(values), (width + 1) // 2), np.uint16)
    rest = values
    for column in range(out.shape[1] - 1, -1, -1):
        rest, pair = (rest // 100, rest % 100) if column else (rest, rest % 100)
        out[:, column] = _PAIRS[pair]
    digits = out.view(np.uint8)
    return digits[:, 1:] if width % 2 else digits


def constant(rows: int, text: bytes) -> Bytes2D:
    """Return the same bytes for every row."""
    return np.broadcast_to(np.frombuffer(text, np.uint8), (rows, len(text)))


@dataclass(frozen=True, slots=True)
class ByteColumn:
    """A column of byte strings in pieces (see the module's docstring). rows: the number of rows."""

    rows: int
    pieces: tuple[Piece, ...]

    @property
    def fixed_width(self) -> int | None:
        """The number of bytes of every row if all have the same number, else None."""
        if all(isinstance(piece, np.ndarray) for piece in self.pieces):
            return sum(int(piece.shape[1]) for piece in self.pieces)
        return None

    def lengths(self) -> npt.NDArray[np.int32]:
        """Return the number of bytes of each row."""
        total = np.zeros(self.rows, np.int32)
        for piece in self.pieces:
            total += np.int32(piece.shape[1]) if isinstance(piece, np.ndarray) else lengths_of(piece)
        return total

    def join(self) -> pa.BinaryArray:
        """Return the pieces as one array, without nulls."""
        if len(self.pieces) == 1 and not isinstance(self.pieces[0], np.ndarray):
            return self.pieces[0]
        if not self.pieces:
            return fixed_array(np.empty((self.rows, 0), np.uint8))
        arrays = [fixed_array(p) if isinstance(p, np.ndarray) else p for p in self.pieces]
        return join(arrays) if len(arrays) > 1 else arrays[0]


def join(arrays: Sequence[pa.BinaryArray]) -> pa.BinaryArray:
    """Concatenate the items of each row; a null counts as empty."""
    return pc.binary_join_element_wise(*arrays, _EMPTY, null_handling="replace", null_replacement=b"")


def of_array(array: pa.Array) -> ByteColumn:
    """Return a string or binary array as a column of one piece."""
    return ByteColumn(len(array), (as_binary(array),))


class Sheet:
    """Builds a `ByteColumn` part by part, from left to right (see the module's docstring).

    Every method takes `keep`: the rows that have the part; None is all of them.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._parts: list[tuple[Bytes2D, Bools | None]] = []
        self._visible: Bools | None = None

    def part(self, matrix: Bytes2D, keep: Bools | None = None) -> None:
        """Add bytes of shape (rows, width); `keep` has shape (rows,) or (rows, width)."""
        if keep is not None:
            if keep.all():
                keep = None
            elif not keep.any():
                return
        if keep is not None and keep.ndim == 1:
            keep = np.broadcast_to(keep[:, None], matrix.shape)
        self._parts.append((matrix, keep))

    def literal(self, text: bytes, keep: Bools | None = None) -> None:
        self.part(constant(self.rows, text), keep)

    def digits(self, values: Ints, width: int, keep: Bools | None = None) -> None:
        """Add non-negative integers, zero-padded to `width`."""
        self.part(digit_matrix(values, width), keep)

    def number(self, values: Ints, *, least: int = 1, keep: Bools | None = None) -> None:
        """Add non-negative integers with at least `least` digits and no further leading zeros."""
        top = int(values.max()) if len(values) else 0
        width = max(least, len(str(top)))
        self.part(digit_matrix(values, width), self._significant(values, width, least, keep))

    def _significant(self, values: Ints, width: int, least: int, keep: Bools | None) -> Bools | None:
        if width == least:
            return keep
        shown = np.ones((self.rows, width), np.bool_)
        for column in range(width - least):
            shown[:, column] = values >= 10 ** (width - 1 - column)
        return shown if keep is None else shown & keep[:, None]

    def fraction(self, micros: Ints, keep: Bools | None = None) -> None:
        """Add a decimal point and the decimals of a second, without trailing zeros; nothing for whole seconds."""
        shown = np.empty((self.rows, 7), np.bool_)
        shown[:, 0] = micros != 0
        for column in range(6):
            shown[:, column + 1] = micros % 10 ** (6 - column) != 0
        matrix = np.empty((self.rows, 7), np.uint8)
        matrix[:, 0] = ord(".")
        matrix[:, 1:] = digit_matrix(micros, 6)
        self.part(matrix, shown if keep is None else shown & keep[:, None])

    def choice(self, texts: Sequence[bytes], index: Ints, keep: Bools | None = None) -> None:
        """Add texts[index] of each row."""
        width = max((len(text) for text in texts), default=0)
        table = np.array([list(text.ljust(width)) for text in texts], np.uint8).reshape(len(texts), width)
        sizes = np.array([len(text) for text in texts])
        shown = np.arange(width) < sizes[index][:, None]
        self.part(table[index], shown if keep is None else shown & keep[:, None])

    def replace(self, rows: Bools, text: bytes) -> None:
        """Replace everything in these rows by `text`."""
        if not rows.any():
            return
        self._parts = [
            (m, np.broadcast_to(~rows[:, None], m.shape) if k is None else k & ~rows[:, None]) for m, k in self._parts
        ]
        self.literal(text, rows)

    def finish(self) -> ByteColumn:
        if not self._parts:
            return ByteColumn(self.rows, (np.empty((self.rows, 0), np.uint8),))
        matrix = np.concatenate([m for m, _ in self._parts], axis=1)
        if all(keep is None for _, keep in self._parts):
            return ByteColumn(self.rows, (matrix,))
        keeps = [np.ones(m.shape, np.bool_) if keep is None else keep for m, keep in self._parts]
        return ByteColumn(self.rows, (to_ragged(matrix, np.concatenate(keeps, axis=1)),))
