"""The layout of rows in COPY's text formats, as COPY's options describe it."""

from __future__ import annotations

from typing import Literal

from wire.dataclass import dataclass

Header = Literal["none", "present", "match"]


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of rows. delimiter, and quote and escape, which only CSV has: one byte each. null: the representation
    of null, in the server's encoding.

    csv: whether it is CSV rather than PostgreSQL's text format. force_quote: columns (by number) whose values are
    always quoted. force_not_null, force_null: columns whose `null` is text, and whose quoted `null` is null.
    """

    csv: bool = False
    delimiter: bytes = b"\t"
    null: bytes = b"\\N"
    header: Header = "none"
    quote: bytes = b'"'
    escape: bytes = b'"'
    force_quote: frozenset[int] = frozenset()
    force_not_null: frozenset[int] = frozenset()
    force_null: frozenset[int] = frozenset()
