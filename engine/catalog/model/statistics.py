"""ANALYZE's statistics of a table, as the catalog stores them: the number of rows, and statistics of its columns'
values.

The measures are those of PostgreSQL's pg_statistic, because a planner can use these: the fraction of nulls, the number
of distinct values, the most common values with their frequencies, and a histogram of the other values, whose bounds cut
them into parts of about equal size.

Values are stored as text, as the type's output function gives it in ISO style: JSON has no dates, and most values are
never read. Statistics are no part of a table's definition: they conflict with nothing, and the last commit wins. A
column whose type was changed since has no statistics.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Final

import msgspec


class ColumnStatistics(msgspec.Struct, frozen=True, omit_defaults=True):
    """The statistics of one column.

    number, type: the column's number, and the OID of its type when it was analysed.
    nulls: the fraction of rows that are null.
    width: bytes of a value, as PostgreSQL would store it.
    distinct: the number of distinct values; negative: as a fraction of the rows (pg_stats.n_distinct); 0: not known.
    common, frequencies: the most common values and the fraction of all rows that have each.
    bounds: a histogram of the other values: values in order that divide them evenly.
    least, greatest: of all values.
    """

    number: int
    type: int
    nulls: float
    width: int
    distinct: float = 0
    common: tuple[str, ...] = ()
    frequencies: tuple[float, ...] = ()
    bounds: tuple[str, ...] = ()
    least: str | None = None
    greatest: str | None = None

    def values(self, rows: float) -> float | None:
        """Return the approximate number of distinct values in this many rows; None if not known."""
        if not self.distinct:
            return None
        return self.distinct if self.distinct > 0 else max(1.0, -self.distinct * rows)


class TableStatistics(msgspec.Struct, frozen=True, omit_defaults=True):
    """The statistics of a table. rows, pages: their numbers; pages are of 8 KB. columns: those that were analysed, one
    for each number.
    """

    rows: float
    pages: int
    columns: tuple[ColumnStatistics, ...] = ()

    def of(self, number: int, type_oid: int) -> ColumnStatistics | None:
        """Return a column's statistics, if its type has not changed since."""
        return next((c for c in self.columns if c.number == number and c.type == type_oid), None)

    def after(self, earlier: TableStatistics | None) -> TableStatistics:
        """Return these statistics, plus the earlier ones of columns that were not analysed again."""
        anew = {column.number for column in self.columns}
        kept = [column for column in earlier.columns if column.number not in anew] if earlier is not None else []
        columns = sorted((*self.columns, *kept), key=lambda column: column.number)
        return TableStatistics(self.rows, self.pages, tuple(columns))


_DECODER: Final = msgspec.json.Decoder(TableStatistics)


def encode_statistics(statistics: TableStatistics) -> str:
    return msgspec.json.encode(statistics).decode()


@functools.lru_cache(maxsize=4096)
def decode_statistics(body: str) -> TableStatistics:
    """Decode a table's statistics. The results are cached: most bodies are unchanged when the catalog is read again."""
    return _DECODER.decode(body)


def by_relation(rows: Iterable[tuple[int, str]]) -> dict[int, TableStatistics]:
    """Decode rows (oid, body)."""
    return {oid: decode_statistics(body) for oid, body in rows}
