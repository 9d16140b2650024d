"""Costs of statements since the member started, by user and normalised text: pg_stat_statements.

Recording a statement costs two dictionary look-ups; its text is normalised when it is seen for the first time in a
while. The number of entries is bounded by `pg_stat_statements.max`: beyond it a twentieth of them is evicted, those
with the fewest calls first.

Everything is called on the loop's thread, except `snapshot`, which sessions call from theirs; a lock protects the two
from each other. `engine.pg_catalog.merged_statements` adds up the statistics of several members.

Source: PostgreSQL 15, pg_stat_statements.c (pgss_store, entry_dealloc).
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import Final

from engine.common.weighted_lru_cache import WeightedLruCache
from engine.contracts.activity import StatementFigures, StatementsKept
from engine.sql.fingerprint import LONGEST, Fingerprint, fingerprint
from engine.sql.parser.nodes import statements as s
from server.cursors.prepared import PreparedStatements

_QUERIES: Final = (s.Query, s.MutationStatement, s.WithChanges)
#: Statements that are not counted; an EXECUTE counts as the statement that it executes.
_UNCOUNTED: Final = (s.PrepareStatement, s.Deallocate)
_TEXTS: Final = 2048
_ROOM_CHARACTERS: Final = 4 << 20
_FREED: Final = 20


@dataclass(slots=True)
class _Entry:
    """Times in milliseconds. squares: the sum of squared differences from the mean (Welford)."""

    text: str
    engine: str | None = None
    calls: int = 0
    rows: int = 0
    total: float = 0.0
    least: float = math.inf
    most: float = 0.0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, ms: float, rows: int, engine: str | None) -> None:
        self.calls += 1
        self.rows += rows
        self.total += ms
        self.least, self.most = min(self.least, ms), max(self.most, ms)
        before = self.mean
        self.mean += (ms - before) / self.calls
        self.squares += (ms - before) * (ms - self.mean)
        self.engine = engine or self.engine


#: The text of a statement that is counted, and whether it is a query.
Counted = tuple[str, bool]


def counted_statement(statement: s.Statement | None, prepared: PreparedStatements) -> Counted | None:
    """Return the statement to be counted. EXECUTE counts as the statement that it runs, by the text of its PREPARE.
    prepared: the session's.
    """
    if statement is None or isinstance(statement, _UNCOUNTED):
        return None
    if not isinstance(statement, s.ExecuteStatement) or (named := prepared.find(statement.name)) is None:
        return statement.text, isinstance(statement, _QUERIES)
    inner = named.command.statement
    return None if inner is None else (named.source if named.from_sql else inner.text, isinstance(inner, _QUERIES))


class StatementStatistics:
    """See the module's docstring. most: the maximum number of entries."""

    def __init__(self, most: int = 5000) -> None:
        self._most = most
        self._entries: dict[tuple[str, int], _Entry] = {}
        self._lock = threading.Lock()
        self._fingerprints: WeightedLruCache[str, Fingerprint] = WeightedLruCache(
            _TEXTS, _ROOM_CHARACTERS, lambda sql, _made: len(sql) + 100
        )
        self.deallocations = 0
        self.since = time.time()

    def add(self, user: str, counted: Counted, seconds: float, rows: int, engine: str | None) -> None:
        """Add a statement that has run to its end."""
        text, is_query = counted
        found = self._fingerprints.get(text, lambda: fingerprint(text, is_query=is_query)) if len(text) <= LONGEST else (
            fingerprint(text, is_query=is_query)
        )  # fmt: skip
        with self._lock:
            key = user, found.query_id
            entry = self._entries.get(key)
            if entry is None:
                self._make_room()
                entry = self._entries[key] = _Entry(found.text)
            entry.add(seconds * 1000, rows, engine)

    def snapshot(self) -> StatementsKept:
        with self._lock:
            figures = tuple(
                StatementFigures(
                    user, query_id, e.text, e.calls, e.rows, e.total, e.least, e.most, e.mean,
                    math.sqrt(e.squares / e.calls), e.engine,
                )
                for (user, query_id), e in self._entries.items()
            )  # fmt: skip
            return StatementsKept(figures, self.deallocations, self.since)

    def reset(self, user: str | None = None, query_id: int = 0) -> None:
        """Remove the entries of a user, of a statement, or all. user: None: any. query_id: 0: any."""
        with self._lock:
            if user is None and not query_id:
                self._entries.clear()
                self.deallocations, self.since = 0, time.time()
                return
            for key in [k for k in self._entries if user in (None, k[0]) and query_id in (0, k[1])]:
                del self._entries[key]

    def _make_room(self) -> None:
        if len(self._entries) < self._most:
            return
        by_calls = sorted(self._entries, key=lambda key: self._entries[key].calls)
        for key in by_calls[: max(1, self._most // _FREED)]:
            del self._entries[key]
        self.deallocations += 1
