"""A relation that Spark's tasks read through DuckDB (`engine.planner.codegen.scans`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.plan_ir.logical import TableReader
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Scan:
    """A relation that Spark's tasks read through DuckDB.

    statement: DuckDB's; its parameters are as those of an instance's reader (`engine.planner.codegen.files.Splits`).
    columns: the labels of its output, and Spark's types for them. reader: the table reader, whose filter and
    `parameters` (canonical values by number) tell which files need not be read. name: the relation's; another statement
    or other files have another name.
    """

    statement: str
    columns: tuple[tuple[str, str], ...]
    reader: TableReader
    ranged: bool
    parameters: Mapping[int, Any]
    name: str
