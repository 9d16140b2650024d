r"""`\.`, which ends the data of COPY FROM before its last byte.

In the text format it may stand behind the last row's values, and is an error unless a line end as those before follows.
In CSV it is alone on a line; `\.` before anything but a line end is text. A line end of another style is an error in
both. Bytes that are not there count as zero.

Source: PostgreSQL 15, copyfromparse.c (CopyReadLineText).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from wire.copy import text
from wire.copy.block import Bytes1D
from wire.types.byte_columns import Ints

MARKER: Final = b"\\."
CORRUPT: Final = "end-of-copy marker corrupt"
_OTHER_STYLE: Final = "end-of-copy marker does not match previous newline style"
_CRNL: Final = b"\r\n"


def find_markers(data: Bytes1D, ends: Ints, *, csv: bool) -> Iterator[tuple[int, int]]:
    """Yield where markers are, and where their lines begin. data: begins with a row. ends: the positions of line ends."""
    raw = data.tobytes()
    at = raw.find(MARKER)
    escapes = frozenset() if at < 0 or csv else frozenset(text.find_escapes(data).tolist())
    while at >= 0:
        before = int(np.searchsorted(ends, at))
        begin = int(ends[before - 1]) + 1 if before else 0
        if at == begin if csv else at in escapes:
            yield at, begin
        at = raw.find(MARKER, at + 1)


def bytes_needed(end: bytes | None) -> int:
    """Return how many bytes after a marker are looked at. end: how lines end, if that is known."""
    return len(end or b"\n")


def find_fault(behind: bytes, end: bytes | None, *, csv: bool) -> str | None:
    """Return the error of a marker, None if it ends the data. behind: the bytes behind it. end: as the lines before
    the marker end, if there are any. In CSV, a `CORRUPT` marker is text.
    """
    first, last = behind[:1], behind[1:2] if end == _CRNL else behind[:1]
    if end == _CRNL and first == b"\n":
        return CORRUPT if csv else _OTHER_STYLE
    if (end == _CRNL and first != b"\r") or last not in (b"\r", b"\n"):
        return CORRUPT
    return None if end is None or last == end[-1:] else _OTHER_STYLE
