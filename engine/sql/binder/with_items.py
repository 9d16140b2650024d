"""Placement of bound WITH items in the plan of the query that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
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
    their reader.
    """
    kept: list[Cte] = []
    for item in reversed(items):
        plans = [body, *(c.plan for c in kept), *(c.step for c in kept if c.step is not None)]
        count = sum(_readers(plan, item.cte.id) for plan in plans)
        if count == 0:
            continue
        if count == 1 and item.materialized is not True and item.cte.step is None:
            body = _inline(body, item.cte)
            kept = [_inlined_cte(c, item.cte) for c in kept]
        else:
            kept.insert(0, item.cte)
    return With(body.columns, tuple(kept), body) if kept else body


def _readers(plan: Node, cte: int) -> int:
    return sum(isinstance(node, CteReader) and node.cte == cte for node in walk_all(plan))


def _inline(plan: Node, cte: Cte) -> Node:
    def put(node: Node) -> Node:
        if isinstance(node, CteReader) and node.cte == cte.id:
            return Evaluator(node.columns, cte.plan, pass_through(cte.plan.columns))
        return node

    return rewrite_plan(plan, put)


def _inlined_cte(kept: Cte, cte: Cte) -> Cte:
    step = None if kept.step is None else _inline(kept.step, cte)
    return replace(kept, plan=_inline(kept.plan, cte), step=step)
