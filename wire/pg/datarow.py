"""A record batch as the bytes of DataRow messages, all rows at once.

    encoder = RowEncoder(columns, formats, settings)
    writer.write(encoder.encode(batch))

Every column gives its values as pieces (`wire.types.byte_columns`): matrices where all rows have the same width, binary
arrays where the widths differ. The message header and the length word of each value are matrices between these pieces.
Adjacent matrices are put side by side, and one Arrow kernel joins the remaining pieces element by element. The data
buffer of the result is the byte stream: no row is handled individually. If no width varies (integers in binary), the
stream is one numpy matrix. Only a handful of short rows is built value by value, since the kernels would take ten times
as long for them.

A NULL is the length -1 and no bytes. Arrow's offsets are 32-bit, so a batch whose messages may exceed 2 GiB is encoded
in halves.

Source: PostgreSQL 15 documentation 55.7 (DataRow).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from wire.common.batch_sizes import fits
from wire.errors import ProtocolViolation
from wire.pg.values.binary import big_endian, binary_column
from wire.types import pg_types as t
from wire.types.byte_columns import (
    Bools,
    ByteColumn,
    Bytes2D,
    Ints,
    Piece,
    binary_array,
    constant,
    fixed_array,
    join,
    offsets_of,
    to_ragged,
    validity_of,
)
from wire.types.output import EncodedColumn, OutputSettings, text_column

__all__ = ["EncodedColumn", "OutputSettings", "RowEncoder", "column_formats"]

_MESSAGE: Final = b"D"
#: The maximum size of one join's result, below Arrow's 2 GiB; and the maximum size of a batch, whose messages may be
#: larger.
_BYTES_MAX: Final = (1 << 31) - (1 << 20)
_BATCH_BYTES_MAX: Final = 1 << 28
#: Batches up to this size are faster to encode value by value.
_FEW_ROWS: Final = 16
_FEW_BYTES: Final = 1 << 16
#: A batch up to this size is kept with its messages: a repeated statement whose result is kept gives the same batch again.
_LAST_BYTES: Final = 1 << 12
_NULL: Final = b"\xff\xff\xff\xff"
#: Types whose texts are the same as Python's, for arrays of integers and strings; and the ids of the integer types.
_PLAIN: Final = frozenset((t.INT2, t.INT4, t.INT8, t.TEXT, t.VARCHAR))
_INTEGERS: Final = frozenset(typ.id for typ in (pa.int16(), pa.int32(), pa.int64()))
_STRING: Final = pa.string().id


def column_formats(formats: Sequence[int], columns: int) -> tuple[int, ...]:
    """Return each column's format by Bind's rule: no format means text for all columns, one format applies to all,
    otherwise there is one for each column.

    Raises ProtocolViolation for any other number and for unknown formats.
    """
    if any(code not in (0, 1) for code in formats):
        raise ProtocolViolation("invalid format code: " + str(next(c for c in formats if c not in (0, 1))))
    if len(formats) <= 1:
        return tuple(formats or (0,)) * columns
    if len(formats) != columns:
        raise ProtocolViolation(f"bind message has {len(formats)} result formats but query has {columns} columns")
    return tuple(formats)


class RowEncoder:
    """Encodes the batches of portals with the same columns, formats and settings.

    Arguments:
        columns: descriptions of the batches' columns, in order.
        formats: 0 (text) or 1 (binary) for each column, or as Bind gives them (`column_formats`).
        settings: the session's settings when a portal was opened.
        kind: the first byte of the messages; None: only the bodies of messages are written.
    """

    def __init__(
        self,
        columns: Sequence[EncodedColumn],
        formats: Sequence[int],
        settings: OutputSettings,
        kind: bytes | None = _MESSAGE,
    ) -> None:
        self._kind = kind
        self._columns = tuple(columns)
        self._formats = column_formats(formats, len(columns))
        self._settings = settings
        as_it_is = settings.client_encoding in ("UTF8", "SQL_ASCII")
        self._plain = tuple(
            as_it_is and form == 0 and column.type in _PLAIN
            for column, form in zip(self._columns, self._formats, strict=True)
        )

        self._last_batch: pa.RecordBatch | None = None
        self._last_rows = memoryview(b"")

    def encode(self, batch: pa.RecordBatch) -> memoryview:
        """Return the DataRow messages of all rows, one after another.

        Raises SqlError if a value's output function refuses the value.
        """
        if batch.num_rows > 1 and not fits(batch, _BATCH_BYTES_MAX):
            return self._in_halves(batch)
        if batch is self._last_batch:
            return self._last_rows
        if batch.num_rows <= _FEW_ROWS and fits(batch, _FEW_BYTES):
            values = [self._values(index, array) for index, array in enumerate(batch.columns)]
            rows = _few_rows(self._kind, batch.num_rows, values)
            if batch.get_total_buffer_size() <= _LAST_BYTES:
                self._last_batch, self._last_rows = batch, rows
            return rows
        columns = [self._column(index, batch.column(index)) for index in range(len(self._columns))]
        validity = [self._validity(index, batch.column(index)) for index in range(len(self._columns))]
        return self._rows(batch, columns, validity)

    def _values(self, index: int, array: pa.Array) -> Sequence[bytes | None]:
        """Return the values of a column of a few rows, one by one; None for NULL."""
        if self._plain[index]:
            if array.type.id in _INTEGERS:
                return [None if value is None else b"%d" % value for value in array.to_pylist()]
            if array.type.id == _STRING:
                found: list[bytes | None] = array.view(pa.binary()).to_pylist()
                return found
        texts, valid = self._column(index, array).join().to_pylist(), self._validity(index, array)
        if valid is None:
            return [text or b"" for text in texts]
        return [(text or b"") if there else None for text, there in zip(texts, valid, strict=True)]

    def _in_halves(self, batch: pa.RecordBatch) -> memoryview:
        middle = batch.num_rows // 2
        return memoryview(b"".join((self.encode(batch.slice(0, middle)), self.encode(batch.slice(middle)))))

    def _column(self, index: int, array: pa.Array) -> ByteColumn:
        write = binary_column if self._formats[index] else text_column
        return write(self._columns[index], array, self._settings)

    def _validity(self, index: int, array: pa.Array) -> Bools | None:
        """Return which rows are not NULL. A void is never NULL: it has one value, of no bytes."""
        return None if self._columns[index].type is t.VOID else validity_of(array)

    def _rows(self, batch: pa.RecordBatch, columns: list[ByteColumn], validity: list[Bools | None]) -> memoryview:
        rows = batch.num_rows
        size = np.full(rows, 6 + 4 * len(columns), np.int64)
        pieces: list[Piece] = []
        for column, valid in zip(columns, validity, strict=True):
            lengths = column.lengths() if column.fixed_width is None or valid is not None else None
            size += column.fixed_width if lengths is None else lengths if valid is None else np.where(valid, lengths, 0)
            pieces.append(_length_words(column, lengths, valid))
            pieces.extend(column.pieces if valid is None else (_only(piece, valid) for piece in column.pieces))
        if int(size.sum()) + rows > _BYTES_MAX and rows > 1:
            return self._in_halves(batch)
        return _stream([*_header(self._kind, rows, len(columns), size), *pieces])


def _few_rows(kind: bytes | None, rows: int, columns: Sequence[Sequence[bytes | None]]) -> memoryview:
    """Return the same messages, built value by value. For a handful of rows this costs a tenth of the twenty or so
    calls into numpy and Arrow.
    """
    out = bytearray()
    for row in range(rows):
        body = bytearray(len(columns).to_bytes(2, "big"))
        for values in columns:
            value = values[row]
            body += _NULL if value is None else len(value).to_bytes(4, "big") + value
        out += body if kind is None else kind + (4 + len(body)).to_bytes(4, "big") + body
    return memoryview(out)


def _header(kind: bytes | None, rows: int, columns: int, size: Ints) -> tuple[Piece, ...]:
    count = constant(rows, columns.to_bytes(2, "big"))
    return (count,) if kind is None else (constant(rows, kind), big_endian(size, "i4"), count)


def _length_words(column: ByteColumn, lengths: Ints | None, valid: Bools | None) -> Bytes2D:
    if lengths is None:
        width = column.fixed_width
        assert width is not None
        return constant(column.rows, width.to_bytes(4, "big"))
    return big_endian(lengths if valid is None else np.where(valid, lengths, -1), "i4")


def _only(piece: Piece, valid: Bools) -> pa.BinaryArray:
    """Return a piece without the bytes of null rows."""
    if isinstance(piece, np.ndarray):
        return to_ragged(piece, np.broadcast_to(valid[:, None], piece.shape))
    bitmap = pa.array(valid).buffers()[1]
    _, _, data = piece.buffers()
    return binary_array(offsets_of(piece), data if data is not None else b"", bitmap)


def _stream(pieces: Sequence[Piece]) -> memoryview:
    """Return the pieces of all rows, interleaved row by row."""
    merged: list[Piece] = []
    run: list[Bytes2D] = []
    for piece in pieces:
        if isinstance(piece, np.ndarray):
            run.append(piece)
            continue
        if run:
            merged.append(np.concatenate(run, axis=1))
            run = []
        merged.append(piece)
    if run:
        merged.append(np.concatenate(run, axis=1))
    if len(merged) == 1 and isinstance(merged[0], np.ndarray):
        return memoryview(merged[0].reshape(-1).data)
    joined = join([fixed_array(piece) if isinstance(piece, np.ndarray) else piece for piece in merged])
    offsets = offsets_of(joined)
    data = joined.buffers()[2]
    return memoryview(b"") if data is None else memoryview(data)[offsets[0] : offsets[-1]]
