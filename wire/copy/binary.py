"""PostgreSQL's binary format of COPY: a signature, rows whose fields carry their own lengths, and a trailer.

    reader = BinaryReader("t", ("a", "b"))
    for block in reader.feed(piece): ...
    for block in reader.finish(): ...

The end of a row follows only from its fields, one after another. To avoid this loop over rows, the reader looks at
every position that holds the expected number of fields, since a row might begin there. It computes for all these
positions at once where such a row would end. It then finds the positions that are reached from the first one; this
takes as many steps as the number of rows has binary digits.

Source: PostgreSQL 15, copyfromparse.c (ReceiveCopyBinaryHeader, NextCopyFrom, CopyReadBinaryAttribute).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wire.copy.block import Bytes1D
from wire.copy.reader import BLOCK_BYTES
from wire.copy.text_columns import Block, context
from wire.errors import BadCopyFileFormat, SqlError
from wire.types.byte_columns import Bools, Ints, binary_array

SIGNATURE: Final = b"PGCOPY\n\xff\r\n\0"
_HEADER_BYTES: Final = len(SIGNATURE) + 8
_OIDS: Final = 1 << 16
_END: Final = -1


class BinaryReader:
    """The reader of the binary format (see the module's docstring). table, names: the table's name and those of the
    columns, for errors. A block's columns are arrays of bytes.
    """

    def __init__(self, table: str, names: Sequence[str]) -> None:
        self._table = table
        self._names = tuple(names)
        self._held = bytearray()
        self._wanted = BLOCK_BYTES
        self._begun = self._ended = self._over = False
        self._rows = 0

    def feed(self, piece: bytes) -> Iterator[Block]:
        """Yield the complete rows, once there are enough of them."""
        for at in range(0, len(piece), BLOCK_BYTES):
            self._held += piece[at : at + BLOCK_BYTES]
            if len(self._held) >= self._wanted:
                yield from self._blocks(final=False)

    def flush(self) -> Iterator[Block]:
        """Yield the complete rows, even if they are few, unless a long row has begun: it would be searched each time."""
        if len(self._held) < BLOCK_BYTES:
            yield from self._blocks(final=False)

    def finish(self) -> Iterator[Block]:
        """Yield the remaining rows: no more bytes will come."""
        yield from self._blocks(final=True)

    def _blocks(self, *, final: bool) -> Iterator[Block]:
        if self._over or not (self._begun or self._begin(final=final)):
            return
        data = bytes(self._held)
        starts, consumed = (np.empty(0, np.int64), 0) if self._ended else self._row_starts(data)
        columns = self._columns(data, starts)
        first, self._rows = self._rows, self._rows + len(starts)
        del self._held[:consumed]
        error = self._behind(bytes(self._held), final=final)
        self._wanted = len(self._held) + BLOCK_BYTES
        if len(starts) or error is not None:
            self._over = error is not None
            yield Block(columns, len(starts), lambda row: (first + row + 1, None), lambda: first + 1, error)

    def _begin(self, *, final: bool) -> bool:
        """Read the header that stands before the rows. Returns False if its end may still come. Raises
        BadCopyFileFormat.
        """
        held = self._held
        if not final and len(held) < _HEADER_BYTES:
            return False
        if not held.startswith(SIGNATURE):
            raise BadCopyFileFormat("COPY file signature not recognized")
        if len(held) < _HEADER_BYTES:
            lacking = "flags" if len(held) < _HEADER_BYTES - 4 else "length"
            raise BadCopyFileFormat(f"invalid COPY file header (missing {lacking})")
        flags, more = struct.unpack_from("!Ii", held, len(SIGNATURE))
        if flags & _OIDS:
            raise BadCopyFileFormat("invalid COPY file header (WITH OIDS)")
        if flags >> 16:
            raise BadCopyFileFormat("unrecognized critical flags in COPY file header")
        if more < 0:
            raise BadCopyFileFormat("invalid COPY file header (missing length)")
        if len(held) < _HEADER_BYTES + more:
            if not final:
                return False
            raise BadCopyFileFormat("invalid COPY file header (wrong length)")
        del held[: _HEADER_BYTES + more]
        self._begun = True
        return True

    # -- rows ----------------------------------------------------------------------------------------------------

    def _row_starts(self, data: bytes) -> tuple[Ints, int]:
        """Return the positions where complete rows begin, one after another from the first byte on, and the position
        where the last of them ends.
        """
        raw = np.frombuffer(data, np.uint8)
        width = len(self._names)
        if len(raw) < 2:
            return np.empty(0, np.int64), 0
        places = np.flatnonzero((raw[:-1] == width >> 8) & (raw[1:] == width & 0xFF))
        ends, whole = self._ends(raw, places)
        # For each position, the index of the position where its row ends; the last index means that there is none.
        nowhere = len(places)
        following = np.searchsorted(places, ends)
        follows = whole & (following < nowhere)
        follows[follows] = places[following[follows]] == ends[follows]
        step = np.append(np.where(follows, following, nowhere), nowhere)
        reached = np.flatnonzero(whole[:1] & (places[:1] == 0))
        while len(reached):
            more = step[reached]
            more = more[more < nowhere]
            more = more[whole[more]]
            if not len(more):
                break
            reached = np.concatenate((reached, more))
            step = step[step]
        return places[reached], int(ends[reached[-1]]) if len(reached) else 0

    def _ends(self, raw: Bytes1D, places: Ints) -> tuple[Ints, Bools]:
        """Return the positions where rows would end that begin at these places, and whether each row is complete."""
        at, whole = places + 2, np.ones(len(places), np.bool_)
        for _ in self._names:
            sizes, known = _sizes(raw, at)
            whole &= known & (sizes >= -1)
            at = np.where(whole, at + 4 + np.maximum(sizes, 0), 0)
            whole &= at <= len(raw)
        return at, whole

    def _columns(self, data: bytes, starts: Ints) -> tuple[pa.BinaryArray, ...]:
        raw = np.frombuffer(data, np.uint8)
        at, found = starts + 2, []
        for _ in self._names:
            sizes, _known = _sizes(raw, at)
            begin = at + 4
            at = begin + np.maximum(sizes, 0)
            between = np.empty(2 * len(starts), np.int64)
            between[0::2], between[1::2] = begin, at
            pairs = binary_array(np.append(between, between[-1:] if len(between) else [0]), raw)
            values = pairs.take(pa.array(np.arange(0, 2 * len(starts), 2)))
            nulls = sizes == -1
            found.append(pc.if_else(pa.array(nulls), pa.scalar(None, pa.binary()), values) if nulls.any() else values)
        return tuple(found)

    # -- after the rows ------------------------------------------------------------------------------------------

    def _behind(self, rest: bytes, *, final: bool) -> SqlError | None:
        """Return the error in bytes that are not a complete row. Notes the trailer if the bytes are the trailer."""
        line, after = self._rows + 1, BadCopyFileFormat("received copy data after EOF marker")
        if self._ended:
            return self._add_context(after, line) if rest else None
        if len(rest) < 2:
            return None
        (count,) = struct.unpack_from("!h", rest)
        if count == _END:
            self._ended = True
            del self._held[:2]
            return self._add_context(after, line) if self._held else None
        if count != len(self._names):
            message = f"row field count is {count}, expected {len(self._names)}"
            return self._add_context(BadCopyFileFormat(message), line)
        return self._in_row(rest, line, final=final)

    def _in_row(self, rest: bytes, line: int, *, final: bool) -> SqlError | None:
        """Return the error of a row that is incomplete and cannot become complete."""
        at = 2
        for name in self._names:
            if at + 4 <= len(rest):
                (size,) = struct.unpack_from("!i", rest, at)
                if size < -1:
                    return self._add_context(BadCopyFileFormat("invalid field size"), line, name)
                at += 4 + max(size, 0)
            else:
                at = len(rest) + 1
            if at > len(rest):
                return (
                    self._add_context(BadCopyFileFormat("unexpected EOF in COPY data"), line, name) if final else None
                )
        return None

    def _add_context(self, error: SqlError, line: int, column: str | None = None) -> SqlError:
        error.context = context(self._table, line) + (f", column {column}" if column else "")
        return error


def _sizes(raw: Bytes1D, at: Ints) -> tuple[Ints, Bools]:
    """Return the lengths stored at these positions, and which of them are within the data."""
    known = at + 4 <= len(raw)
    safe = np.where(known, at, 0)
    size = np.zeros(len(at), np.uint32)
    if len(raw) >= 4:
        for byte in range(4):
            size = (size << np.uint32(8)) | raw[safe + byte]
    return size.view(np.int32).astype(np.int64), known
