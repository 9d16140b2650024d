"""Pages of a cursor between members: taken from a movement as bytes, and decoded again, with the descriptions of their
columns.

A page is bounded in bytes and not only in rows, so that a FETCH ALL of wide rows costs neither member more memory than
that. Its bytes are an Arrow IPC stream with a schema of its own, since the dimensions of arrays are known only from the
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from engine.common.sql_type import SqlType
from engine.contracts.sessions import ResultColumn
from server.cursors.cursor import Run
from wire.dataclass import dataclass
from wire.errors import ConnectionFailure, ProgramLimitExceeded
from wire.mesh.control_channel import BODY_BYTES_MAX
from wire.mesh.cursor_columns import ColumnType, CursorColumn
from wire.types.carriers import NumericScale
from wire.types.user_types import type_heard, type_told

#: The limit of any page: heartbeats and cancels wait behind it on the connection between the members.
PAGE_BYTES_MAX: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Page:
    """passed: the number of rows. body: the rows as bytes, empty if there are none. last: whether the movement is
    over.
    """

    passed: int
    body: bytes
    last: bool


async def take_page(run: Run, page_bytes: int) -> Page:
    """Take the next rows of a movement, up to about `page_bytes`. Raises ProgramLimitExceeded for a row that is too
    large.
    """
    left = min(page_bytes, PAGE_BYTES_MAX)
    batches: list[pa.RecordBatch] = []
    while left > 0 and not run.over and (batch := await run.next_batch(left)) is not None:
        batches.append(batch)
        left -= max(batch.nbytes, 1)
    return Page(sum(batch.num_rows for batch in batches), _encode_batches(batches), run.over)


def _encode_batches(batches: Sequence[pa.RecordBatch]) -> bytes:
    if not batches:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    body = sink.getvalue()
    if body.size > BODY_BYTES_MAX:
        raise ProgramLimitExceeded(
            f"a page of {body.size} bytes is too large to be passed on between members",
            detail=f"At most {BODY_BYTES_MAX} bytes can be, and a page has at least one row.",
            hint="Fetch it in the session that the cursor was declared in.",
        )
    return bytes(body)


def page_rows(body: bytes) -> list[pa.RecordBatch]:
    """Decode the rows of a page. Raises ConnectionFailure for invalid bytes."""
    if not body:
        return []
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            batches = [batch for batch in reader if batch.num_rows]
        for batch in batches:
            batch.validate()
    except (pa.ArrowException, OSError, EOFError) as error:
        raise ConnectionFailure("a member sent a page that cannot be read", detail=str(error)) from error
    return batches


def describe_columns(columns: Sequence[ResultColumn]) -> list[CursorColumn]:
    """Return the columns as they are described to another member."""
    return [CursorColumn(c.name, _describe_type(c.type), c.table_oid, c.attribute) for c in columns]


def _describe_type(typ: SqlType) -> ColumnType:
    fields = tuple((name, _describe_type(field)) for name, field in typ.fields)
    return ColumnType(type_told(typ.pg), typ.typmod, typ.precision, typ.scale, typ.display.value, typ.minimum, fields)


def result_columns(columns: Sequence[CursorColumn]) -> tuple[ResultColumn, ...]:
    """Return the columns that another member has described. Raises KeyError or ValueError for an unknown type."""
    return tuple(ResultColumn(c.name, _type(c.type), c.table_oid, c.attribute) for c in columns)


def _type(said: ColumnType) -> SqlType:
    fields = tuple((name, _type(field)) for name, field in said.fields)
    display = NumericScale(said.display)
    return SqlType(type_heard(said.type), said.typmod, said.precision, said.scale, display, said.minimum, fields)
