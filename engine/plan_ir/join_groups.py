"""Groups of inner joins: relations and the conditions between them, whatever the order in which they were written."""

from __future__ import annotations

from collections.abc import Iterator

from engine.plan_ir.conjuncts import conjuncts
from engine.plan_ir.expr import Expr, Node
from engine.plan_ir.logical import Join


def is_inner_join(node: Node) -> bool:
    """Whether a node is an inner join or a product whose sides may change places."""
    return isinstance(node, Join) and node.kind in ("inner", "cross") and not node.lateral


def take_apart(node: Node) -> tuple[list[Node], list[Expr]]:
    """Return the relations that a group joins, and its conditions."""
    relations: list[Node] = []
    conditions: list[Expr] = []
    left = [node]
    while left:
        part = left.pop()
        if isinstance(part, Join) and is_inner_join(part):
            conditions += conjuncts(part.condition)
            left += [part.right, part.left]
        else:
            relations.append(part)
    return relations, conditions


def joins_within(node: Node) -> Iterator[Join]:
    """Yield the joins of a group, the group's own first."""
    left = [node]
    while left:
        part = left.pop()
        if isinstance(part, Join) and is_inner_join(part):
            yield part
            left += [part.right, part.left]
