"""Whether parameters' values are so long that processing them would block the event loop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

#: The limit of characters, bytes and items.
_LONG: Final = 1 << 16


def are_long(values: Iterable[Any], length: int = _LONG) -> bool:
    """Return whether canonical values (`engine.plan_ir.expr`) have many characters, bytes or items together. Examines
    no more of them than necessary.
    """
    return _room_left(values, length) < 0


def _room_left(values: Iterable[Any], room: int) -> int:
    for value in values:
        if isinstance(value, str | bytes):
            room -= len(value)
        elif isinstance(value, list):
            room = _room_left(value, room - 1)
        elif isinstance(value, dict):
            room = _room_left(value.values(), room - 1)
        else:
            room -= 1
        if room < 0:
            break
    return room
