"""Every state of a world, breadth first, so that what goes wrong is found by the shortest way to it.

    explored = explore(World(scenario))         # raises Found, whose text is a chart of the way

States are kept whole and compared as such (no hashes that might collide). For each the way to it is one number and one step.
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
    """Something does not hold."""


class Explorable(Protocol):
    """A world. Its states are values: they are compared, and kept."""

    @property
    def name(self) -> str: ...

    @property
    def learned(self) -> int:
        """How many outcomes were asked of real machines."""
        ...

    def first(self) -> Any: ...

    def steps(self, state: Any) -> list[Step]:
        """All that may happen next. Raises Violation where something has come to its end and is not as it should be."""
        ...

    def after(self, state: Any, step: Step) -> Any:
        """The state after a step. Raises Violation."""
        ...

    def charted(self, way: Sequence[Step]) -> str:
        """The way to a state; its last step may be one that cannot be done."""
        ...


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


def explore(world: Explorable, states_max: int = _STATES_MAX) -> Explored:
    """All states of a world. Raises Found; AssertionError when there are more than `states_max`."""
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
    """The steps from the first state to that one."""
    steps: list[Step] = []
    while number:
        number, step = origins[number]
        steps.append(step)
    return steps[::-1]
