"""The terms under which a query is compiled: the settings of its session, and the speeds of the engines."""

from __future__ import annotations

from dataclasses import field, replace
from typing import cast

from engine.contracts.memory_share import MemoryShare, page_bytes
from engine.planner.distribute import Distribution
from engine.planner.engine_model import DEFAULT_MODEL, EngineModel
from engine.planner.planner import Wish
from engine.settings.session_settings import SessionSettings
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings of a session that decide where a query runs.

    - local_limit, page_bytes: in bytes
    - memory: as in `ExecutionContext`
    - lasting: as in `SharedSpec`
    - spark_member: the member whose Spark is used; None: this one's own
    - spark_host: the member that hosts the Spark application that this one shares; None: this one, or none is shared
    - model: the speeds of the engines
    - writes: whether the query's rows are written into files
    """

    wish: Wish
    distribution: Distribution
    local_limit: int
    page_bytes: int
    memory: MemoryShare | None = None
    lasting: bool = False
    spark_member: str | None = None
    spark_host: str | None = None
    # Models are compared by identity first, and hashing one takes longer than hashing all other fields.
    model: EngineModel = field(default=DEFAULT_MODEL, hash=False)
    writes: bool = False

    @classmethod
    def of(
        cls,
        settings: SessionSettings,
        model: EngineModel,
        memory: MemoryShare | None = None,
        spark_member: str | None = None,
        spark_host: str | None = None,
    ) -> Terms:
        return cls(
            cast("Wish", settings.get("sluice.engine")),
            cast("Distribution", settings.get("sluice.distribution")),
            settings.size_bytes("sluice.local_limit"),
            page_bytes(settings),
            memory,
            spark_member=spark_member or spark_host,
            spark_host=spark_host,
            model=model,
        )

    def on_this_member(self) -> Terms:
        """Return the terms of a query that must run on this member alone."""
        return replace(self, distribution="off", spark_member=None)
