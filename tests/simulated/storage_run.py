"""One run of the storage simulation: members that write to the tables of one catalog, on a disk that fails and loses
power.

    outcome = StorageRun(seed, ground).outcome()

The seed decides: one or two members with two clients each, or five whose transactions are brief, so that they commit in
groups; kills of one of them and power failures of all, between any two steps; a disk that is full for a while; time
that passes, where there is one member also before it has touched its files in flight. At the end, every commit can be
published, a backup may hold all tables while one is dropped and swept, and a last power failure happens. A member that
then opens the catalog finds every acknowledged commit, Delta's log contains the same, and VACUUM leaves no superfluous
file.

What is real, and what is not: `simulated.disk`; the invariants: `simulated.history`.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Final

from engine.storage import disk
from simulated.quiet import quiet
from simulated.shared_storage import SharedStorage, StorageMember
from simulated.stage import Stage
from simulated.storage_ground import Beginning, fixed_names
from simulated.writers import TABLES, other_table
from wire.dataclass import dataclass

_MEMBERS: Final = (1, 2, 2)
_PERSISTENCE: Final = (0.0, 0.0, 0.7, 0.95)
_STEPS: Final = 3000
#: The probability that a step is followed by a mishap; and the maximum number of mishaps in a run.
_KILLS, _POWER_FAILURES, _BAD_DISKS, _AGES = 0.006, 0.005, 0.006, 0.01
_MISHAPS: Final = 3
_BAD_STEPS: Final = (12, 12, 60)
#: Of the publication before the last power failure, and the probability that the disk is bad meanwhile.
_LAST_STEPS: Final = 24
_BAD_AT_LAST: Final = 0.3
#: The probability that a backup is made while a table is dropped at the end.
_BACKUPS: Final = 0.2
#: The probability that the clients of a member commit after each statement.
_BRIEF: Final = 0.4


@dataclass(frozen=True, slots=True)
class StorageOutcome:
    """The outcome of a run. failure: the check that failed. digest: equal for equal runs. commits: their number. mishaps: the
    number of kills, power failures, periods with a bad disk, and jumps of the clock."""

    seed: int
    failure: str | None
    digest: int
    steps: int
    commits: int
    mishaps: int
    trace: tuple[str, ...]


class StorageRun:
    """A run in progress."""

    def __init__(self, seed: int, first: Beginning, *, trace: bool = False) -> None:
        self.seed = seed
        self.chance = Random(seed)
        self.stage = Stage(self.chance, trace=trace)
        self.storage = SharedStorage(self.stage, first)
        self.stage.persistence = self.chance.choice(_PERSISTENCE)
        self._members = self.chance.choice(_MEMBERS)
        self._starts = 0
        self._mishaps = 0
        self._bad_until = -1

    def outcome(self) -> StorageOutcome:
        with quiet(), fixed_names(self.seed), disk.replace_disk(self.storage.disk):
            failure = self._phases()
        stage = self.stage
        return StorageOutcome(
            self.seed,
            failure,
            stage.digest,
            stage.steps,
            self.storage.commits,
            self._mishaps,
            tuple(stage.trace or ()),
        )

    def _phases(self) -> str | None:
        try:
            for phase in (self._work, self._rest, self._look):
                try:
                    phase()
                    self.storage.require_unviolated()
                except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
                    first = self.storage.history.found or error
                    return f"{phase.__name__[1:]}: {type(first).__name__}: {first}"
            return None
        finally:
            self.storage.end_all()

    # -- phases --------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        for _ in range(self._members):
            self._start(self.chance.choice((1, 2, 3)))
        while self.stage.steps < _STEPS and not all(actor.is_publisher for actor in self.stage.actors):
            actor = self.stage.resume_one()
            if actor is not None and actor.over and actor.error is not None:
                raise actor.error
            self._mishap()

    def _rest(self) -> None:
        """End the disk's failures and let the live members publish everything."""
        self.storage.heal()
        while self.stage.resume_one():
            pass
        if waiting := sorted(actor.name for actor in self.stage.actors):
            raise AssertionError(f"{waiting} wait for ever")
        self.storage.publish_all()

    def _look(self) -> None:
        """Check the invariants after a last power failure."""
        if self.chance.random() < 0.5:
            # The folder of a dropped table is removed, in part or wholly, and may come back; so is a version of a log
            # written, and may be torn.
            member = (self.storage.members or [self._start(0)])[0]
            dropped = self.chance.choice(TABLES)
            copy = self.storage.begin_backup(member) if self.chance.random() < _BACKUPS else None
            member.writers.drop(dropped)
            member.writers.append(other_table(dropped))
            if copy is not None:
                member.writers.delete(other_table(dropped))
                member.store.publish()
            self.storage.age()
            if copy is not None:
                member.store.publish()
                member.writers.vacuum()
                copy()
            self._publish_in_part(member)
        self.storage.fail_power()
        if self.chance.random() < 0.5:
            self._publish_together()
        self.storage.require_whole(self._start(0))

    def _publish_in_part(self, member: StorageMember) -> None:
        """Let a member publish, up to some step, and perhaps on a bad disk."""
        publisher = self.stage.start(member.process, "publisher", member.store.publish)
        self.storage.disk.bad = self.chance.random() < _BAD_AT_LAST
        for _ in range(self.chance.randrange(_LAST_STEPS)):
            if not publisher.over:
                self.stage.resume(publisher)
        if publisher.error is not None and not self.storage.disk.failures:
            raise publisher.error
        self.storage.heal()

    def _publish_together(self) -> None:
        """Let two members find what the power failure has left, at the same time."""
        members = [self._start(0), self._start(0)]
        for member in members:
            self.stage.start(member.process, "publisher", member.writers.publish)
        while self.stage.resume_one():
            pass
        for member in members:
            self.storage.end(member)

    # -- members -------------------------------------------------------------------------------------------------

    def _start(self, transactions: int) -> StorageMember:
        """Start a member. transactions: of each of its clients; 0: it has no clients, and nothing runs."""
        self._starts += 1
        member = self.storage.open(f"m{self._starts}")
        writers = member.writers
        if transactions:
            self.stage.start(member.process, "publisher", writers.publisher)
            self.stage.start(member.process, "upkeep", partial(writers.upkeep, self.chance.choice((0, 1, 2))))
            brief = self.chance.random() < _BRIEF
            for number in range(5 if brief else 2):
                self.stage.start(member.process, f"client {number}", partial(writers.client, transactions, brief=brief))
        return member

    # -- what goes wrong -----------------------------------------------------------------------------------------

    def _mishap(self) -> None:
        if self.stage.steps == self._bad_until:
            self.stage.note("the disk is well")
            self.storage.disk.bad = False
        if self._mishaps >= _MISHAPS:
            return
        drawn = self.chance.random()
        for share, happen in (
            (_KILLS, self._kill_one),
            (_POWER_FAILURES, self._restart_all),
            (_BAD_DISKS, self._spoil_disk),
            (_AGES, self._age),
        ):
            if drawn < share:
                self._mishaps += 1
                happen()
                return
            drawn -= share

    def _kill_one(self) -> None:
        member = self.chance.choice(self.storage.members)
        self.stage.note("killed:", member.process.name)
        self.storage.end(member)
        self._start(self.chance.choice((1, 2)))

    def _restart_all(self) -> None:
        self.storage.fail_power()
        for _ in range(self._members):
            self._start(self.chance.choice((1, 2)))

    def _age(self) -> None:
        at_once = self._members == 1 and self.chance.random() < 0.7
        self.storage.age(at_once=at_once)
        if at_once:
            # VACUUM is as likely to be the first to go on as anybody: nothing else tells files of now from those of long ago.
            for member in self.storage.members:
                self.stage.start(member.process, "sweep", member.writers.sweep)

    def _spoil_disk(self) -> None:
        self.stage.note("the disk is bad")
        self.storage.disk.bad = True
        self._bad_until = self.stage.steps + self.chance.choice(_BAD_STEPS)
