"""Placement of bound WITH items in the plan of the query that they belong to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Cte, CteReader, Evaluator, With
from engine.plan_ir.rewrite import rewrite_plan, walk_all
from engine.sql.binder.blocks import pass_through
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class WithItem:
    """A bound WITH item. materialized: as written; None if neither MATERIALIZED nor NOT MATERIALIZED was written."""

    cte: Cte
    materialized: bool | None


def with_ctes(items: Sequence[WithItem], body: Node) -> Node:
    """Add WITH items to a body: items that are read more than once in a With, items that are read once inlined at
    their reader. An item reads itself and earlier ones only. Each plan is walked once, however many items follow it.
    """
    reads = _count_readers(body)
    inlined: set[int] = set()
    used: list[Cte] = []
    for item in reversed(items):
        cte = item.cte
        if (count := reads[cte.id]) == 0:
            continue
        used.insert(0, cte)
        if count == 1 and item.materialized is not True and cte.step is None:
            inlined.add(cte.id)
        reads += _count_readers(cte.plan)
        if cte.step is not None:
            reads += _count_readers(cte.step)
    plans: dict[int, Node] = {}
    kept: list[Cte] = []
    for cte in used:
        whole = _inline_in(cte, plans)
        if cte.id in inlined:
            plans[cte.id] = whole.plan
        else:
            kept.append(whole)
    body = _inline(body, plans)
    return With(body.columns, tuple(kept), body) if kept else body


def _count_readers(plan: Node) -> Counter[int]:
    return Counter(node.cte for node in walk_all(plan) if isinstance(node, CteReader))


def _inline_in(cte: Cte, plans: Mapping[int, Node]) -> Cte:
    step = None if cte.step is None else _inline(cte.step, plans)
    return replace(cte, plan=_inline(cte.plan, plans), step=step)


def _inline(plan: Node, plans: Mapping[int, Node]) -> Node:
    """Put the plans of items, by their numbers, in place of their readers."""

    def put(node: Node) -> Node:
        if isinstance(node, CteReader) and (found := plans.get(node.cte)) is not None:
            return Evaluator(node.columns, found, pass_through(found.columns))
        return node

    return rewrite_plan(plan, put) if plans else plan
