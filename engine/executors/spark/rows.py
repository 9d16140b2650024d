"""The description of rows that a Spark job produces, as far as it is known before Spark is asked. It does not import
PySpark.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from engine.executors.spark.views import Named
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SparkRows:
    """Rows that a Spark job produces. statement: in Spark's SQL. tables: by their names in the statement. schema: of
    the rows, in carriers.
    """

    statement: str
    tables: Mapping[str, Named]
    schema: pa.Schema
