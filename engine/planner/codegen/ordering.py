"""ORDER BY of a block."""

from __future__ import annotations

from sqlglot import exp

from engine.plan_ir.logical import Limit, Ordering, Root
from engine.planner.codegen.block import Block, Stage, is_cheap
from engine.planner.optimizer.ordering import is_read_in_order, ordering_of, satisfies
from engine.sql.functions.comparison_keys import order_keys
from engine.sql.trees.build import ordered_term


def sorted_block(block: Block, keys: Ordering) -> Block:
    """Order the block by `keys`; return it as it is for none, or if it has that order already."""
    if not keys:
        return block
    block = block.flat()
    order = order_by(block, keys)
    if order == block.order:
        return block
    # Spark takes a window function in ORDER BY, but no expression over one.
    windowed = block.scope.engine == "spark" and any(
        item.this.find(exp.Window) not in (None, item.this) for item in order
    )
    if block.stage is Stage.LIMITED or windowed:
        block = block.as_derived_table()
        order = order_by(block, keys)
    block.order = order
    return block


def in_order(node: Root | Limit, block: Block) -> Block:
    """Return the input of `node`, in the order that it requires. A block that is in that order already keeps its own,
    which may distinguish rows that are peers in the required one, as the rows of one set are
    (`engine.planner.codegen.sources.project_set`).
    """
    if is_read_in_order(node.input, node.requirement):
        return block
    if block.order and satisfies(ordering_of(node.input), node.requirement):
        return block
    return sorted_block(block, node.requirement)


def order_by(block: Block, keys: Ordering) -> list[exp.Ordered]:
    """Return the items of ORDER BY. A constant sorts nothing, and as a literal it would be taken for a column's number."""
    return [
        ordered_term(tree, key.descending, key.nulls_first)
        for key in keys
        for tree in order_keys(block.scope.column(key.column), key.column.type, block.scope.engine)
        if not is_cheap(tree) or tree.find(exp.Column)
    ]
