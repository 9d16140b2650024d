"""A fragment as a Spark DataFrame, with the carriers of its columns, and its rows where the driver collects them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from engine.contracts.output_cast import carry_to, match_dimensions
from engine.executors.spark.fragment_rows import views_of
from engine.executors.spark.views import Views
from engine.planner.codegen import to_sql
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.storage.infinities import with_infinities
from wire.errors import FeatureNotSupported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class FragmentFrame:
    """A fragment as a Spark DataFrame. It is used on a job's thread, except for its constructor, which raises
    FeatureNotSupported.

    skip: the number of leading rows that the reader must skip.
    """

    def __init__(self, fragment: CompiledFragment, views: Views) -> None:
        self._statement, self.skip = _without_offset(fragment)
        self._fragment = fragment
        self._views = views

    def open(self, session: SparkSession) -> DataFrame:
        """Create the DataFrame. This runs no job yet."""
        with self._views.pin(session, views_of(self._fragment)):
            return session.sql(to_sql(self._statement, "spark"))

    def schema_of(self, frame: DataFrame) -> pa.Schema:
        """Return the carriers of the DataFrame's columns. Spark is asked only where it knows more than the fragment
        does.
        """
        if any(pa.types.is_list(typ) for typ in self._fragment.schema.types):
            from pyspark.sql.pandas.types import to_arrow_schema

            return match_dimensions(self._fragment.schema, to_arrow_schema(frame.schema))
        return self._fragment.schema

    def collect(self, frame: DataFrame) -> list[pa.RecordBatch]:
        """Run the fragment and collect its rows in the driver."""
        from engine.executors.spark.collect import collect_arrow

        schema = self.schema_of(frame)
        return [with_infinities(carry_to(batch, schema)) for batch in collect_arrow(frame._jdf)]


def _without_offset(fragment: CompiledFragment) -> tuple[exp.Expression, int]:
    """Return the statement to run, and the number of leading rows to skip here.

    Spark gathers an OFFSET without LIMIT into one partition, in whatever order the parts of its sort arrive there. So
    over an ordered stream the reader applies the OFFSET.
    """
    statement = fragment.statement
    offset = statement.args.get("offset")
    if fragment.small or not fragment.ordered or offset is None or statement.args.get("limit") is not None:
        return statement, 0
    if not isinstance(offset.expression, exp.Literal):
        raise FeatureNotSupported("not supported: OFFSET that is not a constant in Spark")
    statement = statement.copy()
    statement.set("offset", None)
    return statement, int(offset.expression.name)
