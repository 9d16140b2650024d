"""JSON as COPY writes it into files: one object a line. The interface is that of `wire.copy.writer.RowWriter`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from wire.types.byte_columns import as_binary, constant, fixed_array, join, offsets_of


class JsonLines:
    """Writes batches that have one column, the texts of the objects."""

    def header(self) -> memoryview:
        return memoryview(b"")

    def encode(self, batch: pa.RecordBatch) -> memoryview:
        # Line ends in the text are between values: those within strings are escaped.
        texts = as_binary(pc.replace_substring(batch.column(0), "\n", " "))
        lines = join([texts, fixed_array(constant(batch.num_rows, b"\n"))])
        offsets, data = offsets_of(lines), lines.buffers()[2]
        return memoryview(b"") if data is None else memoryview(data)[offsets[0] : offsets[-1]]

    def trailer(self) -> memoryview:
        return memoryview(b"")
