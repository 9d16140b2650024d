"""A breadth-first search of all states of a world, so that the first violation that it finds has the shortest path.

    explored = explore(World(scenario))         # raises Found, whose text is a chart of the path

States are stored whole and compared as values, not by hashes, which might collide. The path to each state costs one
number and one step.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from parts import standing_still

_STATES_MAX: Final = 3_000_000


Step = tuple[Any, ...]


class Violation(AssertionError):
    """A violated invariant."""


class Explorable(Protocol):
    """A world that can be explored. Its states are values: they are compared and stored."""

    @property
    def name(self) -> str: ...

    @property
    def learned(self) -> int:
        """The number of outcomes that were computed by real machines."""
        ...

    def first(self) -> Any: ...

    def steps(self, state: Any) -> list[Step]:
        """Return all steps that may happen next. Raises Violation if nothing more can happen and the final state is
        wrong.
        """
        ...

    def after(self, state: Any, step: Step) -> Any:
        """Return the state after a step. Raises Violation."""
        ...

    def charted(self, way: Sequence[Step]) -> str:
        """Return the chart of a path to a state. Its last step may be one that cannot be done."""
        ...


@dataclass(frozen=True, slots=True)
class Explored:
    """The size of an exploration.

    states, transitions: how many were visited.
    depth: the number of steps to the farthest state.
    learned: the number of outcomes that were computed by real machines.
    """

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
    """A violation, and the shortest path to it as a message sequence chart."""


def explore(world: Explorable, states_max: int = _STATES_MAX) -> Explored:
    """Visit all states of a world. Raises Found, or AssertionError if there are more than `states_max`."""
    started = time.perf_counter()
    with standing_still():
        states, transitions, depth = _explore(world, states_max)
    return Explored(world.name, states, transitions, depth, world.learned, time.perf_counter() - started)


def _explore(world: Explorable, states_max: int) -> tuple[int, int, int]:
    first = world.first()
    numbers: dict[Any, int] = {first: 0}
    origins: list[tuple[int, Step]] = [(-1, ())]
    level, depth, transitions = [(0, first)], 0, 0
    while level:
        ahead: list[tuple[int, Any]] = []
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
                raise Found(f"{world.name}: {error}\n\n{world.charted(way)}") from error
            transitions += len(steps)
        assert len(origins) <= states_max, f"{world.name} has more than {states_max:,} states"
        depth += bool(ahead)
        level = ahead
    return len(origins), transitions, depth


def _way(origins: list[tuple[int, Step]], number: int) -> list[Step]:
    """Return the steps from the first state to state `number`."""
    steps: list[Step] = []
    while number:
        number, step = origins[number]
        steps.append(step)
    return steps[::-1]
