"""Keys of windows (PARTITION BY, ORDER BY) and offsets of their frames that DuckDB does not accept as expressions.

DuckDB treats every expression that may raise an error as one that differs at each evaluation, as `random()` does, and
refuses such keys. It also refuses keys and offsets with a subquery that has a window of its own. They are computed in
a derived table, whose columns are accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from engine.plan_ir.expr import Expr, FrameBound, Subquery, WindowCall
from engine.plan_ir.logical import Window
from engine.plan_ir.rewrite import walk_all
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
        if not any(key == known for known, _ in keys) and (is_volatile(key) or may_raise(tree) or _has_window(key)):
            keys.append((key, tree))
    for offset in (offset for call in calls for offset in _offsets(call)):
        if not any(offset == known for known, _ in keys) and _has_window(offset):
            keys.append((offset, render(offset, block.scope)))
    if not keys:
        return block, calls
    block, moved = computed_below(block, "key", keys)
    return block, [_with_columns(call, moved) for call in calls]


def _with_columns(call: WindowCall, moved: Callable[[Expr], Expr]) -> WindowCall:
    """Return the call with keys and offsets replaced by `moved`, which returns other expressions as they are."""

    def bound(given: FrameBound) -> FrameBound:
        return given if given.offset is None else replace(given, offset=moved(given.offset))

    return replace(
        call,
        partition_by=tuple(map(moved, call.partition_by)),
        order_by=tuple(replace(item, expr=moved(item.expr)) for item in call.order_by),
        frame=call.frame and replace(call.frame, start=bound(call.frame.start), end=bound(call.frame.end)),
    )


def may_raise(tree: exp.Expression) -> bool:
    """Whether a tree contains a call that raises one of our errors."""
    return any(str(node.this).lower() == "error" for node in tree.find_all(exp.Anonymous))


def _has_window(key: Expr) -> bool:
    plans = (part.plan for part in key.walk() if isinstance(part, Subquery))
    return any(isinstance(node, Window) for plan in plans for node in walk_all(plan))


def _keys(call: WindowCall) -> Iterator[Expr]:
    yield from call.partition_by
    yield from (item.expr for item in call.order_by)


def _offsets(call: WindowCall) -> Iterator[Expr]:
    if call.frame is not None:
        yield from (bound.offset for bound in (call.frame.start, call.frame.end) if bound.offset is not None)
