"""The copy subprotocols: rows from the client into a statement, and a statement's rows to the client.

This module handles a client that stops in the middle (CopyFail), is slow or disconnects; the engine reports mistakes in
the rows. Rows are read on demand: until then they wait in the client's socket.

Source: PostgreSQL 15, 55.2.6 "COPY Operations"; copyfromparse.c (CopyGetData).
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from engine.statements.copy.copied_files import CopiedFiles
from engine.statements.copy.copy_from import CopyFromExecution
from engine.statements.copy.copy_to import CopyToExecution
from engine.statements.copy.folder_target import CopiedFolder
from server.cursors.portal import Portal
from server.pgwire.exchange_of_messages import Exchange
from server.pgwire.results import Pages, encode_page
from wire.copy.writer import RowWriter
from wire.errors import QueryCanceled
from wire.pg import messages as m
from wire.pg.binary_rows import BinaryRows
from wire.pg.values.binary_input import receive_column
from wire.types.client_encodings import from_client


async def copy(exchange: Exchange, portal: Portal) -> int:
    """Execute a portal's COPY, if it is one. Returns the number of rows that were transferred."""
    match portal.execution:
        case CopiedFiles() | CopiedFolder() as execution:
            return await execution.write()
        case CopyFromExecution() as execution:
            return await _copy_in(exchange, execution)
        case CopyToExecution() as execution:
            return await _copy_out(exchange, portal, execution)
        case _:
            return 0


class ClientRows:
    """The data that a client sends until CopyDone (`engine.statements.copy.source.RowSource`)."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._done = False

    async def next_piece(self, pause: float | None = None) -> bytes | None:
        try:
            async with asyncio.timeout(pause):
                return await self._next_data()
        except TimeoutError:
            return b""

    async def _next_data(self) -> bytes | None:
        while not self._done:
            # A message that arrives together with a timeout stays in the stream.
            match await self._exchange.stream.next_event():
                case m.CopyData(data=data):
                    return data
                case m.CopyDone():
                    self._done = True
                case m.CopyFail(message=message):
                    encoding = self._exchange.settings.now.client_encoding
                    raise QueryCanceled(f"COPY from stdin failed: {from_client(message, encoding)}")
        return None


async def _copy_in(exchange: Exchange, execution: CopyFromExecution) -> int:
    if execution.file is not None:
        return await execution.receive(execution.file, receive_column)
    exchange.send(m.CopyInResponse(execution.form, execution.width))
    return await execution.receive(ClientRows(exchange), receive_column)


async def _copy_out(exchange: Exchange, portal: Portal, execution: CopyToExecution) -> int:
    if execution.file is not None:
        return await execution.file.write(
            execution.stream, _writer(exchange, execution, framed=False), execution.progress
        )
    writer = _writer(exchange, execution, framed=True)
    exchange.send(m.CopyOutResponse(int(execution.format.form == "binary"), len(execution.names)))
    await exchange.stream.send_long(m.CopiedRows(writer.header()))
    run = portal.running_cursor.run(None)
    pages = Pages(exchange.stream, run, exchange.settings.now.page_bytes)
    while (page := await pages.next_page()) is not None:
        rows = await encode_page(writer, page)
        execution.progress.bytes += len(rows)
        await exchange.stream.send_long(m.CopiedRows(rows))
        execution.progress.rows += page.num_rows
    await exchange.stream.send_long(m.CopiedRows(writer.trailer()))
    exchange.send(m.CopiedAll())
    return run.rows


def _writer(exchange: Exchange, execution: CopyToExecution, *, framed: bool) -> RowWriter | BinaryRows:
    output, form = exchange.settings.now.output, execution.format
    settings = output if form.encoding is None else replace(output, client_encoding=form.encoding)
    if form.form == "binary":
        return BinaryRows(execution.encoded, settings, framed=framed)
    return RowWriter(execution.encoded, execution.names, form.layout, settings, framed=framed)
