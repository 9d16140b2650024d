"""Regular expressions that RE2 does not match as PostgreSQL does, or does not support: `engine.sql.regex.matching`
evaluates them, one value at a time.

    sluice_regexp_matches(text, pattern, letters, start, most)   the matches, each a list of the whole and of its groups

letters: the options as the client writes them, without `g`. start: the character, counted from 1, at which the search
begins. Each text has its own budget of steps, independent of the rest of its batch. All functions are interruptible
(`engine.executors.local.cursor_work`).

`engine.sql.functions.exact_regexp` builds the calls. Source: PostgreSQL 15, regexp.c (setup_regexp_matches,
build_regexp_split_result), varlena.c (replace_text_regexp).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from engine.executors.local.distinct_calls import register
from engine.executors.local.result_sizes import require_room
from engine.sql.functions.replacement import replacement_parts
from engine.sql.regex.matching import Budget, Spans, TextMatcher
from engine.sql.regex.patterns import similar_to_escape
from wire.errors import InvalidParameterValue
from wire.regex.grammar import Pattern, read, read_options


@lru_cache(maxsize=64)
def _read(pattern: str, letters: str) -> Pattern:
    return read(pattern, read_options(letters))


def _spans(text: str, pattern: Pattern, start: int) -> Iterator[Spans]:
    """Yield every match from a character on. After an empty match the search continues one character later."""
    if start < 1:
        raise InvalidParameterValue(f'invalid value for parameter "start": {start}')
    matcher, place = TextMatcher(pattern, text, Budget()), start - 1
    while place <= len(text):
        found = matcher.search(place)
        if found is None:
            return
        yield found
        begin, end = found[0]
        place = end + (begin == end)


def _texts(text: str, pattern: Pattern, spans: Spans) -> list[str | None]:
    found = (spans.get(number) for number in range(pattern.groups + 1))
    return [None if span is None else text[slice(*span)] for span in found]


def _test(text: str, written: str, letters: str) -> bool:
    return next(_spans(text, _read(written, letters), 1), None) is not None


def _matches(text: str, written: str, letters: str, start: int, most: int) -> list[list[str | None]]:
    """Return the matches, each as a list of the whole and its groups. most: the maximal number of matches; 0: all."""
    pattern = _read(written, letters)
    found: list[list[str | None]] = []
    for spans in _spans(text, pattern, start):
        found.append(_texts(text, pattern, spans))
        if len(found) == most:
            break
    return found


def _split(text: str, written: str, letters: str) -> list[str]:
    """Return the texts between matches. An empty match at an end of the text, or directly after another match, does
    not split.
    """
    pieces, place = [], 0
    last = 0
    for spans in _spans(text, _read(written, letters), 1):
        begin, end = spans[0]
        if begin < len(text) and end > last:
            pieces.append(text[place:begin])
            place = end
        last = end
    return [*pieces, text[place:]]


def _replace(text: str, written: str, letters: str, replacement: str, start: int, nth: int) -> str:
    """Replace matches. nth: the number of the match to replace; 0: all."""
    pattern, parts = _read(written, letters), replacement_parts(replacement)
    done: list[str] = []
    length = place = 0
    for number, spans in enumerate(_spans(text, pattern, start), 1):
        if nth and number < nth:
            continue
        begin, end = spans[0]
        groups = _texts(text, pattern, spans)
        put = "".join(p if isinstance(p, str) else (groups[p] or "" if p < len(groups) else "") for p in parts)
        done += (text[place:begin], put)
        length, place = length + begin - place + len(put), end
        require_room(length, 0)
        if nth:
            break
    return "".join((*done, text[place:]))


def _place(text: str, written: str, letters: str, start: int, nth: int, after: int, group: int) -> int:
    """Return the position, counted from 1, at which a group of the n-th match begins; 0 if there is none. after:
    return the position after the group's end instead.
    """
    for number, spans in enumerate(_spans(text, _read(written, letters), start), 1):
        if number == nth:
            return spans[group][bool(after)] + 1 if group in spans else 0
    return 0


_ASKED = ["VARCHAR", "VARCHAR", "VARCHAR"]
register("sluice_regexp_test", _ASKED, "BOOLEAN", _test, interruptible=True)
register("sluice_regexp_matches", [*_ASKED, "INTEGER", "INTEGER"], "VARCHAR[][]", _matches, interruptible=True)
register("sluice_regexp_split", _ASKED, "VARCHAR[]", _split, interruptible=True)
register("sluice_regexp_replace", [*_ASKED, "VARCHAR", "INTEGER", "INTEGER"], "VARCHAR", _replace, interruptible=True)
register(
    "sluice_regexp_place", [*_ASKED, "INTEGER", "INTEGER", "INTEGER", "INTEGER"], "INTEGER", _place, interruptible=True
)
register("sluice_similar_to_escape", ["VARCHAR", "VARCHAR"], "VARCHAR", similar_to_escape)
