"""Sends rows to a client: their description, and batches encoded as DataRow bytes page by page.

It stands between `server.cursors.portal`, which has the rows, and `server.pgwire.client_stream`, which has the socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

import pyarrow as pa

from engine.common.shielded import shielded
from engine.common.sql_type import SqlType
from engine.contracts.sessions import ResultColumn
from server.cursors.cursor import Run, rows_within
from server.cursors.formats import BINARY, TEXT
from server.pgwire.client_stream import ClientStream
from wire.errors import InvalidParameterValue, SqlError
from wire.pg import messages as m
from wire.pg.datarow import EncodedColumn, RowEncoder
from wire.types.text_settings import OutputSettings

#: Pages of at most so many columns are encoded on the event loop: each column takes some tenths of a millisecond.
_COLUMNS_AT_ONCE: Final = 100


def row_description(columns: Sequence[ResultColumn], formats: Sequence[int]) -> m.RowDescription:
    """Return a RowDescription; `formats` has one entry per column."""
    return m.RowDescription(tuple(map(_field, columns, formats)))


def _field(column: ResultColumn, form: int) -> m.Field:
    pg = column.type.pg
    return m.Field(column.name, column.table_oid, column.attribute, pg.oid, pg.length, column.type.typmod, form)


def spread_formats(formats: Sequence[int], count: int, complaint: str) -> tuple[int, ...]:
    """Return one format code for each of `count` items: no code means text for all, one code applies to all.

    complaint: the error message for any other number of codes, with placeholders for the two numbers.
    """
    if not formats:
        return (TEXT,) * count
    if len(formats) == 1:
        return (formats[0],) * count
    if len(formats) != count:
        raise SqlError(complaint.format(len(formats), count), sqlstate="08P01")
    return tuple(formats)


def require_known(formats: Sequence[int]) -> None:
    """Raise InvalidParameterValue for a format code that is neither text nor binary."""
    for form in formats:
        if form not in (TEXT, BINARY):
            raise InvalidParameterValue(f"unsupported format code: {form}")


def row_encoder(columns: Sequence[ResultColumn], formats: Sequence[int], settings: OutputSettings) -> RowEncoder:
    """Return an encoder of rows of these columns. Raises InvalidParameterValue: the formats of a result are not
    checked earlier.
    """
    require_known(formats)
    return RowEncoder([encoded_column(column.type) for column in columns], formats, settings)


def encoded_column(typ: SqlType) -> EncodedColumn:
    """Return the properties of a column of this type that an encoder needs."""
    fields = tuple(encoded_column(field) for _, field in typ.fields)
    return EncodedColumn(typ.pg, typ.typmod, typ.display, typ.minimum, fields)


async def send_rows(stream: ClientStream, encoder: RowEncoder, run: Run, page_bytes: int) -> int:
    """Send the rows of a movement, in pages, at the client's pace. Returns their number. page_bytes: as for `Pages`."""
    pages = Pages(stream, run, page_bytes)
    while (page := await pages.next_page()) is not None:
        await stream.send_long(m.Rows(await encode_page(encoder, page)))
    return run.rows


class PageEncoder(Protocol):
    """Encodes a page of rows as bytes."""

    def encode(self, batch: pa.RecordBatch) -> memoryview: ...


async def encode_page(encoder: PageEncoder, page: pa.RecordBatch) -> memoryview:
    """Encode a page. One of many columns takes long, however few its bytes: a thread of the loop's pool encodes it, so
    that no other client waits. Raises as the encoder does.
    """
    if page.num_columns <= _COLUMNS_AT_ONCE:
        return encoder.encode(page)
    return await shielded(asyncio.to_thread(encoder.encode, page))


class Pages:
    """The rows of a movement, in pages that are encoded and sent as a whole. page_bytes: their size, which is reduced
    while many clients do not read (`server.pgwire.output_budget`).
    """

    def __init__(self, stream: ClientStream, run: Run, page_bytes: int) -> None:
        self._stream = stream
        self._run = run
        self._page_bytes = page_bytes
        self._rest: pa.RecordBatch | None = None

    async def next_page(self) -> pa.RecordBatch | None:
        """Return the next page; None at the end."""
        batch, self._rest = self._rest, None
        if batch is None and (batch := await self._run.next_batch()) is None:
            return None
        rows = rows_within(batch, self._stream.output.page_bytes(self._page_bytes))
        if rows == batch.num_rows:
            return batch
        self._rest = batch.slice(rows)
        return batch.slice(0, rows)
