"""`wire.dataclass` gives classes that behave as the standard decorator's."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import pickle
from collections.abc import Callable
from dataclasses import astuple, field
from functools import partial
from typing import Any

import pytest

from wire.dataclass import dataclass


def _classes(decorator: Callable[..., Any]) -> dict[str, Any]:
    @decorator(frozen=True, slots=True)
    class Empty:
        pass

    @decorator(frozen=True, slots=True)
    class Pair:
        """Two."""

        left: int
        right: Any = 2

    @decorator(frozen=True, slots=True, kw_only=True)
    class Keywords:
        first: int = 1
        second: int

    @decorator(frozen=True, slots=True)
    class Many(Pair):
        shown: str = field(default="x", repr=False)
        told: list[int] = field(default_factory=list, hash=False)
        counted: int = field(default=0, compare=False)
        made: int = field(default=7, init=False)
        grown: tuple[int, ...] = field(default_factory=tuple, init=False)
        named: int = field(default=5, kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "made", self.left + 1)

    @decorator(frozen=True, slots=True, eq=False)
    class Identity:
        value: int

    @decorator(frozen=True, slots=True, weakref_slot=True)
    class Own:
        value: int

        def __repr__(self) -> str:
            return "own"

        def __hash__(self) -> int:
            return 12

    @decorator(frozen=True, slots=True)
    class Equal:  # noqa: PLW1641 (it is the decorator that is to give it one)
        value: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self))

    classes = (Empty, Pair, Keywords, Many, Identity, Own, Equal)
    for cls in classes:
        cls.__qualname__ = cls.__name__
    return {cls.__name__: cls for cls in classes}


_OURS, _STANDARD = _classes(dataclass), _classes(dataclasses.dataclass)
_CALLS: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("Empty", (), {}),
    ("Pair", (1,), {}),
    ("Pair", (1, math.nan), {}),
    ("Pair", (), {"right": 3, "left": 4}),
    ("Keywords", (), {"second": 4}),
    ("Many", (1, 2, "y", [1], 3), {"named": 6}),
    ("Many", (1,), {}),
    ("Identity", (1,), {}),
    ("Own", (1,), {}),
    ("Equal", (1,), {}),
)  # fmt: skip


def _assign(value: Any, name: str) -> None:
    setattr(value, name, 1)


def _tried(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except Exception as error:  # noqa: BLE001 (whatever it is, the other has to raise it too)
        return type(error), str(error)


@pytest.mark.parametrize(("name", "given", "named"), _CALLS)
def test_objects_are_alike(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    ours, standard = (classes[name](*given, **named) for classes in (_OURS, _STANDARD))
    other, another = (classes[name](*given, **named) for classes in (_OURS, _STANDARD))
    assert repr(ours) == repr(standard) or name == "Identity"
    assert astuple(ours) == astuple(standard)
    assert (ours == other, ours == copy.copy(ours)) == (standard == another, standard == copy.copy(standard))
    assert ours != standard
    assert astuple(copy.deepcopy(ours)) == astuple(copy.deepcopy(standard))
    if name != "Identity":
        assert _tried(lambda: hash(ours)) == _tried(lambda: hash(standard))
    for shown in dataclasses.fields(ours):
        for attempt in (_assign, delattr):
            assert _tried(partial(attempt, ours, shown.name)) == _tried(partial(attempt, standard, shown.name))
    with pytest.raises(dataclasses.FrozenInstanceError):
        ours.unknown = 1


@pytest.mark.parametrize("name", sorted(_OURS))
def test_classes_are_alike(name: str) -> None:
    ours, standard = _OURS[name], _STANDARD[name]
    assert ours.__slots__ == standard.__slots__
    assert ours.__match_args__ == standard.__match_args__
    assert [f.name for f in dataclasses.fields(ours)] == [f.name for f in dataclasses.fields(standard)]
    for made in (ours, standard):
        _tried(made)
    # With the first object; a default that is made anew is shown by another name.
    shown = [
        [(p.name, p.kind, p.annotation) for p in inspect.signature(c).parameters.values()] for c in (ours, standard)
    ]
    assert shown[0] == shown[1]
    wrong = [_tried(partial(c, 1, 2, 3, 4, 5, 6, 7, unknown=8)) for c in (ours, standard)]
    assert wrong[0] == (TypeError, wrong[1][1].removeprefix("_classes.<locals>."))


def test_replace_takes_fields_anew() -> None:
    many = _OURS["Many"](1, told=[3])
    changed = dataclasses.replace(many, left=5)
    assert (changed.left, changed.made, changed.told) == (5, 6, [3])
    assert changed.told is many.told
    assert _OURS["Many"](1).told is not _OURS["Many"](1).told


@dataclass(frozen=True, slots=True)
class Sent:
    name: str
    values: tuple[int, ...] = ()


def test_objects_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Sent("a", (1, 2)))) == Sent("a", (1, 2))


def test_patterns_match() -> None:
    match Sent("a", (1,)):
        case Sent(name, (value,)):
            assert (name, value) == ("a", 1)
        case _:
            pytest.fail("no match")


def test_the_standard_decorator_makes_all_others() -> None:
    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        value: int

    @dataclass
    class Open:
        value: int

    assert Ordered(1) < Ordered(2)
    changed = Open(1)
    changed.value = 2
    assert changed == Open(2)
