"""tsquery, carried as a text that determines its tree: the text that PostgreSQL prints, plus parentheses around right
operands.

PostgreSQL omits these where an operand has the same operator, so that `a & (b & c)` is printed like `(a & b) & c`,
which is another value. Values are compared by keys (`engine.executors.local.sort_keys`), which ignore the weights and
prefix marks of words.

Source: PostgreSQL 15, tsquery.c (gettoken_query_standard, makepol, infix, tsquerysend, tsqueryrecv).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from wire.common.digits import parse_digits
from wire.dataclass import dataclass
from wire.errors import (
    FeatureNotSupported,
    InvalidBinaryRepresentation,
    InvalidParameterValue,
    ProgramLimitExceeded,
    SqlSyntaxError,
)
from wire.types.text_search import BLANKS, DIGITS, TEXTS_BYTES, WORD_BYTES, Received, Words, quote_word

NOT, AND, OR, PHRASE = 1, 2, 3, 4
_PRIORITY: Final = {NOT: 4, AND: 2, OR: 1, PHRASE: 3}
_SYMBOLS: Final = {"&": AND, "|": OR}
_DISTANCE_MAX: Final = 16384
_WEIGHTS: Final = {"a": 8, "b": 4, "c": 2, "d": 1}
_VALUE, _OPERATOR = 1, 2
#: The maximum number of operators that wait for their right operand, as in PostgreSQL; and the maximum nesting of right
#: operands.
_WAITING_MAX: Final = 32
_DEPTH_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a query. weights: a bit for each of A to D, eight to one; 0: any. prefix: whether it matches all words
    with this prefix.
    """

    text: str
    weights: int
    prefix: bool


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of a query. left: None for NOT. distance: of PHRASE. depth: the nesting depth of right operands."""

    kind: int
    left: Query | None
    right: Query
    distance: int
    depth: int


Query = Word | Operator


def _operator(kind: int, left: Query | None, right: Query, distance: int) -> Operator:
    depth = max(_depth(left), 1 + _depth(right))
    if depth > _DEPTH_MAX:
        raise FeatureNotSupported(f"not supported: a tsquery of more than {_DEPTH_MAX} operators inside each other")
    return Operator(kind, left, right, distance, depth)


def _depth(side: Query | None) -> int:
    return side.depth if isinstance(side, Operator) else 0


# -- text in -------------------------------------------------------------------------------------------------------------


class _Reader:
    def __init__(self, text: str) -> None:
        self.words = Words(text, "tsquery")
        self.open = self.bytes = 0
        self.values: list[Query] = []

    def query(self) -> Query | None:
        """Read the query; None if it has no word."""
        self._level(first=True)
        return self.values[-1] if self.values else None

    def _level(self, *, first: bool = False) -> None:
        """Read up to the end, or to the closing parenthesis of this level."""
        waiting: list[tuple[int, int]] = []
        while self._operand(waiting, first=first):
            first = False
            found = self._next_operator()
            if found is None:
                break
            self._push(waiting, *found)
        self._apply(waiting, OR)

    def _push(self, waiting: list[tuple[int, int]], kind: int, distance: int) -> None:
        self._apply(waiting, kind)
        if len(waiting) == _WAITING_MAX:
            raise ProgramLimitExceeded("tsquery stack too small")
        waiting.append((kind, distance))

    def _apply(self, waiting: list[tuple[int, int]], kind: int) -> None:
        """Apply the waiting operators that bind at least as tightly as the next one. NOT begins inside the operands of
        waiting operators.
        """
        while waiting and kind != NOT and _PRIORITY[kind] <= _PRIORITY[waiting[-1][0]]:
            before, distance = waiting.pop()
            right = self.values.pop()
            left = None if before == NOT else self.values.pop()
            self.values.append(_operator(before, left, right, distance))

    def _operand(self, waiting: list[tuple[int, int]], *, first: bool) -> bool:
        """Read one operand; False if there is none. Raises SqlSyntaxError."""
        words = self.words
        while (here := words.here()) and (here in BLANKS or here == "!"):
            words.at += 1
            if here == "!":
                self._push(waiting, NOT, 0)
                first = False
        if here == "(":
            words.at += 1
            self.open += 1
            if self.open > _DEPTH_MAX:
                raise FeatureNotSupported(
                    f"not supported: a tsquery of more than {_DEPTH_MAX} parentheses inside each other"
                )
            self._level()
            return True
        if here == ":":
            raise words.wrong()
        word = words.word()
        if word is None:
            if first:
                return False
            raise SqlSyntaxError(f'no operand in tsquery: "{words.text}"')
        if len(word.encode()) > WORD_BYTES:
            raise ProgramLimitExceeded(f'word is too long in tsquery: "{words.text}"')
        if self.bytes >= TEXTS_BYTES:
            raise ProgramLimitExceeded(f'value is too big in tsquery: "{words.text}"')
        self.bytes += len(word.encode()) + 1
        self.values.append(self._read_modifiers(word))
        return True

    def _read_modifiers(self, word: str) -> Word:
        weights, prefix, words = 0, False, self.words
        if words.here() == ":":
            words.at += 1
            while (here := words.here()) and here in "aAbBcCdD*":
                weights |= _WEIGHTS.get(here.lower(), 0)
                prefix |= here == "*"
                words.at += 1
        return Word(word, weights, prefix)

    def _next_operator(self) -> tuple[int, int] | None:
        """Return the operator after an operand, and its distance; None if the level ends. Raises SqlSyntaxError."""
        words = self.words
        while (here := words.here()) and here in BLANKS:
            words.at += 1
        if here in _SYMBOLS:
            words.at += 1
            return _SYMBOLS[here], 0
        if here == "<" and (distance := self._distance()) is not None:
            return PHRASE, distance
        if here == ")" and self.open:
            words.at += 1
            self.open -= 1
            return None
        if here or self.open:
            raise words.wrong()
        return None

    def _distance(self) -> int | None:
        """Read the distance of `<->` or `<n>`, which an operand must follow; None if the text is no such operator."""
        words, distance = self.words, 1
        at = words.at + 1
        if words.text[at : at + 1] == "-":
            at += 1
        else:
            begin = at
            while at < len(words.text) and words.text[at] in DIGITS:
                at += 1
            if begin == at:
                return None
            distance = parse_digits(words.text[begin:at])
            if distance > _DISTANCE_MAX:
                raise InvalidParameterValue(
                    f"distance in phrase operator must be an integer value between zero and {_DISTANCE_MAX} inclusive"
                )
        if words.text[at : at + 1] != ">" or at + 1 == len(words.text):
            return None
        words.at = at + 1
        return distance


def tree_of(text: str) -> Query | None:
    """Parse a query; None if it has no word. Raises SqlSyntaxError, InvalidParameterValue, ProgramLimitExceeded."""
    return _Reader(text).query()


def nodes(query: Query | None) -> Iterator[Query]:
    """Yield the nodes in PostgreSQL's order: an operator, its right operand, its left one."""
    left_over = [query] if query is not None else []
    while left_over:
        node = left_over.pop()
        yield node
        if isinstance(node, Operator):
            left_over += [side for side in (node.left, node.right) if side is not None]


# -- text out ------------------------------------------------------------------------------------------------------------


def _write_query(query: Query | None, *, exact: bool) -> str:
    """Write a query. exact: with parentheses wherever parsing would otherwise give another tree."""
    return "" if query is None else _infix(query, 0, right=None, exact=exact)


def _infix(node: Query, outside: int, *, right: int | None, exact: bool) -> str:
    """Write a node. outside: the priority of the operator that it is an operand of. right: the operator of which it is
    the right operand.
    """
    heads, tails = list[str](), list[str]()
    while isinstance(node, Operator) and node.left is not None:
        priority = _PRIORITY[node.kind]
        enclosed = priority < outside or (right == node.kind and (exact or node.kind == PHRASE))
        heads.append("( " if enclosed else "")
        operand = _infix(node.right, priority, right=node.kind, exact=exact)
        tails.append(f" {_symbol(node)} {operand}" + (" )" if enclosed else ""))
        outside, right, node = priority, None, node.left
    first = _word(node) if isinstance(node, Word) else "!" + _infix(node.right, _PRIORITY[NOT], right=None, exact=exact)
    return "".join((*heads, first, *reversed(tails)))


def _symbol(node: Operator) -> str:
    if node.kind == PHRASE:
        return "<->" if node.distance == 1 else f"<{node.distance}>"
    return "&" if node.kind == AND else "|"


def _word(word: Word) -> str:
    letters = "".join(letter.upper() for letter, bit in _WEIGHTS.items() if word.weights & bit)
    modifiers = "*" * word.prefix + letters
    return quote_word(word.text) + (f":{modifiers}" if modifiers else "")


def read_tsquery(text: str) -> str:
    return _write_query(tree_of(text), exact=True)


def tsquery_text(carried: str) -> str:
    """Write a query as tsqueryout does."""
    return _write_query(tree_of(carried), exact=False)


# -- binary --------------------------------------------------------------------------------------------------------------


def send_tsquery(carried: str) -> bytes:
    items = list(nodes(tree_of(carried)))
    return struct.pack("!i", len(items)) + b"".join(map(_sent, items))


def _sent(node: Query) -> bytes:
    if isinstance(node, Word):
        return struct.pack("!BBB", _VALUE, node.weights, node.prefix) + node.text.encode() + b"\0"
    return struct.pack("!BB", _OPERATOR, node.kind) + (struct.pack("!h", node.distance) if node.kind == PHRASE else b"")


def receive_tsquery(data: bytes) -> str:
    """Return the text of a binary value. Raises InvalidBinaryRepresentation, FeatureNotSupported."""
    received, items = Received(data), list[Word | tuple[int, int]]()
    for _ in range(received.numbers("!I")[0]):
        (kind,) = received.numbers("!B")
        if kind == _VALUE:
            weights, prefix = received.numbers("!BB")
            if weights > 15:
                raise InvalidBinaryRepresentation("invalid tsquery: invalid weight bitmap")
            items.append(Word(received.word(), weights, bool(prefix)))
        elif kind == _OPERATOR:
            (operator,) = received.numbers("!B")
            if operator not in _PRIORITY:
                raise InvalidBinaryRepresentation(f"invalid tsquery: unrecognized operator type {operator}")
            items.append((operator, received.numbers("!h")[0] if operator == PHRASE else 0))
        else:
            raise InvalidBinaryRepresentation(f"unrecognized tsquery node type: {kind}")
    received.end()
    return read_tsquery(_write_query(_built(items), exact=True))


def _built(items: list[Word | tuple[int, int]]) -> Query | None:
    """Build the tree from the end of the list: an operator comes before its operands, the right one first."""
    waiting: list[Query] = []
    for item in reversed(items):
        if isinstance(item, Word):
            if not item.text:
                raise InvalidBinaryRepresentation("invalid tsquery: a word of no letters")
            waiting.append(item)
            continue
        kind, distance = item
        if len(waiting) < (1 if kind == NOT else 2) or not 0 <= distance <= _DISTANCE_MAX:
            raise InvalidBinaryRepresentation("malformed tsquery: operand not found")
        right = waiting.pop()
        waiting.append(_operator(kind, None if kind == NOT else waiting.pop(), right, distance))
    if len(waiting) > 1:
        raise InvalidBinaryRepresentation("malformed tsquery: extra nodes")
    return waiting[0] if waiting else None
