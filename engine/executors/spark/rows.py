"""Rows that a Spark job makes, by what is to be known of them before Spark is asked: no import of PySpark."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from engine.executors.spark.views import Named
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SparkRows:
    """statement: in Spark's SQL. tables: by the names that it has for them. schema: of the rows, in carriers."""

    statement: str
    tables: Mapping[str, Named]
    schema: pa.Schema
