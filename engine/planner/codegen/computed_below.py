"""Expressions that a block computes in a derived table, so that what stands above refers to columns.

DuckDB takes some expressions only as columns: keys of windows that may raise errors (`window_keys`), and arguments of
DISTINCT aggregates (`grouping`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from engine.plan_ir.expr import Column, ColumnRef, Expr
from engine.planner.codegen.block import Block


def computed_below(
    block: Block, label: str, computed: Sequence[tuple[Expr, exp.Expression]]
) -> tuple[Block, Callable[[Expr], Expr]]:
    """Return a block that reads a derived table with these expressions, and a function that replaces the expressions by
    its columns.

    label: the beginning of the columns' names. computed: different expressions, each with its tree in `block`.
    """
    block = block.as_derived_table({f"{label}{n}": tree for n, (_, tree) in enumerate(computed)}, keep_order=True)
    # Negative ids belong to no node of the plan, whose ids count upwards.
    columns = [(expr, Column(-1 - n, "", expr.type)) for n, (expr, _) in enumerate(computed)]
    block.scope.columns |= {column.id: block.extra_column(f"{label}{n}") for n, (_, column) in enumerate(columns)}

    def replace_computed(expr: Expr) -> Expr:
        return next((ColumnRef(expr.type, column) for known, column in columns if known == expr), expr)

    return block, replace_computed
