"""A function that Spark's tasks compute with DuckDB (`engine.planner.codegen.task_functions`)."""

from __future__ import annotations

from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TaskFunction:
    """statement: DuckDB's, over the columns a0, a1 ... of `arguments`; it gives one column. returns: Spark's type of a value. name:
    what Spark's statement calls it; another statement or type has another."""

    name: str
    statement: str
    returns: str
