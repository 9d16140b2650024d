"""JSON documents as values: members, elements and paths of a text, and the operations of jsonb.

A `json` value is kept as it was written, so a part of it is a slice of its text. A `jsonb` value is kept in its normal
form, and the parts of a normal form are in normal form too, so both kinds are sliced in the same way. Operations that
make a new jsonb read the document into dicts, lists and scalars whose numbers keep their digits (`Number`), and write
the normal form again.

All functions are pure and take one document; `json_functions` applies them to columns. Reading builds on the standard
library's scanner. Sources: PostgreSQL 15, section 9.16, jsonfuncs.c; `wire.types.json_input` for the normal form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from wire.common.digits import parse_digits
from wire.errors import ArraySubscriptError, InvalidParameterValue, InvalidTextRepresentation, NullValueNotAllowed
from wire.types.json_input import read_jsonb, require_text, unescape

_BLANK: Final = re.compile(r"[ \t\n\r]*")
_INTEGER: Final = re.compile(r"\s*[+-]?[0-9]+\s*")


class Number(str):
    """A JSON number, kept as its digits."""

    __slots__ = ()


_DECODER: Final = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=Number)


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    assert blank is not None
    return blank.end()


def _end(text: str, start: int) -> int:
    return int(_DECODER.raw_decode(text, start)[1])


def kind(text: str) -> str:
    """Return the json_typeof of a document: object, array, string, number, boolean or null."""
    first = text[_skip(text, 0)]
    return {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}.get(
        first, "number"
    )


def members(text: str) -> Iterator[tuple[str, str]]:
    """Yield the members of an object, each value as it is written."""
    at = _skip(text, _skip(text, 0) + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        end = _end(text, start)
        yield key, text[start:end]
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def elements(text: str) -> list[str]:
    """Return the elements of an array as they are written."""
    found = []
    at = _skip(text, _skip(text, 0) + 1)
    while text[at] != "]":
        end = _end(text, at)
        found.append(text[at:end])
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def member(text: str, key: str) -> str | None:
    """Return the value of the last member with that key; None if there is none or `text` is no object."""
    require_text(text)
    if kind(text) != "object":
        return None
    found = None
    for name, value in members(text):
        if name == key:
            found = value
    return found


def element(text: str, index: int) -> str | None:
    """Return an element by its index from 0, counted from the end if negative; None if there is none or `text` is no
    array.
    """
    require_text(text)
    if kind(text) != "array":
        return None
    found = elements(text)
    return found[index] if -len(found) <= index < len(found) else None


def binary_element(text: str, index: int) -> str | None:
    """Return what `element` does for a jsonb, where a scalar counts as an array that contains it."""
    if kind(text) in ("object", "array"):
        return element(text, index)
    return text if index in (0, -1) else None


def at_path(text: str, path: Sequence[str | None]) -> str | None:
    """Return the part at a path of keys and indexes; for an empty path the whole document, without surrounding space."""
    require_text(text)
    current: str | None = text.strip(" \t\n\r")
    for step in path:
        if current is None or step is None:
            return None
        if kind(current) == "array":
            current = element(current, parse_digits(step)) if _INTEGER.fullmatch(step) else None
        else:
            current = member(current, step)
    return current


def as_text(text: str) -> str | None:
    """Return a part as `->>` does: a string without its quotes, null as None."""
    bare = text.strip(" \t\n\r")
    if bare[0] == '"':
        return unescape(bare)
    return None if bare == "null" else bare


def array_length(text: str, binary: bool) -> int:
    what = kind(text)
    if what == "array":
        return len(elements(text))
    scalar = what != "object"
    raise InvalidParameterValue(f"cannot get array length of a {'scalar' if scalar else 'non-array'}")


def list_elements(text: str, function: str, binary: bool) -> list[str]:
    """Return the elements of an array, for the set-returning functions. Raises 22023 with their messages."""
    what = kind(text)
    if what == "array":
        return elements(text)
    if binary:
        wrong = (
            "cannot extract elements from an object" if what == "object" else "cannot extract elements from a scalar"
        )
    else:
        wrong = f"cannot call {function} on a {'non-array' if what == 'object' else 'scalar'}"
    raise InvalidParameterValue(wrong)


def list_members(text: str, function: str, binary: bool) -> list[tuple[str, str]]:
    """Return the members of an object in their order, for the set-returning functions. Raises 22023 with their
    messages.
    """
    require_text(text)
    what = kind(text)
    if what == "object":
        return list(members(text))
    if binary or function.endswith("_keys"):
        raise InvalidParameterValue(_no_object(function, what))
    raise InvalidParameterValue(
        "cannot deconstruct an array as an object" if what == "array" else "cannot deconstruct a scalar"
    )


def records(text: str, function: str, binary: bool) -> list[str]:
    """Return the objects whose members json_to_record and json_to_recordset read as fields. Raises 22023 with their
    messages.
    """
    what = kind(text)
    if not function.endswith("set"):
        if what == "object":
            return [text]
        named = "an array" if what == "array" else "a scalar"
        raise InvalidParameterValue(f"cannot call populate_composite on {named}")
    if what != "array":
        named = "a non-array" if binary else "an object" if what == "object" else "a scalar"
        raise InvalidParameterValue(f"cannot call {function} on {named}")
    found = elements(text)
    if any(kind(item) != "object" for item in found):
        raise InvalidParameterValue(f"argument of {function} must be an array of objects")
    return found


def _no_object(function: str, what: str) -> str:
    if function.endswith("_keys"):
        return f"cannot call {function} on {'an array' if what == 'array' else 'a scalar'}"
    return f"cannot call {function} on a non-object"


# --- objects of texts ------------------------------------------------------------------------------------------------


def object_of_list(items: Sequence[str | None]) -> str:
    """Build the object that json_object makes of one array of alternating keys and values."""
    if len(items) % 2:
        raise ArraySubscriptError("array must have even number of elements")
    return object_of_lists(items[::2], items[1::2])


def object_of_lists(keys: Sequence[str | None], values: Sequence[str | None]) -> str:
    """Build the object that json_object makes of an array of keys and an array of values."""
    if len(keys) != len(values):
        raise ArraySubscriptError("mismatched array dimensions")
    if None in keys:
        raise NullValueNotAllowed("null value not allowed for object key")
    pairs = (f"{_quote(str(key))} : {write(value)}" for key, value in zip(keys, values, strict=True))
    return "{" + ", ".join(pairs) + "}"


# --- jsonb ------------------------------------------------------------------------------------------------------------


def read(text: str) -> Any:
    """Read a document into dicts, lists, str, Number, bool and None."""
    return _DECODER.decode(text)


def write(value: Any) -> str:
    """Write a value in the normal form of jsonb."""
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda item: (len(item[0].encode()), item[0].encode()))
        return "{" + ", ".join(f"{_quote(key)}: {write(item)}" for key, item in ordered) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(write(item) for item in value) + "]"
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return _quote(value)
    return "null" if value is None else "true" if value else "false"


def _quote(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def scalar(text: str, wanted: str, typ: str) -> str:
    """Return the text of a number or boolean. Raises InvalidParameterValue for anything else."""
    found = kind(text)
    if found == wanted:
        return text
    named = {"number": "numeric", "object": "object", "array": "array"}.get(found, found)
    raise InvalidParameterValue(f"cannot cast jsonb {named} to type {typ}")


def normalize(text: str) -> str:
    return read_jsonb(text)


def _number(value: Number) -> tuple[bool, str]:
    """Return a key that is equal for numbers of the same value, such as 1.50 and 1.5."""
    negative, digits = value.startswith("-"), value.lstrip("-")
    whole, _, fraction = digits.partition(".")
    bare = f"{whole.lstrip('0')}.{fraction.rstrip('0')}"
    return negative and bare != ".", bare


def same(a: Any, b: Any) -> bool:
    """Return whether two jsonb values are equal."""
    if isinstance(a, Number) or isinstance(b, Number):
        return isinstance(a, Number) and isinstance(b, Number) and _number(a) == _number(b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and bool(a == b)


def contains(a: Any, b: Any, *, top: bool = True) -> bool:
    """Return whether a @> b. An array may contain a scalar only at the top level."""
    if isinstance(a, dict) and isinstance(b, dict):
        return all(key in a and contains(a[key], item, top=False) for key, item in b.items())
    if isinstance(a, list):
        wanted = b if isinstance(b, list) else [b] if top and not isinstance(b, dict) else None
        return wanted is not None and all(any(contains(x, y, top=False) for x in a) for y in wanted)
    return not isinstance(b, dict | list) and same(a, b)


def exists(value: Any, key: str) -> bool:
    """Return whether value ? key: whether the key is a member, a string element, or the string itself."""
    if isinstance(value, dict):
        return key in value
    if isinstance(value, list):
        return any(isinstance(item, str) and not isinstance(item, Number) and item == key for item in value)
    return isinstance(value, str) and not isinstance(value, Number) and value == key


def concatenate(a: Any, b: Any) -> Any:
    """Return a || b."""
    if isinstance(a, dict) and isinstance(b, dict):
        return {**a, **b}
    left = a if isinstance(a, list) else [a]
    right = b if isinstance(b, list) else [b]
    return [*left, *right]


def without_keys(value: Any, keys: Sequence[str | None]) -> Any:
    """Return value - key: an object without these members, or an array without equal strings."""
    if not isinstance(value, dict | list):
        raise InvalidParameterValue("cannot delete from scalar")
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key not in keys}
    return [item for item in value if not (isinstance(item, str) and not isinstance(item, Number) and item in keys)]


def without_index(value: Any, index: int) -> Any:
    """Return value - index."""
    if isinstance(value, dict):
        raise InvalidParameterValue("cannot delete from object using integer index")
    if not isinstance(value, list):
        raise InvalidParameterValue("cannot delete from scalar")
    place = index + len(value) if index < 0 else index
    return [item for at, item in enumerate(value) if at != place]


def place(step: str, length: int, position: int) -> int:
    """Return the index that a step of a path denotes in an array; a negative number if it is before the beginning."""
    if not _INTEGER.fullmatch(step):
        raise InvalidTextRepresentation(f'path element at position {position} is not an integer: "{step}"')
    index = parse_digits(step)
    return index + length if index < 0 else index


def without_path(value: Any, path: Sequence[str | None]) -> Any:
    """Return value #- path."""
    if not isinstance(value, dict | list):
        raise InvalidParameterValue("cannot delete path in scalar")
    return _change_at_path(value, path, 1, lambda _container, _key: _GONE) if path and value else value


_GONE: Final = object()


def set_path(value: Any, path: Sequence[str | None], new: Any, create: bool) -> Any:
    """Compute jsonb_set."""
    if not isinstance(value, dict | list):
        raise InvalidParameterValue("cannot set path in scalar")

    def put(container: Any, key: Any) -> Any:
        known = key in container if isinstance(container, dict) else 0 <= key < len(container)
        return new if known or create else _GONE_NOWHERE

    return _change_at_path(value, path, 1, put) if path and (value or create) else value


_GONE_NOWHERE: Final = object()


def _change_at_path(value: Any, path: Sequence[str | None], position: int, put: Any) -> Any:
    """Return the value after `put(container, key)` has replaced the part at the path."""
    step, rest = path[0], path[1:]
    if step is None:
        raise NullValueNotAllowed(f"path element at position {position} is null")
    if isinstance(value, dict):
        return _changed_member(value, step, rest, position, put)
    if isinstance(value, list):
        return _changed_element(value, place(step, len(value), position), rest, position, put)
    return value


def _changed_member(value: dict[str, Any], key: str, rest: Sequence[str | None], position: int, put: Any) -> Any:
    if rest:
        return {**value, key: _change_at_path(value[key], rest, position + 1, put)} if key in value else value
    new = put(value, key)
    if new is _GONE_NOWHERE:
        return value
    if new is _GONE:
        return {name: item for name, item in value.items() if name != key}
    return {**value, key: new}


def _changed_element(value: list[Any], index: int, rest: Sequence[str | None], position: int, put: Any) -> Any:
    inside = 0 <= index < len(value)
    if rest:
        if not inside:
            return value
        return [*value[:index], _change_at_path(value[index], rest, position + 1, put), *value[index + 1 :]]
    new = put(value, index)
    if new is _GONE_NOWHERE or (new is _GONE and not inside):
        return value
    if new is _GONE:
        return [*value[:index], *value[index + 1 :]]
    if inside:
        return [*value[:index], new, *value[index + 1 :]]
    return [new, *value] if index < 0 else [*value, new]


def insert_at_path(value: Any, path: Sequence[str | None], new: Any, after: bool) -> Any:
    """Compute jsonb_insert."""
    if not isinstance(value, dict | list):
        raise InvalidParameterValue("cannot set path in scalar")
    return _insert_value(value, path, 1, new, after) if path else value


def _insert_value(value: Any, path: Sequence[str | None], position: int, new: Any, after: bool) -> Any:
    step, rest = path[0], path[1:]
    if step is None:
        raise NullValueNotAllowed(f"path element at position {position} is null")
    if isinstance(value, dict):
        if rest:
            return (
                {**value, step: _insert_value(value[step], rest, position + 1, new, after)} if step in value else value
            )
        if step in value:
            raise InvalidParameterValue(
                "cannot replace existing key", hint="Try using the function jsonb_set to replace key value."
            )
        return {**value, step: new}
    if not isinstance(value, list):
        return value
    index = place(step, len(value), position)
    if rest:
        if not 0 <= index < len(value):
            return value
        return [*value[:index], _insert_value(value[index], rest, position + 1, new, after), *value[index + 1 :]]
    at = min(max(index, 0), len(value))
    if after and 0 <= index < len(value):
        at = index + 1
    return [*value[:at], new, *value[at:]]


def strip_nulls(value: Any) -> Any:
    """Return the value without members that are null."""
    if isinstance(value, dict):
        return {key: strip_nulls(item) for key, item in value.items() if item is not None}
    return [strip_nulls(item) for item in value] if isinstance(value, list) else value


def pretty(value: Any, depth: int = 0) -> str:
    """Format a value as jsonb_pretty does, with four blanks per level."""
    inner, outer = " " * 4 * (depth + 1), " " * 4 * depth
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda item: (len(item[0].encode()), item[0].encode()))
        lines = [f"{inner}{_quote(key)}: {pretty(item, depth + 1)}" for key, item in ordered]
        return "{\n" + ",\n".join(lines) + f"\n{outer}}}" if lines else f"{{\n{outer}}}"
    if isinstance(value, list):
        lines = [inner + pretty(item, depth + 1) for item in value]
        return "[\n" + ",\n".join(lines) + f"\n{outer}]" if lines else f"[\n{outer}]"
    return write(value)


#: Reads objects as lists of members, because several may have the same key.
_KEEPING: Final = json.JSONDecoder(parse_float=Number, parse_int=Number, object_pairs_hook=tuple)


def compact(text: str) -> str:
    """Compute json_strip_nulls: remove space and members that are null. Keeps the order of the members and repeated
    keys.
    """
    return _compact(_KEEPING.decode(text))


def _compact(value: Any) -> str:
    if isinstance(value, tuple):
        kept = (f"{_quote(key)}:{_compact(item)}" for key, item in value if item is not None)
        return "{" + ",".join(kept) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_compact(item) for item in value) + "]"
    return write(value)
