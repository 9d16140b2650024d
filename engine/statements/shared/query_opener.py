"""Starts compiled queries: a fragment on an engine of this member, a distributed query on its members."""

from __future__ import annotations

from dataclasses import replace

from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.contracts.mesh import Mesh
from engine.contracts.query_id import QueryId, query_ids
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.runtime.engine_speeds import EngineSpeeds
from engine.runtime.runtime import MeshRuntime
from engine.statements.shared.distribution import CompiledQuery


class QueryOpener:
    """See the module's docstring. speeds: observes fragments that run on this member alone. runtime: runs distributed
    queries.
    """

    def __init__(self, mesh: Mesh, speeds: EngineSpeeds, runtime: MeshRuntime) -> None:
        self.mesh = mesh
        self._query_ids = query_ids(mesh.member)
        self._speeds = speeds
        self._runtime = runtime

    def new_query_id(self) -> QueryId:
        """Return the next id of a query that this member initiates."""
        return next(self._query_ids)

    async def open(self, query: CompiledQuery, context: ExecutionContext) -> BatchStream:
        """Start a query, here or on several members. Raises SqlError."""
        underway = context.underway
        if query.notice is not None:
            context.notice(query.notice)
        if isinstance(query.runs, CompiledFragment):
            underway.begin(context.query, (query.runs.engine,))
            if query.constant is not None and (known := query.constant.stream()) is not None:
                return underway.attach_stream(known)
            if query.values:
                context = replace(context, values=query.values)
            stream = await self._speeds.open(query.runs, context, query.choice.expected)
            return underway.attach_stream(stream if query.constant is None else query.constant.learn_from(stream))
        runs = query.runs
        if query.physical is not None:
            underway.begin(context.query, (fragment.engine for fragment in query.physical.fragments))
        return underway.attach_stream(
            self._runtime.open(
                str(context.query), runs.shared, runs.members, runs.schema, context.notice, context.trace
            )
        )
