"""WHERE or HAVING of a block, depending on the block's stage."""

from __future__ import annotations

from sqlglot import exp

from engine.plan_ir.expr import Expr
from engine.plan_ir.free_columns import references
from engine.plan_ir.predicates import has_subquery
from engine.planner.codegen.block import Block, Stage
from engine.planner.codegen.condition_order import keep_order, put_safe_first
from engine.planner.codegen.expressions import conjunct
from engine.planner.codegen.many_subqueries import divide_filter, forget_computed, make_room


def add_filter(block: Block, test: Expr) -> Block:
    """Return the rows of a block for which `test` is true."""
    for part in divide_filter(block, test):
        block, [condition] = make_room(block, [part])
        block = _add_condition(block, condition)
        forget_computed(block)
    return block


def _add_condition(block: Block, test: Expr) -> Block:
    grouped = block.stage is Stage.GROUPED and block.whole is None
    if (grouped and has_subquery(test)) or block.stage > Stage.GROUPED:
        block = block.as_derived_table(keep_order=True)
    test = keep_order(test, _mentions) if block.scope.engine == "local" else put_safe_first(test)
    block = block.flat().ready_for([test])
    tree = conjunct(test, block.scope)
    if block.stage is Stage.GROUPED:
        if block.scope.engine != "local" or tree.find(exp.Lambda) is None:
            block.having.append(tree)
            return block
        # In HAVING, DuckDB takes the parameter of a lambda for an ungrouped column.
        block = block.as_derived_table(keep_order=True)
        tree = conjunct(test, block.scope)
    block.where.append(tree)
    block.stage = Stage.FILTERED
    return block


def _mentions(guard: Expr, part: Expr) -> bool:
    """Whether a guard refers to a column that a part refers to as well, so that it does not keep the part from being
    pushed down.
    """
    return set(references(guard)) <= set(references(part))
