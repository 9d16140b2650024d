"""Text to json (checked and kept as it is) and to jsonb (in its normal form, which is also its text output).

For each key of an object, jsonb keeps the last value. It orders keys by length and then by bytes, and prints numbers as
numeric does. Both types are carried as text, so jsonb has no internal binary form.

`wire.types.input` calls this module. Source: RFC 8259; PostgreSQL 15 documentation 8.14; a real server, with which the
tests compare.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, NamedTuple

from wire.errors import InvalidTextRepresentation, SqlError, StatementTooComplex, UntranslatableCharacter
from wire.types.numbers_input import read_numeric

_DEPTH_MAX: Final = 6400

_TOKEN: Final = re.compile(
    r"[ \t\n\r]*(?:(?P<punctuation>[{}\[\],:])"
    r'|(?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")'
    r"|(?P<number>(?>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+|(?!\.))(?:[eE][+-]?[0-9]+)?))(?![^\0-/:-@[-^`{-\x7f])"
    r"|(?P<word>true|false|null)(?![A-Za-z0-9_])"
    r"|(?P<end>\Z))"
)
_BLANK: Final = re.compile(r"[ \t\n\r]*")
#: The text that PostgreSQL quotes in an error if no token begins: the characters of a number or a word, else one
#: character. All characters beyond ASCII belong to words, so the patterns list the excluded ASCII characters: a range
#: to the end of Unicode would take `re` milliseconds to compile.
_WRONG_NUMBER: Final = re.compile(
    r"(?=[0-9-])-?(?:0|[1-9][0-9]*)?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?[^\0-/:-@[-^`{-\x7f]*"
)
_WRONG_WORD: Final = re.compile(r"[^\0-/:-@[-^`{-\x7f]+|.", re.DOTALL)
_STRING_START: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_ESCAPE: Final = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_STRING: Final = re.compile(_STRING_START.pattern + '"')
#: A surrogate without the other one of its pair.
_HALF: Final = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
_SHORT_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/"}
_OUTPUT_ESCAPES: Final = {
    **{code: f"\\u{code:04x}" for code in range(0x20)},
    **{ord(c): f"\\{letter}" for letter, c in _SHORT_ESCAPES.items() if letter != "/"},
}


class _Lexeme(NamedTuple):
    kind: str
    text: str


def read_json(text: str) -> str:
    """Return the text itself, if it is valid JSON."""
    for _ in _walk(text):
        pass
    return text


def read_jsonb(text: str) -> str:
    """Return the text of jsonb's normal form."""
    stack: list[Any] = []
    root: list[Any] = []
    for event, value in _walk(text):
        if event == "open":
            stack.append({} if value == "{" else [])
        elif event == "key":
            stack.append(unescape(value))
        else:
            rendered = _close(stack.pop()) if event == "close" else _scalar(event, value)
            _place(stack, root, rendered)
    return str(root[0])


def _place(stack: list[Any], root: list[Any], rendered: str) -> None:
    if not stack:
        root.append(rendered)
        return
    top = stack[-1]
    if isinstance(top, str):
        stack.pop()
        stack[-1][top] = rendered
    else:
        top.append(rendered)


def _close(container: Any) -> str:
    if isinstance(container, list):
        return "[" + ", ".join(container) + "]"
    ordered = sorted(container.items(), key=lambda item: (len(item[0].encode()), item[0].encode()))
    return "{" + ", ".join(f"{_quote(key)}: {value}" for key, value in ordered) + "}"


def _scalar(kind: str, text: str) -> str:
    if kind == "string":
        return _quote(unescape(text))
    if kind == "number":
        return _number(text)
    return text


def _number(text: str) -> str:
    value: Decimal = read_numeric(text)
    return f"{value:f}"


def _quote(text: str) -> str:
    return '"' + text.translate(_OUTPUT_ESCAPES) + '"'


def unescape(literal: str) -> str:
    """Return the string that a JSON string literal represents; surrogate pairs are one character."""
    if "\\" not in literal:
        return literal[1:-1]
    raw = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _SHORT_ESCAPES[m[2]], literal[1:-1])
    if "\0" in raw:
        raise UntranslatableCharacter(
            "unsupported Unicode escape sequence", detail="\\u0000 cannot be converted to text."
        )
    half = _HALF.search(raw)
    if half is not None and half[0] < "\udc00" and "\ud800" <= raw[half.end() : half.end() + 1] < "\udc00":
        raise _invalid("Unicode high surrogate must not follow a high surrogate.")
    if half is not None:
        raise _invalid("Unicode low surrogate must follow a high surrogate.")
    return raw.encode("utf-16", "surrogatepass").decode("utf-16")


def require_text(document: str) -> None:
    """Raise the errors that decoding the document's strings would raise."""
    if "\\u" in document:
        for literal in _STRING.finditer(document):
            unescape(literal[0])


def _invalid(detail: str) -> SqlError:
    return InvalidTextRepresentation("invalid input syntax for type json", detail=detail)


def _lexemes(text: str) -> Iterator[_Lexeme]:
    at = 0
    while True:
        match = _TOKEN.match(text, at)
        if not match:
            raise _invalid(_wrong_token(text, at))
        kind = match.lastgroup
        assert kind is not None
        yield _Lexeme(kind, match[kind])
        if kind == "end":
            return
        at = match.end()


def _wrong_token(text: str, at: int) -> str:
    """Return the error's detail for a position where no token begins."""
    blank = _BLANK.match(text, at)
    assert blank is not None
    start = blank.end()
    if text[start] != '"':
        wrong = _WRONG_NUMBER.match(text, start) or _WRONG_WORD.match(text, start)
        return f'Token "{wrong[0] if wrong else text[start:]}" is invalid.'
    good = _STRING_START.match(text, start)
    assert good is not None
    rest = text[good.end() :]
    if not rest or rest == "\\":
        return f'Token "{text[start:]}" is invalid.'
    if rest[0] != "\\":
        return f"Character with value 0x{ord(rest[0]):02x} must be escaped."
    if rest[1] == "u":
        return '"\\u" must be followed by four hexadecimal digits.'
    return f'Escape sequence "{rest[:2]}" is invalid.'


def _walk(text: str) -> Iterator[tuple[str, str]]:
    """Check the grammar. Yields (open | close, bracket), (key | string | number | word, literal) in order."""
    containers: list[str] = []
    state = "value"
    for lexeme in _lexemes(text):
        if lexeme.kind == "end":
            if state != "done":
                raise _invalid("The input string ended unexpectedly.")
            return
        state, event = _step(state, lexeme, containers)
        if event is not None:
            yield event, lexeme.text
        if len(containers) > _DEPTH_MAX:
            raise StatementTooComplex("stack depth limit exceeded")


def _step(state: str, lexeme: _Lexeme, containers: list[str]) -> tuple[str, str | None]:
    """Process one lexeme in one state. Returns the next state and the event. A state says what may come next."""
    kind, text = lexeme
    after = "done" if not containers else "comma"
    if state in ("value", "first value"):
        if kind in ("string", "number", "word"):
            return after, kind
        if text in ("{", "["):
            containers.append(text)
            return ("first key" if text == "{" else "first value"), "open"
        if text == "]" and state == "first value":
            return _leave(containers), "close"
    elif state in ("key", "first key"):
        if kind == "string":
            return "colon", "key"
        if text == "}" and state == "first key":
            return _leave(containers), "close"
    elif state == "colon" and text == ":":
        return "value", None
    elif state == "comma":
        if text == ",":
            return ("key" if containers[-1] == "{" else "value"), None
        if text == ("}" if containers[-1] == "{" else "]"):
            return _leave(containers), "close"
    expected = 'Expected "," or "]"' if state == "comma" and containers[-1] == "[" else _EXPECTED[state]
    raise _invalid(f'{expected}, but found "{text}".')


def _leave(containers: list[str]) -> str:
    containers.pop()
    return "comma" if containers else "done"


_EXPECTED: Final = {
    "value": "Expected JSON value",
    "first value": "Expected JSON value",
    "key": "Expected string",
    "first key": 'Expected string or "}"',
    "colon": 'Expected ":"',
    "comma": 'Expected "," or "}"',
    "done": "Expected end of input",
}
