"""Attempts to open control connections: one task for each address that is being dialled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from engine.common.shielded import wait_out
from engine.exchange.mesh_tls import MeshTls, explain_failure
from server.cluster.control_connection import ControlConnection

Address = tuple[str, int]


class Dials:
    """See the module's docstring. An established connection reports itself.

    parse: an address's host and port. tls: None: without encryption. seconds: the time limit of an attempt. connection:
    makes the protocol of a link. on_failure: called for each attempt that failed, with the link, the connections that
    the attempt had made, and the reason.
    """

    def __init__(
        self,
        parse: Callable[[str], Address],
        tls: MeshTls | None,
        seconds: float,
        connection: Callable[[int], ControlConnection],
        on_failure: Callable[[int, Sequence[ControlConnection], str], None],
    ) -> None:
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self._parse = parse
        self._tls = tls
        self._seconds = seconds
        self._connection = connection
        self._on_failure = on_failure

    def begin(self, number: int, address: str) -> None:
        task = asyncio.get_running_loop().create_task(self._dial(number, address))
        self.tasks[number] = task
        task.add_done_callback(lambda _task: self.tasks.pop(number))

    def cancel(self, number: int) -> None:
        """Cancel an attempt if it is in progress."""
        if (task := self.tasks.get(number)) is not None:
            task.cancel()

    async def close(self) -> None:
        """Wait until the cancelled attempts have ended."""
        await wait_out(*self.tasks.values())

    async def _dial(self, number: int, address: str) -> None:
        host, port = self._parse(address)
        loop = asyncio.get_running_loop()
        tls = self._tls
        made: list[ControlConnection] = []

        def protocol() -> ControlConnection:
            made.append(self._connection(number))
            return made[-1]

        try:
            async with asyncio.timeout(self._seconds):
                await loop.create_connection(
                    protocol,
                    host,
                    port,
                    ssl=tls.dialling if tls is not None else None,
                    server_hostname="" if tls is not None else None,
                )
        except TimeoutError:
            self._on_failure(number, made, "nobody answers")
        except OSError as error:
            self._on_failure(number, made, explain_failure(error))
        except asyncio.CancelledError:
            self._on_failure(number, made, "given up")
            raise
