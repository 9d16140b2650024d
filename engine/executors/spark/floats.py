"""A workaround that keeps predicates over floats out of the filters of Spark's Parquet reader.

The least and greatest value of a column in a Parquet file leave NaN out (Parquet's format, `ColumnOrder`), although NaN
is greater than all numbers in PostgreSQL and in Spark. Also, -0 equals 0, but a file's dictionary has it as a different
value. Spark pushes such predicates down to its reader all the same and misses rows: of [NaN, 1.0], `f > 3`. A predicate
over an expression is not pushed down.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as f

_FLOATS: Final = ("FLOAT", "DOUBLE")


def hide_from_reader_filters(value: Column, kind: str) -> Column:
    """Return the same value, of Spark's type `kind`, with a float wrapped in an expression."""
    return f.nanvl(value, f.lit("NaN").cast(kind)) if kind.upper() in _FLOATS else value
