"""Every state of a world, breadth first, so that what goes wrong is found by the shortest way to it.

    explored = explore(World(scenario))         # raises Found, whose text is a chart of the way

States are kept whole and compared as such (no hashes that might collide). For each the way to it is one number and one step.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from chart import charted
from parts import standing_still
from world import State, Step, Violation, World

_STATES_MAX: Final = 3_000_000


@dataclass(frozen=True, slots=True)
class Explored:
    """states, transitions: met. depth: steps to the farthest. learned: outcomes asked of real machines."""

    name: str
    states: int
    transitions: int
    depth: int
    learned: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.name:<44} {self.states:>10,} states {self.transitions:>12,} transitions  depth {self.depth:>3}  "
            f"{self.learned:>8,} learned {self.seconds:>7.1f} s"
        )


class Found(AssertionError):
    """A violation, and the shortest way to it as a message sequence chart."""


def explore(world: World, states_max: int = _STATES_MAX) -> Explored:
    """All states of a world. Raises Found; AssertionError when there are more than `states_max`."""
    started = time.perf_counter()
    with standing_still():
        states, transitions, depth = _explore(world, states_max)
    learned = world.coordinators.known + world.inlets.known + world.outlets.known
    return Explored(world.scenario.name, states, transitions, depth, learned, time.perf_counter() - started)


def _explore(world: World, states_max: int) -> tuple[int, int, int]:
    first = world.first()
    numbers: dict[State, int] = {first: 0}
    origins: list[tuple[int, Step]] = [(-1, ())]
    level, depth, transitions = [(0, first)], 0, 0
    while level:
        ahead: list[tuple[int, State]] = []
        for number, state in level:
            step: Step = ()
            try:
                for step in (steps := world.steps(state)):
                    after = world.after(state, step)
                    if numbers.setdefault(after, len(origins)) == len(origins):
                        ahead.append((len(origins), after))
                        origins.append((number, step))
            except Exception as error:
                way = [*_way(origins, number), *([step] if step else [])]
                raise Found(f"{world.scenario.name}: {error}\n\n{charted(world, way)}") from error
            transitions += len(steps)
        assert len(origins) <= states_max, f"{world.scenario.name} has more than {states_max:,} states"
        depth += bool(ahead)
        level = ahead
    return len(origins), transitions, depth


def _way(origins: list[tuple[int, Step]], number: int) -> list[Step]:
    """The steps from the first state to that one."""
    steps: list[Step] = []
    while number:
        number, step = origins[number]
        steps.append(step)
    return steps[::-1]


__all__ = ["Explored", "Found", "Violation", "explore"]
