"""The simple query protocol: runs a string of statements one after another, in one transaction unless they say
otherwise.

Source: PostgreSQL 15, 55.2.2 "Simple Query" and 55.2.2.1 "Multiple Statements in a Simple Query".
"""

from __future__ import annotations

from engine.sql.parser.nodes.statements import Statement
from server.cursors.portal import Portal
from server.pgwire.copy import copy
from server.pgwire.exchange_of_messages import Exchange
from server.pgwire.results import row_description
from wire.pg import messages as m


async def simple_query(exchange: Exchange, message: m.Query) -> None:
    """Answer a Query, up to but without ReadyForQuery. Raises SqlError."""
    await exchange.commands.portals.close("")
    exchange.commands.prepared.drop("")
    exchange.log.on_message(message.text)
    # The clock of the first statement runs while the text is parsed, as in PostgreSQL (exec_simple_query).
    exchange.start_clock()
    exchange.read(message.text)
    statements = await exchange.commands.engine.parse(message.text)
    exchange.note_parsed()
    if not statements:
        exchange.send(m.EmptyQueryResponse())
    exchange.log.simple(statements)
    shared = len(statements) > 1
    for statement in statements:
        if exchange.loop_turn.is_over:
            await exchange.loop_turn.give_way()
        exchange.require_usable(statement)
        exchange.begin(message.text, shared=shared)
        await _run(exchange, statement, last=statement is statements[-1])
    exchange.log.simple_done()


async def _run(exchange: Exchange, statement: Statement, *, last: bool) -> None:
    commands = exchange.commands
    command = await commands.prepare_simple(statement)
    portal = Portal("", command, commands.columns(command))
    form = commands.simple_format(command)
    await exchange.open(portal)
    if portal.columns is not None:
        portal.formats = (form,) * len(portal.columns)
        exchange.send(row_description(portal.columns, portal.formats))
        rows = await exchange.send_rows(portal, portal.running_cursor.run(None))
    else:
        rows = await copy(exchange, portal)
    tag = portal.tag(rows)
    exchange.active = None
    await portal.close()
    await exchange.log_slow_plan(portal)
    exchange.stop_clock()
    if last:
        # Commit before the tag is sent, so that a failed commit is reported instead.
        await commands.transaction.finish_statement()
    exchange.complete(portal, tag)
    exchange.send(m.CommandComplete(tag))
