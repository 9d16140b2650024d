"""The hint of "column does not exist": the columns that the client may have meant.

PostgreSQL searches every FROM item known so far for names within a small edit distance, and suggests one or two
(parse_relation.c: searchRangeTableForCol, updateFuzzyAttrMatchState, errorMissingColumn). This module gives the same
answers from the same distances: 1 for each insertion, deletion and substitution, at most 3, and at most half of the
name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_DISTANCE_MAX: Final = 3


def column_hint(relation: str | None, name: str, known: Sequence[tuple[str, Sequence[str]]]) -> str | None:
    """Return the hint for the missing `relation.name`; None without a suggestion. known: each relation and its
    columns.
    """
    for table, columns in known:
        if relation in (None, table) and name in columns:
            return f'There is a column named "{name}" in table "{table}", but it cannot be referenced from this part of the query.'
    matches = _closest(relation, name, known)
    if not matches:
        return None
    meant = " or ".join(f'the column "{table}.{column}"' for table, column in matches)
    return f"Perhaps you meant to reference {meant}."


def _closest(relation: str | None, name: str, known: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[str, str]]:
    """Return the one or two nearest columns; none if three or more are equally near."""
    best = _DISTANCE_MAX + 1
    found: list[tuple[str, str]] = []
    for table, columns in known:
        penalty = 0 if relation is None else levenshtein(relation, table)
        for column in columns:
            if penalty > best:
                break
            distance = levenshtein(column, name)
            if distance > len(name.encode()) // 2:
                continue
            distance += penalty
            if distance < best:
                best, found = distance, [(table, column)]
            elif distance == best and len(found) == 2:
                best, found = distance - 1, []
            elif distance == best and best <= _DISTANCE_MAX:
                found.append((table, column))
    return found


def levenshtein(left: str, right: str) -> int:
    """Return the edit distance of two names; each of the three edits costs 1."""
    previous = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        current = [i]
        for j, b in enumerate(right, 1):
            current.append(min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a != b)))
        previous = current
    return previous[-1]
