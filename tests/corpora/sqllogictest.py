"""Files of the sqllogictest format: records of a directive and a statement, separated by blank lines.

The dialects of SQLite, CockroachDB, RisingWave, DataFusion and DuckDB differ in their additions. The reader supports
their common part: `statement` and `query` with their SQL up to the results (`----`), `skipif` and `onlyif` for
PostgreSQL, `halt`. It skips other directives, and refuses a file with a loop, whose statements contain variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from corpora.statement import Statement

_LOOPS: Final = ("loop ", "foreach ", "concurrentloop ", "concurrentforeach ")
_ENGINES: Final = frozenset(("postgres", "postgresql"))


class UnreadableFile(Exception):
    """A file has something that this format does not know."""


def statements(text: str, *, every: int = 1) -> Iterator[Statement]:
    """The file's statements for PostgreSQL, in order. every: only so many of the queries. Raises UnreadableFile."""
    queries = 0
    for first, lines in _records(text.splitlines()):
        conditions, rest = _conditions(lines)
        if not rest:
            continue
        directive = rest[0].split()
        if directive[0] == "halt" and conditions:
            return
        if rest[0].startswith(_LOOPS):
            raise UnreadableFile("it has a loop")
        if directive[0] in ("statement", "query") and conditions:
            queries += directive[0] == "query"
            if directive[0] == "query" and queries % every:
                continue
            skipped = len(lines) - len(rest)
            if sql := _sql(rest[1:]):
                yield Statement(sql, first + skipped + 1)


def _records(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The records with the numbers of their first lines; comments are left out."""
    record: list[str] = []
    first = 1
    for number, line in enumerate([*lines, ""], 1):
        if not line.strip():
            if record:
                yield first, record
            record = []
        elif record or not line.startswith("#"):
            first = first if record else number
            record.append(line)


def _conditions(lines: Sequence[str]) -> tuple[bool, Sequence[str]]:
    """Whether a record is for PostgreSQL, and its lines after the conditions."""
    holds, rest = True, list(lines)
    while rest and rest[0].startswith(("skipif ", "onlyif ", "#")):
        kind, *names = rest.pop(0).split()
        meant = bool(names) and names[0] in _ENGINES
        holds &= kind.startswith("#") or meant == (kind == "onlyif")
    return holds, rest


def _sql(lines: Sequence[str]) -> str:
    end = next((number for number, line in enumerate(lines) if line.strip() == "----"), len(lines))
    return "\n".join(lines[:end]).strip().removesuffix(";")
