"""A machine of the product as a table of what it does, learned from the machine itself.

A world of members has millions of states, but each machine in it has few: it meets the same event in the same state again and
again, while others differ. A machine that is sans-IO gives the same outcome each time. So it is asked once: `Learned` keeps the
machines it has met, equal ones once, and for each (state, event) which state follows and what came out. To explore is then to
look up, some microseconds a step, and nothing stands between the explorer and the code that it explores: a state that has not
been met is made by a copy of the real machine taking the real event.

A `Part` is the real machine with as little around it as lets it be copied and compared: `shared` names what copies have in
common since it does not change, `spent` what means nothing to what follows.
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
        """What the event makes it do; the outcome must not be changed by anybody."""
        ...

    def shared(self) -> Iterable[object]:
        """Objects that do not change: its copies share them."""
        ...

    def spent(self) -> Iterable[object]:
        """Objects whose content does not matter: its copies share them, and they are not compared."""
        ...

    def observed(self) -> Hashable:
        """What the world's invariants look at."""
        ...


P = TypeVar("P", bound=Part)


class Learned(Generic[P]):
    """All states of machines of one kind, by number."""

    def __init__(self) -> None:
        self._parts: list[P] = []
        self._views: list[Any] = []
        self._numbers: dict[Hashable, int] = {}
        self._outcomes: dict[tuple[int, Event], tuple[int, Any]] = {}

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def known(self) -> int:
        """How many outcomes have been learned."""
        return len(self._outcomes)

    def number(self, part: P) -> int:
        """The number of that state."""
        mark = frozen(part, {id(item) for item in part.spent()})
        number = self._numbers.setdefault(mark, len(self._parts))
        if number == len(self._parts):
            self._parts.append(part)
            self._views.append(part.observed())
        return number

    def step(self, state: int, *event: Hashable) -> tuple[int, Any]:
        """The state after an event, and what came out."""
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
    """What is left over of a frame that has been read: it means nothing to what follows."""
    for reader in readers:
        yield reader._scratch
        yield reader._header


def frozen(value: Any, spent: set[int]) -> Hashable:
    """Equal for machines that do the same from now on."""
    return _frozen(value, dict.fromkeys(spent, -1))


def _frozen(value: Any, met: dict[int, int]) -> Hashable:
    """met: objects that stand for themselves, or have been told already, by what is told of them."""
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
    """What an object is made of."""
    names: list[str] = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    found = [(name, getattr(value, name)) for name in names if hasattr(value, name)]
    return found + list(getattr(value, "__dict__", {}).items())
