"""The executors of a member: DuckDB and Spark, with the spool that Spark's streams share with the streams of the mesh."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.common.shielded import closed_in_turn
from engine.common.supervised import Background
from engine.contracts.mesh import Members
from engine.contracts.query_id import EngineName
from engine.exchange.listener import DataListener
from engine.exchange.spool import Spooler
from engine.executors.engine_config import EngineConfig
from engine.executors.executor import Executor
from engine.executors.local.executor import LocalExecutor
from engine.executors.spark.executor import SparkExecutor
from engine.executors.spark.watch import SparkWatch

#: The folder of spool files, in the member's own folder.
_SPOOL: Final = "spool"


class Executors:
    """See the module's docstring. listener: the listener that Spark's tasks connect to. mesh: the members that may share
    one Spark. background: the member's supervisors.
    """

    def __init__(self, config: EngineConfig, listener: DataListener, mesh: Members, background: Background) -> None:
        self.spooler = Spooler(config.private / _SPOOL)
        self.local = LocalExecutor(config)
        self.spark = SparkExecutor(config.spark, config.private, listener=listener, spooler=self.spooler, mesh=mesh)
        self.watch = SparkWatch(config.spark, self.spark, background.supervise("spark"))
        self._named: dict[EngineName, Executor] = {"local": self.local, "spark": self.spark}

    def find(self, name: EngineName) -> Executor:
        return self._named[name]

    async def start(self) -> None:
        """Prepare the executors. Spark starts in the background."""
        for executor in self._named.values():
            await executor.start()
        self.watch.start()

    @property
    def load(self) -> int:
        """The number of queries that run on the executors."""
        return sum(executor.load for executor in self._named.values())

    def status(self) -> Mapping[str, str]:
        """The state of each executor in a word or two."""
        return {name: executor.state for name, executor in self._named.items()}

    def statistics(self) -> Mapping[str, Mapping[str, int]]:
        return {name: executor.statistics() for name, executor in self._named.items()}

    async def close(self) -> None:
        """End the queries that run on them."""
        await closed_in_turn(
            self.watch.close, *(executor.close for executor in self._named.values()), self.spooler.close
        )
