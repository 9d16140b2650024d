"""A machine of the product as a transition table that is learned from the machine itself.

A world of members has millions of states, but each machine in it has few: it receives the same event in the same state
again and again, while other machines differ. A sans-IO machine gives the same outcome each time, so it needs to run
only once. `Learned` stores each distinct machine state once, and for each (state, event) the next state and the
outcome. An exploration step is then a look-up of some microseconds. There is no model between the explorer and the
code: for a (state, event) that is not in the table, a copy of the real machine processes the real event.

A `Part` is the real machine with the minimum around it that lets it be copied and compared. `shared` names the objects
that copies share because they never change; `spent` names those whose content cannot affect later behaviour.
"""

from __future__ import annotations

import copy
import enum
import functools
import types
from collections import deque
from collections.abc import Hashable, Iterable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from wire.mesh.framing import FrameReader

Event = tuple[Hashable, ...]


class Part(Protocol):
    """A machine of a world."""

    def take(self, event: Event) -> Hashable:
        """Process an event and return the outcome, which nobody may modify."""
        ...

    def shared(self) -> Iterable[object]:
        """Return objects that never change; copies of the machine share them."""
        ...

    def spent(self) -> Iterable[object]:
        """Return objects whose content does not matter: copies of the machine share them, and they are not compared."""
        ...

    def observed(self) -> Hashable:
        """Return the values that the world's invariants check."""
        ...


P = TypeVar("P", bound=Part)


class Learned(Generic[P]):
    """All states of the machines of one kind, by number."""

    def __init__(self) -> None:
        self._parts: list[P] = []
        self._views: list[Any] = []
        self._numbers: dict[Hashable, int] = {}
        self._outcomes: dict[tuple[int, Event], tuple[int, Any]] = {}

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def known(self) -> int:
        """The number of outcomes that have been learned."""
        return len(self._outcomes)

    def number(self, part: P) -> int:
        """Return the number of a machine's state."""
        mark = frozen(part, {id(item) for item in part.spent()})
        number = self._numbers.setdefault(mark, len(self._parts))
        if number == len(self._parts):
            self._parts.append(part)
            self._views.append(part.observed())
        return number

    def step(self, state: int, *event: Hashable) -> tuple[int, Any]:
        """Return the state after an event, and the outcome."""
        key = (state, event)
        found = self._outcomes.get(key)
        if found is None:
            before = self._parts[state]
            part = copy.deepcopy(before, {id(item): item for item in (*before.shared(), *before.spent())})
            outcome = part.take(event)
            found = self._outcomes[key] = (self.number(part), outcome)
        return found

    def observed(self, state: int) -> Any:
        return self._views[state]


def readers_memory(*readers: FrameReader) -> Iterable[object]:
    """Yield the remains of a frame that has been read, which cannot affect later behaviour."""
    for reader in readers:
        yield reader._scratch
        yield reader._header


def frozen(value: Any, spent: set[int]) -> Hashable:
    """Return a value that is equal for machines that behave the same from now on."""
    return _frozen(value, dict.fromkeys(spent, -1))


def _frozen(value: Any, met: dict[int, int]) -> Hashable:
    """Return the value for one object. met: the ids of the objects that have been visited or need no comparison, with
    the numbers that stand for them.
    """
    if value is None or isinstance(value, str | bytes | int | float | enum.Enum | msgspec.Struct):
        return value
    if isinstance(value, types.FunctionType | types.MethodType):
        return value.__qualname__
    if id(value) in met:
        return met[id(value)]
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list | tuple | deque):
        return tuple(_frozen(item, met) for item in value)
    if isinstance(value, set | frozenset):
        return frozenset(_frozen(item, met) for item in value)
    if isinstance(value, dict):
        return tuple((_frozen(key, met), _frozen(item, met)) for key, item in value.items())
    if isinstance(value, functools.partial):
        return _frozen((value.func, value.args), met)
    met[id(value)] = len(met)
    return type(value).__name__, tuple((name, _frozen(item, met)) for name, item in _attributes(value))


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """Return the attributes of an object."""
    names: list[str] = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    found = [(name, getattr(value, name)) for name in names if hasattr(value, name)]
    return found + list(getattr(value, "__dict__", {}).items())
