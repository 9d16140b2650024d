"""The event loop that a member uses where it is available: sessions behave on uvloop as on asyncio's own loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import test_session as queries
import test_session_cursors as cursors
import test_session_ends as ends
import uvloop
from support.session_server import Server, serve

Flow = Callable[[Server], Awaitable[None]]


@pytest.mark.table
@pytest.mark.parametrize(
    "flow",
    [
        queries.test_pipeline,
        queries.test_a_large_result_in_small_pages,
        queries.test_asyncpg_cursors_are_suspended_portals,
        queries.test_notices_of_the_engine,
        cursors.test_named_cursors_of_psycopg,
        ends.test_cancel_a_running_query,
        ends.test_cancel_a_client_that_does_not_read,
        ends.test_statement_timeout,
        ends.test_a_client_that_vanishes_while_it_is_written_to,
        ends.test_a_client_that_vanishes_with_suspended_portals,
        ends.test_both_sides_write_and_nobody_waits_for_ever,
        ends.test_two_hundred_connections,
        ends.test_shutdown_tells_sessions_and_stops_what_runs,
    ],
    ids=lambda flow: flow.__name__.removeprefix("test_"),
)
def test_on_uvloop(flow: Flow) -> None:
    async def run() -> None:
        async with serve() as server:
            await flow(server)

    uvloop.run(run())
