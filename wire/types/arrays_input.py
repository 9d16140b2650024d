"""Text to arrays: `{1,2,NULL}`, `{{a,"b c"},{d,e}}`, `[1:2]={1,2}`.

`wire.types.input` gives this module the reader of the element type. The canonical value is a (nested) list. It cannot
hold lower bounds other than 1, so these are refused.

Source: PostgreSQL 15 documentation 8.15.2 and 8.15.6; a real server, with which the tests compare.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from wire.common.digits import parse_digits
from wire.errors import (
    ArraySubscriptError,
    FeatureNotSupported,
    InvalidTextRepresentation,
    ProgramLimitExceeded,
    SqlError,
)

_DIMENSIONS_MAX: Final = 6
_SPACE: Final = " \t\n\r\v\f"

_BOUNDS: Final = re.compile(
    r"\[[ \t\n\r\v\f]*+(?:([+-]?[0-9]++)[ \t\n\r\v\f]*+:[ \t\n\r\v\f]*+)?([+-]?[0-9]++)[ \t\n\r\v\f]*+\]"
)
_TOKENS: Final = {
    delimiter: re.compile(
        rf"[ \t\n\r\v\f]*(?:(?P<brace>[{{}}])|(?P<delimiter>{delimiter})"
        r'|(?P<quoted>"(?:[^"\\]|\\.)*")'
        rf'|(?P<bare>(?:[^{{}}"{delimiter}\\ \t\n\r\v\f]|\\.)(?:[^{{}}"{delimiter}\\]|\\.)*))',
        re.DOTALL,
    )
    for delimiter in (",", ";")
}
_BACKSLASH: Final = re.compile(r"\\(.)", re.DOTALL)


class _Item(NamedTuple):
    kind: str
    text: str


def read_array(text: str, read_element: Callable[[str], Any], delimiter: str = ",") -> list[Any]:
    """Return the (nested) list that an array literal represents.

    read_element: reads the text of one element; it is not called for NULL. delimiter: of the element's type.
    """
    body, bounds = _dimensions(text)
    if not body.startswith("{"):
        raise _malformed_literal(
            text,
            "Missing array dimension value." if body.startswith("[") else _OPENING,
        )
    value, depth = _read_nested(text, body, read_element, delimiter)
    lengths = _lengths(value)
    if bounds and (len(bounds) != depth or [upper - lower + 1 for lower, upper in bounds] != lengths):
        raise _malformed_literal(text, "Specified array dimensions do not match array contents.")
    if any(lower != 1 for lower, _ in bounds):
        raise FeatureNotSupported("not supported: array lower bounds other than 1")
    return value


_OPENING: Final = 'Array value must start with "{" or dimension information.'


def _malformed_literal(text: str, detail: str) -> SqlError:
    return InvalidTextRepresentation(f'malformed array literal: "{text}"', detail=detail)


def _too_many_dimensions(number: int) -> SqlError:
    return ProgramLimitExceeded(
        f"number of array dimensions ({number}) exceeds the maximum allowed ({_DIMENSIONS_MAX})"
    )


def _dimensions(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the literal after its `[1:2][1:3]=`, and those bounds."""
    body = text.lstrip(_SPACE)
    bounds: list[tuple[int, int]] = []
    while match := _BOUNDS.match(body):
        if len(bounds) == _DIMENSIONS_MAX:
            raise _too_many_dimensions(len(bounds) + 1)
        lower, upper = parse_digits(match[1] or "1"), parse_digits(match[2])
        if upper < lower:
            raise ArraySubscriptError("upper bound cannot be less than lower bound")
        bounds.append((lower, upper))
        body = body[match.end() :].lstrip(_SPACE)
    if not bounds:
        return body, bounds
    if not body.startswith("="):
        raise _malformed_literal(text, 'Missing "=" after array dimensions.')
    body = body[1:].lstrip(_SPACE)
    if not body.startswith("{"):
        raise _malformed_literal(text, 'Array contents must start with "{".')
    return body, bounds


def _items(text: str, body: str, delimiter: str) -> Iterator[_Item]:
    at = 0
    depth = 0
    while True:
        match = _TOKENS[delimiter].match(body, at)
        if not match:
            raise _malformed_literal(
                text, "Unexpected end of input." if not body[at:].strip(_SPACE) else _unexpected_detail(body[at:])
            )
        kind = match.lastgroup
        assert kind is not None
        yield _Item(kind, match[kind])
        at = match.end()
        depth += {"{": 1, "}": -1}.get(match[kind], 0) if kind == "brace" else 0
        if depth == 0:
            break
    if body[at:].strip(_SPACE):
        raise _malformed_literal(text, "Junk after closing right brace.")


def _unexpected_detail(rest: str) -> str:
    first = rest.lstrip(_SPACE)[0]
    return "Unexpected end of input." if first in '"\\' else f'Unexpected "{first}" character.'


#: The tokens that may follow each token. An element and a nested list never follow one another on one level.
_MAY_FOLLOW: Final = {
    "start": {"{"},
    "{": {"{", "element"},
    "element": {",", "}"},
    "}": {",", "}"},
    "element,": {"element"},
    "},": {"{"},
}


def _read_nested(text: str, body: str, read_element: Callable[[str], Any], delimiter: str) -> tuple[list[Any], int]:
    """Return the nested lists and their depth; every element must be at the same depth."""
    stack: list[list[Any]] = []
    result: list[Any] = []
    leaf_depth = 0
    last = "start"
    for kind, piece in _items(text, body, delimiter):
        symbol = "," if kind == "delimiter" else piece if kind == "brace" else "element"
        if symbol not in _MAY_FOLLOW[last] and not (symbol == "}" and last == "{" and len(stack) == 1):
            raise _malformed_literal(
                text, "Unexpected array element." if symbol == "element" else f'Unexpected "{piece}" character.'
            )
        if symbol == "{":
            _open(stack, result)
        elif symbol == "}":
            stack.pop()
        elif symbol == "element":
            if leaf_depth not in (0, len(stack)):
                raise _ragged_error(text)
            leaf_depth = len(stack)
            stack[-1].append(_element(kind, piece, read_element))
        last = last + "," if symbol == "," else symbol
    _check_shape(text, result, leaf_depth)
    return result, leaf_depth


def _open(stack: list[list[Any]], result: list[Any]) -> None:
    """Open a list one level deeper; the outermost list is `result` itself."""
    child: list[Any] = result if not stack else []
    if stack:
        stack[-1].append(child)
    stack.append(child)
    if len(stack) > _DIMENSIONS_MAX:
        raise _too_many_dimensions(len(stack))


def _element(kind: str, token: str, read_element: Callable[[str], Any]) -> Any:
    if kind == "quoted":
        return read_element(_BACKSLASH.sub(r"\1", token[1:-1]))
    bare = token.rstrip(_SPACE)
    # An escaped blank is kept.
    if len(bare) < len(token) and bare.endswith("\\") and (len(bare) - len(bare.rstrip("\\"))) % 2:
        bare = token[: len(bare) + 1]
    if bare.lower() == "null":
        return None
    return read_element(_BACKSLASH.sub(r"\1", bare))


def _ragged_error(text: str) -> SqlError:
    return _malformed_literal(text, "Multidimensional arrays must have sub-arrays with matching dimensions.")


def _lengths(value: list[Any]) -> list[int]:
    """Return the number of elements along each dimension, taken from the first list of each."""
    lengths = []
    level: Any = value
    while isinstance(level, list):
        lengths.append(len(level))
        level = level[0] if level else None
    return lengths


def _check_shape(text: str, value: list[Any], leaf_depth: int) -> None:
    """Check that the array is rectangular: all lists of one depth have the same length."""
    level: list[Any] = [value]
    for depth in range(leaf_depth):
        if any(not isinstance(item, list) for item in level) or len({len(item) for item in level}) > 1:
            raise _ragged_error(text)
        level = [child for item in level for child in item]
        if depth + 1 < leaf_depth and any(not isinstance(item, list) for item in level):
            raise _ragged_error(text)
