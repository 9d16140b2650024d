"""A `dataclass` decorator for frozen classes with slots that does not compile their methods.

    from wire.dataclass import dataclass

The standard decorator compiles six functions for each frozen class with slots: `__init__`, `__repr__`, `__eq__`,
`__hash__`, `__setattr__`, `__delattr__`. The code here has about six hundred such classes, and their creation took a
third of a member's import time. This decorator takes the same arguments and returns classes that behave the same
(`tests/unit/test_dataclass.py` compares the two). Fields, `__match_args__` and slots are the standard decorator's own.
`__init__` is compiled when the first object of a class is made. The other methods are the same functions for all
classes, over a getter of the compared fields. A class that is not frozen, has no slots, or has an order goes to the
standard decorator.

A class made here does not tell the standard decorator that it is frozen. Classes of the two kinds therefore cannot
inherit from each other; the standard decorator refuses it. A type checker sees no difference between them. From Python
3.13 on the standard decorator compiles once for each class, and this module can be measured against it again.

Source: dataclasses.py of Python 3.11 (`_process_class`, `_init_fn`, `_hash_action`, `_dataclass_getstate`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final

_ABSENT: Final = object()
_OPTIONS: Final = {"frozen", "slots", "kw_only", "eq", "weakref_slot"}


def _dataclass(cls: type | None = None, /, **options: Any) -> Any:
    """Make a dataclass, as `dataclasses.dataclass` does (see the module's docstring)."""
    if not (options.get("frozen") and options.get("slots")) or not options.keys() <= _OPTIONS:
        return dataclasses.dataclass(cls, **options)
    del options["frozen"]
    eq = options.pop("eq", True)

    def make(cls: type) -> Any:
        return _frozen(cls, eq, options)

    return make if cls is None else make(cls)


def _frozen(cls: type, eq: bool, options: dict[str, Any]) -> Any:
    own_hash = cls.__dict__.get("__hash__", _ABSENT)
    has_hash = own_hash is not _ABSENT and not (own_hash is None and "__eq__" in cls.__dict__)
    if cls.__doc__ is None:
        # Otherwise the standard decorator writes the signature as the docstring, which takes as long as all its other
        # work.
        cls.__doc__ = cls.__name__
    made: Any = dataclasses.dataclass(cls, init=False, repr=False, eq=False, **options)
    fields = dataclasses.fields(made)
    if "__init__" not in made.__dict__:
        made.__init__ = _deferred_init(made, fields)
    methods = {"__repr__": _repr, "__setattr__": _setattr, "__delattr__": _delattr}
    methods |= {"__getstate__": _getstate, "__setstate__": _setstate}
    if eq:
        methods["__eq__"], hashed = _make_comparisons(fields)
        if not has_hash:
            made.__hash__ = hashed
    for name, method in methods.items():
        if name not in made.__dict__:
            setattr(made, name, method)
    return made


def _deferred_init(made: Any, fields: Iterable[dataclasses.Field[Any]]) -> Callable[..., None]:
    """Return an `__init__` that compiles the real one when the first object of a class is made, since a process uses
    only some of its classes. Two threads may both compile it.
    """

    def init(self: Any, /, *given: Any, **named: Any) -> None:
        made.__init__ = compiled = _init(made, fields)
        compiled(self, *given, **named)

    return init


def _init(made: type, fields: Iterable[dataclasses.Field[Any]]) -> Callable[..., None]:
    """Compile a class's `__init__`. It sets slots by their descriptors, which bypasses `__setattr__`."""
    ordered: list[str] = []
    keywords: list[str] = []
    lines: list[str] = []
    given: dict[str, Any] = {}
    for field in fields:
        name, value = field.name, field.name
        parameter = name
        if field.default is not dataclasses.MISSING:
            given[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            given[f"_factory_{name}"] = field.default_factory
            given["_absent"] = _ABSENT
            parameter = f"{name}=_absent"
            value = f"_factory_{name}() if {name} is _absent else {name}"
        elif not field.init:
            continue
        if not field.init:
            value = f"_default_{name}" if f"_default_{name}" in given else f"_factory_{name}()"
        else:
            (keywords if field.kw_only else ordered).append(parameter)
        given[f"_set_{name}"] = getattr(made, name).__set__
        lines.append(f"_set_{name}(self, {value})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ["self", *ordered, *(["*", *keywords] if keywords else [])]
    text = f"def __init__({', '.join(parameters)}):\n  " + "\n  ".join(lines or ["pass"])
    init = _compile_init(text, tuple(given))(*given.values())
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__annotations__ = {f.name: f.type for f in fields if f.init} | {"return": None}
    return init


@cache
def _compile_init(text: str, given: tuple[str, ...]) -> Callable[..., Callable[..., None]]:
    """Compile a function that makes an `__init__` with this text from the values of its free names. Many classes share
    one.
    """
    scope: dict[str, Any] = {}
    indented = text.replace("\n", "\n ")
    exec(f"def make({', '.join(given)}):\n {indented}\n return __init__", scope)  # noqa: S102 (texts of fields' names)
    made: Callable[..., Callable[..., None]] = scope["make"]
    return made


def _make_comparisons(fields: Iterable[dataclasses.Field[Any]]) -> tuple[Callable[..., Any], Callable[..., int]]:
    """Return `__eq__` and `__hash__`."""
    compared = _getter([f.name for f in fields if f.compare])
    hashed = _getter([f.name for f in fields if (f.compare if f.hash is None else f.hash)])

    def eq(self: Any, other: object) -> Any:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    return eq, lambda self: hash(hashed(self))


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _self: ()
    only = attrgetter(names[0])
    return lambda self: (only(self),)


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _setattr(_self: Any, name: str, _value: object) -> None:
    """Refuse to set any name, a field or not. (The standard decorator's own method raises TypeError for names that are
    not fields, since the decorator makes the class twice.)
    """
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(_self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 (others import it from here)
else:
    dataclass = _dataclass
