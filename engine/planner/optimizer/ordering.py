"""Ordering guarantees: the RFC's ordering characterisation, `ord(input orders) -> output order`, for every node.

An ordering is a list of keys; a stream ordered by (a, b) is ordered by (a) too. A guarantee is useful only if an engine
keeps it, so nodes that both engines run by hashing (aggregation, joins, set operations, windows) give none.
"""

from __future__ import annotations

from engine.plan_ir.expr import Column, ColumnRef, Expr, Node
from engine.plan_ir.logical import Evaluator, Limit, Ordering, OrderKey, ProjectSet, Root, Sort, TableReader, With


def ordering_of(node: Node) -> Ordering:
    """Return the order in which `node` emits its rows; () for none."""
    match node:
        case TableReader():
            return node.guarantee
        case Sort():
            return node.keys
        case Limit() | Root():
            return ordering_of(node.input)
        case Evaluator() | ProjectSet():
            return _rename_ordering(ordering_of(node.input), node.columns, node.emit)
        case With():
            return ordering_of(node.body)
        case _:
            return ()


def is_read_in_order(node: Node, requirement: Ordering) -> bool:
    """Whether the rows come in this order because files have it, without a sort."""
    below = node
    while isinstance(below, (Evaluator, Limit)):
        below = below.input
    return isinstance(below, TableReader) and bool(below.guarantee) and satisfies(ordering_of(node), requirement)


def asks_for_order(node: Node) -> bool:
    """Whether `node`'s rows have an order that the query requires, including one by keys that are not among its
    columns.
    """
    match node:
        case Sort():
            return True
        case Limit(requirement=order) | Root(requirement=order):
            return bool(order) or asks_for_order(node.input)
        case Evaluator() | ProjectSet():
            return asks_for_order(node.input)
        case With():
            return asks_for_order(node.body)
        case _:
            return False


def satisfies(guarantee: Ordering, requirement: Ordering) -> bool:
    """Whether a stream with `guarantee` is in the order of `requirement`: the latter is a prefix, except for keys that
    repeat an earlier column (they order nothing).
    """
    needed = _without_repeats(requirement)
    return _without_repeats(guarantee)[: len(needed)] == needed


def _without_repeats(ordering: Ordering) -> Ordering:
    seen: set[int] = set()
    kept = []
    for key in ordering:
        if key.column.id not in seen:
            seen.add(key.column.id)
            kept.append(key)
    return tuple(kept)


def _rename_ordering(ordering: Ordering, columns: tuple[Column, ...], emit: tuple[Expr, ...]) -> Ordering:
    """Translate an input's ordering into the columns that pass its keys on; it ends at the first key that none does."""
    names: dict[int, Column] = {}
    for column, expr in zip(columns, emit, strict=True):
        if isinstance(expr, ColumnRef):
            names.setdefault(expr.column.id, column)
    kept = []
    for key in ordering:
        if key.column.id not in names:
            break
        kept.append(OrderKey(names[key.column.id], key.descending, key.nulls_first))
    return tuple(kept)
