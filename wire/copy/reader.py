"""The reader of COPY FROM: it cuts received bytes into blocks of whole rows, and blocks into columns of text.

    reader = RowReader(layout, ("a", "b"), encoding="UTF8")
    for piece in pieces: for block in reader.feed(piece): ...
    for block in reader.finish(): ...

Errors keep the order of rows: the reader first returns the rows before a wrong one, then it raises the error with the
line (`Block.error`). The end of the first line decides how lines end. A different line end later is an error, because a
byte order mark or a lone carriage return would otherwise become part of a value.

Source: PostgreSQL 15, copyfromparse.c (CopyReadLineText, NextCopyFromRawFields, NextCopyFrom).
"""

from __future__ import annotations

import codecs
import functools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from wire.copy import plain, quoted, text
from wire.copy.block import Bytes1D, Marks, Rows
from wire.copy.end_marker import CORRUPT, MARKER, bytes_needed, find_fault, find_markers
from wire.copy.options import Layout
from wire.copy.text_columns import Block, TextColumns, line_of
from wire.errors import BadCopyFileFormat, SqlError
from wire.types.byte_columns import Ints
from wire.types.client_encodings import codec

#: The number of bytes that are split at once, and the maximum of a row.
BLOCK_BYTES: Final = 2 << 20
ROW_BYTES_MAX: Final = (1 << 30) - 1


class RowReader:
    """The reader of the text formats (see the module's docstring). table, names: the table's name and those of the
    columns, for errors and headers. encoding: the encoding of the bytes.
    """

    def __init__(self, layout: Layout, table: str, names: Sequence[str], encoding: str) -> None:
        self._layout = layout
        self._table = table
        self._names = tuple(names)
        self._decoder = None if encoding in ("UTF8", "SQL_ASCII") else codecs.getincrementaldecoder(codec(encoding))()
        self._columns = TextColumns(layout, table, names, "UTF8" if self._decoder is None else encoding)
        self._held = bytearray()
        self._wanted = BLOCK_BYTES
        self._end: bytes | None = None
        self._lines = 0
        self._header = layout.header != "none"
        self._over = False

    def feed(self, piece: bytes) -> Iterator[Block]:
        """Yield the complete rows, once there are enough of them. Bytes after the end of the data are ignored."""
        for at in range(0, len(piece), BLOCK_BYTES):
            if self._over:
                return
            self._held += self._decode_piece(piece[at : at + BLOCK_BYTES], final=False)
            if len(self._held) >= self._wanted:
                yield from self._blocks(final=False)

    def flush(self) -> Iterator[Block]:
        """Yield the complete rows, even if they are few, unless a long row has begun: it would be searched each time."""
        if not self._over and len(self._held) < BLOCK_BYTES:
            yield from self._blocks(final=False)

    def finish(self) -> Iterator[Block]:
        """Yield the remaining rows: no more bytes will come."""
        if not self._over:
            self._held += self._decode_piece(b"", final=True)
            yield from self._blocks(final=True)

    def _decode_piece(self, piece: bytes, *, final: bool) -> bytes:
        if self._decoder is None:
            return piece
        try:
            return self._decoder.decode(piece, final).encode()
        except UnicodeDecodeError as error:
            raise self._columns.add_context(self._columns.wrong_bytes(error), self._lines + 1) from None

    def _blocks(self, *, final: bool) -> Iterator[Block]:
        if self._held and not self._header and (block := self._plain(final=final)) is not None:
            yield block
            if not final or not self._held:
                return
        rows, error = self._rows(final=final)
        if self._header and (rows.count or error is not None):
            rows, error = self._without_header(rows, error)
        if rows.count or error is not None:
            block = self._columns.block(rows, error)
            self._over = self._over or block.error is not None
            yield block

    # -- plain rows ----------------------------------------------------------------------------------------------

    def _plain(self, *, final: bool) -> Block | None:
        """Return all complete rows, if they are plain."""
        if self._end == b"\r":
            return None
        data = bytes(self._held)
        if final and not data.endswith(b"\n"):
            data += self._end or b"\n"
        size = plain.cut(data, self._layout)
        if not size or (final and size < len(data)):
            return None
        data = data[:size] if size < len(data) else data
        columns = plain.columns(data, self._layout, len(self._names), crnl=self._end == b"\r\n")
        if columns is None:
            return None
        count, lines = len(columns[0]), data.count(b"\n")
        if self._end is None and count != lines:
            return None  # the count of lines within quotes depends on later bytes
        self._end = self._end or b"\n"
        del self._held[:size]
        self._wanted = len(self._held) + BLOCK_BYTES
        first = self._lines
        rows = functools.cache(functools.partial(self._again, data, first))
        self._lines += lines
        return Block(
            tuple(columns),
            count,
            lambda row: line_of(rows(), row),
            lambda: first + 1 if count == lines else rows().lines,
        )

    def _again(self, data: bytes, lines: int) -> Rows:
        """Return rows that were read as plain, with their positions."""
        again = RowReader(self._layout, self._table, self._names, "UTF8")
        again._end, again._lines, again._held = self._end, lines, bytearray(data)
        return again._rows(final=True)[0]

    # -- rows ----------------------------------------------------------------------------------------------------

    def _rows(self, *, final: bool) -> tuple[Rows, SqlError | None]:
        """Take all complete rows out of the held bytes."""
        data = np.frombuffer(bytes(self._held), np.uint8)
        if final:
            data = self._terminate_last_row(data)
        marks = self._marks(data)
        unterminated = final and self._layout.csv and not marks.closed
        data, marks, corrupt = self._upto_end_of_data(data, marks, final=final)
        known = self._end is not None
        nothing_follows = final or self._over or corrupt is not None
        stops, behind, wrong = self._row_ends(data, marks, final=nothing_follows)
        fields = int(np.searchsorted(marks.separators, stops[-1], side="right")) if len(stops) else 0
        consumed = int(behind[-1]) if len(behind) else 0
        del self._held[:consumed]
        if not len(stops):
            self._wanted = 2 * len(self._held) + BLOCK_BYTES
            if len(self._held) > ROW_BYTES_MAX:
                raise BadCopyFileFormat("a row has more than 1 GB", sqlstate="54000")
        else:
            self._wanted = len(self._held) + BLOCK_BYTES
        rows = self._taken(data, marks, fields, stops, behind, known=known)
        wrong = wrong or corrupt
        if wrong is not None:
            self._over = True
            return rows, self._columns.add_context(wrong, self._lines + 1)
        if unterminated and not self._over:
            self._over = True
            return rows, self._unterminated_error(data[consumed:].tobytes())
        return rows, None

    def _marks(self, data: Bytes1D) -> Marks:
        return quoted.marks(data, self._layout) if self._layout.csv else text.marks(data, self._layout)

    def _terminate_last_row(self, data: Bytes1D) -> Bytes1D:
        """Return the data with a line end after the last row, if it has none."""
        if not len(data):
            return data
        if is_cut := not self._layout.csv and len(data) - 1 in text.find_escapes(data)[-1:]:
            # The row is there, even if the backslash is all of it.
            data = data[:-1]
        marks = self._marks(data)
        if self._layout.csv and not marks.closed:
            return data
        last = marks.separators[-1] if len(marks.separators) else -1
        end = self._end or _line_end(data, marks.separators[marks.ends])
        half = end == b"\r\n" and len(data) > 0 and data[-1] == 13
        if not is_cut and 0 <= last == len(data) - 1 and marks.ends[-1] and not half:
            return data
        return np.concatenate((data, np.frombuffer(end, np.uint8)))

    def _unterminated_error(self, line: bytes) -> SqlError:
        number = self._lines + 1 + line.count(b"\n" if self._end == b"\n" else b"\r")
        return self._columns.add_context(BadCopyFileFormat("unterminated CSV quoted field"), number, line)

    def _upto_end_of_data(self, data: Bytes1D, marks: Marks, *, final: bool) -> tuple[Bytes1D, Marks, SqlError | None]:
        r"""Return the data before `\.`, if it is there, and the error of a wrong one. Without the bytes that decide whether
        it is wrong, return the lines before it.
        """
        csv, ends = self._layout.csv, marks.separators[marks.ends]
        for at, begin in find_markers(data, ends, csv=csv):
            end = self._end or (_line_end(data, ends) if begin else None)
            after = at + len(MARKER)
            behind = bytes(self._held[after : after + bytes_needed(end)])
            if len(behind) < bytes_needed(end) and not final:
                return data[:begin], marks.upto(begin), None
            fault = find_fault(behind, end, csv=csv)
            if fault is None:
                self._over = True
                if at == begin:
                    return data[:at], marks.upto(at), None
                data = np.concatenate((data[:at], np.frombuffer(end or b"\n", np.uint8)))
                return data, self._marks(data), None
            if fault != CORRUPT or not csv:
                return data[:begin], marks.upto(begin), BadCopyFileFormat(fault)
        return data, marks, None

    def _row_ends(self, data: Bytes1D, marks: Marks, *, final: bool) -> tuple[Ints, Ints, SqlError | None]:
        """Return the positions where rows end and where the next ones begin, and the error after the last of them."""
        ends = marks.separators[marks.ends]
        if not final and len(ends) and ends[-1] == len(data) - 1 and data[ends[-1]] == 13:
            ends = ends[:-1]  # a newline may still follow
        if not len(ends):
            return ends, ends, None
        self._end = self._end or _line_end(data, ends)
        return self._checked_ends(data, ends)

    def _checked_ends(self, data: Bytes1D, ends: Ints) -> tuple[Ints, Ints, SqlError | None]:
        returns = data[ends] == 13
        if self._end != b"\r\n":
            wrong = returns if self._end == b"\n" else ~returns
            stops, behind = ends, ends + 1
        else:
            follows = np.append(data, 0)[ends + 1] == 10
            paired = np.zeros(len(data) + 2, np.bool_)
            paired[ends[returns & follows] + 1] = True
            second = ~returns & paired[ends]
            wrong = ~second & ~(returns & follows)
            stops, behind = ends[~second], ends[~second] + 2
            wrong = wrong[~second]
            returns = returns[~second]
        if not wrong.any():
            return stops, behind, None
        at = int(np.argmax(wrong))
        return stops[:at], behind[:at], self._stray(bool(returns[at]))

    def _stray(self, is_return: bool) -> SqlError:
        what = "carriage return" if is_return else "newline"
        if self._layout.csv:
            hint = f"Use quoted CSV field to represent {what}."
            return BadCopyFileFormat(f"unquoted {what} found in data", hint=hint)
        letter = "\\r" if is_return else "\\n"
        return BadCopyFileFormat(f"literal {what} found in data", hint=f'Use "{letter}" to represent {what}.')

    def _taken(self, data: Bytes1D, marks: Marks, fields: int, stops: Ints, behind: Ints, *, known: bool) -> Rows:
        separators, is_end = marks.separators[:fields], marks.ends[:fields]
        if self._end == b"\r\n":
            second = is_end & (data[separators] == 10)
            separators, is_end = separators[~second], is_end[~second]
        starts = np.concatenate(([0], separators[:-1] + np.where(is_end[:-1], len(self._end or b"\n"), 1)))
        firsts = np.concatenate(([0], np.flatnonzero(is_end) + 1))
        lines = self._lines + 1 + np.arange(len(stops))
        if self._layout.csv and len(marks.marked):
            # Line ends within quotes count as lines too; on the first line PostgreSQL does not know yet how lines end.
            counts = data == (10 if self._end == b"\n" else 13)
            if not known and len(stops):
                counts[: stops[0]] = data[: stops[0]] == 13
            every = np.flatnonzero(counts)
            lines = self._lines + 1 + np.searchsorted(every, stops)
        if len(stops):
            self._lines = int(lines[-1])
            data = data[: int(behind[-1])]
        size = len(data)
        kept = marks.replaced < size
        marks = Marks(
            separators, is_end, marks.drop[marks.drop < size], marks.replaced[kept], marks.by[kept],
            marks.marked[marks.marked < size],
        )  # fmt: skip
        return Rows(data, starts[: len(separators)], separators, firsts, lines, marks)

    # -- the header ----------------------------------------------------------------------------------------------

    def _without_header(self, rows: Rows, error: SqlError | None) -> tuple[Rows, SqlError | None]:
        if not rows.count:
            return rows, error
        self._header = False
        wrong = self._columns.header_error(rows)
        if wrong is not None:
            self._over = True
            return rows.upto(0), wrong
        return rows.after(1), error


def _line_end(data: Bytes1D, ends: Ints) -> bytes:
    """Return how lines end: as the first one does. ends: the positions of the ends; where there is none, it is a newline."""
    if not len(ends) or data[ends[0]] == 10:
        return b"\n"
    return b"\r\n" if data[ends[0] + 1 : ends[0] + 2].tobytes() == b"\n" else b"\r"
