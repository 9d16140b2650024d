"""The policy for a distributed query that loses a member: `SET sluice.fault_policy`.

    stream = await RepeatableQuery(engine, policy, terms, compile_as, context).open()

`compile_as` plans the query under given terms for the members that are up now, so a repetition plans the query again,
under a new query id. The failed attempt cannot be confused with the next one: it was closed, and its token is invalid
on every member.

**What may be repeated.** A query of which no row has been delivered. From the first batch on, the portal has delivered rows that a
second attempt might deliver again, or in another order, so the query fails as under `fail`. Only a transient failure is
repeated (40001, or 57P01 of another member that shuts down): a member or a connection was lost. Errors of the statement
are reported at once.

- `retry`: on the remaining members, `REPEATS_MAX` times.
- `local`: once, on the initiator alone, which then depends on no other member. If only other members hold some of the
  query's tables, that is impossible, and the error is reported.
- `wait`: on the same members, as soon as all of them are up again and the query is planned for all, as often as
  necessary: until the statement is cancelled or `statement_timeout` ends it. If a data connection broke and both of its
  members are up, nothing is repeated, even if rows were delivered: the streams of such a query outlive their
  connections (`Terms.lasting`, ADR 9).
- `spool`: concerns a slow client and not a loss; the stream implements it (`DistributedStream.spool_while_away`).

If an error ends a query although its policy would have repeated it, the error says why (`Repetition.explain_refusal`).
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, Protocol

import pyarrow as pa

from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.contracts.mesh import Mesh
from engine.contracts.query_id import QueryId
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.runtime.distributed_stream import DistributedStream
from engine.statements.shared.distribution import CompiledQuery, DistributedQuery
from engine.statements.shared.terms import Terms
from wire.dataclass import dataclass
from wire.errors import FatalError, QueryCanceled, SqlError

Policy = Literal["fail", "retry", "local", "spool", "wait"]
REPEATS_MAX: Final = 3
_TRANSIENT: Final = ("40001", "57P01")
_LOOK_SECONDS: Final = 0.1


class Opener(Protocol):
    """Starts the execution of a planned query: `engine.statements.shared.query_opener.QueryOpener`."""

    @property
    def mesh(self) -> Mesh: ...

    def new_query_id(self) -> QueryId: ...

    async def open(self, query: CompiledQuery, context: ExecutionContext) -> BatchStream: ...


class QueryIds(Protocol):
    """The record of the statement that runs the query (`engine.monitor.record`)."""

    @property
    def is_finished(self) -> bool: ...

    def next_query(self) -> QueryId:
        """Return the id for a query that the statement runs now."""
        ...


def next_query_id(record: QueryIds | None, new_id: Callable[[], QueryId]) -> QueryId:
    """Return the id for a query that runs now. A statement that is repeated during its transaction's commit has no
    record any more, because it has ended for the history.
    """
    return new_id() if record is None or record.is_finished else record.next_query()


@dataclass(frozen=True, slots=True)
class RepeatableQuery:
    """A query that can be planned again.

    compile_as: compiles the query under given terms, for the members that are up now. context: of the first attempt; a
    later one has another query id, which is added to the statement's record.
    """

    engine: Opener
    policy: Policy
    terms: Terms
    compile_as: Callable[[Terms], Awaitable[CompiledQuery]]
    context: ExecutionContext
    record: QueryIds | None = None

    async def open(self) -> BatchStream:
        """Start it. A query that runs on this member alone is not repeated."""
        query = await self.compile()
        stream = await self.engine.open(query, self.context)
        if isinstance(query.runs, CompiledFragment) or self.policy == "fail":
            return stream
        if self.policy == "spool":
            assert isinstance(stream, DistributedStream), "fragments on several members are read as one stream"
            stream.spool_while_away(self.context.settings["spool_limit"])
            return stream
        return RepeatedStream(self, stream, query)

    async def compile(self) -> CompiledQuery:
        """Compile the query for the members that are up now, as its policy requires."""
        lasting = self.policy == "wait"
        return await self.compile_as(
            self.terms if self.terms.lasting is lasting else replace(self.terms, lasting=lasting)
        )

    def members_of(self, query: CompiledQuery) -> Sequence[str]:
        """Return the members that an attempt runs on."""
        return tuple(query.runs.members) if isinstance(query.runs, DistributedQuery) else (self.engine.mesh.member,)

    async def compile_local(self) -> CompiledQuery | None:
        """Compile the attempt that needs no other member; None if that is impossible."""
        query = await self.compile_as(self.terms.on_this_member())
        return None if isinstance(query.runs, DistributedQuery) else query

    def next_context(self) -> ExecutionContext:
        return replace(self.context, query=next_query_id(self.record, self.engine.new_query_id))


class Repetition:
    """Decides by the query's policy how to proceed when an attempt has failed. members: of the first attempt."""

    def __init__(self, query: RepeatableQuery, members: Sequence[str]) -> None:
        self._query = query
        self._members = members
        self._repeats = 0

    async def after(self, error: SqlError, is_wanted: Callable[[], bool] = lambda: True) -> CompiledQuery:
        """Compile the next attempt. Raises the error if there is none, and QueryCanceled once the query is no longer
        wanted.
        """
        if not is_transient(error):
            raise error
        self._repeats += 1
        match self._query.policy:
            case "local" if self._repeats == 1:
                alone = await self._query.compile_local()
                if alone is None:
                    raise error
                self._tell(error, f"it runs again on member {self._query.engine.mesh.member} alone")
                return alone
            case "wait":
                query = await self._compile_for_all(error, is_wanted)
            case "retry" if self._repeats <= REPEATS_MAX:
                query = await self._query.compile()
            case _:
                raise error
        self._members = self._query.members_of(query)
        self._tell(error, f"it runs again on {', '.join(sorted(self._members))}")
        return query

    def explain_refusal(self, error: SqlError) -> SqlError:
        """Add to an error why the query cannot run again, because its client has rows of it, and which members are
        missing.
        """
        if not is_transient(error):
            return error
        why = (
            f"Its rows have reached the client, so it does not run again (sluice.fault_policy is {self._query.policy})."
        )
        if self._query.policy == "wait":
            why += " It outlives only data connections between running members, and not those of Spark tasks."
        missing = absent_members(self._query.engine.mesh, self._members)
        when = f" when {', '.join(f'member {member}' for member in missing)} is up again" if missing else ""
        explained = copy.copy(error)
        explained.detail = f"{error.detail} {why}" if error.detail else why
        explained.hint = f"The statement may be repeated{when if self._query.policy == 'wait' else ''}."
        return explained

    async def _compile_for_all(self, error: SqlError, is_wanted: Callable[[], bool]) -> CompiledQuery:
        """Compile the query for all members of the last attempt, as soon as all are up. A member may be lost during the
        compilation; then the plan leaves it out, or is refused because its tables are missing.
        """
        while True:
            await self._wait(error, is_wanted)
            try:
                query = await self._query.compile()
            except SqlError as refused:
                if not (is_transient(refused) and absent_members(self._query.engine.mesh, self._members)):
                    raise
                error = refused
            else:
                if not absent_members(self._query.engine.mesh, self._members):
                    return query

    async def _wait(self, error: SqlError, is_wanted: Callable[[], bool]) -> None:
        """Wait until all members of the last attempt are up."""
        mesh = self._query.engine.mesh
        if missing := absent_members(mesh, self._members):
            self._tell(error, f"it waits for {', '.join(missing)}")
        while absent_members(mesh, self._members):
            if not is_wanted():
                raise QueryCanceled("canceling statement due to user request")
            await asyncio.sleep(_LOOK_SECONDS)

    def _tell(self, error: SqlError, what: str) -> None:
        self._query.context.notice(f"{error.message}; {what}")


class RepeatedStream:
    """The rows of a query, from whichever attempt succeeds (`engine.contracts.batch_stream.BatchStream`). first: the
    attempt that `stream` belongs to.
    """

    engine_name: Final = "distributed"

    def __init__(self, query: RepeatableQuery, stream: BatchStream, first: CompiledQuery) -> None:
        self._query = query
        self._stream = stream
        self._repetition = Repetition(query, query.members_of(first))
        self._begun = False
        self._closed = False

    async def next_batch(self) -> pa.RecordBatch | None:
        while True:
            try:
                batch = await self._stream.next_batch()
            except SqlError as error:
                if self._closed:
                    raise
                if self._begun:
                    raise self._repetition.explain_refusal(error) from error
                await self._stream.close()
                following = await self._repetition.after(error, lambda: not self._closed)
                self._stream = await self._query.engine.open(following, self._query.next_context())
                if self._closed:
                    await self._stream.close()
            else:
                self._begun = True
                return batch

    async def close(self) -> None:
        self._closed = True
        await self._stream.close()

    def statistics(self) -> Mapping[str, int]:
        return self._stream.statistics()


def is_transient(error: SqlError) -> bool:
    """Return whether an error is the loss of a member or of a connection. An error that ends this session is not
    transient.
    """
    return error.sqlstate in _TRANSIENT and not isinstance(error, FatalError)


def absent_members(mesh: Mesh, wanted: Collection[str]) -> list[str]:
    """Return the members that cannot run fragments now."""
    there = {member.id for member in mesh.members() if member.local or member.state == "up"}
    return sorted(set(wanted) - there)
