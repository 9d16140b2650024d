"""A fragment as the compiler hands it to an executor."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from engine.catalog.model.objects import SystemTable, Table
from engine.common.disposal import end_tree
from engine.common.sql_type import SqlType
from engine.contracts.executor import OutputColumn
from engine.contracts.output_cast import carrier_schema
from engine.contracts.query_id import EngineName
from engine.planner.codegen.point_read import PointRead, PointStep
from engine.planner.codegen.scan import Scan
from engine.planner.codegen.task_function import TaskFunction
from engine.sql.trees.printed import PrintedStatement


@dataclass(frozen=True)
class CompiledFragment:
    """A fragment ready to run.

    statement: the relational part, a tree in the dialect of `engine`.
    columns: its output, in order.
    tables: the catalog tables it reads; the statement names them by `engine.sql.trees.storage_types.relation_name`
        where the engine needs them registered first (Spark), or reads their files in place (local).
    ordered: whether the rows' order matters to the consumer.
    small: the output is small by construction (global aggregate, LIMIT n <= a few thousand rows): Spark collects it
        through the driver instead of streaming from its tasks.
    scans: on Spark: the relations that its tasks read through DuckDB, by their names in the statement.
    functions: on Spark: the functions that its tasks compute with DuckDB, by name.
    printed: the statement's text for its engine, if it has been printed already.
    parameters: the number and type of each parameter that remains in the statement, by its name there.
    values_in_row: whether the statement reads the values of these from a relation
        (`engine.sql.trees.parameters.VALUES_ROW`).
    point_read: the same query as a search for values, if it has that form (`engine.planner.codegen.point_read`).
    point_join: the searches for the rows that it joins, if it has that form (`engine.planner.codegen.point_join`), and
        the fragment over these: the relation `relation_of(n)` has the rows of search n.
    """

    engine: EngineName
    statement: exp.Expression
    columns: tuple[OutputColumn, ...]
    tables: tuple[Table | SystemTable, ...] = ()
    ordered: bool = False
    small: bool = False
    scans: Mapping[str, Scan] = field(default_factory=dict)
    functions: Mapping[str, TaskFunction] = field(default_factory=dict)
    printed: PrintedStatement | None = None
    parameters: Mapping[str, tuple[int, SqlType]] = field(default_factory=dict)
    values_in_row: bool = False
    point_read: PointRead | None = None
    point_join: tuple[tuple[PointStep, ...], CompiledFragment] | None = None

    def __del__(self) -> None:
        end_tree(self, "statement")

    @functools.cached_property
    def schema(self) -> pa.Schema:
        """The schema of its batches: the carriers of its columns, except for the dimensions of arrays."""
        return carrier_schema(self.columns)
