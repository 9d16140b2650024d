"""jsonpath, carried as the text that PostgreSQL prints. It has neither equality nor order.

    read_jsonpath("strict $.a[*] ? (@ > 1)")     'strict $."a"[*]?(@ > 1)'

A path is cut into tokens by longest match, parsed from the left, and printed with parentheses by the operators' priorities. Not
supported: names with backslashes, comments right after a name (which PostgreSQL's scanner then forgets), escapes of surrogates,
zero bytes and `\\x` in strings, and patterns of like_regex that are more than letters, digits and the plainest of signs, since
whether PostgreSQL could use others cannot be told here.

Source: PostgreSQL 15, jsonpath_scan.l, jsonpath_gram.y, jsonpath.c (flattenJsonPathParseItem, printJsonPathItem).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from wire.errors import FeatureNotSupported, InvalidTextRepresentation, NumericValueOutOfRange, SqlSyntaxError
from wire.text_numbers import read_numeric

_OTHER: Final = r"[^?%$.\[\]{}()|&!=<>@#,*:\-+/\\\" \t\n\r\f]"
_INTEGER: Final = r"(?:0|[1-9][0-9]*)"
_DECIMAL: Final = rf"(?:{_INTEGER}\.[0-9]*|\.[0-9]+)"
_REAL: Final = rf"(?:{_DECIMAL}|{_INTEGER})[Ee][-+]?[0-9]+"
#: In the scanner's order: of what matches equally far the first counts.
_RULES: Final = tuple(
    (kind, re.compile(pattern, re.DOTALL))
    for kind, pattern in (
        ("sign", r"&&|\|\||\*\*|<=|==|<>|!=|>="),
        ("variable", rf"\${_OTHER}+"),
        ("variable string", r'\$"(?:[^"\\]|\\.)*"'),
        ("sign", r"[?%$.\[\]{}()|&!=<>@#,*:\-+/]"),
        ("blank", r"[ \t\n\r\f]+|/\*.*?\*/"),
        ("number", _REAL),
        ("number", _DECIMAL),
        ("integer", _INTEGER),
        ("junk", rf"(?:{_REAL}|{_DECIMAL}|{_INTEGER}){_OTHER}|(?:{_DECIMAL}|{_INTEGER})[Ee][-+]"),
        ("string", r'"(?:[^"\\]|\\.)*"'),
        ("name", rf"{_OTHER}+"),
    )
)
#: Words that mean something, and those that do in lower case alone.
_KEYWORDS: Final = frozenset(
    ("is", "to", "lax", "flag", "last", "with", "exists", "starts", "strict", "unknown", "like_regex")
)
_CONSTANTS: Final = frozenset(("null", "true", "false"))
_METHODS: Final = frozenset(("abs", "size", "type", "floor", "double", "ceiling", "keyvalue"))
_COMPARISONS: Final = {"==": "==", "!=": "!=", "<>": "!=", "<": "<", ">": ">", "<=": "<=", ">=": ">="}
_PRIORITY: Final = {
    "||": 0, "&&": 1, **dict.fromkeys((*_COMPARISONS.values(), "starts with"), 2), "+": 3, "-": 3, "*": 4, "/": 4, "%": 4,
    "unary": 5,
}  # fmt: skip
_HIGHEST: Final = 6
_FLAGS: Final = "ismxq"
_PLAIN_PATTERN: Final = re.compile(r"\^?[A-Za-z0-9 _.]*\$?")
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|(.))", re.DOTALL)
_LAST: Final = 0xFFFFFFFF
_LEVEL_MAX: Final = 2**31 - 1
_DEPTH_MAX: Final = 60


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


@dataclass(slots=True)
class _Node:
    """kind: an operator's sign, or what it is. text: as it is printed, if that needs no arguments. steps: what follows it.
    condition: whether it is one, and no expression."""

    kind: str
    text: str = ""
    args: list[_Node] = field(default_factory=list)
    steps: list[_Node] = field(default_factory=list)
    condition: bool = False


_Part = Callable[[], _Node]


def read_jsonpath(text: str) -> str:
    """The canonical text. Raises SqlSyntaxError, InvalidTextRepresentation, NumericValueOutOfRange, FeatureNotSupported."""
    tokens = _tokens(text)
    if not tokens:
        raise InvalidTextRepresentation(f'invalid input syntax for type jsonpath: "{text}"')
    parser = _Parser(tokens)
    strict = parser.mode()
    root = parser.whole()
    _check(root, filtered=False, subscript=False)
    return ("strict " if strict else "") + _printed(root, step=False, enclosed=True)


# -- tokens --------------------------------------------------------------------------------------------------------------


def _tokens(text: str) -> list[_Token]:
    found, at = list[_Token](), 0
    while at < len(text):
        kind, end = max(((kind, _end(rule, text, at)) for kind, rule in _RULES), key=lambda rule: rule[1])
        if end == at or kind == "junk":
            raise _unreadable(text, at, end)
        piece = text[at:end]
        if text[end : end + 1] == "\\" and kind in ("name", "variable"):
            raise FeatureNotSupported("not supported: jsonpath with a backslash in a name")
        if kind == "name" and text[end : end + 2] == "/*":
            raise FeatureNotSupported("not supported: jsonpath with a comment right after a name")
        at = end
        if kind == "name" and _word(piece):
            kind = "word"
        if kind != "blank":
            found.append(_Token(kind, piece))
    return found


def _end(rule: re.Pattern[str], text: str, at: int) -> int:
    found = rule.match(text, at)
    return at if found is None else found.end()


def _word(text: str) -> bool:
    return text in _CONSTANTS or text.lower() in _KEYWORDS


def _unreadable(text: str, at: int, end: int) -> Exception:
    if text[at] == "\\":
        return FeatureNotSupported("not supported: jsonpath with a backslash in a name")
    if text[at] == '"' or text[at : at + 2] == '$"':
        return SqlSyntaxError("unterminated quoted string at end of jsonpath input")
    return SqlSyntaxError(f'trailing junk after numeric literal at or near "{text[at:end]}" of jsonpath input')


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(_escaped, text[1:-1])


def _escaped(found: re.Match[str]) -> str:
    if found[3] is not None:
        if found[3] in "ux":
            raise FeatureNotSupported(f"not supported: \\{found[3]} in a jsonpath")
        return _ESCAPES.get(found[3], found[3])
    point = int(found[1] or found[2], 16)
    if point == 0 or 0xD800 <= point < 0xE000 or point > 0x10FFFF:
        raise FeatureNotSupported(f"not supported: {found[0]} in a jsonpath")
    return chr(point)


# -- grammar -------------------------------------------------------------------------------------------------------------


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def _wrong(self) -> SqlSyntaxError:
        if self._at >= len(self._tokens):
            return SqlSyntaxError("syntax error at end of jsonpath input")
        return SqlSyntaxError(f'syntax error at or near "{self._tokens[self._at].text}" of jsonpath input')

    def _next(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _Token("end", "")

    def _take(self, *kinds: str) -> str:
        """The next token's text, if it is of one of these kinds."""
        if self._next().kind not in kinds:
            raise self._wrong()
        self._at += 1
        return self._tokens[self._at - 1].text

    def _sign(self, *signs: str) -> str | None:
        """One of these signs, if it comes next."""
        token = self._next()
        if token.kind != "sign" or token.text not in signs:
            return None
        self._at += 1
        return token.text

    def _word(self, *words: str) -> str | None:
        token = self._next()
        if token.kind != "word" or token.text.lower() not in words:
            return None
        self._at += 1
        return token.text.lower()

    def _must(self, sign: str) -> None:
        if self._sign(sign) is None:
            raise self._wrong()

    def mode(self) -> bool:
        """Whether it is strict."""
        return self._word("strict", "lax") == "strict"

    def whole(self) -> _Node:
        found = self._either()
        if self._at < len(self._tokens):
            raise self._wrong()
        return found

    def _as(self, node: _Node, *, condition: bool) -> _Node:
        if node.condition is not condition:
            raise self._wrong()
        return node

    def _either(self) -> _Node:
        """A condition or an expression."""
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise FeatureNotSupported(f"not supported: jsonpath with more than {_DEPTH_MAX} levels of parentheses")
        found = self._joined("||", lambda: self._joined("&&", self._condition))
        self._depth -= 1
        return found

    def _joined(self, sign: str, part: _Part) -> _Node:
        left = part()
        while self._sign(sign):
            right = self._as(part(), condition=True)
            left = _Node(sign, args=[self._as(left, condition=True), right], condition=True)
        return left

    def _condition(self) -> _Node:
        if self._sign("!"):
            if self._word("exists"):
                return _Node("!", args=[self._exists()], condition=True)
            self._must("(")
            inside = self._as(self._either(), condition=True)
            self._must(")")
            return _Node("!", args=[inside], condition=True)
        left = self._sum()
        if left.condition:
            return left
        if sign := self._sign(*_COMPARISONS):
            return _Node(_COMPARISONS[sign], args=[left, self._as(self._sum(), condition=False)], condition=True)
        if self._word("starts"):
            if not self._word("with"):
                raise self._wrong()
            kind = self._next().kind
            written = self._take("string", "variable", "variable string")
            return _Node("starts with", args=[left, _scalar(kind, written)], condition=True)
        return self._pattern(left) if self._word("like_regex") else left

    def _pattern(self, left: _Node) -> _Node:
        pattern = _unquoted(self._take("string"))
        flags = _unquoted(self._take("string")) if self._word("flag") else ""
        if not _PLAIN_PATTERN.fullmatch(pattern) or set(flags) - set(_FLAGS) or {"x", "q"} & set(flags):
            raise FeatureNotSupported(f"not supported: like_regex {json.dumps(pattern)} in a jsonpath")
        shown = "".join(letter for letter in _FLAGS if letter in flags)
        text = json.dumps(pattern, ensure_ascii=False) + (f' flag "{shown}"' if shown else "")
        return _Node("like_regex", text, [left], condition=True)

    def _sum(self) -> _Node:
        left = self._product()
        while sign := self._sign("+", "-"):
            left = self._as(left, condition=False)
            left = _Node(sign, args=[left, self._as(self._product(), condition=False)])
        return left

    def _product(self) -> _Node:
        left = self._signed()
        while sign := self._sign("*", "/", "%"):
            left = self._as(left, condition=False)
            left = _Node(sign, args=[left, self._as(self._signed(), condition=False)])
        return left

    def _signed(self) -> _Node:
        signs = list[str]()
        while sign := self._sign("+", "-"):
            signs.append(sign)
        if len(signs) > _DEPTH_MAX:
            raise FeatureNotSupported(f"not supported: jsonpath with more than {_DEPTH_MAX} signs")
        node = self._accessor()
        for sign in reversed(signs):
            node = self._as(node, condition=False)
            if node.kind != "number" or node.steps:
                node = _Node("unary", sign, [node])
            elif sign == "-" and node.text.strip("0."):
                node.text = node.text[1:] if node.text.startswith("-") else "-" + node.text
        return node

    def _accessor(self) -> _Node:
        if self._word("exists"):
            return self._exists()
        if not self._sign("("):
            node = self._primary()
        else:
            node = self._either()
            self._must(")")
            if node.condition and self._word("is"):
                if not self._word("unknown"):
                    raise self._wrong()
                return _Node("is unknown", args=[node], condition=True)
        while (step := self._step()) is not None:
            node.steps.append(step)
            node.condition = False
        return node

    def _exists(self) -> _Node:
        self._must("(")
        inside = self._as(self._either(), condition=False)
        self._must(")")
        return _Node("exists", args=[inside], condition=True)

    def _primary(self) -> _Node:
        if sign := self._sign("$", "@"):
            return _Node(sign, sign)
        if self._word("last"):
            return _Node("last", "last")
        token = self._next()
        if token.kind == "word" and token.text in _CONSTANTS:
            self._at += 1
            return _Node("constant", token.text)
        return _scalar(token.kind, self._take("string", "number", "integer", "variable", "variable string"))

    def _step(self) -> _Node | None:
        if self._sign("?"):
            self._must("(")
            inside = self._as(self._either(), condition=True)
            self._must(")")
            return _Node("filter", args=[inside])
        if self._sign("["):
            return self._subscripts()
        if not self._sign("."):
            return None
        if self._sign("*"):
            return _Node("any key", "*")
        if self._sign("**"):
            return _Node("any", self._levels())
        return self._key()

    def _subscripts(self) -> _Node:
        if self._sign("*"):
            self._must("]")
            return _Node("any element", "[*]")
        listed = list[_Node]()
        while not listed or self._sign(","):
            begin = self._expression()
            listed.append(_Node("slice", args=[begin, self._expression()] if self._word("to") else [begin]))
        self._must("]")
        return _Node("subscripts", args=listed)

    def _expression(self) -> _Node:
        return self._as(self._sum(), condition=False)

    def _levels(self) -> str:
        if not self._sign("{"):
            return "**"
        first = last = self._level()
        if self._word("to"):
            last = self._level()
        self._must("}")
        if (first, last) == (0, _LAST):
            return "**"
        begin, end = ("last" if level == _LAST else str(level) for level in (first, last))
        return f"**{{{begin}}}" if first == last else f"**{{{begin} to {end}}}"

    def _level(self) -> int:
        if self._word("last"):
            return _LAST
        digits = self._take("integer")
        if len(digits) > 10 or int(digits) > _LEVEL_MAX:
            raise NumericValueOutOfRange(f'value "{digits}" is out of range for type integer')
        return int(digits)

    def _key(self) -> _Node:
        kind = self._next().kind
        written = self._take("name", "word", "string")
        if kind == "string":
            return _Node("key", json.dumps(_unquoted(written), ensure_ascii=False))
        lower = written.lower()
        if lower in (*_METHODS, "datetime") and self._sign("("):
            argument = (
                [_scalar("string", self._take("string"))]
                if lower == "datetime" and self._next().kind == "string"
                else []
            )
            self._must(")")
            return _Node("method", lower, argument)
        return _Node("key", json.dumps(written, ensure_ascii=False))


def _scalar(kind: str, written: str) -> _Node:
    match kind:
        case "string":
            return _Node("string", json.dumps(_unquoted(written), ensure_ascii=False))
        case "variable":
            return _Node("variable", "$" + json.dumps(written[1:], ensure_ascii=False))
        case "variable string":
            return _Node("variable", "$" + json.dumps(_unquoted(written[1:]), ensure_ascii=False))
        case _:
            return _Node("number", f"{read_numeric(written, -1):f}")


def _check(node: _Node, *, filtered: bool, subscript: bool) -> None:
    """Raises SqlSyntaxError for @ outside of a filter, LAST outside of a subscript."""
    if node.kind == "@" and not filtered:
        raise SqlSyntaxError("@ is not allowed in root expressions")
    if node.kind == "last" and not subscript:
        raise SqlSyntaxError("LAST is allowed only in array subscripts")
    for arg in node.args:
        _check(arg, filtered=filtered or node.kind == "filter", subscript=subscript or node.kind == "subscripts")
    for step in node.steps:
        _check(step, filtered=filtered, subscript=subscript)


# -- text out ------------------------------------------------------------------------------------------------------------


def _printed(node: _Node, *, step: bool, enclosed: bool) -> str:
    """step: whether it follows something. enclosed: whether an operator is in parentheses."""
    shown = _itself(node, step=step, enclosed=enclosed)
    return shown + "".join(_printed(one, step=True, enclosed=True) for one in node.steps)


def _itself(node: _Node, *, step: bool, enclosed: bool) -> str:
    if node.kind in ("key", "any key", "any"):
        return ("." if step else "") + node.text
    if node.kind == "number":
        return f"({node.text})" if node.steps else node.text
    if node.kind == "method":
        return f".{node.text}({_listed(node)})"
    if not node.args:
        return node.text
    if node.kind in ("filter", "!", "exists", "is unknown", "subscripts"):
        begin, end = {
            "filter": ("?(", ")"), "!": ("!(", ")"), "exists": ("exists (", ")"), "is unknown": ("(", ") is unknown"),
            "subscripts": ("[", "]"),
        }[node.kind]  # fmt: skip
        return begin + _listed(node) + end
    if node.kind == "slice":
        return " to ".join(_printed(arg, step=False, enclosed=False) for arg in node.args)
    text = _operation(node)
    return f"({text})" if enclosed else text


def _listed(node: _Node) -> str:
    return ",".join(_printed(arg, step=False, enclosed=False) for arg in node.args)


def _operation(node: _Node) -> str:
    own = _PRIORITY.get(node.kind, _HIGHEST)
    args = [_printed(arg, step=False, enclosed=_PRIORITY.get(arg.kind, _HIGHEST) <= own) for arg in node.args]
    if node.kind == "unary":
        return node.text + args[0]
    return f"{args[0]} {node.kind} {args[1] if len(args) > 1 else node.text}"
