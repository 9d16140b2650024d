r"""Writes a pattern's tree for RE2 (DuckDB) or java.util.regex (Spark), with the same meaning for every text.

Neither engine's own shorthands, options or case folding are used: they differ from PostgreSQL's (`$` before a last
newline, ASCII-only `\w`, full case folding). RE2 has no look-around and so no word boundaries beyond ASCII; where a
pattern begins or ends with a word boundary and only the existence of a match is needed, the neighbouring character is
matched instead.
"""

from __future__ import annotations

from typing import Final, Literal

from engine.common.interrupts import check_for_interrupts
from engine.sql.regex.classes import members
from wire.errors import FeatureNotSupported
from wire.regex.grammar import (
    CODE_POINTS,
    Assertion,
    Backreference,
    Chars,
    Choice,
    Group,
    Look,
    Node,
    Pattern,
    Repeat,
    Sequence,
)

Flavour = Literal["re2", "java"]
_SIMPLE: Final[dict[str, dict[Flavour, str]]] = {
    "start": {"re2": r"\A", "java": r"\A"},
    "end": {"re2": r"\z", "java": r"\z"},
    "line_start": {"re2": "(?m:^)", "java": r"(?<![^\n])"},
    "line_end": {"re2": "(?m:$)", "java": r"(?![^\n])"},
}


def render(pattern: Pattern, flavour: Flavour) -> str:
    """Render the pattern for finding matches and their groups. Raises FeatureNotSupported if the flavour cannot
    express it.
    """
    return _node(pattern.tree, flavour)


def render_test(pattern: Pattern, flavour: Flavour) -> str:
    """Render the pattern for testing whether there is a match."""
    if flavour == "java":
        return render(pattern, flavour)
    return _node(_without_outer_boundaries(pattern.tree), flavour)


def _node(node: Node, flavour: Flavour) -> str:
    check_for_interrupts()
    match node:
        case Chars():
            return chars(node)
        case Sequence(parts):
            return "".join(
                _group(part, flavour) if isinstance(part, Choice) else _node(part, flavour) for part in parts
            )
        case Choice(branches):
            return "|".join(_node(branch, flavour) for branch in branches)
        case Repeat():
            return _repeat(node, flavour)
        case Group(part, _):
            return f"({_node(part, flavour)})"
        case Assertion(kind):
            return _assertion(kind, flavour)
        case Look(part, behind, negated):
            _only_java(flavour, "look-around")
            return f"(?{'<' if behind else ''}{'!' if negated else '='}{_node(part, flavour)})"
        case Backreference(number):
            _only_java(flavour, "back reference")
            # Separate the number from a digit that may follow.
            return f"(?:\\{number})"
    raise AssertionError(node)


def _only_java(flavour: Flavour, what: str) -> None:
    if flavour != "java":
        raise FeatureNotSupported(f"not supported: a {what} in a regular expression")


def _group(node: Node, flavour: Flavour) -> str:
    return f"(?:{_node(node, flavour)})"


def _repeat(node: Repeat, flavour: Flavour) -> str:
    inner = _node(node.part, flavour) if isinstance(node.part, Chars | Group) else _group(node.part, flavour)
    if node.most == 0:
        # This matches nothing, but a group inside keeps its number.
        return f"(?:{inner}){{0}}"
    counts = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.least, node.most))
    if counts is None:
        high = "" if node.most is None else str(node.most)
        counts = f"{{{node.least}}}" if node.least == node.most else f"{{{node.least},{high}}}"
    return inner + counts + ("" if node.greedy else "?")


def _assertion(kind: str, flavour: Flavour) -> str:
    if kind in _SIMPLE:
        return _SIMPLE[kind][flavour]
    _only_java(flavour, "word boundary")
    word = chars(Chars(names=frozenset({"word"})))
    begins, ends = f"(?<!{word})(?={word})", f"(?<={word})(?!{word})"
    return {
        "word_start": begins,
        "word_end": ends,
        "word": f"(?:{begins}|{ends})",
        "not_word": f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))",
    }[kind]


# --- character sets ---------------------------------------------------------------------------------------------------


def chars(node: Chars) -> str:
    """Return a set as a bracket expression, or as its single character."""
    categories, ranges = _expand(node)
    if not categories and not node.negated and len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _point(ranges[0][0])
    if not categories and not ranges:
        return f"[\\x{{0}}-\\x{{{CODE_POINTS - 1:x}}}]" if node.negated else f"[^\\x{{0}}-\\x{{{CODE_POINTS - 1:x}}}]"
    inside = "".join(f"\\p{{{category}}}" for category in categories) + "".join(_range(*pair) for pair in ranges)
    return f"[{'^' if node.negated else ''}{inside}]"


def _expand(node: Chars) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the general categories and ranges of a set's classes, with its own ranges."""
    categories: dict[str, None] = {}
    ranges = list(node.ranges)
    for name in sorted(node.names):
        kinds, further = members(name.removeprefix("-"))
        if name.startswith("-"):
            if kinds:
                raise FeatureNotSupported("not supported: the complement of a word class in a bracket expression")
            ranges += complement(further)
        else:
            categories |= dict.fromkeys(kinds)
            ranges += further
    return list(categories), ranges


def complement(ranges: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Return all code points that are in none of the (sorted) ranges."""
    found, low = [], 0
    for start, end in ranges:
        if start > low:
            found.append((low, start - 1))
        low = end + 1
    return [*found, (low, CODE_POINTS - 1)] if low < CODE_POINTS else found


def _range(low: int, high: int) -> str:
    return _point(low) if low == high else f"{_point(low)}-{_point(high)}"


def _point(point: int) -> str:
    char = chr(point)
    return char if char.isascii() and char.isalnum() else f"\\x{{{point:x}}}"


# --- boundaries at the ends -------------------------------------------------------------------------------------------


def _without_outer_boundaries(tree: Node) -> Node:
    r"""Return the tree with a word boundary at its very start or end replaced by a condition on the next character
    outside.

    Only a boundary beside a part that always matches a word character is replaced: `\yfoo` finds foo at the start or
    after a character that is no word character.
    """
    if not isinstance(tree, Sequence) or len(tree.parts) < 2:
        return tree
    parts = list(tree.parts)
    outside = Chars(names=frozenset({"word"}), negated=True)
    if isinstance(parts[0], Assertion) and parts[0].kind in ("word", "word_start") and _wordy(parts[1]):
        parts[0] = Choice((Assertion("start"), outside))
    if isinstance(parts[-1], Assertion) and parts[-1].kind in ("word", "word_end") and _wordy(parts[-2]):
        parts[-1] = Choice((outside, Assertion("end")))
    return Sequence(tuple(parts))


def _wordy(node: Node) -> bool:
    """Return whether the node matches one or more characters, each a word character."""
    match node:
        case Chars(ranges, names, negated):
            inside = all(_word_range(low, high) for low, high in ranges)
            return not negated and inside and names <= {"word", "alpha", "alnum", "digit", "upper", "lower", "xdigit"}
        case Repeat(part, least, _, _):
            return least > 0 and _wordy(part)
        case Group(part, _):
            return _wordy(part)
        case Choice(branches):
            return all(_wordy(branch) for branch in branches)
        case Sequence(parts):
            return bool(parts) and all(_wordy(part) for part in parts)
    return False


def _word_range(low: int, high: int) -> bool:
    return high < 128 and all(chr(point).isalnum() or chr(point) == "_" for point in range(low, high + 1))
