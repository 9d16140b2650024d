r"""jsonpath, carried as the text that PostgreSQL prints, plus the parentheses that PostgreSQL omits. The type has
neither equality nor order.

    read_jsonpath("strict $.a[*] ? (@ > 1)")     'strict $."a"[*]?(@ > 1)'
    read_jsonpath("$[($.a - 3).abs()]")          '$[($."a" - 3).abs()]', which PostgreSQL shows as '$[$."a" - 3.abs()]'

A path is cut into tokens by longest match, parsed from the left into a tree (`parse_jsonpath`), and printed with
parentheses by the operators' priorities. `engine.executors.local.json_paths` evaluates the same tree on a document. Not
supported: names with backslashes, comments directly after a name (PostgreSQL's scanner then forgets the name), escapes
of surrogates, zero bytes and `\x` in strings.

Source: PostgreSQL 15, jsonpath_scan.l, jsonpath_gram.y, jsonpath.c (flattenJsonPathParseItem, printJsonPathItem).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import field
from functools import lru_cache
from typing import Any, Final

from wire.dataclass import dataclass
from wire.errors import (
    FeatureNotSupported,
    InvalidTextRepresentation,
    NumericValueOutOfRange,
    SqlSyntaxError,
    StatementTooComplex,
)
from wire.regex import grammar
from wire.types.numbers_input import read_numeric

_OTHER: Final = r"[^?%$.\[\]{}()|&!=<>@#,*:\-+/\\\" \t\n\r\f]"
_INTEGER: Final = r"(?:0|[1-9][0-9]*)"
_DECIMAL: Final = rf"(?:{_INTEGER}\.[0-9]*|\.[0-9]+)"
_REAL: Final = rf"(?:{_DECIMAL}|{_INTEGER})[Ee][-+]?[0-9]+"
#: In the scanner's order: of rules that match equally far, the first applies.
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
#: Keywords, and those that are recognised in lower case only.
_KEYWORDS: Final = frozenset(
    ("is", "to", "lax", "flag", "last", "with", "exists", "starts", "strict", "unknown", "like_regex")
)
_CONSTANTS: Final = {"null": None, "true": True, "false": False}
_METHODS: Final = frozenset(("abs", "size", "type", "floor", "double", "ceiling", "keyvalue"))
_COMPARISONS: Final = {"==": "==", "!=": "!=", "<>": "!=", "<": "<", ">": ">", "<=": "<=", ">=": ">="}
_PRIORITY: Final = {
    "||": 0, "&&": 1, **dict.fromkeys((*_COMPARISONS.values(), "starts with"), 2), "+": 3, "-": 3, "*": 4, "/": 4, "%": 4,
    "unary": 5,
}  # fmt: skip
_HIGHEST: Final = 6
#: The text around the arguments of nodes that have parentheses of their own.
_AROUND: Final = {
    "filter": ("?(", ")"), "!": ("!(", ")"), "exists": ("exists (", ")"), "is unknown": ("(", ") is unknown"),
    "subscripts": ("[", "]"),
}  # fmt: skip
_PREDICATES: Final = frozenset(("!", "exists", "is unknown"))
_FLAGS: Final = "ismxq"
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|(.))", re.DOTALL)
#: The level of leaves (the deepest level).
LAST: Final = 0xFFFFFFFF
_LEVEL_MAX: Final = 2**31 - 1
_DEPTH_MAX: Final = 60


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


@dataclass(slots=True)
class Node:
    """A part of a path. steps: the steps that follow it, from left to right. condition: whether it is a condition, and
    not an expression.

    kind, value and args: `$`, `@`, `last`; `constant`: None or a boolean; `number`: a Decimal, trailing zeros as
    written; `string`, `variable`, `key`: the text; `method`: its name, args datetime's template; `any element`, `any
    key`; `any`: first and last level; `subscripts`: args are slices; `slice`: one or two expressions; `filter`,
    `exists`, `!`, `is unknown`: one argument; `unary`: its sign; `like_regex`: a Regex; `starts with`, and operators by
    their signs: two arguments.
    """

    kind: str
    value: Any = None
    args: list[Node] = field(default_factory=list)
    steps: list[Node] = field(default_factory=list)
    condition: bool = False


@dataclass(frozen=True, slots=True)
class Regex:
    """A pattern of like_regex as written, its flags in PostgreSQL's order, and the options that they mean."""

    text: str
    flags: str
    pattern: grammar.Pattern


@dataclass(frozen=True, slots=True)
class Path:
    strict: bool
    root: Node


_Part = Callable[[], Node]


def parse_jsonpath(text: str) -> Path:
    """Return the path as a tree, which callers must not change.

    Raises SqlSyntaxError, InvalidTextRepresentation, NumericValueOutOfRange, FeatureNotSupported,
    InvalidRegularExpression.
    """
    return _remembered(text) if len(text) <= _REMEMBERED_LENGTH_MAX else _parse_path(text)


def _parse_path(text: str) -> Path:
    tokens = _tokens(text)
    if not tokens:
        raise InvalidTextRepresentation(f'invalid input syntax for type jsonpath: "{text}"')
    parser = _Parser(tokens)
    strict = parser.mode()
    root = parser.whole()
    try:
        _check(root, filtered=False, subscript=False)
    except RecursionError:
        raise StatementTooComplex("stack depth limit exceeded") from None
    return Path(strict, root)


#: Longer paths are so rare that their trees are not cached, to save memory.
_REMEMBERED_LENGTH_MAX: Final = 1000
_remembered: Final = lru_cache(512)(_parse_path)


def read_jsonpath(text: str) -> str:
    """Return the text that carries the path. Raises the errors of `parse_jsonpath`."""
    return _Printer(whole=True).path(parse_jsonpath(text))


def jsonpath_text(carried: str) -> str:
    """Print a path as PostgreSQL does."""
    return _Printer(whole=False).path(parse_jsonpath(carried))


# -- tokens --------------------------------------------------------------------------------------------------------------


def _tokens(text: str) -> list[_Token]:
    found, at = list[_Token](), 0
    while at < len(text):
        if text.startswith("/*", at) and text.find("*/", at + 2) < 0:
            raise SqlSyntaxError("unexpected end of comment at end of jsonpath input")
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


def _unquote(text: str) -> str:
    return _ESCAPE.sub(_replace_escape, text[1:-1])


def _replace_escape(found: re.Match[str]) -> str:
    if found[3] is not None:
        if found[3] in "ux":
            raise FeatureNotSupported(f"not supported: \\{found[3]} in a jsonpath")
        return _ESCAPES.get(found[3], found[3])
    point = int(found[1] or found[2], 16)
    if point == 0 or 0xD800 <= point < 0xE000 or point > 0x10FFFF:
        raise FeatureNotSupported(f"not supported: {found[0]} in a jsonpath")
    return chr(point)


# -- grammar -------------------------------------------------------------------------------------------------------------


class _TokenStream:
    """The remaining tokens."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._at = tokens, 0

    def wrong(self) -> SqlSyntaxError:
        if self.at_end:
            return SqlSyntaxError("syntax error at end of jsonpath input")
        return SqlSyntaxError(f'syntax error at or near "{self._tokens[self._at].text}" of jsonpath input')

    def next(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _Token("end", "")

    def take(self, *kinds: str) -> str:
        """Take the next token if it is of one of these kinds. Returns its text."""
        if self.next().kind not in kinds:
            raise self.wrong()
        self._at += 1
        return self._tokens[self._at - 1].text

    def sign(self, *signs: str) -> str | None:
        """Take one of these signs if it comes next."""
        token = self.next()
        if token.kind != "sign" or token.text not in signs:
            return None
        self._at += 1
        return token.text

    def word(self, *words: str) -> str | None:
        token = self.next()
        if token.kind != "word" or token.text.lower() not in words:
            return None
        self._at += 1
        return token.text.lower()

    def must(self, sign: str) -> None:
        if self.sign(sign) is None:
            raise self.wrong()

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._tokens)


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._depth = _TokenStream(tokens), 0

    def mode(self) -> bool:
        """Read the mode. Returns whether it is strict."""
        return self._tokens.word("strict", "lax") == "strict"

    def whole(self) -> Node:
        found = self._either()
        if not self._tokens.at_end:
            raise self._tokens.wrong()
        return found

    def _as(self, node: Node, *, condition: bool) -> Node:
        if node.condition is not condition:
            raise self._tokens.wrong()
        return node

    def _either(self) -> Node:
        """Parse a condition or an expression."""
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise FeatureNotSupported(f"not supported: jsonpath with more than {_DEPTH_MAX} levels of parentheses")
        found = self._join_operands("||", lambda: self._join_operands("&&", self._condition))
        self._depth -= 1
        return found

    def _join_operands(self, sign: str, part: _Part) -> Node:
        left = part()
        while self._tokens.sign(sign):
            right = self._as(part(), condition=True)
            left = Node(sign, args=[self._as(left, condition=True), right], condition=True)
        return left

    def _condition(self) -> Node:
        if self._tokens.sign("!"):
            if self._tokens.word("exists"):
                return Node("!", args=[self._exists()], condition=True)
            self._tokens.must("(")
            inside = self._as(self._either(), condition=True)
            self._tokens.must(")")
            return Node("!", args=[inside], condition=True)
        left = self._sum()
        if left.condition:
            return left
        if sign := self._tokens.sign(*_COMPARISONS):
            return Node(_COMPARISONS[sign], args=[left, self._as(self._sum(), condition=False)], condition=True)
        if self._tokens.word("starts"):
            if not self._tokens.word("with"):
                raise self._tokens.wrong()
            kind = self._tokens.next().kind
            written = self._tokens.take("string", "variable", "variable string")
            return Node("starts with", args=[left, _scalar(kind, written)], condition=True)
        return self._pattern(left) if self._tokens.word("like_regex") else left

    def _pattern(self, left: Node) -> Node:
        pattern = _unquote(self._tokens.take("string"))
        flags = _unquote(self._tokens.take("string")) if self._tokens.word("flag") else ""
        return Node("like_regex", _regex(pattern, flags), [left], condition=True)

    def _sum(self) -> Node:
        left = self._product()
        while sign := self._tokens.sign("+", "-"):
            left = self._as(left, condition=False)
            left = Node(sign, args=[left, self._as(self._product(), condition=False)])
        return left

    def _product(self) -> Node:
        left = self._read_signed()
        while sign := self._tokens.sign("*", "/", "%"):
            left = self._as(left, condition=False)
            left = Node(sign, args=[left, self._as(self._read_signed(), condition=False)])
        return left

    def _read_signed(self) -> Node:
        signs = list[str]()
        while sign := self._tokens.sign("+", "-"):
            signs.append(sign)
        if len(signs) > _DEPTH_MAX:
            raise FeatureNotSupported(f"not supported: jsonpath with more than {_DEPTH_MAX} signs")
        node = self._accessor()
        for sign in reversed(signs):
            node = self._as(node, condition=False)
            if node.kind != "number" or node.steps:
                node = Node("unary", sign, [node])
            elif sign == "-" and node.value:
                node.value = node.value.copy_negate()
        return node

    def _accessor(self) -> Node:
        if self._tokens.word("exists"):
            return self._exists()
        if not self._tokens.sign("("):
            node = self._primary()
        else:
            node = self._either()
            self._tokens.must(")")
            if node.condition and self._tokens.word("is"):
                if not self._tokens.word("unknown"):
                    raise self._tokens.wrong()
                return Node("is unknown", args=[node], condition=True)
        while (step := self._step()) is not None:
            node.steps.append(step)
            node.condition = False
        return node

    def _exists(self) -> Node:
        self._tokens.must("(")
        inside = self._as(self._either(), condition=False)
        self._tokens.must(")")
        return Node("exists", args=[inside], condition=True)

    def _primary(self) -> Node:
        if sign := self._tokens.sign("$", "@"):
            return Node(sign)
        if self._tokens.word("last"):
            return Node("last")
        token = self._tokens.next()
        if token.kind == "word" and token.text in _CONSTANTS:
            self._tokens.take("word")
            return Node("constant", _CONSTANTS[token.text])
        return _scalar(token.kind, self._tokens.take("string", "number", "integer", "variable", "variable string"))

    def _step(self) -> Node | None:
        if self._tokens.sign("?"):
            self._tokens.must("(")
            inside = self._as(self._either(), condition=True)
            self._tokens.must(")")
            return Node("filter", args=[inside])
        if self._tokens.sign("["):
            return self._subscripts()
        if not self._tokens.sign("."):
            return None
        if self._tokens.sign("*"):
            return Node("any key")
        if self._tokens.sign("**"):
            return Node("any", self._levels())
        return self._key()

    def _subscripts(self) -> Node:
        if self._tokens.sign("*"):
            self._tokens.must("]")
            return Node("any element")
        listed = list[Node]()
        while not listed or self._tokens.sign(","):
            begin = self._expression()
            listed.append(Node("slice", args=[begin, self._expression()] if self._tokens.word("to") else [begin]))
        self._tokens.must("]")
        return Node("subscripts", args=listed)

    def _expression(self) -> Node:
        return self._as(self._sum(), condition=False)

    def _levels(self) -> tuple[int, int]:
        if not self._tokens.sign("{"):
            return 0, LAST
        first = last = self._level()
        if self._tokens.word("to"):
            last = self._level()
        self._tokens.must("}")
        return first, last

    def _level(self) -> int:
        if self._tokens.word("last"):
            return LAST
        digits = self._tokens.take("integer")
        if len(digits) > 10 or int(digits) > _LEVEL_MAX:
            raise NumericValueOutOfRange(f'value "{digits}" is out of range for type integer')
        return int(digits)

    def _key(self) -> Node:
        kind = self._tokens.next().kind
        written = self._tokens.take("name", "word", "string")
        if kind == "string":
            return Node("key", _unquote(written))
        lower = written.lower()
        if lower in (*_METHODS, "datetime") and self._tokens.sign("("):
            argument = (
                [_scalar("string", self._tokens.take("string"))]
                if lower == "datetime" and self._tokens.next().kind == "string"
                else []
            )
            self._tokens.must(")")
            return Node("method", lower, argument)
        return Node("key", written)


def _scalar(kind: str, written: str) -> Node:
    match kind:
        case "string":
            return Node("string", _unquote(written))
        case "variable":
            return Node("variable", written[1:])
        case "variable string":
            return Node("variable", _unquote(written[1:]))
        case _:
            return Node("number", read_numeric(written, -1))


def _regex(text: str, flags: str) -> Regex:
    for flag in flags:
        if flag not in _FLAGS:
            raise SqlSyntaxError(
                "invalid input syntax for type jsonpath",
                detail=f'Unrecognized flag character "{flag}" in LIKE_REGEX predicate.',
            )
    if "x" in flags and "q" not in flags:
        raise FeatureNotSupported('XQuery "x" flag (expanded regular expressions) is not implemented')
    options = grammar.Options(
        ignore_case="i" in flags, dot_excludes_newline="s" not in flags, lines="m" in flags, literal="q" in flags
    )
    try:
        pattern = grammar.read(text, options)
    except RecursionError:
        raise StatementTooComplex("not supported: a regular expression of so many levels") from None
    return Regex(text, "".join(flag for flag in _FLAGS if flag in flags), pattern)


def _check(node: Node, *, filtered: bool, subscript: bool) -> None:
    """Raise SqlSyntaxError for @ outside of a filter, LAST outside of a subscript."""
    if node.kind == "@" and not filtered:
        raise SqlSyntaxError("@ is not allowed in root expressions")
    if node.kind == "last" and not subscript:
        raise SqlSyntaxError("LAST is allowed only in array subscripts")
    for arg in node.args:
        _check(arg, filtered=filtered or node.kind == "filter", subscript=subscript or node.kind == "subscripts")
    for step in node.steps:
        _check(step, filtered=filtered, subscript=subscript)


# -- text out ------------------------------------------------------------------------------------------------------------


class _Printer:
    """Prints a path. whole: whether the text must parse to the same path. If so, an operand with steps after it is in
    parentheses and no other is, so that parsing the text nests no deeper than parsing the original text.
    """

    def __init__(self, *, whole: bool) -> None:
        self._whole = whole

    def path(self, path: Path) -> str:
        try:
            shown = self._node(path.root, step=False, enclosed=not self._whole)
        except RecursionError:
            raise StatementTooComplex("stack depth limit exceeded") from None
        return ("strict " if path.strict else "") + shown

    def _node(self, node: Node, *, step: bool, enclosed: bool) -> str:
        """Print a node. step: whether it follows another. enclosed: whether an operator is in parentheses."""
        shown = self._itself(node, step=step, enclosed=enclosed or (self._whole and bool(node.steps)))
        if self._whole and node.steps and node.kind in _PREDICATES:
            shown = f"({shown})"
        return shown + "".join(self._node(one, step=True, enclosed=True) for one in node.steps)

    def _itself(self, node: Node, *, step: bool, enclosed: bool) -> str:
        match node.kind:
            case "key" | "any key" | "any":
                return ("." if step else "") + _print_any(node)
            case "number" if node.steps:
                return f"{node.value:f} " if self._whole and node.value >= 0 else f"({node.value:f})"
            case "number":
                return f"{node.value:f}"
            case "constant":
                return json.dumps(node.value)
            case "string":
                return _quote(node.value)
            case "variable":
                return "$" + _quote(node.value)
            case "any element":
                return "[*]"
            case "method":
                return f".{node.value}({self._print_list(node)})"
            case "$" | "@" | "last":
                return node.kind
            case "filter" | "!" | "exists" | "is unknown" | "subscripts":
                begin, end = _AROUND[node.kind]
                return begin + self._print_list(node) + end
            case "slice":
                return " to ".join(self._node(arg, step=False, enclosed=False) for arg in node.args)
        text = self._operation(node)
        return f"({text})" if enclosed else text

    def _print_list(self, node: Node) -> str:
        return ",".join(self._node(arg, step=False, enclosed=False) for arg in node.args)

    def _operation(self, node: Node) -> str:
        own = _PRIORITY.get(node.kind, _HIGHEST)
        args = [
            self._node(
                arg, step=False, enclosed=_PRIORITY.get(arg.kind, _HIGHEST) < own + (place > 0 or not self._whole)
            )
            for place, arg in enumerate(node.args)
        ]
        if node.kind == "unary":
            return str(node.value) + args[0]
        if node.kind == "like_regex":
            flags = f' flag "{node.value.flags}"' if node.value.flags else ""
            return f"{args[0]} like_regex {_quote(node.value.text)}{flags}"
        return f"{args[0]} {node.kind} {args[1]}"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _print_any(node: Node) -> str:
    if node.kind != "any":
        return "*" if node.kind == "any key" else _quote(node.value)
    if node.value == (0, LAST):
        return "**"
    begin, end = ("last" if level == LAST else str(level) for level in node.value)
    return f"**{{{begin}}}" if begin == end else f"**{{{begin} to {end}}}"
