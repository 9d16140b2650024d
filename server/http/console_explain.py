"""Plans a statement for the console without running it: EXPLAIN (DISTSQL, FORMAT JSON) in a session of the viewer, as
a graph.

The session exists for this one statement, in a transaction that is rolled back.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

import msgspec

from engine.catalog.model.objects import DATABASE
from engine.contracts.activity import Graph
from engine.monitor.graph import graph_of_json
from engine.session.engine_session import EngineSession
from engine.sql.parser.nodes.statements import Explain, Query
from server.pgwire.client import ConnectionClient
from server.pgwire.host import Host
from wire.errors import FeatureNotSupported, QueryCanceled, SqlError, SqlSyntaxError

_SECONDS: Final = 15.0


async def explain_graph(host: Host, user: str, sql: str) -> Graph:
    """Return the graph of a statement's plan. Raises SqlError."""
    client = ConnectionClient(0, host.registry, lambda _notice: None, time.monotonic)
    session = host.new_session(user=user, database=DATABASE, options={}, client=client)
    try:
        async with asyncio.timeout(_SECONDS):
            return await _explain_graph(session, sql)
    except TimeoutError:
        raise QueryCanceled(f"the statement was not planned within {_SECONDS:g} s") from None
    finally:
        await session.close()


async def _explain_graph(session: EngineSession, sql: str) -> Graph:
    statements = await session.parse(sql)
    if len(statements) != 1:
        raise SqlSyntaxError("expected one statement")
    [statement] = statements
    inner = statement.inner if isinstance(statement, Explain) else statement
    if not isinstance(inner, Query):
        raise FeatureNotSupported("not supported: the graph of a statement that is no query")
    explain = Explain(text=statement.text, inner=inner, distsql=True, format="json")
    session.begin()
    try:
        prepared = await session.prepare(explain, ())
        if prepared.parameters:
            raise SqlError("a plan of a statement with parameters depends on their values", sqlstate="42P02")
        execution = await session.execute(prepared, ())
        try:
            batch = await execution.stream.next_batch()
        finally:
            await execution.close()
    finally:
        await session.rollback()
    assert batch is not None, "EXPLAIN has one row"
    [document] = msgspec.json.decode(batch.column(0)[0].as_py())
    return graph_of_json(document)
