"""Decides whether an engine that prefers the first match finds the match that PostgreSQL takes by its length.

Of the matches that begin leftmost, PostgreSQL takes the longest (or the shortest, when the expression as a whole
prefers short matches); RE2 and Java take the one that their alternatives and quantifiers prefer. `foo|foobar` in
`foobar` is `foobar` to PostgreSQL and `foo` to them. This does not matter for testing whether there is a match; it does
for extracting the match.

The question is decidable. Both ways of matching are simulated at once over all texts: as an ordered list of threads
that a match cuts off (the engines), and as a set of threads (PostgreSQL). They disagree exactly if some text leads to a
state where the set matches and the list does not. Assertions are extra symbols of the text that may occur anywhere,
which errs on the side of disagreement. Groups are compared structurally: they agree where each part of a sequence
prefers lengths in the order in which the engines try its matches, which a deterministic part with one kind of
quantifier does.

Refusing a pattern here although the engines agree costs an answer, never its correctness. Source of
PostgreSQL's rules: section 9.7.3.5; of the two kinds of simulation: R. Cox, "Regular Expression Matching in the Wild".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from engine.sql.regex.classes import holds
from wire.regex.grammar import CODE_POINTS, Assertion, Backreference, Chars, Choice, Group, Look, Node, Repeat, Sequence

_STATES_MOST: Final = 3000
_PROGRAM_MOST: Final = 3000
#: Code points that represent all others: at least one of every kind that a class can distinguish.
_SAMPLES: Final = (*range(0x250), 0x345, 0x391, 0x3B1, 0x5D0, 0x660, 0x903, 0x2028, 0x2070, 0x2160, 0x4E00, 0x1F600)


class _TooLarge(Exception):
    """Raised if the pattern is too large to be compared."""


def same_span(tree: Node) -> bool:
    """Return whether the engines' match always has the span of PostgreSQL's."""
    if any(isinstance(node, Backreference) or _empty_turns(node) for node in tree.walk()):
        return False
    try:
        program = _compile(tree)
        return _agrees(program, shortest=prefers_short(tree) is True)
    except _TooLarge:
        return False


def longest_first(node: Node) -> Node:
    """Return the tree with alternatives of fixed length sorted by decreasing length: `foo|foobar` as `foobar|foo`.

    The language is the same, and so is PostgreSQL's match, which does not depend on the order of alternatives (none
    with a group is moved); the engines' match becomes PostgreSQL's more often.
    """
    match node:
        case Choice(branches):
            inner = tuple(longest_first(branch) for branch in branches)
            if any(_variable(branch) or _has_group(branch) for branch in inner):
                return Choice(inner)
            return Choice(tuple(sorted(inner, key=lambda branch: -lengths(branch)[0])))
        case Sequence(parts):
            return Sequence(tuple(longest_first(part) for part in parts))
        case Group(part, number):
            return Group(longest_first(part), number)
        case Repeat(part):
            return replace(node, part=longest_first(part))
    return node


def same_groups(tree: Node) -> bool:
    """Return whether, for matches of the same span, the groups hold the same texts (and null where they took no part)."""
    try:
        return _groups_agree(tree)
    except _TooLarge:
        return False


def _empty_turns(node: Node) -> bool:
    """Return whether a repetition may match the empty string in an iteration, which every engine treats differently."""
    return isinstance(node, Repeat) and node.most != 1 and lengths(node.part)[0] == 0


def prefers_short(node: Node) -> bool | None:
    """Return the preference of an expression: True for short, False for long, or None if its length is fixed."""
    match node:
        case Repeat(part, _, _, greedy, exact):
            return prefers_short(part) if exact else not greedy
        case Group(part, _):
            return prefers_short(part)
        case Sequence(parts):
            return next((found for part in parts if (found := prefers_short(part)) is not None), None)
        case Choice():
            return False
    return None


def lengths(node: Node) -> tuple[int, int | None]:
    """Return the least and the greatest number of characters that a node matches; None for no bound."""
    match node:
        case Chars():
            return 1, 1
        case Group(part, _):
            return lengths(part)
        case Sequence(parts):
            return _total([lengths(part) for part in parts])
        case Choice(branches):
            each = [lengths(branch) for branch in branches]
            return min(low for low, _ in each), _most([high for _, high in each])
        case Repeat(part, least, most, _):
            low, high = lengths(part)
            unbounded = high is None or most is None
            return low * least, (0 if high == 0 else None) if unbounded else (high or 0) * (most or 0)
        case Backreference():
            return 0, None
    return 0, 0


def _total(each: list[tuple[int, int | None]]) -> tuple[int, int | None]:
    highs = [high for _, high in each]
    return sum(low for low, _ in each), None if None in highs else sum(high or 0 for high in highs)


def _most(highs: list[int | None]) -> int | None:
    return None if None in highs else max((high or 0 for high in highs), default=0)


# --- programs ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Program:
    """Instructions by number. `symbols`: for a character, the symbols that it accepts; for an assertion, its own
    symbol. `following`: the next instructions, in order of preference; the instruction `match` has none.
    """

    symbols: list[frozenset[int]] = field(default_factory=list)
    following: list[tuple[int, ...]] = field(default_factory=list)
    waits: list[bool] = field(default_factory=list)
    start: int = 0
    match: int = 0
    characters: int = 0
    assertions: dict[object, int] = field(default_factory=dict)

    def rests(self, state: int) -> bool:
        """Return whether the state needs no character: it has matched, or waits for an assertion."""
        return state == self.match or self.waits[state]

    @property
    def end(self) -> int | None:
        """The symbol of the text's end, after which there is no character."""
        return self.assertions.get(Assertion("end"))

    def add(self, symbols: frozenset[int], following: tuple[int, ...], waits: bool = False) -> int:
        if len(self.symbols) >= _PROGRAM_MOST:
            raise _TooLarge
        self.symbols.append(symbols)
        self.following.append(following)
        self.waits.append(waits)
        return len(self.symbols) - 1


def _compile(tree: Node) -> _Program:
    program = _Program()
    alphabet = _alphabet(tree)
    program.characters = len(alphabet)
    program.match = program.add(frozenset(), ())
    program.start = _emit(program, tree, program.match, alphabet)
    return program


def _alphabet(tree: Node) -> list[tuple[Chars, ...]]:
    """Return the symbols: for each kind of character that the pattern can distinguish, the sets that contain it."""
    sets = list(dict.fromkeys(node for node in tree.walk() if isinstance(node, Chars)))
    points = set(_SAMPLES)
    for node in sets:
        for low, high in node.ranges:
            points |= {low, high, max(low - 1, 0), min(high + 1, CODE_POINTS - 1)}
    kinds = {tuple(node for node in sets if _accepts(node, point)) for point in points}
    return sorted(kinds, key=repr)


def _accepts(node: Chars, point: int) -> bool:
    inside = any(low <= point <= high for low, high in node.ranges) or any(holds(name, point) for name in node.names)
    return inside != node.negated


def _emit(program: _Program, node: Node, then: int, alphabet: list[tuple[Chars, ...]]) -> int:
    """Emit the instructions of `node` before instruction `then`; return the number of the first."""
    match node:
        case Chars():
            accepted = frozenset(i for i, sets in enumerate(alphabet) if node in sets)
            return program.add(accepted, (then,))
        case Group(part, _):
            return _emit(program, part, then, alphabet)
        case Sequence(parts):
            for part in reversed(parts):
                then = _emit(program, part, then, alphabet)
            return then
        case Choice(branches):
            starts = tuple(_emit(program, branch, then, alphabet) for branch in branches)
            return program.add(frozenset(), starts)
        case Repeat():
            return _emit_repeat(program, node, then, alphabet)
        case Assertion() | Look():
            symbol = program.assertions.setdefault(node, program.characters + len(program.assertions))
            return program.add(frozenset({symbol}), (then,), waits=True)
    raise AssertionError(node)


def _emit_repeat(program: _Program, node: Repeat, then: int, alphabet: list[tuple[Chars, ...]]) -> int:
    def order_branches(again: int, out: int) -> tuple[int, ...]:
        return (again, out) if node.greedy else (out, again)

    if node.most is None:
        loop = program.add(frozenset(), ())
        program.following[loop] = order_branches(_emit(program, node.part, loop, alphabet), then)
        start = loop
    else:
        start = then
        for _ in range(node.most - node.least):
            start = program.add(frozenset(), order_branches(_emit(program, node.part, start, alphabet), then))
    for _ in range(node.least):
        start = _emit(program, node.part, start, alphabet)
    return start


# --- the two simulations ----------------------------------------------------------------------------------------------


def _closure(program: _Program, states: tuple[int, ...], cut: bool) -> tuple[int, ...]:
    """Return the waiting instructions that the states lead to, in order of preference. cut: whether to drop those
    after a match.
    """
    seen: set[int] = set()
    found: list[int] = []
    stack = list(reversed(states))
    while stack:
        state = stack.pop()
        if state in seen:
            continue
        seen.add(state)
        if state == program.match:
            found.append(state)
            if cut:
                break
        elif program.symbols[state] or program.waits[state] or not program.following[state]:
            found.append(state)
        else:
            stack.extend(reversed(program.following[state]))
    return tuple(found)


def _step(program: _Program, states: tuple[int, ...], symbol: int, cut: bool) -> tuple[int, ...]:
    """Return the states after a symbol. After the symbol of an assertion, states that do not wait for it stay; after
    that of the text's end, only states that need no character stay.
    """
    following: list[int] = []
    for state in states:
        if symbol in program.symbols[state]:
            following.extend(program.following[state])
        elif symbol >= program.characters and (program.rests(state) or symbol != program.end):
            following.append(state)
    return _closure(program, tuple(following), cut)


def _agrees(program: _Program, shortest: bool) -> bool:
    first = _closure(program, (program.start,), True)
    whole = tuple(sorted(_closure(program, (program.start,), False)))
    pending, seen = [(first, whole)], {(first, whole)}
    symbols = range(program.characters + len(program.assertions))
    while pending:
        ordered, every = pending.pop()
        if program.match in every:
            if program.match not in ordered or (shortest and ordered[0] != program.match):
                return False
            if shortest:
                continue
        for symbol in symbols:
            state = (
                _step(program, ordered, symbol, True),
                tuple(sorted(_step(program, every, symbol, False))),
            )
            if state[1] and state not in seen:
                if len(seen) >= _STATES_MOST:
                    raise _TooLarge
                seen.add(state)
                pending.append(state)
    return True


# --- groups -----------------------------------------------------------------------------------------------------------


def _has_group(node: Node) -> bool:
    return any(isinstance(part, Group) for part in node.walk())


def _groups_agree(node: Node) -> bool:
    if not _has_group(node):
        return True
    match node:
        case Group(part, _):
            return _groups_agree(part)
        case Choice(branches):
            return all(_groups_agree(branch) for branch in branches)
        case Repeat(part, _, most, _):
            if most == 1:
                return _groups_agree(part) and _steady(node)
            # The groups are those of the last iteration: it must be certain which iteration is the last, and that all
            # groups take part in it.
            return _steady(node) and _groups_agree(part) and all(number in mandatory(part) for number in _numbers(part))
        case Sequence():
            parts = list(_flatten(node))
            variable = [part for part in parts if _variable(part)]
            apart = len(variable) <= 1 or all(_steady(part) for part in variable)
            return apart and all(_groups_agree(part) for part in parts)
    return False


def _flatten(node: Sequence) -> Iterator[Node]:
    for part in node.parts:
        if isinstance(part, Sequence):
            yield from _flatten(part)
        else:
            yield part


def _numbers(node: Node) -> set[int]:
    return {part.number for part in node.walk() if isinstance(part, Group)}


def mandatory(node: Node) -> set[int]:
    """Return the groups that take part in every match."""
    match node:
        case Group(part, number):
            return {number} | mandatory(part)
        case Sequence(parts):
            return set().union(*(mandatory(part) for part in parts))
        case Choice(branches):
            return set.intersection(*(mandatory(branch) for branch in branches))
        case Repeat(part, least, _, _):
            return mandatory(part) if least > 0 else set()
    return set()


def _variable(node: Node) -> bool:
    low, high = lengths(node)
    return low != high


def _steady(node: Node) -> bool:
    """Return whether the engines try a node's matches in the order of length that PostgreSQL prefers.

    The node must be deterministic (the next character determines the way) and have one kind of quantifier: preferring
    another iteration is then the same as preferring a longer match. `{m,m}` is a quantifier with a preference of its
    own, which the engines do not know.
    """
    if any(isinstance(part, Assertion | Look | Backreference) for part in node.walk()):
        return False
    kinds = {part.greedy for part in node.walk() if isinstance(part, Repeat) and not part.exact and _variable(part)}
    if len(kinds) > 1 or (kinds == {False} and any(isinstance(part, Choice) for part in node.walk())):
        return False
    return _deterministic(_compile(node))


def _deterministic(program: _Program) -> bool:
    entries = [program.start, *(target for targets in program.following for target in targets)]
    for entry in dict.fromkeys(entries):
        taken: set[int] = set()
        for state in _closure(program, (entry,), False):
            if taken & program.symbols[state]:
                return False
            taken |= program.symbols[state]
    return True
