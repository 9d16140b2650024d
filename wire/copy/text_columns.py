"""Rows of a text or CSV copy as columns of text. Each row is checked, and errors name its line.

`wire.copy.reader` cuts bytes into rows and uses this module to turn them into columns.

Source: PostgreSQL 15, copyfromparse.c (NextCopyFromRawFields, NextCopyFrom), copyfrom.c (CopyFromErrorCallback).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wire.copy.block import Rows
from wire.copy.options import Layout
from wire.dataclass import dataclass
from wire.errors import BadCopyFileFormat, CharacterNotInRepertoire, SqlError
from wire.types.byte_columns import Bools, Ints, offsets_of
from wire.types.client_encodings import from_client

#: The maximum number of characters of a line or a value that an error shows.
_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class Cut:
    """A row with too few fields: the fields that it has, as columns of one row, and the number of its line. PostgreSQL
    reads these fields before it reports the missing one.
    """

    columns: tuple[pa.Array, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Block:
    """Rows as columns. columns: one for each name, text or null. error: the error after these rows; cut: the row that
    the error is about, if that row is too short.

    line: returns for a row the number of the line on which it ends, and the row as it was sent, if that can be shown.
    numbers: returns the line numbers of all rows; if they ascend one by one, the first.
    """

    columns: tuple[pa.Array, ...]
    count: int
    line: Callable[[int], tuple[int, bytes | None]]
    numbers: Callable[[], int | Ints]
    error: SqlError | None = None
    cut: Cut | None = None


class TextColumns:
    """Makes the columns of one COPY. table, names: the table's name and those of the columns, for errors and headers.
    encoding: the name that errors use.
    """

    def __init__(self, layout: Layout, table: str, names: Sequence[str], encoding: str) -> None:
        self._layout = layout
        self._table = table
        self._names = tuple(names)
        self._encoding = encoding

    def block(self, rows: Rows, error: SqlError | None) -> Block:
        """Return the rows before the first invalid one as columns. error: the error after these rows."""
        count, wrong = self._first_wrong(rows)
        cut = None
        if wrong is not None:
            cut = self._cut(rows.after(count).upto(1))
            rows, error = rows.upto(count), wrong
        columns = self._columns(rows, len(self._names))
        return Block(columns, rows.count, functools.partial(line_of, rows), lambda: rows.lines, error, cut)

    def _cut(self, row: Rows) -> Cut | None:
        width = int(row.widths()[0])
        if width >= len(self._names) or not _is_text(row.data[row.starts[0] : row.stops[-1]].tobytes()):
            return None
        return Cut(self._columns(row, width), int(row.lines[0]))

    def _first_wrong(self, rows: Rows) -> tuple[int, SqlError | None]:
        """Return the number of the first row that has another number of fields than there are columns, or is not valid
        text, and its error.
        """
        found: list[tuple[int, SqlError]] = []
        widths = rows.widths()
        # The only row of no columns is an empty line.
        wrong = widths != len(self._names) if self._names else rows.lengths() > 0
        if wrong.any():
            at = int(np.argmax(wrong))
            if widths[at] > len(self._names):
                error: SqlError = BadCopyFileFormat("extra data after last expected column")
            else:
                error = BadCopyFileFormat(f'missing data for column "{self._names[widths[at]]}"')
            found.append((at, self.add_context(error, int(rows.lines[at]), rows.line(at))))
        if rows.count and (broken := self._broken_text(rows)) is not None:
            found.append(broken)
        return min(found, key=lambda item: item[0]) if found else (rows.count, None)

    def _broken_text(self, rows: Rows) -> tuple[int, SqlError] | None:
        """Return the first row whose bytes are not UTF-8, and its error."""
        raw = rows.data.tobytes()
        error: SqlError
        try:
            raw.decode()
            at = raw.find(b"\0")
            if at < 0:
                return None
            error = CharacterNotInRepertoire('invalid byte sequence for encoding "UTF8": 0x00')
        except UnicodeDecodeError as broken:
            at, error = broken.start, self.wrong_bytes(broken)
        row = int(np.searchsorted(rows.stops[rows.firsts[1:] - 1], at))
        return row, self.add_context(error, int(rows.lines[row]))

    def _columns(self, rows: Rows, width: int) -> tuple[pa.StringArray, ...]:
        if not rows.count or not width:
            return tuple(pa.array([], pa.string()) for _ in range(width))
        fields, nulls = rows.fields(), rows.equal(self._layout.null)
        escaped = len(rows.marks.replaced) > 0
        if self._layout.csv and len(rows.marks.marked):
            nulls &= ~rows.has_mark()
        numbers = np.arange(rows.count) * width
        return tuple(
            self._column(number, fields.take(pa.array(numbers + number)), nulls[number::width], rows, escaped)
            for number in range(width)
        )

    def _column(self, number: int, values: pa.BinaryArray, nulls: Bools, rows: Rows, escaped: bool) -> pa.StringArray:
        layout, written = self._layout, nulls
        if number in layout.force_null:
            nulls = nulls | np.asarray(pc.equal(values, pa.scalar(layout.null, pa.binary())))
        if number in layout.force_not_null:
            # In a column of FORCE_NOT_NULL, a field that looks like a null is text.
            nulls = nulls & ~written
        some, null = bool(nulls.any()), pa.array(nulls)
        if escaped:
            self._require_text(pc.if_else(null, pa.scalar(b"", pa.binary()), values) if some else values, rows)
        texts = values.view(pa.string())
        return pc.if_else(null, pa.scalar(None, pa.string()), texts) if some else texts

    def _require_text(self, values: pa.BinaryArray, rows: Rows) -> None:
        """Check that values are valid text: escapes may have made bytes that are not."""
        offsets = offsets_of(values)
        raw = values.buffers()[2]
        data = b"" if raw is None else memoryview(raw)[offsets[0] : offsets[-1]].tobytes()
        try:
            if "\0" not in data.decode():
                return
            at = data.find(b"\0")
        except UnicodeDecodeError as error:
            at = error.start
        row = int(np.searchsorted(offsets[1:] - offsets[0], at, side="right"))
        try:
            from_client(values[row].as_py(), "UTF8")
        except SqlError as error:
            raise self.add_context(error, int(rows.lines[row]), rows.line(row)) from None

    def header_error(self, rows: Rows) -> SqlError | None:
        """Return the error of a header, the first of these rows, that is not valid text, or has to name the columns and
        does not.
        """
        if (broken := self._broken_text(rows)) is not None and broken[0] == 0:
            return broken[1]
        return self._name_error(rows.upto(1)) if self._layout.header == "match" else None

    def _name_error(self, row: Rows) -> SqlError | None:
        fields = row.fields().cast(pa.string()).to_pylist()
        nulls = row.equal(self._layout.null) & ~row.has_mark()
        context = int(row.lines[0])
        if len(fields) != len(self._names):
            message = f"wrong number of fields in header line: got {len(fields)}, expected {len(self._names)}"
            return self.add_context(BadCopyFileFormat(message), context, row.line(0))
        for number, (got, null, expected) in enumerate(zip(fields, nulls, self._names, strict=True), 1):
            if null or got != expected:
                shown = f'got null value ("{self._layout.null.decode()}")' if null else f'got "{got}"'
                message = f'column name mismatch in header line field {number}: {shown}, expected "{expected}"'
                return self.add_context(BadCopyFileFormat(message), context, row.line(0))
        return None

    def add_context(self, error: SqlError, line: int, text: bytes | None = None) -> SqlError:
        """Add the line that an error is about to the error."""
        error.context = context(self._table, line, text)
        return error

    def wrong_bytes(self, error: UnicodeDecodeError) -> SqlError:
        """Return the error for bytes that are not valid text."""
        wrong = " ".join(f"0x{byte:02x}" for byte in error.object[error.start : max(error.end, error.start + 1)])
        return CharacterNotInRepertoire(f'invalid byte sequence for encoding "{self._encoding}": {wrong}')


def _is_text(raw: bytes) -> bool:
    try:
        return "\0" not in raw.decode()
    except UnicodeDecodeError:
        return False


def line_of(rows: Rows, row: int) -> tuple[int, bytes]:
    """Return the number of the line on which a row ends, and the row as it was sent."""
    return int(rows.lines[row]), rows.line(row)


def context(table: str, line: int, text: bytes | str | None = None, column: str | None = None) -> str:
    """Return the place of an error in the input (CopyFromErrorCallback). text: the line, or the column's value."""
    where = f"COPY {table}, line {line}"
    if column is not None:
        where += f", column {column}"
    if text is None:
        return where if column is None else f"{where}: null input"
    shown = text if isinstance(text, str) else text.decode(errors="replace")
    return f'{where}: "{shown if len(shown.encode()) <= _SHOWN else clip_text(shown)}"'


def clip_text(text: str) -> str:
    return text.encode()[:_SHOWN].decode(errors="ignore") + "..."
