"""Assignment to a subscript of jsonb: missing containers along the path are created, and arrays are filled with nulls
up to the subscript.

Source: PostgreSQL 15, jsonbsubs.c: jsonb_subscript_assign; jsonfuncs.c: setPath with JB_PATH_FILL_GAPS, push_path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from engine.executors.local.distinct_calls import register
from engine.executors.local.json_documents import place, read, write
from wire.common.digits import is_digits, parse_digits
from wire.errors import FeatureNotSupported, InvalidParameterValue, NullValueNotAllowed

#: The limit of an array that an assignment fills with nulls. PostgreSQL runs out of memory at some tens of millions.
_MOST_ELEMENTS: Final = 1 << 24
_INT4: Final = 1 << 31


def _assign(text: str | None, path: Sequence[str | None], new: str | None, in_array: bool) -> str:
    """Assign to a subscript. in_array: whether a null document is treated as an empty array rather than an empty
    object.
    """
    if None in path:
        raise NullValueNotAllowed("jsonb subscript in assignment must not be null")
    steps = [step for step in path if step is not None]
    document = read(text) if text is not None else [] if in_array else {}
    return write(_with(document, steps, 0, None if new is None else read(new)))


def _with(value: Any, steps: Sequence[str], level: int, new: Any) -> Any:
    if level == len(steps):
        return new
    step = steps[level]
    if isinstance(value, dict):
        inner = _with(value[step], steps, level + 1, new) if step in value else _build_missing(steps[level + 1 :], new)
        return {**value, step: inner}
    if isinstance(value, list):
        return _with_element(value, steps, level, new)
    raise InvalidParameterValue(
        "cannot replace existing key",
        detail="The path assumes key is a composite object, but it is a scalar value.",
    )


def _with_element(value: list[Any], steps: Sequence[str], level: int, new: Any) -> list[Any]:
    index = place(steps[level], len(value), level + 1)
    if index < 0:
        raise InvalidParameterValue(
            f"path element at position {level + 1} is out of range: {parse_digits(steps[level])}"
        )
    if index < len(value):
        return [*value[:index], _with(value[index], steps, level + 1, new), *value[index + 1 :]]
    return [*value, *_nulls(index - len(value)), _build_missing(steps[level + 1 :], new)]


def _build_missing(steps: Sequence[str], new: Any) -> Any:
    """Build a value for missing steps: an array for each step that reads as an integer, an object for any other."""
    for step in reversed(steps):
        index = _integer(step)
        new = {step: new} if index is None else [*_nulls(index), new]
    return new


def _integer(step: str) -> int | None:
    """Read an integer as strtoint does; the whole text must be one."""
    digits = step.lstrip(" \t\n\v\f\r")
    if not is_digits(digits.removeprefix("-" if digits.startswith("-") else "+")):
        return None
    index = parse_digits(digits)
    return index if -_INT4 <= index < _INT4 else None


def _nulls(count: int) -> list[None]:
    if count >= _MOST_ELEMENTS:
        raise FeatureNotSupported(f"not supported: jsonb arrays of more than {_MOST_ELEMENTS} elements")
    return [None] * count


register("sluice_jsonb_assigned", ["VARCHAR", "VARCHAR[]", "VARCHAR", "BOOLEAN"], "VARCHAR", _assign, strict=False)
