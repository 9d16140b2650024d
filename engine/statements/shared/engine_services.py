"""The services of an engine that handlers of statements use. `engine.engine.Engine` provides them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from engine.catalog.store.commit_group import CommitQueue
from engine.catalog.store.store import CatalogStore
from engine.common.supervised import Background
from engine.contracts.batch_stream import BatchStream
from engine.contracts.copy_progress import Copies
from engine.contracts.executor import ExecutionContext
from engine.contracts.maintenance_progress import Maintenance
from engine.contracts.mesh import Mesh
from engine.contracts.query_id import EngineName, QueryId
from engine.executors.engine_config import EngineConfig
from engine.executors.executor import Executor
from engine.executors.spark.executor import SparkExecutor
from engine.lakes.foreign_files import DataRoots
from engine.planner.engine_model import EngineModel
from engine.runtime.planning_pool import PlanningPool
from engine.sql.parser.nodes.statements import Statement
from engine.statements.shared.copy_files import CopyRoots
from engine.statements.shared.distribution import CompiledQuery
from engine.statements.shared.initiation import Initiation
from engine.statements.shared.table_queue import TableQueue

T = TypeVar("T")


class Speeds(Protocol):
    """The engines' speeds, as far as they are known: `engine.monitor.engine_speeds`."""

    @property
    def model(self) -> EngineModel:
        """The model of both engines now: the same object until another is known."""
        ...


class EngineServices(Protocol):
    """store: the catalog. commits: those of the sessions. roots: where files of foreign tables may lie. turns: statements that wait
    for each other. copies: the COPY statements that run. maintenance: the tables that VACUUM and ANALYZE are at. planning: threads
    that plan. background: tasks that no statement waits for."""

    config: EngineConfig
    store: CatalogStore
    commits: CommitQueue
    mesh: Mesh
    roots: DataRoots
    initiation: Initiation
    turns: TableQueue
    copies: Copies
    maintenance: Maintenance
    planning: PlanningPool
    background: Background

    @property
    def spark(self) -> SparkExecutor: ...

    @property
    def speeds(self) -> Speeds:
        """How fast the engines are."""
        ...

    @property
    def tables(self) -> Path:
        """The folder of stored tables, which all members of the catalog see."""
        ...

    @property
    def copy_roots(self) -> CopyRoots:
        """The folders in which files of COPY may lie."""
        ...

    def executor(self, name: EngineName) -> Executor: ...

    async def open(self, query: CompiledQuery, context: ExecutionContext) -> BatchStream:
        """Start a query, on this member or on several. Raises SqlError."""
        ...

    def new_query_id(self) -> QueryId: ...

    async def parse(self, sql: str) -> Sequence[Statement]:
        """Parse a query string. Raises SqlError."""
        ...

    async def see_commits(self) -> None:
        """Refresh the catalog, so that a statement that begins sees every commit of every member."""
        ...

    async def in_operation_pool(self, call: Callable[[], T]) -> T:
        """Run a call that may block, on the operation thread with the least to do."""
        ...

    async def in_writer_pool(self, call: Callable[[], T]) -> T:
        """Run a call that may block for long on a disk."""
        ...
