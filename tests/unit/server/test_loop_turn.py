"""A session's turn on the event loop (`server.pgwire.loop_turn`)."""

from __future__ import annotations

import asyncio

from support.session_server import RawClient, raw, serve


async def test_a_client_of_thousands_of_statements_lets_another_go_first() -> None:
    """The other's answer comes before the last one of the many, whichever protocol these use."""
    async with serve() as server, raw(server) as many, raw(server) as other:
        many.query("show server_version;" * 2000)
        await _require_first(other, many)
        many.parse("", "show server_version")
        for _ in range(2000):
            many.bind("", "")
            many.execute("", 0)
        many.sync()
        await _require_first(other, many)


async def _require_first(other: RawClient, many: RawClient) -> None:
    ended: list[str] = []

    async def wait(client: RawClient, name: str) -> None:
        await client.until("Z")
        ended.append(name)

    slow = asyncio.create_task(wait(many, "many"))
    await asyncio.sleep(0)
    other.query("show server_version")
    await wait(other, "other")
    await slow
    assert ended == ["other", "many"]
