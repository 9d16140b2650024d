"""A derived table that no condition is pushed into, for views with security_barrier.

Both engines push conditions towards the readers, through derived tables, joins and groups. Neither knows which
conditions may disclose a row by failing at it. Neither pushes a condition through a sample, since that would draw
another sample. So the barrier samples all of the table: row by row (BERNOULLI), each row is kept with a probability of
1, in parallel and without gathering the rows.

Rejected: LIMIT with a large number, after which Spark has one partition; a materialized common table expression, which
holds all rows and into which DuckDB pushes conditions too; `random()` in the conditions, which every place that handles
a condition would have to know.
"""

from __future__ import annotations

from sqlglot import exp

from engine.planner.codegen.block import Block
from engine.sql.trees.build import integer


def add_barrier(block: Block) -> Block:
    """Return the rows of `block` as a derived table that no condition from above is pushed into."""
    table = block.as_derived_table(keep_order=True)
    assert table.source is not None
    bernoulli = exp.Var(this="BERNOULLI") if block.compilation.engine == "local" else None
    table.source.set("sample", exp.TableSample(method=bernoulli, percent=integer(100)))
    return table
