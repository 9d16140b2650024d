"""PostgreSQL's own matching, for patterns for which the engines' libraries would choose another match.

A pattern is compiled to the tree that regcomp.c makes of it: for pieces without groups, back references or conflicting
preferences (plain pieces), only the ends of a match are computed; the others are dissected. A match begins at the first
position where there is one and ends at the last (or the first, where the pattern as a whole prefers short ones). It is
then dissected piece by piece, each preferring long or short as the manual says.

A set of positions in the text is an integer with a bit per position, so that a step over all positions is one
operation. A back reference stands for what its group matches, conditions aside, until it is compared. Its match may
have to be tried in many ways, which a `Budget` bounds. Each step checks for interrupts, and periodically releases the
interpreter to other threads.

Source: PostgreSQL 15, regcomp.c (parse, parsebranch, parseqatom), regexec.c (find, cfind, cdissect and its kin),
section 9.7.3.5.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, Literal

from engine.common.interrupts import check_for_interrupts
from engine.sql.regex.classes import holds
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, StatementTooComplex
from wire.regex.grammar import Assertion, Backreference, Chars, Choice, Group, Look, Node, Pattern, Repeat, Sequence

_LONGER, _SHORTER, _MIXED, _CAPTURES, _REFERS = 1, 2, 4, 8, 16
_LOCAL: Final = _LONGER | _SHORTER
_MESSY: Final = _MIXED | _CAPTURES | _REFERS
#: The maximum number of steps over all positions of a text of 2,048 characters: a second or two.
_STEPS_MOST: Final = 1_000_000
#: The number of steps between two pauses: a millisecond or two. Without pauses, a thread that requests the interpreter
#: would wait for five milliseconds each time.
_STEPS_AT_ONCE: Final = 1_000
#: Long enough for a waiting thread to get the interpreter.
_PAUSE_SECONDS: Final = 10e-6
#: The memory, in bytes, for cached results of steps over one text.
_KNOWN_BYTES: Final = 32 << 20
#: The bytes of one cached result, without its bit per position.
_KNOWN_ENTRY_BYTES: Final = 256
_TEXT_MOST: Final = 100_000
_WORD: Final = Chars(names=frozenset({"word"}))

#: The beginning and end of groups, by number; 0 is the whole match.
Spans = Mapping[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Piece:
    """A node of the compiled tree. tree: the part of the pattern that it matches. group: the number of the group that
    it is, 0 if none. least, most: the number of repetitions of a piece or a back reference.
    """

    kind: Literal["plain", "concat", "choice", "repeat", "reference", "wrap"]
    tree: Node
    flags: int
    children: tuple[Piece, ...] = ()
    group: int = 0
    least: int = 1
    most: int | None = 1


def _rise(flags: int) -> int:
    """Return the flags that a whole takes from a part: conflicting preferences become `_MIXED`."""
    return flags & ~_LOCAL | (_MIXED if flags & _LOCAL == _LOCAL else 0)


def _combine(first: int, second: int) -> int:
    return _rise(first | second) | (first & _LOCAL or second & _LOCAL)


@lru_cache(maxsize=512)
def compile_pattern(pattern: Pattern) -> Piece:
    """Compile a pattern. Raises FeatureNotSupported for the classes of printable characters."""
    for node in pattern.tree.walk():
        if isinstance(node, Chars):
            _contains(node, "a")
    return _compile(pattern.tree)


def _compile(node: Node) -> Piece:
    match node:
        case Choice(branches):
            children = tuple(_compile(branch) for branch in branches)
            flags = _LONGER
            for child in children:
                flags |= _rise(flags | child.flags)
            return Piece("choice" if flags & _MESSY else "plain", node, flags, children)
        case Group(part, number):
            inner = _compile(part)
            if inner.group:
                return Piece("wrap", node, inner.flags | _CAPTURES, (inner,), number)
            return Piece(inner.kind, node, inner.flags | _CAPTURES, inner.children, number, inner.least, inner.most)
        case Backreference():
            return Piece("reference", node, _REFERS)
        case Sequence(parts):
            return _compile_branch(parts)
    return _compile_branch((node,))


def _compile_branch(parts: tuple[Node, ...]) -> Piece:
    """Compile a branch: a run of simple parts, the first one that is not simple, and the rest, which is a branch of
    its own.
    """
    simple: list[Node] = []
    flags = 0
    for place, part in enumerate(parts):
        if isinstance(part, Assertion | Look):
            simple.append(part)
            continue
        inner, least, most, preference = _read_quantifier(part)
        if most == 0:
            continue
        atom = None if isinstance(inner, Chars) else _compile(inner)
        together = flags | preference | (atom.flags if atom is not None else 0)
        if not isinstance(inner, Group | Backreference) and not _rise(together) & _MESSY:
            simple.append(part)
            flags = together
            continue
        atom = atom or Piece("plain", inner, 0)
        whole = _quantify(atom, inner, least, most, preference)
        if place + 1 < len(parts):
            whole = _join(whole, _compile_branch(parts[place + 1 :]), _combine(preference, atom.flags))
        return _join(Piece("plain", Sequence(tuple(simple)), flags), whole, flags) if simple else whole
    return Piece("plain", Sequence(tuple(simple)), flags)


def _join(left: Piece, right: Piece, flags: int) -> Piece:
    return Piece("concat", Sequence((left.tree, right.tree)), flags | _combine(flags, right.flags), (left, right))


def _read_quantifier(part: Node) -> tuple[Node, int, int | None, int]:
    """Return the part that is repeated, how often, and the quantifier's preference: `{m}` has the part's."""
    if not isinstance(part, Repeat):
        return part, 1, 1, 0
    preference = 0 if part.exact else _LONGER if part.greedy else _SHORTER
    return part.part, part.least, part.most, preference


def _quantify(atom: Piece, inner: Node, least: int, most: int | None, preference: int) -> Piece:
    tree = Repeat(inner, least, most, greedy=True)
    flags = _combine(preference, atom.flags)
    own = atom.flags & (_LOCAL | _MIXED)
    if isinstance(inner, Backreference):
        return Piece("reference", tree, atom.flags | flags, (), 0, least, most)
    if least == most == 1 and (not preference or not own or preference == own):
        return atom
    if not atom.flags & (_CAPTURES | _REFERS):
        return Piece("plain", tree, flags)
    if least and not atom.flags & _REFERS:
        # Only the groups of the last iteration are reported: all iterations before it are plain.
        before = Repeat(inner, least - 1, None if most is None else most - 1, greedy=True)
        return Piece("concat", tree, flags, (Piece("plain", before, flags & _LOCAL), atom))
    return Piece("repeat", tree, flags, (atom,), 0, least, most)


@lru_cache(maxsize=512)
def _find_referred(pattern: Pattern) -> Mapping[int, Node]:
    """Return the nodes that back references stand for, by number."""
    groups = {node.number: node.part for node in pattern.tree.walk() if isinstance(node, Group)}
    numbers = {node.number for node in pattern.tree.walk() if isinstance(node, Backreference)}
    return {number: _without_conditions(groups[number]) for number in numbers}


def _without_conditions(node: Node) -> Node:
    match node:
        case Assertion() | Look():
            return Sequence(())
        case Sequence(parts):
            return Sequence(tuple(map(_without_conditions, parts)))
        case Choice(branches):
            return Choice(tuple(map(_without_conditions, branches)))
        case Group(part) | Repeat(part):
            return replace(node, part=_without_conditions(part))
    return node


@lru_cache(maxsize=65_536)
def _contains(chars: Chars, char: str) -> bool:
    point = ord(char)
    found = any(low <= point <= high for low, high in chars.ranges) or any(holds(name, point) for name in chars.names)
    return found is not chars.negated


def _bits(places: int, *, descending: bool) -> Iterator[int]:
    while places:
        place = places.bit_length() - 1 if descending else (places & -places).bit_length() - 1
        yield place
        places ^= 1 << place


class Budget:
    """The remaining steps for a text."""

    def __init__(self) -> None:
        self._left = _STEPS_MOST
        self._pause_at = _STEPS_MOST - _STEPS_AT_ONCE

    def spend(self, steps: int) -> None:
        """Take steps from the budget. Raises StatementTooComplex if none are left, and the errors of
        `check_for_interrupts`.
        """
        check_for_interrupts()
        self._left -= steps
        if self._left < self._pause_at:
            self._pause_at = self._left - _STEPS_AT_ONCE
            time.sleep(_PAUSE_SECONDS)
        if self._left < 0:
            raise StatementTooComplex(
                "regular expression has too many ways to match a text",
                detail=f"The search was given up after {_STEPS_MOST} steps.",
                hint="Make the groups that back references name match less, or apply the pattern to shorter texts.",
            )


class TextMatcher:
    """The matches of one pattern in one text. Raises FeatureNotSupported for a text that is too long,
    StatementTooComplex if the budget is exhausted, QueryCanceled.
    """

    def __init__(self, pattern: Pattern, text: str, budget: Budget) -> None:
        if len(text) > _TEXT_MOST:
            raise FeatureNotSupported(f"not supported: this regular expression over more than {_TEXT_MOST} characters")
        self._text, self._ignore_case = text, pattern.options.ignore_case
        self._root, self._referred = compile_pattern(pattern), _find_referred(pattern)
        self._all = (1 << len(text) + 1) - 1
        self._masks: dict[Node, int] = {}
        self._known: dict[tuple[int, int, bool], int] = {}
        self._known_most = _KNOWN_BYTES // (_KNOWN_ENTRY_BYTES + len(text) // 4)
        self._budget, self._cost = budget, 1 + len(text) // 2048

    def search(self, start: int) -> Spans | None:
        """Return the first match that begins at `start` or later."""
        try:
            return self._search(start)
        except RecursionError:
            raise FeatureNotSupported("not supported: so many turns of a group with a back reference") from None

    def _search(self, start: int) -> Spans | None:
        begins = self._step(self._root.tree, self._all, forward=False) & ~((1 << start) - 1)
        descending = not self._root.flags & _SHORTER
        for begin in _bits(begins, descending=False):
            for end in _bits(self._step(self._root.tree, 1 << begin), descending=descending):
                spans = self._dissect(self._root, begin, end, {})
                if spans is not None:
                    return {**spans, 0: (begin, end)}
        return None

    # -- sets of places

    def _step(self, node: Node, places: int, *, forward: bool = True) -> int:
        """Return the positions where `node` may end if it begins at one of `places`. Backward, return those where it
        may begin if it ends at one of them.
        """
        if not places:
            return 0
        if isinstance(node, Chars):
            mask = self._mask(node)
            return (places & mask) << 1 if forward else (places >> 1) & mask
        if isinstance(node, Assertion | Look):
            return places & self._mask(node)
        key = (id(node), places, forward)
        found = self._known.get(key)
        if found is None:
            self._spend()
            found = self._step_far(node, places, forward)
            if len(self._known) >= self._known_most:
                self._known.clear()
            self._known[key] = found
        return found

    def _spend(self) -> None:
        self._budget.spend(self._cost)

    def _step_far(self, node: Node, places: int, forward: bool) -> int:
        match node:
            case Sequence(parts):
                for part in parts if forward else reversed(parts):
                    places = self._step(part, places, forward=forward)
                return places
            case Choice(branches):
                found = 0
                for branch in branches:
                    found |= self._step(branch, places, forward=forward)
                return found
            case Group(part, _):
                return self._step(part, places, forward=forward)
            case Backreference(number):
                return self._step(self._referred[number], places, forward=forward)
            case Repeat(part, least, most):
                return self._repeat(part, least, most, places, forward)
        raise AssertionError(node)

    def _repeat(self, part: Node, least: int, most: int | None, places: int, forward: bool) -> int:
        for _ in range(least):
            places = self._step(part, places, forward=forward)
        if most is None and isinstance(part, Chars):
            return self._run(self._mask(part), places, forward)
        turns, fresh = 0, places
        while fresh and (most is None or turns < most - least):
            self._spend()
            fresh = self._step(part, fresh, forward=forward) & ~places
            places |= fresh
            turns += 1
        return places

    def _run(self, mask: int, places: int, forward: bool) -> int:
        """Return the positions after any number of characters of the mask, in steps of 1, 2, 4 ..."""
        size = 1
        while mask:
            places |= (places & mask) << size if forward else (places >> size) & mask
            mask &= mask >> size
            size *= 2
        return places

    def _mask(self, node: Node) -> int:
        """Return the positions before which a character of the set stands, or where a condition holds."""
        found = self._masks.get(node)
        if found is None:
            found = self._masks[node] = self._make_mask(node)
        return found

    def _make_mask(self, node: Node) -> int:
        match node:
            case Chars():
                table = {ord(char): "01"[_contains(node, char)] for char in set(self._text)}
                return int(self._text.translate(table)[::-1] or "0", 2)
            case Look(part, behind, negated):
                found = self._step(part, self._all, forward=behind)
                return self._all ^ found if negated else found
            case Assertion(kind):
                return self._condition(kind)
        raise AssertionError(node)

    def _condition(self, kind: str) -> int:
        if kind in ("start", "line_start"):
            after_break = self._mask(Chars(((10, 10),))) << 1 if kind == "line_start" else 0
            return 1 | after_break
        if kind in ("end", "line_end"):
            return 1 << len(self._text) | (self._mask(Chars(((10, 10),))) if kind == "line_end" else 0)
        ahead = self._mask(_WORD)
        behind = ahead << 1
        return {
            "word_start": ahead & ~behind,
            "word_end": behind & ~ahead,
            "word": ahead ^ behind,
            "not_word": self._all & ~(ahead ^ behind),
        }[kind]

    # -- dissection

    def _dissect(self, piece: Piece, begin: int, end: int, spans: Spans) -> Spans | None:
        """Return the spans with those of the piece's groups if the piece matches from `begin` to `end`, else None. Its
        plain parts are known to match there.
        """
        self._spend()
        match piece.kind:
            case "plain":
                found: Spans | None = spans
            case "concat":
                found = self._dissect_pair(piece, begin, end, spans)
            case "choice":
                found = self._dissect_choice(piece, begin, end, spans)
            case "repeat":
                found = self._dissect_repeat(piece, begin, end, spans)
            case "reference":
                found = spans if self._refers(piece, begin, end, spans) else None
            case "wrap":
                found = self._dissect(piece.children[0], begin, end, spans)
        return {**found, piece.group: (begin, end)} if found is not None and piece.group else found

    def _dissect_pair(self, piece: Piece, begin: int, end: int, spans: Spans) -> Spans | None:
        left, right = piece.children
        middles = self._step(left.tree, 1 << begin) & self._step(right.tree, 1 << end, forward=False)
        for middle in _bits(middles, descending=not left.flags & _SHORTER):
            found = self._dissect(left, begin, middle, spans)
            found = found if found is None else self._dissect(right, middle, end, found)
            if found is not None:
                return found
        return None

    def _dissect_choice(self, piece: Piece, begin: int, end: int, spans: Spans) -> Spans | None:
        for branch in piece.children:
            if self._step(branch.tree, 1 << begin) >> end & 1:
                found = self._dissect(branch, begin, end, spans)
                if found is not None:
                    return found
        return None

    def _dissect_repeat(self, piece: Piece, begin: int, end: int, spans: Spans) -> Spans | None:
        """Dissect a repetition that ends at `end`. An iteration is empty only to reach the minimum number."""
        child = piece.children[0]
        if piece.least == 0 and begin == end:
            takes_turn = not child.flags & _SHORTER and self._step(child.tree, 1 << begin) >> end & 1
            found = self._dissect(child, begin, end, spans) if takes_turn else None
            return spans if found is None else found
        if piece.most is None and piece.least == 0 and not child.flags & _REFERS:
            return self._dissect_last_turn(child, begin, end, spans)
        least = max(piece.least, 1)
        most = max(least, end - begin if piece.most is None else min(piece.most, end - begin))
        return self._take_turns(child, begin, end, spans, (1, least, most))

    def _dissect_last_turn(self, child: Piece, begin: int, end: int, spans: Spans) -> Spans | None:
        """Return the spans after any number of iterations of a child whose match does not depend on the text before
        it.
        """
        leading = self._repeat(child.tree, 0, None, 1 << end, forward=False)
        last = begin
        while begin != end:
            ends = self._step(child.tree, 1 << begin) & leading & ~((2 << begin) - 1) & ((2 << end) - 1)
            last, begin = begin, next(_bits(ends, descending=not child.flags & _SHORTER), -1)
            if begin < 0:
                return None
        return self._dissect(child, last, end, _without(spans, child))

    def _take_turns(
        self, child: Piece, begin: int, end: int, spans: Spans, counts: tuple[int, int, int]
    ) -> Spans | None:
        """Return the spans after the iterations from number counts[0] on, of which there are at least counts[1] and at
        most counts[2].
        """
        number, least, most = counts
        ends = self._step(child.tree, 1 << begin) & ((2 << end) - 1)
        for middle in _bits(ends, descending=not child.flags & _SHORTER):
            last = middle == end
            is_vain = middle == begin and (number >= least or least - number < end - middle)
            if number < least if last else number >= most or is_vain:
                continue
            found = self._dissect(child, begin, middle, _without(spans, child))
            if found is not None and not last:
                found = self._take_turns(child, middle, end, found, (number + 1, least, most))
            if found is not None:
                return found
        return None

    def _refers(self, piece: Piece, begin: int, end: int, spans: Spans) -> bool:
        tree = piece.tree
        while not isinstance(tree, Backreference):
            assert isinstance(tree, Repeat | Group), "a back reference, quantified or captured"
            tree = tree.part
        if tree.number not in spans:
            return False
        first, last = spans[tree.number]
        size = last - first
        if size == 0 or begin == end:
            return begin == end and (size == 0 or piece.least == 0)
        times, rest = divmod(end - begin, size)
        if rest or times < piece.least or (piece.most is not None and times > piece.most):
            return False
        wanted, given = self._text[first:last] * times, self._text[begin:end]
        return wanted == given or (self._ignore_case and wanted.lower() == given.lower())


def _without(spans: Spans, piece: Piece) -> Spans:
    """Return the spans without those of the piece's groups, because an iteration discards those of the iteration
    before.
    """
    numbers = {node.number for node in piece.tree.walk() if isinstance(node, Group)}
    return {number: span for number, span in spans.items() if number not in numbers}
