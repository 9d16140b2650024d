"""The grammar of PostgreSQL's advanced regular expressions (AREs), as trees.

Source: PostgreSQL 15, section 9.7.3 (POSIX regular expressions). Errors are 2201B with PostgreSQL's messages. Features
that only AREs have (expanded syntax, embedded options, directors) are resolved here; basic and extended POSIX syntax
(options `b`, `e`) is refused.

Neighbours: `engine.sql.regex` analyses these trees and writes them for the engines; `wire.types.jsonpath` reads
patterns of LIKE_REGEX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, Literal

from wire.common.digits import is_digits, parse_digits
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, InvalidParameterValue, InvalidRegularExpression, StatementTooComplex

CLASS_NAMES: Final = frozenset(
    "alnum alpha blank cntrl digit graph lower print punct space upper xdigit word".split()  # noqa: SIM905
)
REPEATS_MOST: Final = 255
#: One more than the last code point.
CODE_POINTS: Final = 0x110000
AssertionKind = Literal["start", "end", "line_start", "line_end", "word", "not_word", "word_start", "word_end"]


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a pattern."""

    def children(self) -> tuple[Node, ...]:
        return ()

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children():
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class Chars(Node):
    """One character of a set: code point ranges (inclusive) and named classes (`-alpha`: all but the class)."""

    ranges: tuple[tuple[int, int], ...] = ()
    names: frozenset[str] = frozenset()
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    parts: tuple[Node, ...]

    def children(self) -> tuple[Node, ...]:
        return self.parts


@dataclass(frozen=True, slots=True)
class Choice(Node):
    branches: tuple[Node, ...]

    def children(self) -> tuple[Node, ...]:
        return self.branches


@dataclass(frozen=True, slots=True)
class Repeat(Node):
    """A repetition. most: None is unbounded. exact: whether it is written `{m}`, which keeps the preference of the
    repeated part; `{m,m}` has its own preference for long or short matches.
    """

    part: Node
    least: int
    most: int | None
    greedy: bool
    exact: bool = False

    def children(self) -> tuple[Node, ...]:
        return (self.part,)


@dataclass(frozen=True, slots=True)
class Group(Node):
    """Capturing group `number`, from 1."""

    part: Node
    number: int

    def children(self) -> tuple[Node, ...]:
        return (self.part,)


@dataclass(frozen=True, slots=True)
class Assertion(Node):
    kind: AssertionKind


@dataclass(frozen=True, slots=True)
class Look(Node):
    """A lookahead, or a lookbehind if `behind`."""

    part: Node
    behind: bool
    negated: bool

    def children(self) -> tuple[Node, ...]:
        return (self.part,)


@dataclass(frozen=True, slots=True)
class Backreference(Node):
    number: int


@dataclass(frozen=True, slots=True)
class Options:
    """The options that letters represent; `every` is the `g` of the functions."""

    ignore_case: bool = False
    dot_excludes_newline: bool = False
    lines: bool = False
    expanded: bool = False
    literal: bool = False
    every: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern: its tree, the number of its capturing groups, and the options that apply to it."""

    tree: Node
    groups: int
    options: Options


def _error(words: str) -> InvalidRegularExpression:
    return InvalidRegularExpression(f"invalid regular expression: {words}")


def read_options(letters: str, options: Options | None = None, *, embedded: bool = False) -> Options:
    """Return options by their letters; later letters override earlier ones. Raises 22023 (2201B when embedded) for an
    unknown letter.
    """
    found = options or Options()
    for letter in letters:
        if letter == "g" and not embedded:
            found = replace(found, every=True)
        elif letter in _OPTION:
            found = replace(found, **_OPTION[letter])
        elif letter in "be":
            raise FeatureNotSupported(f'not supported: the regular expression option "{letter}"')
        elif embedded:
            raise _error("invalid embedded option")
        else:
            raise InvalidParameterValue(f'invalid regular expression option: "{letter}"')
    return found


_OPTION: Final[dict[str, dict[str, bool]]] = {
    "i": {"ignore_case": True},
    "c": {"ignore_case": False},
    "n": {"dot_excludes_newline": True, "lines": True},
    "m": {"dot_excludes_newline": True, "lines": True},
    "s": {"dot_excludes_newline": False, "lines": False},
    "p": {"dot_excludes_newline": True, "lines": False},
    "w": {"dot_excludes_newline": False, "lines": True},
    "x": {"expanded": True},
    "t": {"expanded": False},
    "q": {"literal": True},
}


def read(text: str, options: Options, step: Callable[[], None] = lambda: None) -> Pattern:
    """Parse a pattern by PostgreSQL's rules. Raises 2201B, or 54001 for parentheses that nest too deeply.

    step: called for each atom; what it raises ends the parsing.
    """
    if options.literal:
        return _literally(text, options, step)
    if text.startswith("***="):
        return _literally(text[4:], replace(options, literal=True), step)
    if text.startswith("***:"):
        text = text[4:]
    elif text.startswith("***"):
        raise _error("quantifier operand invalid")
    if text.startswith("(?") and text[2:3].isalpha():
        letters, closed, rest = text[2:].partition(")")
        if not closed:
            raise _error("invalid embedded option")
        options, text = read_options(letters, options, embedded=True), rest
        if options.literal:
            return _literally(text, options, step)
    reader = _Reader(text, options, step)
    tree = reader.choice()
    if reader.at < len(text):
        raise _error("parentheses () not balanced")
    return Pattern(tree, reader.groups, options)


def _literally(text: str, options: Options, step: Callable[[], None]) -> Pattern:
    reader = _Reader(text, options, step)
    return Pattern(Sequence(tuple(map(reader.character, text))), 0, options)


def literal(point: int) -> Chars:
    return Chars(((point, point),))


_SHORTHAND: Final = {"d": "digit", "s": "space", "w": "word"}
_ENTRY: Final = {"a": 7, "b": 8, "B": 92, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_CONSTRAINT: Final[dict[str, AssertionKind]] = {
    "A": "start", "Z": "end", "m": "word_start", "M": "word_end", "y": "word", "Y": "not_word",
}  # fmt: skip
_LOOKS: Final = ("(?=", "(?!", "(?<=", "(?<!")
_HEX: Final = "0123456789abcdefABCDEF"
#: The maximum nesting of parentheses. Reading, analysing and writing trees are recursive, here and in the engines (RE2
#: stops at 1,000).
_DEPTH_MAX: Final = 500
#: The maximum number of atoms. PostgreSQL limits the size of its automaton: it accepts 40,000 characters in a row and
#: 110,000 in alternatives of six, and refuses twice as many.
_ATOMS_MAX: Final = 110_000


class _Reader:
    """A recursive descent parser over the text. at: the index of the next character."""

    def __init__(self, text: str, options: Options, step: Callable[[], None]) -> None:
        self.text, self.options, self.at, self.groups, self.depth = text, options, 0, 0, 0
        self.looks = self.atoms = 0
        self.step = step
        self.open: set[int] = set()

    # -- structure

    def choice(self) -> Node:
        branches = [self.branch()]
        while self.peek() == "|":
            self.at += 1
            branches.append(self.branch())
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def branch(self) -> Node:
        parts: list[Node] = []
        while (char := self.peek()) not in ("", "|", ")"):
            if char in "*+?" or (char == "{" and self.bound_ahead()):
                raise _error("quantifier operand invalid")
            # A look-around takes no quantifier, except in parentheses.
            is_set_apart = self.text.startswith("(", self.at) and not self.text.startswith(_LOOKS, self.at)
            part = self.atom()
            if isinstance(part, Assertion | Look) and not is_set_apart and self.quantifier() is not None:
                raise _error("quantifier operand invalid")
            parts.append(self.quantify(part))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def quantify(self, part: Node) -> Node:
        begin = self.at
        bounds = self.quantifier()
        if bounds is None:
            return part
        exact = self.text.startswith("{", begin) and "," not in self.text[begin : self.at]
        greedy = True
        if self.text[self.at : self.at + 1] == "?":
            self.at += 1
            greedy = False
        following = self.peek()
        if following and (following in "*+?" or (following == "{" and self.bound_ahead())):
            raise _error("quantifier operand invalid")
        return Repeat(part, *bounds, greedy, exact)

    def quantifier(self) -> tuple[int, int | None] | None:
        char = self.peek()
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if char in simple and char:
            self.at += 1
            return simple[char]
        return self.bounds() if char == "{" and self.bound_ahead() else None

    def bound_ahead(self) -> bool:
        return is_digits(self.text[self.at + 1 : self.at + 2])

    def bounds(self) -> tuple[int, int | None]:
        end = self.text.find("}", self.at)
        if end < 0:
            raise _error("braces {} not balanced")
        low, comma, high = self.text[self.at + 1 : end].partition(",")
        if not is_digits(low) or (high and not is_digits(high)):
            raise _error("invalid repetition count(s)")
        least = parse_digits(low)
        most = least if not comma else parse_digits(high) if high else None
        if least > REPEATS_MOST or (most is not None and (most > REPEATS_MOST or most < least)):
            raise _error("invalid repetition count(s)")
        self.at = end + 1
        return least, most

    def peek(self) -> str:
        """Return the next significant character. Expanded syntax skips white space and comments."""
        while self.options.expanded and self.at < len(self.text):
            if self.text[self.at].isspace():
                self.at += 1
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end + 1
            else:
                break
        if self.text.startswith("(?#", self.at):
            end = self.text.find(")", self.at)
            if end < 0:
                raise _error("parentheses () not balanced")
            self.at = end + 1
            return self.peek()
        return self.text[self.at : self.at + 1]

    # -- atoms

    def character(self, char: str) -> Node:
        """Return an atom that matches a character."""
        self.count()
        return self.with_both_cases(literal(ord(char)))

    def count(self) -> None:
        self.atoms += 1
        if self.atoms > _ATOMS_MAX:
            raise _error("regular expression is too complex")
        self.step()

    def atom(self) -> Node:
        char = self.peek()
        self.at += 1
        self.count()
        match char:
            case "(":
                return self.group()
            case "[":
                return self.bracket()
            case ".":
                excluded = ((10, 10),) if self.options.dot_excludes_newline else ()
                return Chars(excluded, negated=True)
            case "^":
                return Assertion("line_start" if self.options.lines else "start")
            case "$":
                return Assertion("line_end" if self.options.lines else "end")
            case "\\":
                return self.escape()
        return self.with_both_cases(literal(ord(char)))

    def group(self) -> Node:
        for mark, behind, negated in (
            ("?=", False, False),
            ("?!", False, True),
            ("?<=", True, False),
            ("?<!", True, True),
        ):
            if self.text.startswith(mark, self.at):
                self.at += len(mark)
                self.looks += 1
                inside = self.group_body()
                self.looks -= 1
                return Look(inside, behind, negated)
        if self.text.startswith("?:", self.at):
            self.at += 2
            return self.group_body()
        if self.text.startswith("?", self.at):
            raise _error("quantifier operand invalid")
        if self.looks:  # groups inside do not capture
            return self.group_body()
        self.groups += 1
        number = self.groups
        self.open.add(number)
        inside = self.group_body()
        self.open.discard(number)
        return Group(inside, number)

    def group_body(self) -> Node:
        self.depth += 1
        if self.depth > _DEPTH_MAX:
            raise StatementTooComplex("stack depth limit exceeded", hint="The regular expression nests too deeply.")
        inside = self.choice()
        self.depth -= 1
        if self.peek() != ")":
            raise _error("parentheses () not balanced")
        self.at += 1
        return inside

    def escape(self) -> Node:
        char = self.text[self.at : self.at + 1]
        if not char:
            raise _error("invalid escape \\ sequence")
        self.at += 1
        if char in _CONSTRAINT:
            return Assertion(_CONSTRAINT[char])
        if char.lower() in _SHORTHAND:
            return Chars(names=frozenset({_SHORTHAND[char.lower()]}), negated=char.isupper())
        if char in "123456789":
            number = self.backreference(char)
            if number is not None:
                return Backreference(number)
        return self.with_both_cases(literal(self.character_entry(char)))

    def backreference(self, first: str) -> int | None:
        """Return a group's number; None if the digits are an octal number."""
        end = self.at
        while is_digits(self.text[end : end + 1]):
            end += 1
        number = parse_digits(first + self.text[self.at : end])
        if end == self.at or number <= self.groups:
            self.at = end
            if self.looks or number > self.groups or number in self.open:
                raise _error("invalid backreference number")
            return number
        return None

    def character_entry(self, char: str) -> int:
        """Return the code point of a character-entry escape."""
        if char in _ENTRY:
            return _ENTRY[char]
        if char == "c":
            if self.at >= len(self.text):
                raise _error("invalid escape \\ sequence")
            self.at += 1
            return ord(self.text[self.at - 1]) & 31
        if char in "uU":
            return self.digits(4 if char == "u" else 8, _HEX, 16, exact=True)
        if char == "x":
            return self.digits(255, _HEX, 16)
        if is_digits(char):
            self.at -= 1
            return self.digits(3, "01234567", 8)
        if char.isalnum():
            raise _error("invalid escape \\ sequence")
        return ord(char)

    def digits(self, most: int, allowed: str, base: int, *, exact: bool = False) -> int:
        end = self.at
        while end < len(self.text) and end - self.at < most and self.text[end] in allowed:
            end += 1
        if end == self.at or (exact and end - self.at < most):
            raise _error("invalid escape \\ sequence")
        value = int(self.text[self.at : end], base)
        self.at = end
        if value >= CODE_POINTS:
            raise _error("invalid escape \\ sequence")
        return value

    # -- bracket expressions

    def bracket(self) -> Node:
        if self.text.startswith(("[:<:]]", "[:>:]]"), self.at):
            start = self.text[self.at + 2] == "<"
            self.at += 6
            return Assertion("word_start" if start else "word_end")
        negated = self.text.startswith("^", self.at)
        self.at += negated
        ranges: list[tuple[int, int]] = []
        names: set[str] = set()
        first = True
        while True:
            char = self.text[self.at : self.at + 1]
            if not char:
                raise _error("brackets [] not balanced")
            if char == "]" and not first:
                self.at += 1
                break
            self.bracket_item(ranges, names, first)
            first = False
        if negated and self.options.dot_excludes_newline:
            ranges.append((10, 10))
        return self.with_both_cases(Chars(tuple(ranges), frozenset(names), negated))

    def bracket_item(self, ranges: list[tuple[int, int]], names: set[str], first: bool) -> None:
        if self.text.startswith("[:", self.at):
            name = self.delimited_text(":")
            if name not in CLASS_NAMES:
                raise _error("invalid character class")
            names.add(name)
            return
        low = self.bracket_char(names)
        if low is None:
            return
        high = low
        if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
            self.at += 1
            found = self.bracket_char(None)
            if found is None or found < low:
                raise _error("invalid character range")
            high = found
        elif low == ord("-") and not first and not self.text.startswith("]", self.at) and self.text[self.at - 1] == "-":
            raise _error("invalid character range")
        ranges.append((low, high))

    def bracket_char(self, names: set[str] | None) -> int | None:
        """Return one character of a bracket expression; None after a class escape, which is added to `names`."""
        if self.text.startswith(("[.", "[="), self.at):
            element = self.delimited_text(self.text[self.at + 1])
            if len(element) != 1:
                raise _error("invalid collating element")
            return ord(element)
        char = self.text[self.at : self.at + 1]
        if not char:
            raise _error("brackets [] not balanced")
        self.at += 1
        if char != "\\":
            return ord(char)
        escaped = self.text[self.at : self.at + 1]
        if not escaped:
            raise _error("invalid escape \\ sequence")
        self.at += 1
        if escaped.lower() in _SHORTHAND:
            if names is None:
                raise _error("invalid character range")
            names.add(("-" if escaped.isupper() else "") + _SHORTHAND[escaped.lower()])
            return None
        if escaped in "AmMyYZ":
            raise _error("invalid escape \\ sequence")
        return self.character_entry(escaped)

    def delimited_text(self, mark: str) -> str:
        end = self.text.find(f"{mark}]", self.at + 2)
        if end < 0:
            raise _error("brackets [] not balanced")
        inside = self.text[self.at + 2 : end]
        self.at = end + 2
        return inside

    # -- letter case

    def with_both_cases(self, chars: Chars) -> Chars:
        """Add the other case of every letter, if case is ignored."""
        if not self.options.ignore_case:
            return chars
        names = frozenset("alpha" if name in ("upper", "lower") else name for name in chars.names)
        ranges = list(chars.ranges)
        for low, high in chars.ranges:
            if high - low > _CASED_MOST:
                raise FeatureNotSupported("not supported: a large character range without regard to case")
            ranges += [(other, other) for point in range(low, high + 1) for other in other_cases(point)]
        return Chars(tuple(dict.fromkeys(ranges)), names, chars.negated)


_CASED_MOST: Final = 2000


def other_cases(point: int) -> list[int]:
    """Return the other cases of a letter, by the simple mapping."""
    char = chr(point)
    mapped = (char.lower(), char.upper())
    return [ord(other) for other in mapped if len(other) == 1 and other != char]
