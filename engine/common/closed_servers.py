"""Closing a server that accepts connections without losing a connection that it has accepted.

asyncio accepts a connection in one iteration of the event loop, makes its transport in the next one and calls
`connection_made` in the one after that. Once a server is closed, asyncio (up to Python 3.11) fails to make transports
for connections it has accepted, reports nothing and leaves the sockets open. So a server first stops accepting, then
waits for those iterations, and is closed after that. uvloop makes a transport at once; its `connection_made` comes one
iteration later.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

#: Iterations of asyncio's loop: the transport is made; `connection_made` is called; the callbacks that it has scheduled run.
_TURNS: Final = 3


class Closable(Protocol):
    """A server of asyncio, of uvloop, or of Sluice."""

    def close(self) -> None: ...


async def close_server(server: Closable) -> None:
    """Stop accepting and close the server. Each connection that was accepted has its protocol when this returns."""
    if isinstance(server, asyncio.base_events.Server):
        for listening in server.sockets:
            asyncio.get_running_loop().remove_reader(listening.fileno())
        for _ in range(_TURNS):
            await asyncio.sleep(0)
    server.close()
    await asyncio.sleep(0)
