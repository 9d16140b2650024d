"""CSV: delimiters and line ends between an opening and a closing quote do not separate (CopyReadLineText,
CopyReadAttributesCSV).

Where the escape is the quote itself, each quote toggles between inside and outside, and a quote that opens directly
behind one that closes is a doubled quote: one literal quote.

A different escape character counts only between quotes, before a quote or before itself, so the meaning of a byte
depends on all bytes before it. This is an automaton with three states, which runs over quotes and escapes only. Each of
its steps is a function from states to states; the functions are composed pairwise (a prefix scan), which takes a
logarithmic number of numpy operations over all of them.
"""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np

from wire.copy.block import Bytes1D, Marks, empty_ints, places
from wire.copy.options import Layout
from wire.types.byte_columns import Ints

_OUTSIDE, _INSIDE, _ESCAPED = range(3)
#: Functions from states to states, for three states, as numbers: digit k, to base three, is the state that state k
#: becomes.
_FUNCTIONS: Final = np.array(list(itertools.product(range(3), repeat=3)), np.int64)
_NUMBER: Final = np.array([9, 3, 1])
#: _THEN[f, g] is the composition: first f, then g.
_THEN: Final = np.stack([_FUNCTIONS[:, f] @ _NUMBER for f in _FUNCTIONS])
_QUOTE, _ESCAPE, _OTHER = (
    int(np.array(becomes) @ _NUMBER)
    for becomes in (
        (_INSIDE, _OUTSIDE, _INSIDE),
        (_OUTSIDE, _ESCAPED, _INSIDE),
        (_OUTSIDE, _INSIDE, _INSIDE),
    )
)


def marks(data: Bytes1D, layout: Layout) -> Marks:
    """Find the marks of bytes that begin with a row."""
    toggles, drop = (
        _find_doubled_quotes(data, layout) if layout.quote == layout.escape else _find_escaped_quotes(data, layout)
    )
    candidates = np.flatnonzero((data == layout.delimiter[0]) | (data == 10) | (data == 13))
    if len(toggles):
        candidates = candidates[np.searchsorted(toggles, candidates) % 2 == 0]
    ends = data[candidates] != layout.delimiter[0]
    closed = len(toggles) % 2 == 0
    return Marks(candidates, ends, drop, empty_ints(), np.empty(0, np.uint8), toggles, closed)


def _find_doubled_quotes(data: Bytes1D, layout: Layout) -> tuple[Ints, Ints]:
    """Return the quotes, all of which toggle, and those that are not part of a value."""
    quotes = places(data, layout.quote)
    if not len(quotes):
        return quotes, quotes
    index = np.arange(len(quotes))
    meant = (index % 2 == 0) & (index > 0) & (np.diff(quotes, prepend=-2) == 1)
    return quotes, quotes[~meant]


def _find_escaped_quotes(data: Bytes1D, layout: Layout) -> tuple[Ints, Ints]:
    """Return the quotes that toggle, and the bytes that are not part of a value: these quotes, and escapes before an
    escaped byte.
    """
    events = np.flatnonzero((data == layout.quote[0]) | (data == layout.escape[0]))
    if not len(events):
        return events, events
    is_quote = data[events] == layout.quote[0]
    step = np.where(is_quote, _QUOTE, _ESCAPE)
    apart = np.diff(events, prepend=events[0] - 1) != 1
    step = np.where(apart, _THEN[_OTHER, step], step)
    before = np.concatenate(([_OUTSIDE], _FUNCTIONS[_compose_steps(step)][:, _OUTSIDE][:-1]))
    # Another byte came between: an escape that is not directly before a byte does not escape it.
    before = np.where(apart & (before == _ESCAPED), _INSIDE, before)
    toggles = events[is_quote & (before != _ESCAPED)]
    taken = events[before == _ESCAPED]
    return toggles, np.sort(np.concatenate((toggles, taken - 1)))


def _compose_steps(steps: Ints) -> Ints:
    """Return for each step the composition of all steps up to it."""
    total, reach = steps.copy(), 1
    while reach < len(total):
        total[reach:] = _THEN[total[:-reach], total[reach:]]
        reach *= 2
    return total
