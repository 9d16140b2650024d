"""A derived table that no condition is brought into: what a view with security_barrier shows.

Both engines move conditions towards the readers, through derived tables, joins and groups, and neither knows which of them
may tell of a row by failing at it. Neither brings one through a sample, since that would be another sample. So the table is
sampled, and all of it: row by row (BERNOULLI), each is kept with a chance of 1, in parallel and without being gathered.

Rejected: LIMIT with a large number, after which Spark has one partition; a materialized common table expression, which holds all
rows and into which DuckDB brings conditions too; `random()` in the conditions, of which each place that has one would
have to know.
"""

from __future__ import annotations

from sqlglot import exp

from engine.planner.codegen.block import Block
from engine.sql.trees.build import integer


def add_barrier(block: Block) -> Block:
    """The rows of `block`, none of them seen by a condition that stands above."""
    table = block.as_derived_table(keep_order=True)
    assert table.source is not None
    bernoulli = exp.Var(this="BERNOULLI") if block.compilation.engine == "local" else None
    table.source.set("sample", exp.TableSample(method=bernoulli, percent=integer(100)))
    return table
