"""Many runs: seeds over processes, and what they come to.

    python -m server.cli simulate --seeds 10000      # from seed 0, on all processors
    python -m server.cli simulate --seed 4711        # one, with its trace; twice, and both alike
    python -m server.cli simulate --forever          # until one fails
    python -m server.cli simulate --writes           # the same for members that write, on a disk that fails

Each process has the lake open on its own, over the same files, and works in their folder: files go to members by hashes of
their names, which must not have the name of a temporary folder in them. A run that fails is told with its seed, which is all that
is needed to have it again.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import util
from pathlib import Path
from typing import Final

from server.simulation.lake import Lake, make_files
from server.simulation.run import Outcome, run
from server.simulation.storage_run import StorageGround, StorageOutcome, StorageRun

_CHUNK: Final = 16
_PROGRESS_SECONDS: Final = 5.0
#: A campaign ends at so many.
_FAILURES: Final = 10
Say = Callable[[str], None]


def replay(seed: int, say: Say) -> bool:
    """Run one seed, twice, and print what happens; whether all holds, and a second run is the same."""
    with _lake() as folder, contextlib.chdir(folder):
        lake = Lake(Path())
        try:
            first, second = run(seed, lake, trace=True), run(seed, lake)
        finally:
            lake.close()
    for line in first.trace:
        say(line)
    say(
        f"seed {seed}: {first.members} members, {first.events} events, {first.seconds:.3f} s, digest {first.digest:08x}"
    )
    if first.digest != second.digest:
        say(f"a second run came to {second.digest:08x}: something in it is not of the seed")
        return False
    say(first.failure or "all holds")
    return first.failure is None


def campaign(seeds: Iterable[int], say: Say, *, workers: int | None = None) -> bool:
    """Run all of these; whether all holds. Ends at the first ten failures. say: is told of them, and how far it is."""
    totals = Totals()
    with _lake() as folder, _pool(folder, workers or os.cpu_count() or 1) as outcomes:
        for outcome in outcomes(seeds):
            totals.add(outcome)
            if outcome.failure is not None:
                say(f"seed {outcome.seed} ({outcome.members} members): {outcome.failure}")
            if totals.failures == _FAILURES:
                break
            if totals.is_time():
                say(totals.line())
    say(totals.line())
    return totals.failures == 0


def replay_writes(seed: int, say: Say) -> bool:
    """As `replay`, for the simulation of storage."""
    ground = StorageGround()
    try:
        first, second = (_run_storage(ground, seed, trace=trace) for trace in (True, False))
    finally:
        ground.close()
    for line in first.trace:
        say(line)
    say(
        f"seed {seed}: {first.steps} steps, {first.commits} commits, {first.mishaps} mishaps, digest {first.digest:08x}"
    )
    if first.digest != second.digest:
        say(f"a second run came to {second.digest:08x}: something in it is not of the seed")
        return False
    say(first.failure or "all holds")
    return first.failure is None


def campaign_of_writes(seeds: Iterable[int], say: Say, *, workers: int | None = None) -> bool:
    """As `campaign`, for the simulation of storage."""
    began = told = time.monotonic()
    runs = failures = commits = mishaps = 0

    def line() -> str:
        seconds = time.monotonic() - began
        return f"{runs} seeds in {seconds:.0f} s: {failures} failures; {commits} commits, {mishaps} mishaps"

    context = multiprocessing.get_context("spawn")
    with context.Pool(workers or os.cpu_count() or 1, _begin_storage) as pool:
        for outcome in pool.imap_unordered(_run_seed_of_writes, seeds, _CHUNK):
            runs, commits, mishaps = runs + 1, commits + outcome.commits, mishaps + outcome.mishaps
            if outcome.failure is not None:
                failures += 1
                say(f"seed {outcome.seed}: {outcome.failure}")
            if failures == _FAILURES:
                break
            if time.monotonic() - told >= _PROGRESS_SECONDS:
                told = time.monotonic()
                say(line())
    say(line())
    return failures == 0


class Totals:
    """What many runs came to."""

    def __init__(self) -> None:
        self.runs = self.failures = self.events = self.members = 0
        self.virtual = 0.0
        self.states: Counter[str] = Counter()
        self._began = self._told = time.monotonic()

    def add(self, outcome: Outcome) -> None:
        self.runs += 1
        self.failures += outcome.failure is not None
        self.events += outcome.events
        self.members = max(self.members, outcome.members)
        self.virtual += outcome.seconds
        self.states.update(outcome.states)

    def is_time(self) -> bool:
        """Whether to say how far it is; then not for a while."""
        now = time.monotonic()
        if now - self._told < _PROGRESS_SECONDS:
            return False
        self._told = now
        return True

    def line(self) -> str:
        seconds = time.monotonic() - self._began
        told = ", ".join(f"{count} {state}" for state, count in sorted(self.states.items()))
        return (
            f"{self.runs} seeds in {seconds:.0f} s: {self.failures} failures; queries: {told}; "
            f"{self.events} events, {self.virtual:.0f} virtual seconds, up to {self.members} members"
        )


@contextmanager
def _lake() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sluice-simulation-") as folder:
        make_files(Path(folder))
        yield Path(folder)


@contextmanager
def _pool(folder: Path, workers: int) -> Iterator[Callable[[Iterable[int]], Iterator[Outcome]]]:
    """Processes that run seeds. Their outcomes come as they are ready."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers, _begin, (folder,)) as pool:
        yield lambda seeds: pool.imap_unordered(_run, seeds, _CHUNK)


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
    with ground.run(seed) as folder:
        return StorageRun(seed, folder, trace=trace).outcome()
