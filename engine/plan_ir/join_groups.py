"""Groups of inner joins: the relations and the conditions between them, regardless of the order in which they were
written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

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


def order_by_links(count: int, links: Iterable[Collection[int]]) -> list[int]:
    """Return the numbers below `count` in an order in which each is linked to one before it, where possible.

    links: numbers that an equality connects.
    """
    beside: list[set[int]] = [set() for _ in range(count)]
    for link in links:
        for number in link:
            beside[number].update(link)
    order: list[int] = []
    seen: set[int] = set()
    for first in range(count):
        waiting = [] if first in seen else [first]
        seen.add(first)
        for number in waiting:
            order.append(number)
            found = sorted(beside[number] - seen)
            seen.update(found)
            waiting += found
    return order
