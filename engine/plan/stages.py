"""Which aggregators of a physical plan are two stages of one, for people who read plans.

The RFC calls them `summer-stage1` and `summer-stage2`. A plan does not say so, since nothing that runs it needs to know:
both are aggregators. It can be seen from the edge between them. The first stage is what its fragment ends with, the second
is the first thing that happens to what arrives, and both have the same group key (a first stage that only takes out
duplicates, for a DISTINCT aggregate, has a longer one). Evaluators may stand between.

Rejected: a field of `Aggregator` that the planner sets. Every pass that rebuilds an aggregator would have to keep it, for
two words in a listing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.plan.logical import Aggregator, Evaluator, Node
from engine.plan.physical import Edge, PhysicalPlan, Receive
from engine.sql.expr import Column, ColumnRef


def stages(plan: PhysicalPlan) -> Mapping[int, str]:
    """`first stage` or `second stage`, by the `id()` of the aggregator. Second stages are never first ones as well."""
    found: dict[int, str] = {}
    for edge in plan.edges:
        first = _through_evaluators(plan.fragment(edge.source).root)
        if not isinstance(first, Aggregator) or id(first) in found:
            continue
        for second, keys in _arrivals(plan.fragment(edge.target).root, edge):
            if _is_second(first, frozenset(_origins(keys, plan.fragment(edge.source).root))):
                found |= {id(first): "first stage", id(second): "second stage"}
    return found


def _arrivals(root: Node, edge: Edge) -> Iterator[tuple[Aggregator, tuple[Column | None, ...]]]:
    """The aggregators that read the edge directly, and their group keys as columns of the edge."""
    for node in root.walk():
        if not isinstance(node, Aggregator):
            continue
        receive = _through_evaluators(node.input)
        if isinstance(receive, Receive) and receive.edge == edge.id:
            carried = dict(zip(receive.columns, edge.columns, strict=True))
            yield node, tuple(key and carried.get(key) for key in _origins(node.group, node.input))


def _is_second(first: Aggregator, keys: frozenset[Column | None]) -> bool:
    group = frozenset(first.columns[: len(first.group)])
    return keys == group if first.aggregates else keys <= group


def _through_evaluators(node: Node) -> Node:
    while isinstance(node, Evaluator):
        node = node.input
    return node


def _origins(columns: tuple[Column | None, ...], node: Node) -> tuple[Column | None, ...]:
    """The columns as they were called below the evaluators; None for those that were computed there."""
    while isinstance(node, Evaluator):
        passed = {c: e.column for c, e in zip(node.columns, node.emit, strict=True) if isinstance(e, ColumnRef)}
        columns = tuple(column and passed.get(column) for column in columns)
        node = node.input
    return columns
