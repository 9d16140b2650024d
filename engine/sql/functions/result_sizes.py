"""Checks of the local engine before a function makes long results (`engine.executors.local.result_sizes`).

The functions of PostgreSQL that need one are those whose result may be longer than all of their arguments together:
repeat, lpad, rpad, replace, regexp_replace, array_to_string, format, array_fill and casts to character(n) and bit(n).
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.sql.functions.trees import sql

#: The number of bytes from which on a result is long: a batch of shorter ones takes 128 MB at most.
LONG_BYTES: Final = 65_536


def fits(size: exp.Expression) -> exp.Expression:
    """Return a condition that is true if the local engine may hold a result of `size` bytes, a bigint, in each row.

    size: an expression over the arguments that differ from row to row, even if their values do not matter: DuckDB would
    check a constant only once for all rows. Its evaluation raises OutOfMemory if they do not fit.
    """
    return sql("local", fits_snippet("$1"), size)


def fits_snippet(size: str) -> str:
    """Return the same condition as a snippet of SQL."""
    return f"CASE WHEN {size} > {LONG_BYTES} THEN sluice_reserve({size}) ELSE TRUE END"


def reserve(value: exp.Expression, size: exp.Expression) -> exp.Expression:
    """Return an argument of a function after the check that the function's result fits (`fits`)."""
    return sql("local", "CASE WHEN $2 THEN $1 END", value, fits(size))


def padded_length(engine: EngineName, length: int) -> str:
    """Return the number of characters to which the text $1 is padded, after the same check, as a snippet of SQL."""
    if engine == "spark" or length <= LONG_BYTES:
        return str(length)
    return f"CASE WHEN sluice_reserve(greatest({length}, CAST(strlen($1) AS BIGINT))) THEN {length} END"
