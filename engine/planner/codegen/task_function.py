"""A function that Spark's tasks compute with DuckDB (`engine.planner.codegen.task_functions`)."""

from __future__ import annotations

from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TaskFunction:
    """A function of Spark's whose batches DuckDB computes.

    statement: DuckDB's, over the columns a0, a1 ... of `arguments`; it gives one column. returns: Spark's type of a
    value. name: the function's name in Spark's statement; another statement or type has another.
    """

    name: str
    statement: str
    returns: str
