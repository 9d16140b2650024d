"""Narrow joins: an exchange below a join carries only the columns that its consumer needs.

The optimizer's passes remove columns that nobody reads. A column that is read for a filter, or for a join that is done,
is still among a join's columns, which are all of its inputs' columns, and would be sent along. So each input of a join
that has such columns gets an EVALUATOR that leaves them out. It costs nothing where nothing moves, since the engines
optimise it away.
"""

from __future__ import annotations

from dataclasses import replace

from engine.plan_ir.expr import Column, Node, references_to
from engine.plan_ir.free_columns import references
from engine.plan_ir.logical import Aggregator, Evaluator, Join
from engine.plan_ir.rewrite import expressions, map_inputs
from engine.plan_ir.volatility import is_volatile


def narrow(node: Node) -> Node:
    """Return the plan with narrow joins; its own columns stay the same."""
    if isinstance(node, Aggregator) and _is_of_joins(node.input):
        return replace(node, input=_side(node.input, {*node.group, *_used_by(node)}))
    if isinstance(node, Evaluator) and _is_join(node.input):
        return replace(node, input=_narrow_join(node.input, _used_by(node)))
    if _is_join(node):
        return _narrow_join(node, set(node.columns))
    return map_inputs(node, narrow)


def _used_by(node: Node) -> set[Column]:
    return {column for expr in expressions(node) for column in references(expr)}


def _is_of_joins(node: Node) -> bool:
    return _is_join(node.input if isinstance(node, Evaluator) else node)


def _is_join(node: Node) -> bool:
    return isinstance(node, Join) and not node.lateral


def _narrow_join(node: Node, used: set[Column]) -> Node:
    """Narrow a join, of which these columns are used above; it may keep others that its inputs need."""
    assert isinstance(node, Join)
    here = used | set(references(node.condition)) if node.condition is not None else used
    left, right = _side(node.left, here), _side(node.right, here)
    return replace(node, left=left, right=right, columns=(*left.columns, *right.columns))


def _side(node: Node, used: set[Column]) -> Node:
    """Return a relation with only the columns in `used`."""
    if isinstance(node, Evaluator) and not any(map(is_volatile, node.emit)):
        pairs = [(column, expr) for column, expr in zip(node.columns, node.emit, strict=True) if column in used]
        return narrow(replace(node, columns=tuple(c for c, _ in pairs), emit=tuple(e for _, e in pairs)))
    inner = _narrow_join(node, used) if _is_join(node) else narrow(node)
    kept = tuple(column for column in inner.columns if column in used)
    return inner if len(kept) == len(inner.columns) else Evaluator(kept, inner, references_to(kept))
