r"""Plain rows: rows that Arrow and PostgreSQL read alike. Arrow's CSV reader reads them, several times as fast as ours.

Arrow's dialect and PostgreSQL's agree on most of the data that clients send. The positions of a few bytes show cheaply
whether they may differ. If they may, or if Arrow refuses a block (a row with too few fields, bytes that are not valid
text), this module raises no error: the exact reader reads the block and raises PostgreSQL's errors.

Arrow reads differently: empty lines (as rows of nulls); quotes in the middle of a field, which PostgreSQL allows to
open and close there; an escape that is not the quote; carriage returns; `\.`; backslashes of the text format other than
those of nulls; a byte order mark; zero bytes.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from wire.copy.options import Layout

_BOM: Final = b"\xef\xbb\xbf"
#: The number of line ends that are tried before the bytes are left to the exact reader.
_TRIES: Final = 64


def cut(data: bytes, layout: Layout) -> int:
    """Return how many bytes are complete rows, if the rows are plain; 0 if this cannot be found quickly."""
    at = data.rfind(b"\n") + 1
    if not layout.csv:
        return at
    open_ = data.count(layout.quote, 0, at) % 2
    for _ in range(_TRIES):
        if not open_ or not at:
            return at
        before = data.rfind(b"\n", 0, at - 1) + 1
        open_ ^= data.count(layout.quote, before, at) % 2
        at = before
    return 0


def columns(data: bytes, layout: Layout, width: int, *, crnl: bool) -> list[pa.StringArray] | None:
    r"""Return the columns of complete rows, text or null; None if the rows are not plain. crnl: whether lines end with
    `\r\n`.
    """
    if not width or layout.force_null or layout.force_not_null or not _plain(data, layout, crnl=crnl):
        return None
    if width > 1 and (data.startswith((b"\n", b"\r")) or b"\n\n" in data or b"\n\r" in data):
        return None
    names = [str(number) for number in range(width)]
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
            arrow_csv.ParseOptions(
                delimiter=layout.delimiter.decode(), quote_char=layout.quote.decode() if layout.csv else False,
                double_quote=layout.csv, escape_char=False, newlines_in_values=layout.csv, ignore_empty_lines=False,
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), null_values=[layout.null.decode()],
                strings_can_be_null=True, quoted_strings_can_be_null=False,
            ),
        )  # fmt: skip
    except pa.ArrowInvalid:
        return None
    found = [_whole(column) for column in table.columns]
    if not layout.csv and sum(column.null_count for column in found) < data.count(b"\\"):
        return None
    return found


def _plain(data: bytes, layout: Layout, *, crnl: bool) -> bool:
    returns = data.count(b"\r")
    if returns and not (crnl and returns == data.count(b"\r\n") == data.count(b"\n")):
        return False
    if (crnl and not returns) or b"\0" in data or data.startswith(_BOM):
        return False
    if not layout.csv:
        return b"\\" not in data or layout.null == b"\\N"
    return layout.quote == layout.escape and b"\\." not in data and _fields_quoted(data, layout)


def _fields_quoted(data: bytes, layout: Layout) -> bool:
    """Return whether quotes occur only around whole fields, and doubled within them."""
    if layout.quote not in data:
        return True
    raw = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(raw == layout.quote[0])
    if len(quotes) % 2:
        return False
    outside = np.zeros(256, np.bool_)
    outside[[layout.delimiter[0], layout.quote[0], 10, 13]] = True
    opening, closing = quotes[0::2], quotes[1::2]
    before = raw[np.maximum(opening - 1, 0)]
    begins = outside[before] | (opening == 0)
    # Of two adjacent quotes, the first must close the field that the second opens again, which parity ensures already.
    ends = outside[raw[np.minimum(closing + 1, len(raw) - 1)]] | (closing == len(raw) - 1)
    return bool(begins.all() and ends.all())


def _whole(column: pa.ChunkedArray) -> pa.StringArray:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([pa.array([], pa.string()), *column.chunks])
