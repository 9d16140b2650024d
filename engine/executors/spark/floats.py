"""Floats of Parquet files in Spark, kept from its reader's filters.

What a Parquet file says of a column's least and greatest value leaves NaN out (Parquet's format, `ColumnOrder`), while NaN is
greater than all numbers in PostgreSQL and in Spark, and -0 equals 0, which a dictionary of a file has as another value. Spark
gives its reader the filters all the same and misses rows: of [NaN, 1.0], `f > 3`. A filter over an expression is not given.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as f

_FLOATS: Final = ("FLOAT", "DOUBLE")


def hide_from_reader_filters(value: Column, kind: str) -> Column:
    """The same value, of Spark's type `kind`: a float as an expression."""
    return f.nanvl(value, f.lit("NaN").cast(kind)) if kind.upper() in _FLOATS else value
