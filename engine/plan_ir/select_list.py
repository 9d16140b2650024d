"""The outermost select list of a query's plan, found below the nodes that limit and sort its rows and pass them on
unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from engine.plan_ir.expr import Column, Node
from engine.plan_ir.logical import Evaluator, Limit, Ordering, Root, Sort, Values, With

_PASSING = Root | Limit | Sort | With


def requirements(plan: Node) -> Iterator[Ordering]:
    """Yield the orders that are required of the select list's rows."""
    while isinstance(plan, _PASSING):
        match plan:
            case Root() | Limit():
                yield plan.requirement
            case Sort():
                yield plan.keys
        plan = _below(plan)


def select_list(plan: Node) -> Evaluator | None:
    """Return the evaluator whose rows the plan returns, each once at most; None if they come from another node."""
    while isinstance(plan, _PASSING):
        plan = _below(plan)
    return plan if isinstance(plan, Evaluator) and not plan.barrier else None


def has_one_row(node: Node) -> bool:
    """Whether the node is evaluated for a single row, or once for each literal row."""
    if isinstance(node, Evaluator):
        return isinstance(node.input, Values) and len(node.input.rows) == 1
    return isinstance(node, Values)


def with_select_list(
    plan: Node, changed: Evaluator, renewed: Mapping[int, Column] | None = None, added: tuple[Column, ...] = ()
) -> Node:
    """Return the plan over a changed select list. renewed: the columns that replace others, by the others' ids. added:
    new columns.
    """
    if not isinstance(plan, _PASSING):
        return changed
    names = renewed or {}
    columns = (*(names.get(column.id, column) for column in plan.columns), *added)
    below = with_select_list(_below(plan), changed, renewed, added)
    match plan:
        case With():
            return replace(plan, columns=columns, body=below)
        case Sort():
            return replace(plan, columns=columns, input=below, keys=in_renewed(plan.keys, names))
        case Root() | Limit():
            return replace(plan, columns=columns, input=below, requirement=in_renewed(plan.requirement, names))


def in_renewed(order: Ordering, renewed: Mapping[int, Column]) -> Ordering:
    return tuple(replace(key, column=renewed.get(key.column.id, key.column)) for key in order)


def _below(plan: Root | Limit | Sort | With) -> Node:
    return plan.body if isinstance(plan, With) else plan.input
