"""One simulated member: the real parts of a member, from the control connections to the local engine, in its own
process.

It has no clients' connections (`clients` has their other side), no catalog, and no Spark, whose tasks `tasks`
simulates. Its sessions are those of `far_cursors`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final, Protocol

from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.contracts.mesh import Handler, MemberInfo, Mesh
from engine.contracts.query_id import QueryId
from engine.exchange.listener import DataListener
from engine.exchange.spool import Spooler, SpoolFile
from engine.executors.engine_config import EngineConfig
from engine.executors.local.executor import LocalExecutor
from engine.executors.local.stream import LocalStream
from engine.executors.local.work import LocalWork
from engine.lakes.foreign_files import DataRoots
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.runtime.readable_files import ReadableFiles
from engine.runtime.runtime import MeshRuntime
from engine.statements.shared.distribution import CompiledQuery
from server.cluster.cursor_routing import CursorRouter
from server.cluster.membership import Timing
from server.cluster.mesh_link import LinkOptions, MeshLink
from server.cluster.routing import ServerMesh
from server.session.cancel import SessionRegistry
from simulated.network import Network
from simulated.pools import SimulatedOperations, SimulatedPool
from simulated.sources import InPieces, NoSmallFiles
from simulated.tasks import NoWriters, SimulatedTasks
from simulated.world import Process, World
from wire.mesh.control_messages import Cancel, ControlMessage, Identity

PORT: Final = 7432
TIMING: Final = Timing(heartbeat=0.5, failure_after=2.0)
_SPOOL_BYTES: Final = 1 << 20
_FRAGMENT_THREADS: Final = 4
_OPERATION_THREADS: Final = 2


class Ground(Protocol):
    """The files and the database that members run on. folder: the folder of all their files, relative to the working
    folder. answers: their DuckDB.
    """

    @property
    def folder(self) -> Path: ...

    @property
    def answers(self) -> Any: ...


class SimulatedMember:
    """One member, and the `Opener` of its queries; see the module's docstring. name: its id, and its host's name.
    start: how often it has been started.
    """

    def __init__(
        self, world: World, network: Network, ground: Ground, name: str, start: int, seeds: tuple[str, ...]
    ) -> None:
        self.name = name
        self.world = world
        self.ground = ground
        chance = Random(world.chance.random())
        self.process = Process(
            world,
            network,
            name,
            skew=(chance.uniform(0, 1e5), chance.choice((1.0, 1.0, 0.999, 1.01))),
            slowness=chance.choice((1.0, 1.0, 1.0, 8.0)),
        )
        self.process.pool = SimulatedPool(self.process, 2)
        self.leaving = False
        self._start = start
        self._chance = chance
        self._numbers = itertools.count(start * 1_000_000 + 1)
        self.process.do(self._build, seeds)

    def _build(self, seeds: tuple[str, ...]) -> None:
        folder = self.ground.folder
        self.listener = DataListener(self.name, PORT)
        self.local = SimulatedLocal(self.process, self.ground, self._chance)
        self.spooler = SimulatedSpooler(folder / "spool", SimulatedPool(self.process, 1))
        self._identity = Identity(self.name, f"{self.name}.{self._start}", f"{self.name}:{PORT}", "", "data", "0")
        options = LinkOptions(secret=b"simulated", seeds=seeds, timing=TIMING, chance=self._chance)
        self.link = MeshLink(self._identity, options, lambda: self.runtime.load, _parse)
        self.mesh = WatchedMesh(self.link, self.world)
        self.tasks = SimulatedTasks(self.local, self._chance)
        server = ServerMesh(self.mesh)
        self.registry = SessionRegistry(self.name)
        self.cursors = CursorRouter(server, self.registry)
        self.runtime = MeshRuntime(
            server,
            self.listener,
            self.local,
            self.tasks,
            self.spooler,
            SimulatedOperations(self.process, _OPERATION_THREADS),
            ReadableFiles(self.name, DataRoots(folder)),
            NoWriters(),
        )

    async def start(self) -> None:
        await self.listener.start()
        await self.local.start()
        self.listener.admit_control(self.link.accept)
        self.runtime.start()
        self.link.start(self._identity)

    async def leave(self) -> None:
        """Leave as a member does that is told to shut down: it lets running queries end, and sends a goodbye."""
        self.leaving = True
        self.link.drain()
        await self.runtime.idle()
        await self.cursors.close()
        await self.runtime.close()
        self.listener.admit_control(None)
        await self.link.close()
        await self.listener.close()
        await self.local.close()

    # -- engine.statements.shared.fault_policy.Opener ------------------------------------------------------------------------------

    def new_query_id(self) -> QueryId:
        return QueryId(self.name, next(self._numbers))

    async def open(self, query: CompiledQuery, context: ExecutionContext) -> BatchStream:
        if isinstance(query.runs, CompiledFragment):
            return await self.local.open(query.runs, context)
        runs = query.runs
        return self.runtime.open(str(context.query), runs.shared, runs.members, runs.schema, context.notice)

    # -- what is looked at from outside --------------------------------------------------------------------------

    def known_members(self) -> dict[str, str]:
        """The members that it knows, and their states."""
        return self.process.do(lambda: {m.id: m.state for m in self.link.members()})

    def held(self) -> dict[str, int]:
        """Return the counts of what the member holds for queries; empty when none runs."""
        others = sum(state in ("up", "suspect", "draining") for state in self.known_members().values()) - 1
        counts = {
            **self.runtime.statistics(),
            **self.cursors.statistics(),
            "streams": self.local.statistics()["streams"],
            "spooled": self.spooler.bytes_used,
            "jobs": self.tasks.running,
            "sockets": self.listener.connections,
            "control": max(self.link.statistics()["connections"] - others, 0),
        }
        return {name: count for name, count in counts.items() if count}


class WatchedMesh:
    """A member's mesh that records every message. cancels: the number of `cancel`s that were sent, by query."""

    def __init__(self, link: Mesh, world: World) -> None:
        self._link = link
        self._world = world
        self.cancels: Counter[str] = Counter()

    @property
    def member(self) -> str:
        return self._link.member

    def members(self) -> list[MemberInfo]:
        return list(self._link.members())

    def send(self, member: str, message: ControlMessage, body: bytes = b"") -> bool:
        sent = self._link.send(member, message, body)
        if isinstance(message, Cancel):
            self.cancels[message.query] += 1
        self._world.note(self.member, "=>", member, type(message).__name__, getattr(message, "query", ""), sent)
        return sent

    def listen(self, on_message: Handler, on_lost: Callable[[str], None]) -> None:
        self._link.listen(on_message, on_lost)


class SimulatedLocal(LocalExecutor):
    """The local engine over the DuckDB that all members share. Its streams come in batches of any size."""

    def __init__(self, process: Process, ground: Ground, chance: Random) -> None:
        super().__init__(EngineConfig(ground.folder))
        self._process = process
        self._ground = ground
        self._chance = chance

    async def start(self) -> None:
        answers = self._ground.answers
        small: Any = NoSmallFiles()
        self.begin(SimulatedPool(self._process, _FRAGMENT_THREADS), answers, answers, small)

    def run(self, work: LocalWork) -> LocalStream:
        return InPieces(super().run(work), self._chance)  # type: ignore[return-value]

    async def close(self) -> None:
        """Leave the database open, because all members share it."""


class SimulatedSpooler(Spooler):
    """Spool files, on a disk that may be full."""

    def __init__(self, folder: Path, threads: SimulatedPool) -> None:
        super().__init__(folder, _SPOOL_BYTES, threads=threads)
        self.full = False
        self._disk = threads

    async def create(self) -> SpoolFile:
        if self.full:
            return SpoolFile(self, self._disk, open("/dev/full", "r+b", buffering=0))  # noqa: ASYNC230
        return await super().create()


def _parse(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)
