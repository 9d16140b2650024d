"""Keys of windows (PARTITION BY, ORDER BY) that DuckDB does not accept as expressions.

DuckDB treats every expression that may raise an error as one that differs at each evaluation, as `random()` does, and
refuses such keys. They are computed in a derived table, whose columns are accepted as keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from engine.plan_ir.expr import Expr, WindowCall
from engine.plan_ir.volatility import is_volatile
from engine.planner.codegen.block import Block
from engine.planner.codegen.computed_below import computed_below
from engine.planner.codegen.expressions import render


def below(block: Block, calls: Sequence[WindowCall]) -> tuple[Block, Sequence[WindowCall]]:
    """Return a block that has such keys as columns, and the calls that refer to them."""
    if block.scope.engine == "spark":
        return block, calls
    keys: list[tuple[Expr, exp.Expression]] = []
    for key in (key for call in calls for key in _keys(call)):
        tree = render(key, block.scope)
        if not any(key == known for known, _ in keys) and (is_volatile(key) or may_raise(tree)):
            keys.append((key, tree))
    if not keys:
        return block, calls
    block, moved = computed_below(block, "key", keys)
    return block, [
        replace(
            call,
            partition_by=tuple(map(moved, call.partition_by)),
            order_by=tuple(replace(item, expr=moved(item.expr)) for item in call.order_by),
        )
        for call in calls
    ]


def may_raise(tree: exp.Expression) -> bool:
    """Whether a tree contains a call that raises one of our errors."""
    return any(str(node.this).lower() == "error" for node in tree.find_all(exp.Anonymous))


def _keys(call: WindowCall) -> Iterator[Expr]:
    yield from call.partition_by
    yield from (item.expr for item in call.order_by)
