"""One member's engine, composed of its rooms: the catalog, the executors, the pools, the runtime, and what sessions share.

    engine = Engine(EngineConfig(data)); await engine.start()
    session = engine.session(user=..., database=..., options=..., client=...)
    await engine.close()

`start` returns as soon as short queries can run; Spark goes on starting in the background.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from engine.catalog.model.roles import Roles
from engine.catalog.store.commit_group import CommitQueue
from engine.catalog.store.store import CatalogStore
from engine.common.shielded import closed_in_turn
from engine.contracts.copy_progress import Copies
from engine.contracts.maintenance_progress import Maintenance
from engine.contracts.mesh import AloneMesh, Mesh
from engine.contracts.sessions import Client
from engine.exchange.listener import DataListener
from engine.executors.engine_config import EngineConfig
from engine.monitor.engine_monitor import EngineMonitor
from engine.runtime.engine_speeds import EngineSpeeds
from engine.runtime.executors import Executors
from engine.runtime.opening import open_runtime
from engine.runtime.pools import Pools
from engine.session.context.advisory_locks import AdvisoryLocks
from engine.session.context.statement_cache import StatementCache
from engine.session.opening import open_session
from engine.session.session import Session
from engine.statements.dml.participant import open_writers
from engine.statements.maintenance.compactor import Compactor
from engine.statements.shared.copy_files import CopyRoots
from engine.statements.shared.initiation import Initiation
from engine.statements.shared.query_opener import QueryOpener
from engine.statements.shared.statement_parser import StatementParser
from engine.statements.shared.table_queue import TableQueue

T = TypeVar("T")


class Engine:
    """A member's engine; see the module's docstring. `engine.session.context.services` describes the parts that
    sessions use. monitor: reports on running and past statements.

    listener: where Spark's tasks connect; its owner closes it after the engine, and starts it before if other members
        connect there too, else Spark does.
    mesh: the other members; its owner starts and ends the connection to them. None: there are none.
    """

    def __init__(self, config: EngineConfig, listener: DataListener, mesh: Mesh | None = None) -> None:
        self.config = config
        self.mesh = mesh or AloneMesh.of(config.member)
        self.initiation = Initiation(config.role, self.mesh)
        self.store = CatalogStore(config.catalog_location, config.tables, allow_empty=config.allow_empty_catalog)
        self.background = self.store.background
        config.register_sources()
        files = config.files
        self.roots = files.foreign_roots
        self.tables = config.tables
        # COPY must not read or write the server's own files.
        self.copy_roots = CopyRoots(config.copy_folders, (config.private, config.tables, *config.catalog_files))
        if config.topology is not None:
            self.store.declare(files.topology_tables())
        self.statements = StatementCache()
        self.turns = TableQueue()
        self.advisory_locks = AdvisoryLocks.beside(config.locks_file)
        self.copies = Copies()
        self.maintenance = Maintenance()
        self.pools = Pools(config.operation_threads, config.fragment_threads, config.memory_bytes)
        self.commits = CommitQueue(self.store, self.pools.submit_operation)
        self.planning = self.pools.planning
        self.parser = StatementParser(self.planning)
        self.executors = Executors(config, listener, self.mesh, self.background)
        self.spark = self.executors.spark
        self._compactor = Compactor(self, config.compact_after)
        self._stalls = self.pools.watch_stalls(self.executors.local.post)
        writers = open_writers(self.store, self.in_writer_pool, self.spark)
        self._runtime = open_runtime(config, self.mesh, listener, self.executors, self.pools, writers)
        self.executors.watch.tell = self._runtime.note_wait
        self.speeds = EngineSpeeds(config, self.executors.local, self.spark, self.in_writer_pool)
        self.queries = QueryOpener(self.mesh, self.speeds, self._runtime)
        self.monitor = EngineMonitor(
            config, self.executors, self.pools, self._runtime, self.copies, self.maintenance, self._statistics,
            {"statements": self.statements.figures, "parsed": self.parser.figures},
        )  # fmt: skip

    async def start(self) -> None:
        """Start the executors. Spark starts in the background, and a query that needs it waits for it. Commits that a
        crash interrupted are completed in the background too, and nothing waits for that.
        """
        self.store.start_publishing()
        await self.executors.start()
        self._runtime.start()
        self._compactor.start()
        self._stalls.start()
        self.speeds.start()

    def session(self, *, user: str, database: str, options: Mapping[str, str], client: Client) -> Session:
        """Open a session for one client (`engine.session.engine_session.SessionFactory`). Raises SqlError for an
        invalid option.
        """
        return open_session(self, user=user, database=database, options=options, client=client)

    async def roles(self) -> Roles:
        """Return the newest roles, whichever member has created them."""
        await self.see_commits()
        return self.store.snapshot.roles

    async def see_commits(self, since: float | None = None) -> None:
        if not self.store.is_current(since):
            await self.in_operation_pool(self.store.refresh)

    async def in_operation_pool(self, call: Callable[[], T]) -> T:
        """Run a call that may block, on the operation thread with the least to do."""
        return await self.pools.run_operation(call)

    async def in_writer_pool(self, call: Callable[[], T]) -> T:
        """Run a call that may block for long on a disk."""
        return await self.pools.run_writer(call)

    def _statistics(self) -> Mapping[str, Mapping[str, int]]:
        """Return counters of the parts that sessions share."""
        return {
            "statements": self.statements.statistics(),
            "stalls": self._stalls.statistics(),
            "tables": {**self.store.statistics(), "compacted": self._compactor.compacted},
        }

    async def idle(self) -> None:
        """Wait until nothing runs here for queries over several members."""
        await self._runtime.idle()

    def abandon_late(self) -> None:
        """Bound the wait for each cancelled statement from now on (`engine.executors.local.abandonment`)."""
        self.executors.local.abandon_late()

    @property
    def abandoned_threads(self) -> Sequence[str]:
        """Names of the threads that `close` has left behind."""
        return self.executors.local.abandoned_threads

    async def close(self) -> None:
        """End everything: running queries, Spark, threads, the catalog database."""
        await closed_in_turn(
            self.speeds.close,
            self._stalls.close,
            self._compactor.close,
            self.planning.close,
            self._runtime.close,
            self.pools.messages.close,
            self.executors.close,
            self.pools.writers.close,
            self.pools.operations.close,
            self.advisory_locks.close,
            lambda: asyncio.get_running_loop().run_in_executor(None, self.store.close),
        )
