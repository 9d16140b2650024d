"""The answers of servers to statements, and the comparison of two servers' answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import psycopg

#: OIDs of float4 and float8.
_FLOATS: Final = (700, 701)
_NUMERIC: Final = 1700
Connection = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True)
class Answer:
    """A server's answer to a statement: an SQLSTATE, or columns (name, type OID) and rows as text."""

    sqlstate: str | None = None
    columns: tuple[tuple[str, int], ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()


def ask(connection: Connection, statement: str) -> Answer:
    try:
        return answered(connection, statement)
    except psycopg.Error as error:
        return Answer(sqlstate=error.sqlstate or type(error).__name__)


def answered(connection: Connection, statement: str) -> Answer:
    """Return the answer to a statement, as `ask` does, but raise psycopg.Error if the server reports an error."""
    result = connection.execute(statement.encode()).pgresult
    assert result is not None
    columns = tuple(((result.fname(i) or b"").decode(), result.ftype(i)) for i in range(result.nfields))
    rows = tuple(
        tuple(None if (v := result.get_value(r, c)) is None else v.decode() for c in range(result.nfields))
        for r in range(result.ntuples)
    )
    return Answer(None, columns, rows)


def value(connection: Connection, query: str, *arguments: Any) -> Any:
    """Return the value of a query that returns one row of one column."""
    [(found,)] = connection.execute(query.encode(), arguments or None).fetchall()
    return found


def _same_value(oid: int, a: str | None, b: str | None, *, trailing_zeros: bool) -> bool:
    if a == b or a is None or b is None:
        return a == b
    if oid == _NUMERIC and not trailing_zeros:
        return Decimal(a) == Decimal(b)
    if oid not in _FLOATS:
        return False
    return math.isclose(float(a), float(b), rel_tol=1e-6 if oid == 700 else 1e-12, abs_tol=1e-300)


def _sort_key(row: tuple[str | None, ...], exact: list[bool]) -> list[tuple[bool, str]]:
    """Return a key that is the same for equal rows. exact: whether a column's values are equal only as texts; others
    are numerics.
    """
    return [
        (v is None, v or "" if v is None or is_exact else f"{Decimal(v).normalize():f}")
        for v, is_exact in zip(row, exact, strict=True)
    ]


def differences(want: Answer, got: Answer, ordered: bool, *, trailing_zeros: bool = True) -> str | None:
    """Compare an answer, `got`, with PostgreSQL's, `want`. Returns the first difference in words, or None if there is
    none. Rows that are not `ordered` are compared as a multiset. Floats may differ in their last digits, because sums
    depend on the order of addition.
    trailing_zeros: whether the trailing zeros of numerics are compared.
    """
    if want.sqlstate != got.sqlstate:
        return f"SQLSTATE {got.sqlstate}, PostgreSQL says {want.sqlstate}"
    if want.columns != got.columns:
        return f"columns {got.columns}, PostgreSQL says {want.columns}"
    if len(want.rows) != len(got.rows):
        return f"{len(got.rows)} rows, PostgreSQL says {len(want.rows)}"
    wanted, given = list(want.rows), list(got.rows)
    if not ordered:
        exact = [trailing_zeros or oid != _NUMERIC for _, oid in want.columns]
        wanted, given = (sorted(rows, key=lambda row: _sort_key(row, exact)) for rows in (wanted, given))
    for w, g in zip(wanted, given, strict=True):
        if not all(
            _same_value(oid, a, b, trailing_zeros=trailing_zeros)
            for (_, oid), a, b in zip(want.columns, w, g, strict=True)
        ):
            return f"row {g}, PostgreSQL says {w}"
    return None
