"""Stage two of ordering: inserts a SORT where an ordering requirement meets a stream that does not guarantee it.

Stage one is the binder's plan itself, in which every node keeps the order of its input and nothing sorts. Requirements
come from FINAL and LIMIT (a subquery's ORDER BY is a LIMIT without a count).
"""

from __future__ import annotations

from dataclasses import replace

from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Limit, Root, Sort
from engine.plan_ir.rewrite import rewrite_plan
from engine.planner.optimizer.ordering import ordering_of, satisfies


def insert_sorts(plan: Node) -> Node:
    return rewrite_plan(plan, _satisfy)


def _satisfy(node: Node) -> Node:
    if not isinstance(node, (Root, Limit)) or satisfies(ordering_of(node.input), node.requirement):
        return node
    return replace(node, input=Sort(node.input.columns, node.input, node.requirement))
