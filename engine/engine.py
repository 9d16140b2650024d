"""One member's engine: the catalog store, the two executors, the pools and caches that sessions share.

    engine = Engine(EngineConfig(data)); await engine.start()
    session = engine.session.session(user=..., database=..., options=..., client=...)
    await engine.close()

`start` returns as soon as short queries can run; Spark goes on starting in the background.
"""

from __future__ import annotations

import asyncio
import functools
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from engine.catalog.model.remote_file_ref import RemoteFileRef
from engine.catalog.model.roles import Roles
from engine.catalog.store.commit_group import CommitQueue
from engine.catalog.store.request_clock import asked_now
from engine.catalog.store.store import URL_SCHEMES, CatalogStore
from engine.common.fragment_pool import FragmentPool
from engine.common.shielded import closed_in_turn
from engine.common.weighted_lru_cache import CacheFigures, WeightedLruCache
from engine.contracts.activity import EdgeCounters, FragmentCounters, Graph, Observed, SparkJobReport, StatementState
from engine.contracts.batch_stream import BatchStream
from engine.contracts.copy_progress import Copies
from engine.contracts.executor import ExecutionContext
from engine.contracts.maintenance_progress import Maintenance
from engine.contracts.mesh import AloneMesh, MemberInfo, Mesh
from engine.contracts.progress import Progress, RunningQuery
from engine.contracts.query_id import EngineName, QueryId, query_ids
from engine.contracts.sessions import Client
from engine.exchange.edge_totals import edge_figures
from engine.exchange.listener import DataListener
from engine.exchange.spool import Spooler
from engine.executors.engine_config import EngineConfig
from engine.executors.executor import Executor
from engine.executors.local.executor import LocalExecutor
from engine.executors.spark.executor import SparkExecutor
from engine.lakes import iceberg, stores
from engine.lakes.foreign_files import DataRoots
from engine.lakes.topology_tables import topology_tables
from engine.monitor.engine_speeds import EngineSpeeds
from engine.monitor.figures import cache_figures, memory_figures
from engine.monitor.graph import ended_graph, graph_of
from engine.monitor.record import StatementRecord
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.runtime.operation_pool import OperationPool
from engine.runtime.planning_pool import SHORT_CHARACTERS, PlanningPool
from engine.runtime.readable_files import ReadableFiles
from engine.runtime.runtime import MeshRuntime
from engine.runtime.stall_watch import StallWatch
from engine.runtime.stream_counts import receiver_counters
from engine.session.context.advisory_locks import AdvisoryLocks, MemberLocks
from engine.session.context.statement_cache import StatementCache
from engine.session.session import Session
from engine.settings.session_settings import SETTINGS, permission_denied
from engine.sql.parser.masking import names_password
from engine.sql.parser.nodes.statements import Statement
from engine.sql.parser.parse import parse
from engine.statements.dml.participant import StagedWriters
from engine.statements.maintenance.compactor import Compactor
from engine.statements.shared.copy_files import CopyRoots
from engine.statements.shared.distribution import CompiledQuery
from engine.statements.shared.initiation import Initiation, session_settings
from engine.statements.shared.sequences import SessionSequences
from engine.statements.shared.table_queue import TableQueue

T = TypeVar("T")
#: Statements that are kept parsed: how many, and of how many characters together, each of which takes up to 250 bytes.
_PARSED: Final = 1024
_PARSED_ROOM: Final = 1 << 19
#: Characters of a long text for a node of its trees.
_NODE_CHARACTERS: Final = 5
#: What the name of the file of advisory locks has beyond the catalog's.
_LOCKS: Final = "-locks"


class Engine:
    """See the module's docstring. `store`, `roots`, `statements`, `turns`, `initiation`: shared by the sessions.

    listener: where Spark's tasks connect; its owner closes it after the engine, and starts it before if other members connect
        there too, else Spark does.
    mesh: the other members, which their owner begins to look for and leaves; None: there are none.
    """

    def __init__(self, config: EngineConfig, listener: DataListener, mesh: Mesh | None = None) -> None:
        self.config = config
        self.mesh = mesh or AloneMesh(MemberInfo(config.member, "1", "", "", "data", "up", 0, "", local=True))
        self.initiation = Initiation(config.role, self.mesh)
        self.store = CatalogStore(config.catalog_location, self.tables, allow_empty=config.allow_empty_catalog)
        stores.register(config.stores)
        iceberg.register(config.catalogs)
        self.roots = DataRoots(config.base or config.data, config.roots)
        self._own_files = DataRoots(config.data, config.roots)
        if config.topology is not None:
            self.store.declare(topology_tables(config.topology, config.member, self._own_files))
        self.statements = StatementCache()
        self.turns = TableQueue()
        self.advisory_locks = AdvisoryLocks(_member_locks(config))
        self.copies = Copies()
        self.maintenance = Maintenance()
        self._listener = listener
        self._operations = OperationPool(config.operation_threads)
        self.commits = CommitQueue(self.store, lambda call: self._operations.submit(None, asked_now(call)))
        self.planning = PlanningPool(self._operations, config.memory_bytes)
        self._query_ids = query_ids(config.member)
        self._local = LocalExecutor(config)
        self._spooler = Spooler(config.private / "spool")
        self._spark = SparkExecutor(config.spark, config.private, listener=listener, spooler=self._spooler)
        self._executors: dict[EngineName, Executor] = {"local": self._local, "spark": self._spark}
        # Messages have operation threads of their own: a statement that takes long to bind must not hold up a cancel.
        self._messages = OperationPool(config.operation_threads, "sluice-message")
        # Files are written by threads that do nothing else: nothing short waits behind a disk.
        self._writers = FragmentPool(config.fragment_threads, "sluice-writer")
        self.background = self.store.background
        self._compactor = Compactor(self, config.compact_after)
        self._runtime: MeshRuntime | None = None
        self.speeds = EngineSpeeds(config, self._local, self._spark, self.in_writer_pool)
        self._stalls = StallWatch({
            "operations": functools.partial(self._operations.post, None),
            "messages": functools.partial(self._messages.post, None),
            "fragments": self._local.post,
        })  # fmt: skip
        self._parsed: WeightedLruCache[str, Sequence[Statement]] = WeightedLruCache(
            _PARSED, _PARSED_ROOM, lambda sql, _: len(sql)
        )

    async def start(self) -> None:
        """Ready the executors. Spark starts in the background; a query that needs it waits for it. What a crash left
        of commits is made good in the background too: nothing waits for it."""
        self.store.start_publishing()
        for executor in self._executors.values():
            await executor.start()
        files = ReadableFiles(self.config.member, self._shared_files(), _held(self.config))
        self._runtime = MeshRuntime(
            self.mesh, self._listener, self._local, self._spark, self._spooler, self._messages, files,
            StagedWriters(self.tables, self.in_writer_pool, self._spark, lambda: SessionSequences(self.store)),
        )  # fmt: skip
        self._runtime.start()
        self._compactor.start()
        self._stalls.start()
        self.speeds.start()

    def session(self, *, user: str, database: str, options: Mapping[str, str], client: Client) -> Session:
        """A session for one client (`engine.session.engine_session.SessionFactory`). Raises SqlError for an option that is
        wrong."""
        roles = self.store.snapshot.roles
        role = roles.of(user)
        for name in options:
            row = SETTINGS.get(name.lower())
            if row is not None:
                row.require_changeable(connecting=True)
            if row is not None and row.privileged and not role.superuser:
                raise permission_denied(row)
        settings = session_settings(self.config.role, {**self.config.settings, **roles.settings_of(role)}, options)
        return Session(self, user=user, database=database, settings=settings, client=client)

    @property
    def spark(self) -> SparkExecutor:
        return self._spark

    def executor(self, name: EngineName) -> Executor:
        return self._executors[name]

    async def open(self, query: CompiledQuery, context: ExecutionContext) -> BatchStream:
        """Begin to run a query, here or on several members."""
        underway = context.underway
        if isinstance(query.runs, CompiledFragment):
            underway.begin(context.query, (query.runs.engine,))
            if query.constant is not None and (known := query.constant.stream()) is not None:
                return underway.attach_stream(known)
            if query.values:
                context = replace(context, values=query.values)
            stream = await self.speeds.open(query.runs, context, query.choice.expected)
            return underway.attach_stream(stream if query.constant is None else query.constant.learn_from(stream))
        assert self._runtime is not None, "the engine has been started"
        runs = query.runs
        if query.physical is not None:
            underway.begin(context.query, (fragment.engine for fragment in query.physical.fragments))
        return underway.attach_stream(
            self._runtime.open(
                str(context.query), runs.shared, runs.members, runs.schema, context.notice, context.trace
            )
        )

    async def progress(self, underway: RunningQuery, pid: int) -> Progress:
        """Return the progress of a session's statement. pid: the session's."""
        query, engines = underway.query, tuple(sorted(underway.engines))
        copied = max((copy.rows for copy in self.copies.running_copies() if copy.pid == pid), default=0)
        rows = max(underway.rows, copied)
        if query is None or "spark" not in engines:
            return Progress(query, engines, rows=rows)
        starting = self._spark.state == "starting"
        tasks = None if starting else await self._spark.tasks_of(query)
        return Progress(query, engines, starting, tasks, rows)

    def new_query_id(self) -> QueryId:
        return next(self._query_ids)

    async def parse(self, sql: str) -> Sequence[Statement]:
        """`parse(sql)`, remembered for texts of ordinary length without passwords; nobody else waits for a long one."""
        if len(sql) > SHORT_CHARACTERS:
            statements = await self.planning.run(functools.partial(parse, sql), long=True)
            self._dispose_after(statements, len(sql) // _NODE_CHARACTERS)
            return statements
        if names_password(sql):
            return parse(sql)
        return self._parsed.get(sql, lambda: parse(sql))

    def _dispose_after(self, statements: Sequence[Statement], nodes: int) -> None:
        """Have the trees of a long text taken apart once its last statement is freed."""
        if statements:
            *before, last = statements
            self.planning.dispose_with(last, [*before, *filter(gc.is_tracked, gc.get_referents(last))], nodes)

    async def roles(self) -> Roles:
        """The newest ones, whichever member has made them."""
        await self.see_commits()
        return self.store.snapshot.roles

    async def see_commits(self) -> None:
        """Before a statement begins: everything that any member has committed is to be seen."""
        if not self.store.is_current():
            await self.in_operation_pool(self.store.refresh)

    async def in_operation_pool(self, call: Callable[[], T]) -> T:
        """Run a call that may block, on the operation thread with the least to do."""
        return await asyncio.wrap_future(self._operations.submit(None, asked_now(call)))

    @property
    def tables(self) -> Path:
        """The folder of stored tables, which all members of the catalog see."""
        return self.config.tables

    async def in_writer_pool(self, call: Callable[[], T]) -> T:
        """Run a call that may block for long on a disk."""
        return await asyncio.get_running_loop().run_in_executor(self._writers, call)

    @property
    def copy_roots(self) -> CopyRoots:
        """Where files of COPY may lie; nowhere among the server's own."""
        config = self.config
        kept = [config.private, self.tables]
        if config.catalog and not config.catalog.startswith(URL_SCHEMES):
            kept += [Path(config.catalog + more) for more in ("", "-wal", "-shm", "-journal", _LOCKS)]
        roots = config.copy_roots or ((config.base or config.data) / "files",)
        return CopyRoots(roots, tuple(kept))

    @property
    def load(self) -> int:
        """How many queries run here."""
        distributed = self._runtime.load if self._runtime is not None else 0
        return distributed + sum(executor.load for executor in self._executors.values())

    def status(self) -> Mapping[str, str]:
        """Each engine's state in a word or two."""
        return {name: executor.state for name, executor in self._executors.items()}

    @property
    def spooled_bytes(self) -> int:
        return self._spooler.bytes_used

    def statistics(self) -> Mapping[str, Mapping[str, int]]:
        """Counters by room: what is open and held right now."""
        counted = {
            "statements": self.statements.statistics(),
            "operations": {**self._operations.statistics(), "aside": self._operations.aside},
            "messages": self._messages.statistics(),
            "fragments": self._local.pool_statistics,
            "planning": self.planning.statistics(),
            "stalls": self._stalls.statistics(),
            "tables": {**self.store.statistics(), "compacted": self._compactor.compacted},
            "writers": self._writers.statistics(),
            "spool": self._spooler.statistics(),
            "edges": self._edge_figures(),
            "memory": memory_figures(self.config.memory_bytes or 0),
        }
        if self._runtime is not None:
            counted["mesh"] = self._runtime.statistics()
        return counted | {name: executor.statistics() for name, executor in self._executors.items()}

    def _edge_figures(self) -> Mapping[str, int]:
        receivers, sending, totals = [receiver for _, receiver in self._spark.streams()], 0, self._spark.sent
        if self._runtime is not None:
            receivers += self._runtime.mailboxes.receivers()
            sending, totals = self._runtime.streams_out, totals.with_other(self._runtime.totals)
        return edge_figures(receivers, sending, totals)

    def caches(self) -> Mapping[str, CacheFigures]:
        """How well each cache serves, by its name."""
        return {
            "statements": self.statements.figures(),
            "parsed": self._parsed.figures(),
            **cache_figures(),
        }

    async def observe(self) -> None:
        """Read what a scrape shows and no counter of this process has (`statistics`)."""
        await self._spark.observe()

    def running_counters(self, query: str = "") -> Observed:
        """Count what runs here of distributed queries, and of those whose rows Spark's tasks send. query: only this one's."""
        fragments, edges = self._runtime.observe(query) if self._runtime is not None else ([], [])
        member = self.config.member
        sent = [
            receiver_counters(token, (0, 0, 0), member, receiver, list(receiver.streams.values()))
            for token, receiver in self._spark.streams(query)
        ]
        return fragments, [*edges, *sent]

    async def spark_jobs(self, query: str = "") -> Sequence[SparkJobReport]:
        """Report Spark's jobs that run here. query: only this one's."""
        return await self._spark.jobs(self.config.member, query)

    def graph(
        self,
        record: StatementRecord,
        fragments: Sequence[FragmentCounters],
        edges: Sequence[EdgeCounters],
        state: StatementState | None = None,
    ) -> Graph | None:
        """The graph of a statement that this member has planned and that is not over. fragments, edges: as counted, here and
        elsewhere. state: in which it is going to end."""
        if record.planned is None:
            return None
        state = state or record.state
        return graph_of(
            *record.planned, self.config.member, state, record.rows_so_far, fragments, edges, record.operators
        )

    def last_graph(self, record: StatementRecord, state: StatementState) -> bytes:
        """The graph of a statement that is ending in this way, as JSON; empty where it has none."""
        graph = self.graph(
            record, *(([], []) if record.query is None else self.running_counters(str(record.query))), state=state
        )
        return b"" if graph is None else msgspec.json.encode(ended_graph(graph, state))

    async def idle(self) -> None:
        """Wait until nothing runs here for queries over several members."""
        if self._runtime is not None:
            await self._runtime.idle()

    async def close(self) -> None:
        """End everything: running queries, Spark, threads, the catalog database."""
        await closed_in_turn(
            self.speeds.close,
            self._stalls.close,
            self._compactor.close,
            self.planning.close,
            lambda: None if self._runtime is None else self._runtime.close(),
            self._messages.close,
            *(executor.close for executor in self._executors.values()),
            self._spooler.close,
            self._writers.close,
            self._operations.close,
            self.advisory_locks.close,
            lambda: asyncio.get_running_loop().run_in_executor(None, self.store.close),
        )

    def _shared_files(self) -> DataRoots:
        """Return the folders whose files this member reads for others, with that of stored tables wherever it is."""
        roots = self.config.roots
        return DataRoots(self.config.data, (*roots, self.tables) if roots else ())


def _member_locks(config: EngineConfig) -> MemberLocks | None:
    """Beside the catalog, where the other members that share it find them too."""
    if config.catalog and str(config.catalog).startswith(URL_SCHEMES):
        return None
    return MemberLocks(Path(f"{config.catalog_location}{_LOCKS}"))


def _held(config: EngineConfig) -> Iterator[RemoteFileRef]:
    """The physical sources that the topology gives this member, as other members name them."""
    if config.topology is not None and config.member in config.topology.members:
        for source in config.topology.node(config.member).physical:
            yield RemoteFileRef(config.member, source.format, source.path)
