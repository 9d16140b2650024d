"""Pairs of aggregators in a physical plan that are two stages of one, for people who read plans.

The RFC calls them `summer-stage1` and `summer-stage2`. A plan does not record this, since nothing that runs it needs to
know: both are aggregators. It follows from the nodes between them: only edges, and nodes that pass rows on. Both have
the same group key, or the first has a longer one by the arguments of the second's DISTINCT aggregates, whose duplicates
it removes; a first stage that only removes duplicates may have any longer key.

Rejected: a field of `Aggregator` that the planner sets. Every pass that rebuilds an aggregator would have to keep it,
for two words in a listing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from engine.plan_ir.expr import Column, ColumnRef, Node
from engine.plan_ir.logical import Aggregator, Evaluator, SetOperation, Sort
from engine.plan_ir.physical import PhysicalPlan, Receive
from wire.dataclass import dataclass


def stages(plan: PhysicalPlan) -> Mapping[int, str]:
    """Return `first stage` or `second stage`, by the `id()` of the aggregator. Second stages are never first ones as
    well.
    """
    found: dict[int, str] = {}
    seconds = [node for fragment in plan.fragments for node in fragment.root.walk() if isinstance(node, Aggregator)]
    for second in seconds:
        used = tuple(dict.fromkeys((*second.group, *_distinct(second))))
        origins = list(_origins(plan, second.input, used, False))
        firsts = [o.node for o in origins if _is_first(o, second, used) and found.get(id(o.node)) != "second stage"]
        if len(firsts) == len(origins):
            found |= {id(first): "first stage" for first in firsts} | {id(second): "second stage"}
    return found


@dataclass(frozen=True, slots=True)
class _Origin:
    """A node that makes rows for another one. columns: the columns used, as they are called here; None for those
    computed in between. apart: whether an edge lies between the two.
    """

    node: Node
    columns: tuple[Column | None, ...]
    apart: bool


def _is_first(origin: _Origin, second: Aggregator, used: Sequence[Column]) -> bool:
    first = origin.node
    if not isinstance(first, Aggregator) or not origin.apart:
        return False
    called = dict(zip(used, origin.columns, strict=True))
    keys = {called[column] for column in second.group}
    longer = {*first.columns[: len(first.group)]} - keys
    if not keys <= {*first.columns[: len(first.group)]}:
        return False
    return not first.aggregates or longer <= {called[column] for column in _distinct(second)}


def _distinct(node: Aggregator) -> Iterator[Column]:
    """Yield the columns that are arguments of DISTINCT aggregates."""
    for call in node.aggregates:
        if call.distinct:
            yield from (arg.column for arg in call.args if isinstance(arg, ColumnRef))


def _origins(
    plan: PhysicalPlan, node: Node, columns: tuple[Column | None, ...], apart: bool
) -> Iterator[_Origin]:  # fmt: skip
    """Yield the nodes that the columns come from, through edges and nodes that only pass rows on."""
    match node:
        case Evaluator():
            passed = {c: e.column for c, e in zip(node.columns, node.emit, strict=True) if isinstance(e, ColumnRef)}
            yield from _origins(plan, node.input, _rename_columns(columns, passed), apart)
        case Sort():
            yield from _origins(plan, node.input, columns, apart)
        case SetOperation(kind="union", all=True):
            for side in node.inputs():
                renamed = dict(zip(node.columns, side.columns, strict=True))
                yield from _origins(plan, side, _rename_columns(columns, renamed), apart)
        case Receive():
            yield from _origins(plan, plan.fragment(plan.edge(node.edge).source).root, columns, True)
        case _:
            yield _Origin(node, columns, apart)


def _rename_columns(columns: tuple[Column | None, ...], names: Mapping[Column, Column]) -> tuple[Column | None, ...]:
    return tuple(column and names.get(column) for column in columns)
