"""Clients of simulated members: they query, read, pause, leave early and cancel; the verdict judges their recorded
results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import field, replace
from random import Random
from typing import Final, Literal, Protocol

import pyarrow as pa

from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.contracts.mesh import Mesh
from engine.contracts.query_id import QueryId
from engine.plan_ir.spec import SharedSpec
from engine.plan_ir.topology import Topology
from engine.statements.shared.distribution import CompiledQuery, DistributedQuery
from engine.statements.shared.fault_policy import Policy, RepeatableQuery, absent_members
from engine.statements.shared.terms import Terms
from simulated.far_cursors import CursorExecution, read_from_afar
from simulated.member import SimulatedMember
from simulated.statements import Asked
from simulated.tasks import in_tasks
from wire.dataclass import dataclass
from wire.errors import SqlError

#: The clients' `sluice.spool_limit`, in bytes.
SPOOL_LIMIT: Final = 64 << 10
#: asking: not over yet. whole: it read to the end. left: it closed early. cancelled: the statement was cancelled.
#: failed: an error.
State = Literal["asking", "whole", "left", "cancelled", "failed"]


@dataclass(frozen=True, slots=True)
class Manner:
    """The way in which a client runs a statement.

    tasks: the seed that decides which of its leaves run in tasks; None for none.
    rests: seconds before it takes each batch.
    leaves: the number of batches after which it leaves.
    cancels: the number of seconds after which it cancels.
    roams: the seed that decides at which members it fetches the rows, as those of a cursor; None: it reads the stream.
    stalls: whether these members stand still now and then.
    """

    terms: Terms
    policy: Policy
    tasks: int | None = None
    rests: tuple[float, ...] = ()
    leaves: int | None = None
    cancels: float | None = None
    roams: int | None = None
    stalls: bool = False


class Source(Protocol):
    """The tables that a statement reads: its plan over them, its answer, and the SQLSTATEs of the errors that they excuse."""

    def compile(self, text: str, terms: Terms, mesh: Mesh, topology: Topology | None, /) -> CompiledQuery: ...

    def answer(self, text: str, /) -> pa.Table: ...

    def excused(self) -> Collection[str]: ...


@dataclass(slots=True)
class Question:
    """A client's statement, and its result."""

    number: int
    asked: Asked
    manner: Manner
    member: SimulatedMember
    source: Source
    state: State = "asking"
    error: SqlError | None = None
    batches: list[pa.RecordBatch] = field(default_factory=list)
    #: The attempts at it, and how often it was said that there is another one.
    queries: list[str] = field(default_factory=list)
    repeats: int = 0
    #: Those that the last attempt was planned for.
    members: Sequence[str] = ()
    #: The edge that it reads from with nothing in between, and the bytes of that which were spooled.
    read: int | None = None
    spooled: int = 0
    #: What must not have been done with it.
    wrong: str | None = None

    @property
    def is_gone(self) -> bool:
        """Whether its member has ended, so that nobody waits for a result."""
        return self.member.process.state not in ("running", "paused")

    @property
    def name(self) -> str:
        return f"client {self.number} on {self.member.name}"


class _Opener:
    """The `engine.statements.shared.fault_policy.Opener` of a question: its member's, which records the calls."""

    def __init__(self, question: Question) -> None:
        self._question = question

    @property
    def mesh(self) -> Mesh:
        return self._question.member.mesh

    def new_query_id(self) -> QueryId:
        return self._question.member.new_query_id()

    async def open(self, query: CompiledQuery, context: ExecutionContext) -> BatchStream:
        question = self._question
        question.queries.append(str(context.query))
        if isinstance(query.runs, DistributedQuery):
            question.members = tuple(query.runs.members)
            question.read = _edge_read(query.runs)
        else:
            question.members, question.read = (), None
        return await question.member.open(query, context)


async def put(
    question: Question, topology: Topology | None, reach: Callable[[], Sequence[SimulatedMember]] = tuple
) -> None:
    """Run a question's statement. The result is in the question afterwards, whatever happens. reach: returns the members
    that the client may reach.
    """
    member, manner = question.member, question.manner
    context = ExecutionContext(
        member.new_query_id(), page_bytes=manner.terms.page_bytes, settings={"spool_limit": SPOOL_LIMIT}
    )
    query = RepeatableQuery(
        _Opener(question),
        manner.policy,
        manner.terms,
        lambda terms: _compile_question(question, terms, topology),
        context,
    )
    member.world.note(question.name, "asks", context.query, question.asked.text)
    try:
        stream = await query.open()
    except SqlError as error:
        _end(question, "failed", error)
        return
    cancelling = None
    if manner.cancels is not None:
        cancelling = asyncio.get_running_loop().create_task(_cancel(question, stream, manner.cancels))
    try:
        if manner.roams is None:
            await _read(question, stream)
        else:
            execution = CursorExecution(context.query, stream, ())
            chance = Random(manner.roams)
            await read_from_afar(member, execution, reach, question.batches.append, chance, stalls=manner.stalls)
            _end(question, "whole")
    except SqlError as error:
        _end(question, "failed", error)
    finally:
        await stream.close()
        if cancelling is not None:
            cancelling.cancel()


async def _compile_question(question: Question, terms: Terms, topology: Topology | None) -> CompiledQuery:
    member, seed = question.member, question.manner.tasks
    if question.queries:
        question.repeats += 1
        missing = absent_members(member.mesh, question.members)
        if question.manner.policy == "wait" and missing:
            question.wrong = f"it runs again without {', '.join(missing)}, whom it was to wait for"
    query = question.source.compile(question.asked.text, terms, member.mesh, topology)
    if seed is None or not isinstance(query.runs, DistributedQuery):
        return query
    return replace(query, runs=in_tasks(query.runs, Random(seed)))


async def _read(question: Question, stream: BatchStream) -> None:
    manner = question.manner
    rests = iter(manner.rests)
    while (batch := await stream.next_batch()) is not None:
        question.batches.append(batch)
        if question.read is not None:
            counted = question.member.runtime.mailboxes.spooled_by_edge(question.queries[-1])
            question.spooled = max(question.spooled, counted.get(f"edge.{question.read}.spooled", 0))
        if len(question.batches) == manner.leaves:
            _end(question, "left")
            return
        if rest := next(rests, 0.0):
            await asyncio.sleep(rest)
    _end(question, "whole")


def _edge_read(query: DistributedQuery) -> int | None:
    [root] = [fragment for fragment in SharedSpec.decode(query.shared).fragments if fragment.output is None]
    return None if root.statement else root.inputs[0]


async def _cancel(question: Question, stream: BatchStream, after: float) -> None:
    await asyncio.sleep(after)
    if question.state == "asking":
        _end(question, "cancelled")
        await stream.close()


def _end(question: Question, state: State, error: SqlError | None = None) -> None:
    if question.state == "asking":
        question.state, question.error = state, error
        rows = sum(batch.num_rows for batch in question.batches)
        words = f": {error.sqlstate} {error.message}" if error is not None else ""
        question.member.world.note(question.name, state, f"with {rows} rows{words}")
