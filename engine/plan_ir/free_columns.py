"""The free columns of a plan or an expression: those of an enclosing query that it refers to.

Column ids are unique in a statement, so that a plan's free columns are all those it refers to and does not produce.
Neighbours: `engine.plan_ir.logical` (correlated subqueries, lateral joins), `engine.planner.codegen`, the passes.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.plan_ir.expr import Column, ColumnRef, Expr, Node, Subquery
from engine.plan_ir.logical import Aggregator, DistinctOn, Limit, Root, Sort
from engine.plan_ir.rewrite import expressions, walk_all


def free_columns(node: Node) -> frozenset[Column]:
    """Return the columns that `node` refers to and that nothing in it produces; none for an uncorrelated plan."""
    used: set[Column] = set()
    produced: set[Column] = set()
    for part in walk_all(node):
        produced.update(part.columns)
        used.update(_keys(part))
        for expr in expressions(part):
            used.update(_own_references(expr))
    return frozenset(used - produced)


def references(expr: Expr) -> Iterator[Column]:
    """Yield the columns that an expression refers to, once for each place; of a subquery, those that are free in it."""
    for part in expr.walk():
        if isinstance(part, ColumnRef):
            yield part.column
        elif isinstance(part, Subquery):
            yield from free_columns(part.plan)


def _own_references(expr: Expr) -> Iterator[Column]:
    """Yield `references` without those in subqueries' plans, which `walk_all` reaches."""
    return (part.column for part in expr.walk() if isinstance(part, ColumnRef))


def _keys(node: Node) -> Iterator[Column]:
    match node:
        case Aggregator(group=group):
            yield from group
        case DistinctOn(keys=keys, order=order):
            yield from keys
            yield from (key.column for key in order)
        case Sort(keys=keys):
            yield from (key.column for key in keys)
        case Limit(requirement=order) | Root(requirement=order):
            yield from (key.column for key in order)
        case _:
            pass
