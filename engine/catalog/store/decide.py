"""The outcome of a group of commits: each transaction is replayed on the newest state plus the earlier transactions of
the group.

The transactions of a group are written in one transaction of the catalog database, which syncs once, but each has an
outcome of its own. A transaction that conflicts changes nothing, and those after it are replayed as if it had not been
there. A group is thus equivalent to its transactions committed one after the other, with no other commit between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from engine.catalog.replay import after_commit
from engine.catalog.snapshot import AnyChange, Snapshot
from engine.catalog.store import rows
from engine.catalog.store.rows import Step
from wire.dataclass import dataclass

#: The state after a transaction's commit, or the error that prevents it.
CommitOutcome = Snapshot | Exception


@dataclass(slots=True)
class Decided:
    """The outcome of a group. newest: the state after the group. outcomes: those of its transactions, in their order.
    steps: the rows to write.
    """

    newest: Snapshot
    outcomes: list[CommitOutcome] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    @property
    def changes_anything(self) -> bool:
        """Whether one of the transactions commits."""
        return any(isinstance(outcome, Snapshot) for outcome in self.outcomes)

    def outcomes_at(self, stamp: int) -> Sequence[CommitOutcome]:
        """Return the outcomes, once all are written with this stamp. Only the last state includes everything up to the
        stamp.
        """
        return [
            replace(outcome, stamp=stamp if outcome is self.newest else stamp - 1)
            if isinstance(outcome, Snapshot)
            else outcome
            for outcome in self.outcomes
        ]


def decide(newest: Snapshot, group: Sequence[Sequence[AnyChange]], seconds: int) -> Decided:
    """Replay transactions on the newest state, under the lock of commits. seconds: since 1970, now.

    An error in one transaction, of any kind, is the outcome of that transaction only: nothing of it has been written.
    """
    decided = Decided(newest)
    for changes in group:
        try:
            committed = after_commit(decided.newest, changes)
            steps = list(rows.steps(decided.newest, changes, committed, seconds))
        except Exception as error:  # noqa: BLE001 - it is raised to the committing session
            decided.outcomes.append(error)
            continue
        decided.newest = committed
        decided.outcomes.append(committed)
        decided.steps += steps
    return decided
