"""Rows as COPY TO writes them: one CopyData message, or one line of a file, for each row; all rows of a batch are
written at once (copyto.c: CopyOneRowTo).

The protocol's chapter promises one row a message, and drivers split rows by messages. The messages are built as those
of `wire.pg.datarow` are: columns of bytes side by side, joined with one kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wire.copy.options import Layout
from wire.types.byte_columns import (
    Bools,
    Bytes2D,
    Ints,
    as_binary,
    binary_array,
    constant,
    data_of,
    fixed_array,
    join,
    lengths_of,
    offsets_of,
)
from wire.types.client_encodings import column_to_client
from wire.types.output import EncodedColumn, OutputSettings, text_column

_BATCH_BYTES_MAX: Final = 1 << 28
_MESSAGE: Final = b"d"
#: Bytes that are escaped with a letter in the text format.
_LETTERS: Final = {8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r"}


class RowWriter:
    """Writes the batches of one COPY. columns: descriptions of the batches' columns. settings: the output settings,
    with the encoding of the result.

    names: the names in a header. framed: whether each row is a message.
    """

    def __init__(
        self,
        columns: Sequence[EncodedColumn],
        names: Sequence[str],
        layout: Layout,
        settings: OutputSettings,
        *,
        framed: bool = True,
    ) -> None:
        self._names = tuple(names)
        self._framed = framed
        self._columns = tuple(columns)
        self._layout = layout
        self._settings = settings
        self._escapes = _csv_escapes(layout) if layout.csv else _text_escapes(layout)

    def header(self) -> memoryview:
        """Return the line of the columns' names, if a header is wanted."""
        layout, names = self._layout, self._names
        if layout.header == "none":
            return memoryview(b"")
        values = [_encode_values(pa.array([name], pa.string()).view(pa.binary()), self._settings) for name in names]
        if layout.csv:
            values = [self._quote_texts(value, forced=False, lone=len(names) == 1) for value in values]
        return self._messages(1, values)

    def encode(self, batch: pa.RecordBatch) -> memoryview:
        """Return the messages of all rows. Raises SqlError if a value's output function refuses the value."""
        if batch.num_rows > 1 and batch.nbytes > _BATCH_BYTES_MAX:
            middle = batch.num_rows // 2
            return memoryview(b"".join((self.encode(batch.slice(0, middle)), self.encode(batch.slice(middle)))))
        values = [self._column(number, batch.column(number)) for number in range(len(self._columns))]
        return self._messages(batch.num_rows, values)

    def trailer(self) -> memoryview:
        """Return the bytes after the rows: none."""
        return memoryview(b"")

    def _column(self, number: int, array: pa.Array) -> pa.BinaryArray:
        layout = self._layout
        texts = as_binary(text_column(self._columns[number], array, self._settings).join())
        if layout.csv:
            texts = self._quote_texts(texts, forced=number in layout.force_quote, lone=len(self._columns) == 1)
        else:
            texts = _expand_escapes(texts, self._escapes, None)
        if not array.null_count:
            return texts
        null = _encode_values(pa.array([layout.null], pa.binary()), self._settings)[0]
        return pc.if_else(pc.is_valid(array), texts, pa.scalar(null.as_py(), pa.binary()))

    def _quote_texts(self, texts: pa.BinaryArray, *, forced: bool, lone: bool) -> pa.BinaryArray:
        """Quote CSV values that have a special byte, look like a null or, alone in a row, like the end of the data."""
        layout = self._layout
        if forced:
            wanted = np.ones(len(texts), np.bool_)
        else:
            special = np.zeros(256, np.bool_)
            special[[layout.delimiter[0], layout.quote[0], 10, 13]] = True
            wanted = _has(texts, special)
            wanted |= np.asarray(pc.equal(texts, pa.scalar(layout.null, pa.binary())).fill_null(False))
            if lone:
                wanted |= np.asarray(pc.equal(texts, pa.scalar(b"\\.", pa.binary())).fill_null(False))
        if not wanted.any():
            return texts
        quotes = pc.if_else(pa.array(wanted), pa.scalar(layout.quote, pa.binary()), pa.scalar(b"", pa.binary()))
        return join([quotes, _expand_escapes(texts, self._escapes, wanted), quotes])

    def _messages(self, rows: int, values: Sequence[pa.BinaryArray]) -> memoryview:
        pieces = [fixed_array(self._heads(rows, values))] if self._framed else []
        delimiter = fixed_array(constant(rows, self._layout.delimiter))
        for number, value in enumerate(values):
            pieces += [delimiter, value] if number else [value]
        pieces.append(fixed_array(constant(rows, b"\n")))
        joined = join(pieces)
        offsets, data = offsets_of(joined), joined.buffers()[2]
        return memoryview(b"") if data is None else memoryview(data)[offsets[0] : offsets[-1]]

    def _heads(self, rows: int, values: Sequence[pa.BinaryArray]) -> Bytes2D:
        size = np.full(rows, 5 + max(len(values) - 1, 0), np.int64)
        for value in values:
            size += lengths_of(value)
        return np.concatenate((constant(rows, _MESSAGE), size.astype(">i4").view(np.uint8).reshape(rows, 4)), axis=1)


def _encode_values(values: pa.BinaryArray, settings: OutputSettings) -> pa.BinaryArray:
    return column_to_client(values, settings.client_encoding)


def _text_escapes(layout: Layout) -> tuple[Bytes2D, Ints]:
    """Return the text format's output for each byte, padded to two bytes, and how many of the two count."""
    table = [bytes([byte]) for byte in range(256)]
    for byte, letter in _LETTERS.items():
        table[byte] = b"\\" + letter
    for byte in (ord("\\"), layout.delimiter[0]):
        if byte not in _LETTERS:
            table[byte] = b"\\" + bytes([byte])
    if layout.delimiter != b"\t" and layout.delimiter[0] in _LETTERS:
        table[layout.delimiter[0]] = b"\\" + layout.delimiter
    return _pad_table(table)


def _csv_escapes(layout: Layout) -> tuple[Bytes2D, Ints]:
    """Return the same for text between CSV's quotes."""
    table = [bytes([byte]) for byte in range(256)]
    for byte in (layout.quote[0], layout.escape[0]):
        table[byte] = layout.escape + bytes([byte])
    return _pad_table(table)


def _pad_table(table: Sequence[bytes]) -> tuple[Bytes2D, Ints]:
    return np.array([list(text.ljust(2)) for text in table], np.uint8), np.array([len(text) for text in table])


def _has(texts: pa.BinaryArray, special: Bools) -> Bools:
    """Return which texts have a special byte."""
    offsets = offsets_of(texts)
    found = special[data_of(texts)[offsets[0] : offsets[-1]]]
    counts = np.concatenate(([0], np.cumsum(found)))
    at = offsets - offsets[0]
    return np.asarray(counts[at[1:]] != counts[at[:-1]])


def _expand_escapes(texts: pa.BinaryArray, escapes: tuple[Bytes2D, Ints], rows: Bools | None) -> pa.BinaryArray:
    """Replace the bytes of texts by their escapes, only in `rows` if given."""
    table, widths = escapes
    offsets = offsets_of(texts)
    data = data_of(texts)[offsets[0] : offsets[-1]]
    at = offsets - offsets[0]
    sizes = widths[data]
    if rows is not None:
        sizes = np.where(np.repeat(rows, np.diff(at)), sizes, 1)
    if len(sizes) == 0 or int(sizes.max()) == 1:
        return texts
    ends = np.concatenate(([0], np.cumsum(sizes)))
    both = table[data]
    if rows is not None:
        both = np.where((sizes == 1)[:, None], np.stack((data, data), axis=1), both)
    return binary_array(ends[at], both[np.arange(2) < sizes[:, None]])
