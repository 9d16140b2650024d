"""The services of an engine that handlers of statements use. `engine.engine.Engine` provides them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from engine.catalog.store.commit_group import CommitQueue
from engine.catalog.store.store import CatalogStore
from engine.common.supervised import Background
from engine.contracts.copy_progress import Copies
from engine.contracts.maintenance_progress import Maintenance
from engine.contracts.mesh import Mesh
from engine.executors.engine_config import EngineConfig
from engine.executors.spark.executor import SparkExecutor
from engine.lakes.foreign_files import DataRoots
from engine.runtime.engine_speeds import EngineSpeeds
from engine.runtime.executors import Executors
from engine.runtime.planning_pool import PlanningPool
from engine.statements.shared.copy_files import CopyRoots
from engine.statements.shared.initiation import Initiation
from engine.statements.shared.query_opener import QueryOpener
from engine.statements.shared.statement_parser import StatementParser
from engine.statements.shared.table_queue import TableQueue

T = TypeVar("T")


class EngineServices(Protocol):
    """See the module's docstring.

    - store: the catalog
    - commits: the queue of the sessions' commits
    - roots: the folders where files of foreign tables may be
    - turns: queues of statements that wait for each other
    - copies: the running COPY statements
    - maintenance: the tables that VACUUM and ANALYZE are processing
    - planning: the threads that plan
    - background: tasks that no statement waits for
    - executors: DuckDB and Spark
    - tables: the folder of stored tables, which all members of the catalog see
    - copy_roots: the folders where files of COPY may be
    - speeds: those of the engines
    - queries: starts compiled queries
    - parser: parses query strings
    """

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
    executors: Executors
    spark: SparkExecutor
    tables: Path
    copy_roots: CopyRoots
    speeds: EngineSpeeds
    queries: QueryOpener
    parser: StatementParser

    async def see_commits(self, since: float | None = None) -> None:
        """Refresh the catalog, so that a statement that begins sees every commit of every member.

        since: when the client's message that begins the statement arrived, by `time.monotonic`. If another statement
        has refreshed the catalog after that, nothing is done, because the client cannot know of a later commit. None:
        refresh in any case.
        """
        ...

    async def in_operation_pool(self, call: Callable[[], T]) -> T:
        """Run a call that may block, on the operation thread with the least to do."""
        ...

    async def in_writer_pool(self, call: Callable[[], T]) -> T:
        """Run a call that may block for long on a disk."""
        ...
