"""`python -m simulated.scale --members 10 --members 100`: measures how the costs of undisturbed clusters grow with the
number of members.

For each size it measures the time until all members know each other, the sockets, the traffic of an idle member, and
the cost of a query over all members. Time is virtual, so the machine limits the number of members, but not how fast
they seem. Processor time is real: that of all members together, and of the network between them.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated, Final

import typer

from engine.statements.shared.terms import Terms
from simulated.clients import Manner
from simulated.lake import Lake, make_files
from simulated.member import TIMING
from simulated.quiet import quiet
from simulated.run import LakeRun
from simulated.scenario import Scenario, Visit
from simulated.statements import ask
from wire.dataclass import dataclass

_LATENCY: Final = (1e-4, 1e-3)
#: The number of heartbeats for which members are idle.
_IDLE: Final = 20
#: The number of virtual seconds within which all clients come.
_COME: Final = 10.0
_MEET: Final = 300.0


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts up to a moment. processor, virtual: seconds."""

    processor: float
    virtual: float
    calls: int
    pieces: int
    sent: int

    def since(self, before: Counts) -> Counts:
        return Counts(
            self.processor - before.processor,
            self.virtual - before.virtual,
            self.calls - before.calls,
            self.pieces - before.pieces,
            self.sent - before.sent,
        )


class ScaleRun(LakeRun):
    """A run of `members` members whose clients run one statement each."""

    def __init__(self, members: int, clients: int, lake: Lake) -> None:
        super().__init__(members, lake)
        chance = Random(members)
        manner = Manner(Terms("local", "always", 1 << 30, 1 << 16), "fail")
        visits = [
            Visit(number % members, number * _COME / clients, ((ask(chance), manner),)) for number in range(clients)
        ]
        starts = tuple(chance.uniform(0, 1) for _ in range(members))
        self.plan = Scenario(members, _LATENCY, starts, False, None, tuple(visits), ())
        self.network.latency = _LATENCY
        self.sockets = 0
        self.met = self.rested = self.asked = self._counts()

    def _counts(self) -> Counts:
        network = self.network
        return Counts(time.process_time(), self.world.now, network.calls, network.sent_pieces, network.sent_bytes)

    def _meet(self) -> str | None:
        before = self._counts()
        for number, when in enumerate(self.plan.starts):
            self.world.at(when, partial(self._start, number))
        pairs = self.plan.members * (self.plan.members - 1)
        # Who knows whom is asked each tenth of a second: to ask is what takes most of the time with many members.
        while len(self.members) < self.plan.members or self._connected() < pairs:
            if self.world.now > _MEET:
                return f"of {pairs} ends of connections {self._connected()} are there after {_MEET:g} s"
            self.world.run(lambda: False, self.world.now + 0.1)
        self.met = self._counts().since(before)
        return self._rest()

    def _connected(self) -> int:
        return sum(member.link.statistics()["connections"] for member in self.members.values())

    def _rest(self) -> str | None:
        self.world.run(lambda: False, self.world.now + 2 * TIMING.heartbeat)
        self.sockets = self.network.sockets
        before = self._counts()
        self.world.run(lambda: False, self.world.now + _IDLE * TIMING.heartbeat)
        self.rested = self._counts().since(before)
        return None

    def _be_asked(self) -> str | None:
        before = self._counts()
        wrong = super()._be_asked()
        self.asked = self._counts().since(before)
        return wrong

    def line(self) -> str:
        members, idle, queries = self.plan.members, self.rested, max(len(self.questions), 1)
        beats = self.asked.virtual / TIMING.heartbeat
        pieces = self.asked.pieces - idle.pieces / _IDLE * beats
        processor = self.asked.processor - idle.processor / _IDLE * beats
        return (
            f"{members:7} {self.met.virtual:7.2f} {self.met.calls:7} {self.sockets:8} {self.met.processor:9.2f}"
            f" {idle.pieces / members / _IDLE:9.1f} {idle.sent / members / _IDLE:11.0f}"
            f" {idle.processor / members / _IDLE * 1e3:11.2f}"
            f" {len(self.questions):8} {pieces / queries:9.0f} {processor / queries * 1e3:9.1f}"
        )


_HEAD: Final = (
    "members meet(s)   calls     ends    cpu(s) pieces/beat  bytes/beat cpu ms/beat"
    "  queries pieces/qu cpu ms/qu   all holds?"
)


def main(
    members: Annotated[list[int], typer.Option(help="How many; may be given again.", min=2)],
    clients: Annotated[int, typer.Option(help="How many ask a statement each.", min=0)] = 100,
) -> None:
    """Run clusters of the given sizes, and print what each size costs, for each member, heartbeat and query."""
    typer.echo(_HEAD)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        make_files(Path())
        with contextlib.closing(Lake(Path())) as lake:
            for count in members:
                run = ScaleRun(count, clients, lake)
                with quiet():
                    outcome = run.outcome()
                typer.echo(f"{run.line()}   {outcome.failure or 'yes'}")


if __name__ == "__main__":
    typer.run(main)
