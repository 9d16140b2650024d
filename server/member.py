# ruff: noqa: E402 -- the garbage collector rests while the rest is imported
"""One running member: the engine, the listeners and the console, from start to a clean end.

`run` is `sluice serve`: it prints one line when clients can connect, and ends on SIGTERM or SIGINT with everything closed
in reverse order: clients first, so that no query is under way when the engines stop. Before that the member drains: it is
given nothing new, and what has begun, for its own clients or for other members, may go on for `cluster.drain_seconds`.
"""

from __future__ import annotations

import gc

# What is imported stays, and to look through it for garbage again and again takes a sixth of the imports' time.
gc.disable()

import asyncio
import contextlib
import faulthandler
import json
import logging
import os
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import uvloop

from engine.common.shielded import closed_in_turn
from engine.common.wildcards import WILDCARDS
from engine.engine import Engine
from engine.exchange.listener import DataListener
from engine.exchange.mesh_tls import MeshTls, MeshTlsError
from engine.monitor.record import SHORT_TEXT, StatementRecord
from engine.plan_ir.topology import Topology
from engine.settings.session_settings import SETTINGS
from server.auth.gate import Access, Gate
from server.cluster.activity_routing import ClusterActivity
from server.cluster.cursor_routing import CursorRouter
from server.cluster.final_figures import FinalFigures
from server.cluster.membership import Timing
from server.cluster.mesh_link import LinkOptions, MeshLink, new_incarnation
from server.cluster.notification_routing import NotificationRouter
from server.cluster.routing import CancelRouter, ServerMesh
from server.common.descriptors import raise_limit
from server.common.ended_line import ENDED_LINE
from server.common.full_collections import FullCollections
from server.common.unused_memory import UnusedMemory
from server.common.version import VERSION
from server.config.address import Address
from server.config.errors import AccessError, ConfigurationError
from server.logs.lines import formatter_of
from server.monitor.activity import MemberActivity
from server.monitor.records import EndedStatements
from server.monitor.tracing_setup import record_spans
from server.pgwire.listener import Listener, ListenerOptions
from server.pgwire.lite import ROUTING, LiteDoor
from wire.errors import SqlError
from wire.mesh.control_messages import Identity

gc.enable()

if TYPE_CHECKING:
    from server.config.config import Config
    from server.http.console import ConsoleServer
    from server.http.door import Door
    from server.processes.place import Place

log: Final = logging.getLogger(__name__)
#: Where the tasks of a member connect that is alone.
_FOR_TASKS: Final = Address("127.0.0.1", 0)
#: How long everything that is left may take to end, once what had begun had its time.
_END_SECONDS: Final = 15.0


class CannotStart(Exception):
    """Why a member does not start, in words for its operator."""


class Member:
    """See the module's docstring. Made and used on one loop. place: among the processes of one server; None: it is alone."""

    def __init__(self, config: Config, place: Place | None = None) -> None:
        self._config = config
        self._place = place
        address = Address.parse(config.mesh) if config.in_cluster else _FOR_TASKS
        self._incarnation = new_incarnation()
        tls = _mesh_tls(config)
        self.listener = DataListener(address.host, address.port, tls=tls)
        identity = self._identity(config.mesh if config.in_cluster else "", Address.parse(config.listen))
        engine = config.engine()
        self.link = MeshLink(
            identity, _link_options(config, engine.topology, tls), lambda: self.engine.monitor.load, _host_and_port
        )
        mesh = self._mesh = ServerMesh(self.link)
        self.engine = Engine(engine, self.listener, mesh)
        self.gate = Gate(_access(config), self.engine.roles)
        self.clients = Listener(
            self.engine.session,
            ListenerOptions(
                max_connections=config.max_connections,
                superuser_reserved_connections=config.superuser_reserved_connections,
                authentication_timeout=config.authentication_timeout,
                input_bytes_max=config.client_input_mb << 20,
                output_bytes_max=config.client_output_mb << 20,
                gate=self.gate,
                member=config.member,
                door=_door(config, mesh),
                ended=EndedStatements(describe=self.engine.monitor.last_graph),
                statements_max=int(_setting(config, "pg_stat_statements.max")),
                log_connections=_setting(config, "log_connections") == "on",
            ),
        )
        self.activity = ClusterActivity(
            mesh,
            MemberActivity(
                config.member, self.engine.monitor, self.clients.registry, self.clients.host.ended, self.status
            ),
        )
        self.clients.registry.cluster = self.activity
        self.final_figures = FinalFigures(self.activity, self.clients.host.ended)
        self.cancels = CancelRouter(mesh, self.clients.registry, self.clients.host.ended)
        self.cursors = CursorRouter(mesh, self.clients.registry)
        NotificationRouter(mesh, self.clients.registry)
        self.console: ConsoleServer | None = None
        #: Why clients cannot connect; empty while they can.
        self._unready = "starting"
        self.http: Door | None = None

    async def start(self) -> None:
        """Listen, begin to start Spark, and look for the others, if there are any. Raises CannotStart; whatever had begun is
        closed again."""
        try:
            if self._config.in_cluster:
                await self._listen("mesh", self._config.mesh, self.listener.start())
            await self.engine.start()
            # Starlette and FastAPI are slow to import: on a thread, and FastAPI only where the door is wanted.
            self.console = await asyncio.to_thread(self._new_console)
            console = Address.parse(self._config.console)
            await self._listen("console", self._config.console, self.console.start(console))
            await self._take_clients()
            if self._config.http.listen is not None:
                self.http = await asyncio.to_thread(self._new_door)
                http = Address.parse(self._config.http.listen)
                await self._listen("http.listen", self._config.http.listen, self.http.start(http))
            self.link.start(self._identity(self._meet(), Address(*self.clients.addresses[0])))
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
        """Admit the others; where they find this member, empty for one that is alone."""
        if not self._config.in_cluster:
            return ""
        told = self._config.cluster.advertise or _reachable(Address(*self.listener.address))
        self.listener.advertised = _host_and_port(told)
        self.listener.admit_control(self.link.accept)
        return told

    def _new_console(self) -> ConsoleServer:
        from server.http.console import ConsoleServer
        from server.http.console_api import ConsoleApi

        config, host = self._config, self.clients.host
        api = ConsoleApi(host, self._mesh, self.activity, self.cancels, config.console_hosts)
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
        return Door(self.clients.host, Bounds(http.rows_max, http.abandoned_after))

    @staticmethod
    async def _listen(key: str, address: str, starting: Any) -> None:
        try:
            await starting
        except OSError as error:
            raise CannotStart(f"{key}: cannot listen on {address}: {error.strerror or error}") from None

    def _identity(self, mesh: str, client: Address) -> Identity:
        """Return what this member announces to other members. mesh: the address at which they reach it. client: the address at
        which it listens for clients."""
        config = self._config
        return Identity(
            config.member,
            self._incarnation,
            mesh,
            config.cluster.advertise_client or _reachable(client),
            config.cluster.role,
            VERSION,
        )

    async def close(self) -> None:
        """Take nothing new, let what has begun go on for a while, and end the rest: all of it, whatever goes wrong with a
        part, whose error is raised then."""
        self._unready = "draining"
        self.link.drain()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._config.cluster.drain_seconds):
                await asyncio.gather(self.clients.drain(), *([self.http.drain()] if self.http is not None else []))
                await self.engine.idle()
        await closed_in_turn(
            self.clients.close,
            lambda: None if self.http is None else self.http.close(),
            self.cursors.close,
            self.final_figures.close,
            self.activity.close,
            self.cancels.close,
            lambda: None if self.console is None else self.console.close(),
            self.gate.close,
            self.engine.close,
            lambda: self.listener.admit_control(None),
            self.link.close,
            self.listener.close,
        )

    async def reload(self) -> None:
        """Read certificates and hba rules anew, for connections to come. A mistake leaves what there is."""
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
        """The state of each process of the server, by its number. One that does not answer in time is left out."""
        assert self._place is not None, "asked for in a server of several processes only"
        names = self._place.names(self._config.member)
        told = (await self.activity.ask(["status"], of=names)).told
        numbers = {name: str(number) for number, name in enumerate(names, 1)}
        return {numbers[name]: json.loads(answer.status) for name, answer in told.items()}

    async def status(self) -> Mapping[str, Any]:
        """The member's state, for the console."""
        await self.engine.monitor.observe()
        attempts = self.gate.attempts
        logins = {"failed": attempts.failed_count, "refused": attempts.refused_count}
        statements = self.clients.host.statements
        clients = {"input_bytes": self.clients.input.held, "output_bytes": self.clients.output.held}
        return {
            "member": self._config.member,
            "pid": os.getpid(),
            "members": [asdict(info) for info in self.link.members()],
            "engines": self.engine.monitor.status(),
            "connections": [asdict(activity) for activity in self.clients.registry.activity()],
            "sockets": self.clients.connections,
            "http_sessions": len(self.http.connection) if self.http is not None else 0,
            "background": self.engine.background.status(),
            "queries": [_query_told(record) for record in self.clients.registry.statements() if record.is_query],
            "statements": {
                "durations": {
                    command: {"buckets": durations.buckets, "seconds": durations.total}
                    for command, durations in statements.durations.items()
                },
                "errors": dict(statements.errors),
                "engines": dict(statements.engines),
            },
            "caches": {name: figures._asdict() for name, figures in self.engine.monitor.caches().items()},
            "counters": {
                **self.engine.monitor.statistics(),
                "cursors": self.cursors.statistics(),
                "clients": clients,
                "logins": logins,
            },
        }


def _query_told(record: StatementRecord) -> Mapping[str, Any]:
    """A query whose cursor or portal is open."""
    told = record.report(text_max=SHORT_TEXT)
    return {
        "query": told.id, "pid": told.pid, "user": told.user, "database": told.database, "cursor": told.portal or "",
        "statement": told.sql, "state": told.state, "started": told.started, "rows": told.rows, "engine": told.engine,
    }  # fmt: skip


def _door(config: Config, mesh: ServerMesh) -> LiteDoor | None:
    """Return the door of a lite member, which may relay its clients to a data member."""
    if config.cluster.role == "data":
        return None
    return LiteDoor(mesh, _setting(config, ROUTING))


def _setting(config: Config, name: str) -> str:
    """Return a setting with which the member's sessions begin, and which it reads itself."""
    row = SETTINGS[name]
    given = {said.lower(): value for said, value in config.settings.items()}.get(name)
    return row.default if given is None else row.read(given)


def _mesh_tls(config: Config) -> MeshTls | None:
    """Read the certificates of the mesh. They were checked with the configuration, but the files may have changed since."""
    try:
        return config.mesh_tls()
    except MeshTlsError as error:
        raise CannotStart(f"cluster.tls.{error}") from None


def _access(config: Config) -> Access:
    """Read the rules of access. They were checked with the configuration, but the files may have changed since."""
    try:
        return config.access()
    except AccessError as error:
        raise CannotStart(str(error)) from None


def _link_options(config: Config, topology: Topology | None, tls: MeshTls | None) -> LinkOptions:
    """The others are looked for at the seeds, and where the topology says that they are."""
    cluster = config.cluster
    nodes = topology.nodes if topology is not None else ()
    seeds = dict.fromkeys((*cluster.seeds, *(node.address for node in nodes if node.name != config.member)))
    timing = Timing(cluster.heartbeat, cluster.failure_after, cluster.forget_after)
    return LinkOptions(cluster.name, _mesh_secret(config), tuple(seeds), timing, tls)


def _mesh_secret(config: Config) -> bytes:
    """Return the secret by which this member and others authenticate each other. It is empty outside a cluster, where no member
    can connect. Raises CannotStart."""
    try:
        return config.mesh_secret() if config.in_cluster else b""
    except ValueError as error:
        raise CannotStart(f"cluster.secret: {error}") from None


def _host_and_port(address: str) -> tuple[str, int]:
    parsed = Address.parse(address)
    return parsed.host, parsed.port


def _reachable(address: Address) -> str:
    """Return the address at which others reach a listener. If it listens on all interfaces, the host is this machine's name."""
    return str(Address(socket.gethostname(), address.port) if address.host in WILDCARDS else address)


async def _serve(config: Config, place: Place | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    member = Member(config, place)
    await member.start()
    # What has come so far stays: to look through it again and again for garbage stops every session for 0.1 s and more.
    gc.collect()
    gc.freeze()
    engine = member.engine
    collections = FullCollections(
        lambda: engine.planning.live_nodes,
        engine.config.memory_bytes,
        engine.background.supervise("collections"),
    )
    collections.start()
    unused = UnusedMemory(engine.background.supervise("trim"))
    unused.start()
    reloads: set[asyncio.Task[None]] = set()

    def reload() -> None:
        reloads.add(task := loop.create_task(member.reload()))
        task.add_done_callback(reloads.discard)

    loop.add_signal_handler(signal.SIGHUP, reload)
    try:
        if place is None:
            _print_line(member.ready_line())
        else:
            place.announce(member.ready_line())
            log.info("process %d takes clients as member %s: %s", place.number + 1, config.member, member.ready_line())
        await stop.wait()
    finally:
        last = threading.Timer(config.cluster.drain_seconds + _END_SECONDS, _end_anyway)
        last.daemon = True
        last.start()
        try:
            await member.close()
        finally:
            unused.close()
            collections.close()
            last.cancel()
            # What DuckDB's binding finds frozen when the interpreter ends, it takes for leaked and says so on and on.
            gc.unfreeze()


def _end_anyway() -> None:
    """The member does not end: somebody waits for what will not come. Say who, for the log, and leave."""
    print(f"sluice: the member could not end within {_END_SECONDS:g} s; its threads are:", file=sys.stderr)  # noqa: T201
    faulthandler.dump_traceback()
    os._exit(1)


def configure_log(config: Config) -> None:
    """Have the process's log written as the configuration says."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter_of(_setting(config, "log_destination"), _setting(config, "log_line_prefix")))
    logging.basicConfig(level=config.log_level.upper(), handlers=[handler])
    for name, level in (("py4j", logging.WARNING), ("sqlglot", logging.ERROR), ("uvicorn", logging.WARNING)):
        logging.getLogger(name).setLevel(level)


def _print_line(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def run(config: Config, place: Place | None = None) -> int:
    """Serve until told to stop; the process's exit status. place: of one of several processes."""
    configure_log(config)
    raise_limit()
    try:
        Path(config.data).mkdir(parents=True, exist_ok=True)
        with record_spans(config.tracing, config.member):
            uvloop.run(_serve(config, place))
    except SqlError as error:
        hint = f" ({error.hint})" if error.hint else ""
        print(f"sluice: {error.message}{hint}", file=sys.stderr)  # noqa: T201
        return 1
    except (CannotStart, ConfigurationError, OSError) as error:
        print(f"sluice: {error}", file=sys.stderr)  # noqa: T201
        return 1
    if place is None:
        _print_line(ENDED_LINE)
    return 0
