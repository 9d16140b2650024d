"""A statement for DuckDB, with everything that its execution needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import pyarrow as pa
from sqlglot import exp

from engine.catalog.model.objects import SystemTable, Table
from engine.contracts.memory_share import MemoryShare
from engine.executors.local.inputs import Inflow
from engine.planner.codegen.compiled_fragment import CompiledFragment
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LocalWork:
    """A statement for DuckDB, with everything that its execution needs.

    schema: its columns in carriers.
    page_bytes: the wanted size of a batch, while few streams are running.
    tables: the tables of the catalog that it reads.
    parameters: values of `$name`s: the files and row ranges of its readers, long strings.
    inputs: relations that arrive as streams.
    relations: relations that are there already.
    find: computes the parameters instead, when the statement begins, on a thread that may block; raises SqlError.
    analyze: whether operators are profiled; the statement then reads its files and not tables in memory.
    memory: as in `ExecutionContext`.
    row: values that it reads from the relation `VALUES_ROW`.
    query: the id of its query, for the log.
    fragment: the fragment from whose tree the statement was printed, if that was done here. The tree is taken apart when
        nothing refers to the fragment (`engine.runtime.planning_pool`).
    """

    statement: str
    schema: pa.Schema
    page_bytes: int
    time_zone: str = "UTC"
    tables: tuple[Table | SystemTable, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Inflow] = field(default_factory=dict)
    relations: Mapping[str, pa.Table] = field(default_factory=dict)
    find: Callable[[], Mapping[str, Any]] | None = None
    analyze: bool = False
    memory: MemoryShare | None = None
    row: Mapping[str, Any] = field(default_factory=dict)
    query: str = ""
    fragment: CompiledFragment | None = None

    @property
    def tree(self) -> exp.Expression | None:
        """The tree from which the statement was printed, which must not be changed."""
        return None if self.fragment is None else self.fragment.statement
