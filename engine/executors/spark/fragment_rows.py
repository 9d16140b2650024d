"""The rows of a fragment as a Spark job reads them: its statement, and the tables, scans and functions that it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.catalog.model.objects import Table
from engine.executors.spark.rows import SparkRows
from engine.executors.spark.views import Named
from engine.planner.codegen import to_sql
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.sql.trees.storage_types import relation_name

if TYPE_CHECKING:
    pass


def views_of(fragment: CompiledFragment) -> Mapping[str, Named]:
    """Return the tables and scans that a fragment reads and the functions that it calls, by their names in its statement."""
    named = {relation.name for relation in fragment.statement.find_all(exp.Table)}
    tables = {relation_name(table): table for table in fragment.tables if isinstance(table, Table)}
    return {**{name: table for name, table in tables.items() if name in named}, **fragment.scans, **fragment.functions}


def rows_of(fragment: CompiledFragment) -> SparkRows:
    """Return a fragment's rows, for a job that writes them."""
    return SparkRows(to_sql(fragment.statement, "spark"), views_of(fragment), fragment.schema)
