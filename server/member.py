"""One running member: the engine, the listeners and the console, from start to a clean end.

`run` is `sluice serve`: it prints one line when clients can connect, and ends on SIGTERM or SIGINT with everything closed
in reverse order: clients first, so that no query is under way when the engines stop.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import uvloop

from engine.engine import Engine
from engine.runtime.listener import DataListener
from server.config import Address, Config
from server.console import ConsoleServer
from server.listener import Listener, ListenerOptions
from server.trust import trusting

log: Final = logging.getLogger(__name__)
#: How long open transactions may go on after SIGTERM.
_GRACE_SECONDS: Final = 0.5


class CannotStart(Exception):
    """Why a member does not start, in words for its operator."""


class Member:
    """See the module's docstring. Made and used on one loop."""

    def __init__(self, config: Config) -> None:
        self._config = config
        mesh = Address.parse(config.mesh)
        self.mesh = DataListener(mesh.host, mesh.port)
        self.engine = Engine(config.engine(), self.mesh)
        self.clients = Listener(
            self.engine.session,
            ListenerOptions(
                max_connections=config.max_connections,
                authentication_timeout=config.authentication_timeout,
                authenticator=trusting(config.trust),
            ),
        )
        self.console = ConsoleServer(self.status)

    async def start(self) -> None:
        """Listen, and begin to start Spark. Raises CannotStart; whatever had begun is closed again."""
        try:
            await self._listen("mesh", self._config.mesh, self.mesh.start())
            await self.engine.start()
            console = Address.parse(self._config.console)
            await self._listen("console", self._config.console, self.console.start(console))
            listen = Address.parse(self._config.listen)
            await self._listen("listen", self._config.listen, self.clients.start(listen.host, listen.port))
        except BaseException:
            await self.close()
            raise

    @staticmethod
    async def _listen(key: str, address: str, starting: Any) -> None:
        try:
            await starting
        except OSError as error:
            raise CannotStart(f"{key}: cannot listen on {address}: {error.strerror or error}") from None

    async def close(self) -> None:
        await self.clients.close(_GRACE_SECONDS)
        await self.console.close()
        await self.engine.close()
        await self.mesh.close()

    def ready_line(self) -> str:
        """What `sluice serve` prints when clients can connect: `key=value` words for scripts."""
        return (
            f"sluice ready listen={Address(*self.clients.addresses[0])} mesh={Address(*self.mesh.address)} "
            f"console=http://{self.console.address}/ data={self._config.data}"
        )

    def status(self) -> Mapping[str, Any]:
        """The member's state, for the console."""
        return {
            "member": self._config.member,
            "engines": self.engine.status(),
            "connections": [asdict(activity) for activity in self.clients.registry.activity()],
            "sockets": self.clients.connections,
            "counters": self.engine.statistics(),
        }


async def _serve(config: Config) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    member = Member(config)
    await member.start()
    try:
        print(member.ready_line(), flush=True)  # noqa: T201
        await stop.wait()
    finally:
        await member.close()


def run(config: Config) -> int:
    """Serve until told to stop; the process's exit status."""
    logging.basicConfig(
        level=config.log_level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("py4j").setLevel(logging.WARNING)
    try:
        Path(config.data).mkdir(parents=True, exist_ok=True)
        uvloop.run(_serve(config))
    except (CannotStart, OSError) as error:
        print(f"sluice: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0
