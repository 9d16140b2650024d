"""One running member: the engine, the listeners and the console, from start to an orderly shutdown.

Everything is closed in reverse order: clients first, so that no query is running when the engines stop. Before that the
member drains: it accepts nothing new, and work that has begun, for its own clients or for other members, may continue
for `cluster.drain_seconds`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from engine.common.shielded import closed_in_turn
from engine.engine import Engine
from engine.exchange.listener import DataListener
from server.auth.gate import Gate
from server.cluster.member_link import host_and_port, identity_of, link_options, reachable_address
from server.cluster.mesh_link import MeshLink, new_incarnation
from server.cluster.routers import ClusterRouters
from server.cluster.routing import ServerMesh
from server.config.address import Address
from server.config.errors import AccessError, CannotStart
from server.config.start_files import read_access, read_mesh_tls
from server.pgwire.opening import new_listener

if TYPE_CHECKING:
    from server.config.config import Config
    from server.http.console import ConsoleServer
    from server.http.door import Door
    from server.processes.place import Place

log: Final = logging.getLogger(__name__)
#: The address to which Spark's tasks connect on a member that is alone.
_FOR_TASKS: Final = Address("127.0.0.1", 0)


class Member:
    """See the module's docstring. Made and used on one loop. place: its place among the processes of one server; None:
    it is the only one.
    """

    def __init__(self, config: Config, place: Place | None = None) -> None:
        self._config = config
        self._place = place
        address = Address.parse(config.mesh) if config.in_cluster else _FOR_TASKS
        self._incarnation = new_incarnation()
        tls = read_mesh_tls(config)
        self.listener = DataListener(address.host, address.port, tls=tls)
        identity = identity_of(
            config, self._incarnation, config.mesh if config.in_cluster else "", Address.parse(config.listen)
        )
        engine = config.engine()
        self.link = MeshLink(
            identity, link_options(config, engine.topology, tls), lambda: self.engine.monitor.load, host_and_port,
            lambda: self.engine.spark.sharing.announcement,
        )  # fmt: skip
        mesh = self._mesh = ServerMesh(self.link)
        self.engine = Engine(engine, self.listener, mesh)
        self.gate = Gate(read_access(config), self.engine.roles)
        self.clients = new_listener(config, self.engine, self.gate, mesh)
        host = self.clients.host
        self.routers = ClusterRouters(mesh, self.engine.monitor, self.clients.registry, host.ended, self.status)
        self.console: ConsoleServer | None = None
        #: The reason why clients cannot connect; empty if they can.
        self._unready = "starting"
        self.http: Door | None = None

    async def start(self) -> None:
        """Start the listeners, begin to start Spark, and dial the other members, if there are any. Raises CannotStart;
        then everything that had begun is closed again.
        """
        try:
            if self._config.in_cluster:
                await self._listen("mesh", self._config.mesh, self.listener.start())
            await self.engine.start()
            # Starlette and FastAPI are slow to import, so they are imported on a thread, and FastAPI only for the HTTP door.
            self.console = await asyncio.to_thread(self._new_console)
            console = Address.parse(self._config.console)
            await self._listen("console", self._config.console, self.console.start(console))
            await self._take_clients()
            if self._config.http.listen is not None:
                self.http = await asyncio.to_thread(self._new_door)
                http = Address.parse(self._config.http.listen)
                await self._listen("http.listen", self._config.http.listen, self.http.start(http))
            self.link.start(
                identity_of(self._config, self._incarnation, self._meet(), Address(*self.clients.addresses[0]))
            )
            self._unready = ""
        except BaseException:
            await self.close()
            raise

    async def _take_clients(self) -> None:
        if self._place is not None:
            self.clients.take_clients(self._place)
            return
        listen = Address.parse(self._config.listen)
        await self._listen("listen", self._config.listen, self.clients.start(listen.host, listen.port))

    def _meet(self) -> str:
        """Accept connections of other members. Returns the address at which they reach this member, empty for one that
        is alone.
        """
        if not self._config.in_cluster:
            return ""
        told = self._config.cluster.advertise or reachable_address(Address(*self.listener.address))
        self.listener.advertised = host_and_port(told)
        self.listener.admit_control(self.link.accept)
        return told

    def _new_console(self) -> ConsoleServer:
        from server.http.console import ConsoleServer
        from server.http.console_api import ConsoleApi

        config, host = self._config, self.clients.host
        api = ConsoleApi(host, self._mesh, self.routers.activity, self.routers.cancels, config.console_hosts)
        tls = self.gate.access.tls if config.console_tls else None
        return ConsoleServer(
            self.status,
            lambda: self._unready,
            api=api,
            tls=None if tls is None else self._newest_tls,
            processes=None if self._place is None else self._process_states,
        )

    def _newest_tls(self) -> ssl.SSLContext:
        tls = self.gate.access.tls
        assert tls is not None, "a reload takes no certificate away"
        return tls.context

    def _new_door(self) -> Door:
        from server.http.door import Door
        from server.http.session import Bounds

        http = self._config.http
        return Door(self.clients.host, Bounds(http.rows_max, http.abandoned_after), self.engine.parser.translate)

    @staticmethod
    async def _listen(key: str, address: str, starting: Any) -> None:
        try:
            await starting
        except OSError as error:
            raise CannotStart(f"{key}: cannot listen on {address}: {error.strerror or error}") from None

    async def close(self) -> None:
        """Shut down: accept nothing new, drain for a limited time, and end the rest. If closing a part fails, the
        others are closed all the same, and the error is raised at the end.
        """
        self._unready = "draining"
        self.link.drain()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._config.cluster.drain_seconds):
                await asyncio.gather(self.clients.drain(), *([self.http.drain()] if self.http is not None else []))
                await self.engine.idle()
        self.engine.abandon_late()
        await closed_in_turn(
            self.clients.close,
            lambda: None if self.http is None else self.http.close(),
            self.routers.close,
            lambda: None if self.console is None else self.console.close(),
            self.gate.close,
            self.engine.close,
            lambda: self.listener.admit_control(None),
            self.link.close,
            self.listener.close,
        )

    async def reload(self) -> None:
        """Read certificates and hba rules again, for future connections. If there is a mistake, the current ones stay."""
        try:
            self.gate.access = await asyncio.to_thread(self._config.access)
        except AccessError as error:
            log.error("not reloaded: %s", error)
        else:
            log.info("certificates and rules of authentication were read anew")

    def ready_line(self) -> str:
        """Return the line that `sluice serve` prints when clients can connect: `key=value` words for scripts."""
        assert self.console is not None, "the member has been started"
        mesh = f"mesh={Address(*self.listener.address)} " if self._config.in_cluster else ""
        http = f"http={self.http.url} " if self.http is not None else ""
        return (
            f"sluice ready listen={Address(*self.clients.addresses[0])} {mesh}"
            f"console={self.console.url} {http}data={self._config.data}"
        )

    async def _process_states(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the state of each process of the server, by its number. A process that does not answer in time is
        left out.
        """
        assert self._place is not None, "asked for in a server of several processes only"
        names = self._place.names(self._config.member)
        told = (await self.routers.activity.ask(["status"], of=names)).told
        numbers = {name: str(number) for number, name in enumerate(names, 1)}
        return {numbers[name]: json.loads(answer.status) for name, answer in told.items()}

    async def status(self) -> Mapping[str, Any]:
        """Return the member's state, for the console."""
        from server.http.member_status import read_status

        return await read_status(self.engine, self.link, self.gate, self.clients, self.routers.cursors, self.http)
