"""`python -m soak --minutes 10`: run the load, kill a member now and then, take samples, report what grows."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table
from support.fault_ground import Ground, held, mesh_address, wait_up
from support.member_process import MemberProcess, wait_until

from soak.load import Scene, Worker, check_kept
from soak.samples import TOLERANCES, sample, stalled
from soak.trend import Trend, trend

_WORKERS: Final = 6
#: How long the load runs between two samples; a member is killed in every other round.
_ROUND_SECONDS: Final = 15.0
_SAMPLES_MIN: Final = 5
_START_SECONDS: Final = 180.0
Series = dict[tuple[str, str], list[tuple[float, float]]]


class Soak:
    """One cluster with its load and its samples."""

    def __init__(self, folder: Path, stack: ExitStack, seed: int, console: Console, spark: bool) -> None:
        self._ground = Ground(folder, stack)
        self._console = console
        self._chance = random.Random(seed)
        self.scene = Scene(list(self._ground.three()), spark)
        self.series: Series = defaultdict(list)
        self.kills = 0
        self.stalled: list[str] = []
        self._began = time.monotonic()
        with self.scene.members[0].connect(options="-c sluice.engine=spark" if spark else "") as connection:
            connection.execute("create table kept (id bigint not null, v int)")
            connection.execute("select count(*) from t")
        self.workers = [Worker(self.scene, number, seed) for number in range(1, _WORKERS + 1)]

    def run(self, minutes: float) -> None:
        end = time.monotonic() + 60 * minutes
        for worker in self.workers:
            worker.start()
        try:
            while time.monotonic() < end and not self.scene.failures:
                self._round(kill=len(self.series["m1", "threads"]) % 2 == 1)
        finally:
            self.scene.gate.end()
            for worker in self.workers:
                worker.join()

    def _round(self, *, kill: bool) -> None:
        before = self._chance.uniform(0.2, 0.8) * _ROUND_SECONDS
        time.sleep(before)
        if kill:
            self.scene.members[2].kill()
            self.kills += 1
        time.sleep(_ROUND_SECONDS - before)
        if kill:
            self.scene.members[2] = self._ground.start("m3", mesh_address(self.scene.members[1]))
        with self.scene.gate.quiet():
            self._sample()

    def _sample(self) -> None:
        members = self.scene.members
        for member in members:
            wait_until(lambda m=member: not held(m), _START_SECONDS, partial(held, member))
        wait_up(*members)
        check_kept(members[0], self.workers)
        seconds = time.monotonic() - self._began
        for member in members[:2]:
            self._keep(member, seconds)
        self.stalled = [f"m{number}: {wait}" for number, m in enumerate(members[:2], 1) for wait in stalled(m)]
        with members[1].connect() as connection:
            connection.execute("vacuum")
        done = sum(sum(worker.done.values()) for worker in self.workers)
        self._console.print(
            f"  {seconds:.0f} s: {done} steps, {self.kills} members killed; {self._latest()}",
            style="dim",
            highlight=False,
        )

    def _latest(self) -> str:
        """Return a description of the memory in the last samples."""
        kept = (
            f"{name} {what.removesuffix(', MiB')} {series[-1][1]:.0f}"
            for (name, what), series in self.series.items()
            if "MiB" in what
        )
        return "MiB: " + ", ".join(kept)

    def _keep(self, member: MemberProcess, seconds: float) -> None:
        name = f"m{self.scene.members.index(member) + 1}"
        for what, value in sample(member).items():
            self.series[name, what].append((seconds, value))


def _table(trends: dict[tuple[str, str], Trend]) -> Table:
    table = Table("member", "what", "after warm-up", "at the end", "an hour", "", show_edge=False)
    for (member, what), found in trends.items():
        verdict = "GROWS" if found.grows(TOLERANCES[what]) else "flat"
        table.add_row(member, what, f"{found.first:.1f}", f"{found.last:.1f}", f"{found.hourly:+.1f}", verdict)
    return table


def main(
    minutes: Annotated[float, typer.Option(help="How long.", min=2.0)] = 10.0,
    seed: Annotated[int, typer.Option(help="Of what clients do and when a member is killed.")] = 1,
    spark: Annotated[bool, typer.Option(help="Whether some queries run on Spark.")] = True,
) -> None:
    """Run the soak test. The exit status is 1 if an answer was wrong, a resource grows, or a member's waits were too
    long.
    """
    console = Console()
    with tempfile.TemporaryDirectory(prefix="sluice-soak-") as folder, ExitStack() as stack:
        soak = Soak(Path(folder), stack, seed, console, spark)
        soak.run(minutes)
    done: Counter[str] = sum((worker.done for worker in soak.workers), Counter())
    console.print(
        f"{sum(done.values())} steps, {soak.kills} members killed: " + ", ".join(f"{n} {k}" for k, n in done.items())
    )
    trends = {key: trend(series) for key, series in soak.series.items() if len(series) >= _SAMPLES_MIN}
    console.print(_table(trends) if trends else f"fewer than {_SAMPLES_MIN} samples: nothing is said of what grows")
    for failure in soak.scene.failures:
        console.print(failure, style="red", markup=False)
    for wait in soak.stalled:
        console.print(f"kept others waiting: {wait}", style="red", markup=False)
    failed = bool(soak.scene.failures or soak.stalled)
    sys.exit(failed or any(found.grows(TOLERANCES[what]) for (_, what), found in trends.items()))


if __name__ == "__main__":
    typer.run(main)
