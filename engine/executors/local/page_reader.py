"""Batches of the requested size, in carriers, made from DuckDB's batches."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from engine.contracts.output_cast import carry_to, match_dimensions
from engine.storage.infinities import with_infinities
from wire.dataclass import dataclass

#: The size of DuckDB's vector: a batch of fewer rows is most likely the last.
VECTOR: Final = 2048
_BATCH_ROWS_MAX: Final = 131_072
#: Pages per batch of rows of variable width. With one, each page would cost a trip to the pool.
_PAGES: Final = 2
#: The assumed size of a value whose type does not determine it.
_VARIABLE_WIDTH: Final = 24


class PageReader:
    """Reads the batches of one result. Only one thread may use it at a time.

    schema: the schema of the batches, in carriers. page_bytes: the size of a page; a batch may have several pages.
    is_drained: whether DuckDB has returned everything. is_stopped: whether nobody wants more rows; a batch is then cut
    short.
    """

    def __init__(self, schema: pa.Schema, page_bytes: int) -> None:
        self.sizes = _BatchSizes.of(schema, page_bytes)
        self.is_drained = False
        self.is_stopped = False
        self._schema = schema

    def next_page(self, reader: Any) -> pa.RecordBatch | None:
        """Return the next non-empty batch of a result, in carriers; None at the end. reader: DuckDB's reader."""
        sizes, parts, rows, size, largest = self.sizes, list[pa.RecordBatch](), 0, 0, 0
        # As many parts as fit: the rest of a part that exceeds the page's size would be sent as a page of its own.
        while (
            rows < sizes.rows_max
            and size + largest <= sizes.bytes_max
            and (part := self._next_part(reader)) is not None
        ):
            parts.append(part)
            rows += part.num_rows
            size += part.nbytes
            largest = max(largest, part.nbytes)
            if self.is_stopped:
                break
        if len(parts) > 1:
            return pa.concat_batches(parts)
        return parts[0] if parts else None

    def _next_part(self, reader: Any) -> pa.RecordBatch | None:
        """Return DuckDB's next non-empty batch, in carriers; None at the end."""
        while not self.is_drained:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                self.is_drained = True
                break
            if batch.num_rows:
                return with_infinities(carry_to(batch, match_dimensions(self._schema, batch.schema)))
        return None


@dataclass(frozen=True, slots=True)
class _BatchSizes:
    """The sizes of a stream's batches. read_rows: the number of rows that DuckDB returns at a time. rows_max,
    bytes_max: a batch is complete when it reaches either.
    """

    read_rows: int
    rows_max: int
    bytes_max: int

    @classmethod
    def of(cls, schema: pa.Schema, page_bytes: int) -> _BatchSizes:
        """Choose the sizes for a schema. If the types determine the width of a row, DuckDB returns whole batches.
        Other rows may have any width, and DuckDB computes two more batches before the first one is taken; so they come
        a vector at a time and are concatenated here.
        """
        rows = batch_rows(schema, page_bytes)
        known = all(_width(typ) is not None for typ in schema.types)
        return cls(rows if known else VECTOR, rows, _PAGES * page_bytes)


def batch_rows(schema: pa.Schema, page_bytes: int) -> int:
    """Return how many rows of these carriers make a batch of about `page_bytes`: a multiple of DuckDB's vector."""
    width = sum(_width(typ) or _VARIABLE_WIDTH for typ in schema.types) or 1
    vectors = min(page_bytes // width, _BATCH_ROWS_MAX) // VECTOR
    return max(vectors, 1) * VECTOR


def _width(typ: pa.DataType) -> int | None:
    """Return the bytes of a value; None if values differ in size."""
    try:
        return max(int(typ.bit_width) // 8, 1)
    except ValueError:
        return None
