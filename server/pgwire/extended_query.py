"""The extended query protocol: Parse, Bind, Describe, Execute and Close, each answered by itself; Sync ends the
transaction.

Source: PostgreSQL 15, 55.2.3 "Extended Query" and 55.2.4 "Pipelining".
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from engine.sql.parser.nodes import statements as s
from server.cursors.formats import TEXT
from server.cursors.portal import Portal
from server.cursors.prepared import Command, NamedStatement
from server.pgwire import pipelined_rows
from server.pgwire.copy import copy
from server.pgwire.exchange_of_messages import Exchange
from server.pgwire.results import require_known, row_description, spread_formats
from server.session.transaction_control import EXITS
from wire.errors import SqlError, SqlSyntaxError
from wire.pg import messages as m
from wire.pg.values import decode_parameter
from wire.types import pg_types as t

_PARAMETER_FORMATS: Final = "bind message has {} parameter formats but {} parameters"
#: Parameters of up to this size together are parsed on the loop: within a few milliseconds for any types.
_READ_AT_ONCE_BYTES: Final = 16 << 10
_RESULT_FORMATS: Final = "bind message has {} result formats but query has {} columns"


async def parse(exchange: Exchange, message: m.Parse) -> None:
    commands = exchange.commands
    exchange.log.on_message(message.text)
    exchange.begin(message.text)
    if not message.name:
        commands.prepared.drop("")
    command = await _analyse(exchange, message)
    commands.prepared.add(NamedStatement(message.name, command, message.text))
    exchange.log.step_done("parse", message.name)
    exchange.send(m.ParseComplete())


async def _analyse(exchange: Exchange, message: m.Parse) -> Command:
    statements = await exchange.commands.engine.parse(message.text)
    exchange.note_parsed()
    if not statements:
        return Command(None)
    if len(statements) > 1:
        raise SqlSyntaxError("cannot insert multiple commands into a prepared statement")
    exchange.require_usable(statements[0])
    return await exchange.commands.prepare(statements[0], message.parameter_types)


async def bind(exchange: Exchange, message: m.Bind) -> None:
    commands = exchange.commands
    named = commands.prepared.get(message.statement)
    command = named.command
    exchange.log.on_message(named.source)
    exchange.begin(named.source)
    _check_parameters(message, command.parameters)
    if command.statement is None or command.parameters or not isinstance(command.statement, EXITS):
        commands.block.require_usable()
    commands.portals.require_free(message.portal)
    if not message.portal:
        await commands.portals.close("")
    columns = commands.columns(command)
    formats = () if columns is None else spread_formats(message.result_formats, len(columns), _RESULT_FORMATS)
    arguments = await _arguments(exchange, message, command.parameters)
    portal = Portal(
        message.portal,
        command,
        columns,
        formats=formats,
        arguments=arguments,
        depth=commands.block.depth,
        source=named.source,
        statement_name=message.statement,
    )
    commands.portals.add(portal)
    exchange.log.step_done("bind", message.statement, message.portal)
    exchange.send(m.BindComplete())


def _check_parameters(message: m.Bind, parameters: Sequence[t.PgType]) -> None:
    given, formats = len(message.parameters), len(message.parameter_formats)
    if formats > 1 and formats != given:
        raise SqlError(_PARAMETER_FORMATS.format(formats, given), sqlstate="08P01")
    if given != len(parameters):
        raise SqlError(
            f"bind message supplies {given} parameters, "
            f'but prepared statement "{message.statement}" requires {len(parameters)}',
            sqlstate="08P01",
        )


async def _arguments(exchange: Exchange, message: m.Bind, parameters: Sequence[t.PgType]) -> tuple[object, ...]:
    """Return the values of a Bind. Long ones are parsed on a thread of the loop's pool, so that no other client waits
    for them.
    """
    if not parameters:
        return ()
    formats = spread_formats(message.parameter_formats, len(parameters), _PARAMETER_FORMATS)
    require_known(formats)
    settings = exchange.settings.input(exchange.now_micros)

    def decode() -> tuple[object, ...]:
        return tuple(
            None if value is None else decode_parameter(pg, form, value, settings)
            for pg, form, value in zip(parameters, formats, message.parameters, strict=True)
        )

    size = sum(len(value) for value in message.parameters if value is not None)
    return decode() if size <= _READ_AT_ONCE_BYTES else await asyncio.to_thread(decode)


async def describe(exchange: Exchange, message: m.Describe) -> None:
    if message.kind == "S":
        named = exchange.commands.prepared.get(message.name)
        exchange.begin(named.source)
        columns = exchange.commands.columns(named.command)
        _require_describable(exchange, columns is not None)
        exchange.send(m.ParameterDescription(tuple(pg.oid for pg in named.command.parameters)))
        formats: tuple[int, ...] = (TEXT,) * len(columns or ())
    else:
        portal = exchange.commands.portals.get(message.name)
        exchange.begin(portal.source)
        columns, formats = portal.columns, portal.formats
        _require_describable(exchange, columns is not None)
    exchange.send(m.NoData() if columns is None else row_description(columns, formats))


def _require_describable(exchange: Exchange, has_columns: bool) -> None:
    """Refuse to describe a statement with columns in a failed block, as PostgreSQL does: that would need the catalog."""
    if has_columns:
        exchange.commands.block.require_usable()


async def execute(exchange: Exchange, message: m.Execute) -> None:
    commands = exchange.commands
    exchange.log.on_message("")
    if message.portal in commands.portals.failed:
        commands.block.require_usable()
    portal = commands.portals.get(message.portal)
    if portal.command.statement is None:
        exchange.send(m.EmptyQueryResponse())
        return
    exchange.log.on_message(portal.source)
    exchange.begin(portal.source)
    exchange.require_usable(portal.command.statement)
    portal.require_runnable()
    if portal.columns is None and portal.cursor is None and pipelined_rows.waits(exchange, portal):
        return
    exchange.active = portal
    fetches = portal.cursor is not None
    exchange.log.execute(portal, fetches=fetches)
    if portal.cursor is None:
        await exchange.open(portal)
    else:
        exchange.resume(portal)
    if portal.columns is None:
        await _complete_without_rows(exchange, portal)
    else:
        await _send_page(exchange, portal, message.max_rows if message.max_rows > 0 else None)
    exchange.active = None
    exchange.stop_clock()
    exchange.log.execute_done(portal, fetches=fetches)


async def _complete_without_rows(exchange: Exchange, portal: Portal) -> None:
    rows = await copy(exchange, portal)
    await portal.running_cursor.close()
    portal.finish()
    _complete(exchange, portal, portal.tag(rows))


async def _send_page(exchange: Exchange, portal: Portal, max_rows: int | None) -> None:
    cursor = portal.running_cursor
    if max_rows is not None and isinstance(portal.command.statement, s.Fetch):
        # The rows of a FETCH are fixed when it runs, even if its cursor moves before the client asks for the rest.
        await cursor.hold()
    rows = await exchange.send_rows(portal, cursor.run(max_rows))
    if cursor.at_end:
        await exchange.log_slow_plan(portal)
        _complete(exchange, portal, portal.tag(rows))
    else:
        portal.seconds += exchange.seconds
        exchange.send(m.PortalSuspended())


def _complete(exchange: Exchange, portal: Portal, tag: str) -> None:
    exchange.complete(portal, tag)
    exchange.send(m.CommandComplete(tag))


async def close(exchange: Exchange, message: m.Close) -> None:
    """Close a statement or a portal. A name that does not exist is no error; a statement's portals stay open."""
    if message.kind == "S":
        exchange.commands.prepared.drop(message.name)
    else:
        await exchange.commands.portals.close(message.name)
    exchange.send(m.CloseComplete())


async def flush(exchange: Exchange, _message: m.Flush) -> None:
    exchange.stream.flush()


async def sync(exchange: Exchange, _message: m.Sync) -> None:
    """Handle Sync, up to but without ReadyForQuery."""
    exchange.log.on_message("")
    await exchange.commands.transaction.finish_statement()
