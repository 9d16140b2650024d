"""Oracles that tell a wrong answer to a random query (`random_queries`) from a right one.

`judge` compares with PostgreSQL 15. The two others need no second server: they ask one server the same question in ways
that its planner cannot recognise as the same (Rigger and Su). TLP: the rows of a FROM clause are those for which a
predicate is true, those for which it is false and those for which it is unknown. NoREC: the number of rows that pass a
WHERE equals the number of rows for which the predicate is true in the select list, where nothing can be pushed down or
folded into a join.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from support.answers import Answer, Connection, ask, differences

#: SQLSTATEs that no client's statement may end with: internal errors, a lost session, a shutdown or a timeout.
BROKEN: Final = ("XX", "08", "57")
#: SQLSTATEs with which a query that PostgreSQL answers may be refused: not supported, and numerics of more than 38
#: digits.
HONEST: Final = ("0A000", "22003")


def judge(want: Answer, got: Answer) -> str | None:
    """Return in words why our answer is wrong, given PostgreSQL's; None if it is right.

    No engine promises which of several errors is raised first, nor whether an error is raised for a row that is not
    needed. Where PostgreSQL reports an error of data, any other such error is right, and so are rows.
    """
    if got.sqlstate is not None and got.sqlstate.startswith(BROKEN):
        return f"SQLSTATE {got.sqlstate}"
    if want.sqlstate is None and got.sqlstate is None:
        return differences(want, got, False, trailing_zeros=False)
    if got.sqlstate in HONEST or got.sqlstate == want.sqlstate:
        return None
    if want.sqlstate is None or any((state or "").startswith("42") for state in (want.sqlstate, got.sqlstate)):
        return f"SQLSTATE {got.sqlstate}, PostgreSQL says {want.sqlstate or 'rows'}"
    return None


def _counted(connection: Connection, query: str) -> int | str:
    """Return the number of rows, or the SQLSTATE."""
    answer = ask(connection, f"select count(*) from ({query}) as counted")
    return answer.sqlstate or int(answer.rows[0][0] or 0)


def partitions_differ(connection: Connection, source: str, predicate: str) -> str | None:
    """Apply TLP. Returns the difference in words; None if there is none, and also if one of the queries fails with a
    legitimate error. source: a FROM clause.
    """
    texts = [f"select 1 from {source}{where}" for where in
             ("", f" where {predicate}", f" where not ({predicate})", f" where ({predicate}) is null")]  # fmt: skip
    return _told(connection, texts, lambda counts: counts[0] == sum(counts[1:]))


def pushed_down_differs(connection: Connection, source: str, predicate: str) -> str | None:
    """Apply NoREC. Arguments and result are those of `partitions_differ`."""
    texts = [f"select 1 from {source} where {predicate}",
             f"select 1 from (select ({predicate}) is true as holds from {source} offset 0) as q where holds"]  # fmt: skip
    return _told(connection, texts, lambda counts: counts[0] == counts[1])


def _told(connection: Connection, texts: list[str], holds: Callable[[list[int]], bool]) -> str | None:
    counts: list[int] = []
    for text in texts:
        count = _counted(connection, text)
        if isinstance(count, str):
            return f"SQLSTATE {count}: {text}" if count.startswith(BROKEN) else None
        counts.append(count)
    return None if holds(counts) else "\n".join(f"{count}: {text}" for count, text in zip(counts, texts, strict=True))
