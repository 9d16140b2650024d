"""Campaigns: many seeds, run by several processes, and their totals.

    python -m simulated --seeds 10000      # from seed 0, on all processors
    python -m simulated --seed 4711        # one, with its trace; twice, and both must be the same
    python -m simulated --forever          # until one fails
    python -m simulated --writes           # the same for members that write, on a disk that fails
    python -m simulated --both             # the same for clusters whose members write

Each process opens the lake itself, over the same files, and works in their folder: files are assigned to members by
hashes of their names, which must not contain the name of a temporary folder. A failed run is reported with its seed,
which suffices to repeat it.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import tempfile
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import util
from multiprocessing.pool import Pool
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Final, Generic, TypeVar

from simulated.lake import Lake, make_files
from simulated.run import Outcome, run
from simulated.storage_ground import StorageGround
from simulated.storage_run import StorageOutcome, StorageRun
from simulated.writing_run import WritingGround

_CHUNK: Final = 16
_PROGRESS_SECONDS: Final = 5.0
#: The number of failures at which a campaign ends.
_FAILURES: Final = 10
Say = Callable[[str], None]
AnyOutcome = TypeVar("AnyOutcome", Outcome, StorageOutcome)


def replay(seed: int, say: Say) -> bool:
    """Run one seed twice and print its trace. Returns whether all invariants hold and the second run is the same."""
    with _lake() as folder, contextlib.chdir(folder):
        lake = Lake(Path())
        try:
            first, second = run(seed, lake, trace=True), run(seed, lake)
        finally:
            lake.close()
    return _hold_alike(first, second, f"{first.members} members, {first.events} events, {first.seconds:.3f} s", say)


def replay_writes(seed: int, say: Say) -> bool:
    """Run one seed of the simulation of storage, as `replay` does."""
    with contextlib.closing(StorageGround()) as ground:
        first, second = (_run_storage(ground, seed, trace=trace) for trace in (True, False))
    return _hold_alike(first, second, f"{first.steps} steps, {first.commits} commits, {first.mishaps} mishaps", say)


def replay_both(seed: int, say: Say) -> bool:
    """Run one seed of clusters whose members write, as `replay` does."""
    with contextlib.closing(WritingGround()) as ground:
        first, second = (ground.run(seed, trace=trace) for trace in (True, False))
    size = f"{first.members} members, {first.events} events, {first.commits} commits, {first.seconds:.3f} s"
    return _hold_alike(first, second, size, say)


def _hold_alike(first: AnyOutcome, second: AnyOutcome, size: str, say: Say) -> bool:
    """Print the first run. Returns whether all invariants hold and the second run is the same."""
    for line in first.trace:
        say(line)
    say(f"seed {first.seed}: {size}, digest {first.digest:08x}")
    if first.digest != second.digest:
        say(f"a second run came to {second.digest:08x}: something in it is not of the seed")
        return False
    say(first.failure or "all holds")
    return first.failure is None


def campaign(seeds: Iterable[int], say: Say, *, workers: int | None = None) -> bool:
    """Run these seeds, up to the first ten failures. Returns whether all invariants hold. say: receives the failures
    and the progress.
    """
    with _lake() as folder, _pool(workers, _begin, folder) as pool:
        return _all_hold(pool.imap_unordered(_run, seeds, _CHUNK), ClusterTotals(), say)


def campaign_of_writes(seeds: Iterable[int], say: Say, *, workers: int | None = None) -> bool:
    """Run seeds of the simulation of storage, as `campaign` does."""
    with _pool(workers, _begin_storage) as pool:
        return _all_hold(pool.imap_unordered(_run_seed_of_writes, seeds, _CHUNK), StorageTotals(), say)


def campaign_of_both(seeds: Iterable[int], say: Say, *, workers: int | None = None) -> bool:
    """Run seeds of clusters whose members write, as `campaign` does."""
    with _pool(workers, _begin_both) as pool:
        return _all_hold(pool.imap_unordered(_run_both, seeds, _CHUNK), ClusterTotals(), say)


def _all_hold(outcomes: Iterable[AnyOutcome], totals: Totals[AnyOutcome], say: Say) -> bool:
    for outcome in outcomes:
        totals.add(outcome)
        if outcome.failure is not None:
            say(f"{totals.title(outcome)}: {outcome.failure}")
        if totals.failures == _FAILURES:
            break
        if totals.is_time():
            say(totals.line())
    say(totals.line())
    return totals.failures == 0


class Totals(ABC, Generic[AnyOutcome]):
    """Counts the results of many runs."""

    def __init__(self) -> None:
        self.runs = self.failures = 0
        self._began = self._told = time.monotonic()

    def add(self, outcome: AnyOutcome) -> None:
        self.runs += 1
        self.failures += outcome.failure is not None
        self._count(outcome)

    def is_time(self) -> bool:
        """Return whether progress is due to be reported; if so, it is not due again for a while."""
        now = time.monotonic()
        if now - self._told < _PROGRESS_SECONDS:
            return False
        self._told = now
        return True

    def line(self) -> str:
        seconds = time.monotonic() - self._began
        return f"{self.runs} seeds in {seconds:.0f} s: {self.failures} failures; {self._describe_counts()}"

    def title(self, outcome: AnyOutcome) -> str:
        """Return the name of a run for the message of its failure."""
        return f"seed {outcome.seed}"

    @abstractmethod
    def _count(self, outcome: AnyOutcome) -> None: ...

    @abstractmethod
    def _describe_counts(self) -> str: ...


class ClusterTotals(Totals[Outcome]):
    """Counts queries, events and virtual seconds of simulated clusters."""

    def __init__(self) -> None:
        super().__init__()
        self.events = self.members = self.commits = 0
        self.virtual = 0.0
        self.states: Counter[str] = Counter()

    def title(self, outcome: Outcome) -> str:
        return f"{super().title(outcome)} ({outcome.members} members)"

    def _count(self, outcome: Outcome) -> None:
        self.events += outcome.events
        self.members = max(self.members, outcome.members)
        self.virtual += outcome.seconds
        self.commits += outcome.commits
        self.states.update(outcome.states)

    def _describe_counts(self) -> str:
        told = ", ".join(f"{count} {state}" for state, count in sorted(self.states.items()))
        commits = f"{self.commits} commits; " if self.commits else ""
        return (
            f"queries: {told}; {commits}{self.events} events, {self.virtual:.0f} virtual seconds, "
            f"up to {self.members} members"
        )


class StorageTotals(Totals[StorageOutcome]):
    """Counts commits and mishaps of the simulation of storage."""

    def __init__(self) -> None:
        super().__init__()
        self.commits = self.mishaps = 0

    def _count(self, outcome: StorageOutcome) -> None:
        self.commits += outcome.commits
        self.mishaps += outcome.mishaps

    def _describe_counts(self) -> str:
        return f"{self.commits} commits, {self.mishaps} mishaps"


@contextmanager
def _lake() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sluice-simulation-") as folder:
        make_files(Path(folder))
        yield Path(folder)


def _pool(workers: int | None, begin: Callable[..., None], *arguments: object) -> Pool:
    """Start processes that run seeds, each after `begin`. workers: how many; None: one for each processor."""
    context = multiprocessing.get_context("spawn")
    turn = context.Value("i", os.getpid())
    return context.Pool(workers or os.cpu_count() or 1, _begin_worker, (turn, begin, arguments))


def _begin_worker(turn: Synchronized[int], begin: Callable[..., None], arguments: Sequence[object]) -> None:
    """Begin a process of a pool. turn: the number of the next one; the first number differs between pools.

    The process stays on one processor. One of its threads runs at a time, and they switch thousands of times in a run:
    a thread that wakes on another processor caused a third of the costs of `--writes`. For the same reason delta-rs and
    Arrow have one thread each. The objects that exist now are frozen, so that no garbage collection scans them.
    """
    with turn.get_lock():
        number, turn.value = turn.value, turn.value + 1
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processors[number % len(processors)]})
    begin(*arguments)
    gc.collect()
    gc.freeze()


_lakes: list[Lake] = []


def _begin(folder: Path) -> None:
    os.chdir(folder)
    _lakes.append(Lake(Path()))


def _run(seed: int) -> Outcome:
    return run(seed, _lakes[0])


_grounds: list[StorageGround] = []


def _begin_storage() -> None:
    _grounds.append(ground := StorageGround())
    # Processes of a pool end without their exit handlers.
    util.Finalize(ground, ground.close, exitpriority=0)


def _run_seed_of_writes(seed: int) -> StorageOutcome:
    return _run_storage(_grounds[0], seed)


def _run_storage(ground: StorageGround, seed: int, *, trace: bool = False) -> StorageOutcome:
    with ground.run(seed) as first:
        return StorageRun(seed, first, trace=trace).outcome()


_writing_grounds: list[WritingGround] = []


def _begin_both() -> None:
    _writing_grounds.append(ground := WritingGround())
    util.Finalize(ground, ground.close, exitpriority=0)


def _run_both(seed: int) -> Outcome:
    return _writing_grounds[0].run(seed)
