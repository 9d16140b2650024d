"""The invariants of every run, whatever happened in it.

- Rows are right: a client that read to the end has the answer, and one that stopped before has a part of it (the first
  part, where it has an order).
- A query fails only when a fault happened, and with an SQLSTATE that stands for that fault.
- A query is repeated as often as its fault policy says, and no more is spooled for its client than that allows.
- Every client gets a result: none waits for ever.
- The loss of a query costs at most two rounds of messages.
- At the end no member holds anything, and the live members know each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

import pyarrow as pa

from engine.statements.shared.fault_policy import REPEATS_MAX, Policy
from simulated.clients import SPOOL_LIMIT, Question
from simulated.member import SimulatedMember

#: SQLSTATEs of a query when a member or a connection was lost, a member shuts down, or a disk is full.
_EXCUSED: Final = frozenset(("40001", "57P01", "53100"))
#: SQLSTATE of a query when a task died of which rows had been read, and reported it.
_TASK_DIED: Final = "58030"
#: SQLSTATE of a plan for which a topology has no path: it is refused before anything begins.
_REFUSED: Final = frozenset(("0A000", "53400", "55000"))
#: The maximum number of repetitions of a query.
_REPEATS: Final[Mapping[Policy, float]] = {"fail": 0, "spool": 0, "local": 1, "retry": REPEATS_MAX, "wait": math.inf}


def judge(question: Question, *, disturbed: bool, linked: bool, troubled: Collection[str] = ()) -> str | None:
    """Return what is wrong with the result of a question, or None. linked: whether a topology says what may be sent
    where. troubled: queries whose tasks died, had their input cut off, lost a connection, or ran twice at once.
    """
    if question.state == "asking" and not question.is_gone:
        return f"{question.name} waits for ever: {question.asked.text}"
    if question.error is not None:
        state = question.error.sqlstate
        in_tasks = any(query in troubled for query in question.queries)
        excused = (disturbed or in_tasks) and (state in _EXCUSED or (in_tasks and state == _TASK_DIED))
        if not excused and not (linked and state in _REFUSED) and state not in question.source.excused():
            return f"{question.name} was told {state} {question.error.message}: {question.asked.text}"
    if wrong := question.wrong or _unmannerly(question):
        return f"{question.name}: {wrong}: {question.asked.text}"
    different = _differences(question)
    return f"{question.name}: {different}: {question.asked.text}" if different else None


def _unmannerly(question: Question) -> str | None:
    """Return how a question violated its fault policy, or None."""
    if question.repeats > _REPEATS[question.manner.policy]:
        return f"it was repeated {question.repeats} times"
    if question.manner.policy == "spool" and question.spooled > SPOOL_LIMIT:
        return f"{question.spooled} bytes were spooled"
    return None


def _differences(question: Question) -> str | None:
    whole = question.state == "whole"
    asked = question.asked
    answer = question.source.answer(asked.text)
    got = pa.Table.from_batches(question.batches, answer.schema if not question.batches else question.batches[0].schema)
    rows = _rows(got)
    if asked.whole is not None:
        return _part(rows, Counter(_rows(question.source.answer(asked.whole)))) or _count(
            rows, answer.num_rows, whole=whole
        )
    right = _rows(answer)
    if asked.ordered and rows != right[: len(rows)]:
        return "rows are not in their order, or not the right ones"
    return _part(rows, Counter(right)) or _count(rows, len(right), whole=whole)


def _part(rows: list[tuple[object, ...]], of: Counter[tuple[object, ...]]) -> str | None:
    extra = Counter(rows) - of
    return f"{extra.total()} rows that are not in the answer, {next(iter(extra))} for one" if extra else None


def _count(rows: list[tuple[object, ...]], right: int, *, whole: bool) -> str | None:
    return f"{len(rows)} rows instead of {right}" if whole and len(rows) != right else None


def _rows(table: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def too_many_cancels(members: list[SimulatedMember]) -> str | None:
    """Check the number of messages that end one query: the initiator tells each participant, and each may have told the
    initiator (seed, 3.4).
    """
    sent: Counter[str] = Counter()
    for member in members:
        sent.update(member.mesh.cancels)
    count = len({member.name for member in members})
    for query, number in sent.items():
        if number > 2 * count:
            return f"query {query} took {number} cancels among {count} members"
    return None


def left_over(members: list[SimulatedMember]) -> str | None:
    """Return the name of a member that still holds something although no query runs, or None."""
    for member in members:
        if held := member.held():
            return f"{member.name} still holds {held}"
    return None


def strangers(members: list[SimulatedMember]) -> str | None:
    """Return live members that do not know each other, or None."""
    names = {member.name for member in members}
    for member in members:
        known = member.known_members()
        if {name for name, state in known.items() if state == "up"} != names:
            seen = ", ".join(f"{name} {state}" for name, state in known.items())
            return f"{member.name} sees {seen} where {', '.join(sorted(names))} are up"
    return None
