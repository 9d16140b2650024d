"""Runs of pipelined executions of one INSERT, executed as one batch of rows.

A client that inserts many rows in a pipeline (psycopg's `executemany`, asyncpg's, JDBC's batches) sends Bind, Describe
and Execute for each row, and reads the answers later. As long as the next message has arrived already and may belong to
such a run, the rows are only collected; then they run as one statement
(`engine.session.engine_session.EngineSession.execute_rows`). The answers keep the order of the requests: they wait with
the rows, each CommandComplete in the place of its Execute.

If one of the rows is refused, or the rows cannot be taken together, nothing has been done, and they run one after
another, as they would have without batching. So the row that fails gets its own error, the rows before it are answered,
and later rows are not executed.

A run ends before anything else is done: before a message that does not continue it, before an error is reported, before
the session waits for the client. Its number of rows is bounded; the values that it holds have arrived within the bound
of unread input.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from server.cursors.portal import Portal
from server.pgwire.waiting_rows import PipelinedRows
from wire.pg import messages as m

if TYPE_CHECKING:
    from server.pgwire.exchange_of_messages import Exchange

_TAG: Final = "INSERT 0 1"


def continues(exchange: Exchange, message: m.FrontendMessage) -> bool:
    """Return whether a message may be handled before the waiting rows have run."""
    rows, commands = exchange.rows, exchange.commands
    if rows is None or rows.is_full:
        return False
    match message:
        case m.Bind(statement=name):
            named = commands.prepared.find(name)
            return named is not None and named.command is rows.command
        case m.Describe(kind="P", name=name) | m.Execute(portal=name):
            portal = commands.portals.find(name)
            return portal is not None and portal.command is rows.command and portal.cursor is None
    return False


def waits(exchange: Exchange, portal: Portal) -> bool:
    """Return whether an Execute waits for the rows that follow it; if so, it is added to the run."""
    if exchange.rows is None:
        if not exchange.stream.connection.is_executing_on or not exchange.commands.takes_rows(portal.command):
            return False
        exchange.rows = PipelinedRows(portal.command)
    exchange.rows.add(portal)
    portal.finish()
    return True


async def run(exchange: Exchange) -> None:
    """Run the waiting rows, and send the answers. Raises SqlError for the first row that fails, after the answers
    before it.
    """
    rows, exchange.rows = exchange.rows, None
    if rows is None:
        return
    begun = time.monotonic()
    exchange.log.on_message(rows.portals[0].source)
    arguments = [portal.arguments for portal in rows.portals]
    together = len(arguments) > 1 and await exchange.commands.execute_rows(rows.command, arguments)
    seconds = (time.monotonic() - begun) / len(arguments)
    if together:
        for portal in rows.portals:
            exchange.log.execute(portal)
    for answer in rows.answers:
        if not isinstance(answer, Portal):
            exchange.send(answer)
        elif together:
            _complete(exchange, answer, seconds)
        else:
            await _run_alone(exchange, answer)
    exchange.end(len(rows.portals))
    exchange.stop_clock()


async def _run_alone(exchange: Exchange, portal: Portal) -> None:
    begun = time.monotonic()
    exchange.log.execute(portal)
    await exchange.open(portal)
    await portal.running_cursor.close()
    portal.finish()
    exchange.active = None
    _complete(exchange, portal, time.monotonic() - begun)


def _complete(exchange: Exchange, portal: Portal, seconds: float) -> None:
    exchange.complete(portal, _TAG, seconds)
    exchange.log.execute_done(portal, seconds)
    exchange.send(m.CommandComplete(_TAG))
