"""Runs a query for EXPLAIN ANALYZE: discards its rows and keeps its counters."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.contracts.profile import Operator
from engine.executors.local.stream import LocalStream
from engine.executors.spark.stream import SparkStream
from engine.runtime.distributed_stream import DistributedStream
from engine.statements.shared.distribution import CompiledQuery
from wire.dataclass import dataclass

if TYPE_CHECKING:
    from engine.statements.shared.engine_services import EngineServices


@dataclass(slots=True)
class MeasuredRun:
    """The counters of a run for ANALYZE: the stream's counters, each member's counters, times in milliseconds.
    operators: the counters of the engine's operators, for a query that ran on this member.
    """

    counters: Mapping[str, float | int | str]
    members: Mapping[str, int]
    operators: Operator | None = None


async def run_measured(query: CompiledQuery, engine: EngineServices, context: ExecutionContext) -> MeasuredRun:
    """Run the query, discard its rows, and return the counters."""
    started = time.perf_counter()
    first: float | None = None
    stream: BatchStream = await engine.queries.open(query, replace(context, analyze=True))
    try:
        while await stream.next_batch() is not None:
            first = first or (time.perf_counter() - started) * 1e3
        members = await stream.collect_counters() if isinstance(stream, DistributedStream) else {}
        counted = stream.statistics()
        operators = stream.operators if isinstance(stream, (LocalStream, SparkStream)) else None
    finally:
        await stream.close()
    told: dict[str, float | int | str] = {name.capitalize(): value for name, value in counted.items()}
    if first is not None:
        told["First Batch"] = first
    told["Execution Time"] = (time.perf_counter() - started) * 1e3
    return MeasuredRun(told, members, operators)
