"""Traversal and rewriting of plans and expressions, shared by all passes.

Nodes and expressions are frozen dataclasses, so a rewrite makes new ones where something changed and shares the rest.
Subqueries inside expressions carry plans of their own; `rewrite_plan` reaches those too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache
from typing import Any, Final, TypeVar

from engine.common.interrupts import check_for_interrupts
from engine.plan_ir.columnar_rows import ColumnarRows
from engine.plan_ir.expr import Const, Constants, Expr, Frame, FrameBound, Node, OrderItem, Parameters, Subquery
from engine.plan_ir.logical import Aggregator, Cte

NodeT = TypeVar("NodeT", bound=Node)
#: Fields that hold neither nodes nor expressions, in any class.
_NEVER: Final = frozenset(("columns", "type", "position", "table", "names", "kind", "function"))


def _rebuild(value: Any, on_node: Callable[[Node], Node], on_expr: Callable[[Expr], Expr]) -> Any:
    """Return `value`, a field of a node or expression, with the nodes and expressions directly in it replaced."""
    if isinstance(value, Node):
        return on_node(value)
    if isinstance(value, Expr):
        return on_expr(value)
    if isinstance(value, tuple):
        rebuilt = tuple(_rebuild(item, on_node, on_expr) for item in value)
        return value if all(a is b for a, b in zip(value, rebuilt, strict=True)) else rebuilt
    if isinstance(value, (OrderItem, Cte, Frame, FrameBound)):
        return _replace_fields(value, on_node, on_expr)
    if isinstance(value, ColumnarRows) and not value.is_data:
        # Rewritten row by row, since functions of the session are called in that order.
        rows = tuple(value)
        rebuilt = _rebuild(rows, on_node, on_expr)
        return value if rebuilt is rows else rebuilt
    return value


def _replace_fields(thing: Any, on_node: Callable[[Node], Node], on_expr: Callable[[Expr], Expr]) -> Any:
    check_for_interrupts()
    changed = {}
    for name in _child_fields(thing.__class__):
        before = getattr(thing, name)
        after = _rebuild(before, on_node, on_expr)
        if after is not before:
            changed[name] = after
    return replace(thing, **changed) if changed else thing


@cache
def _child_fields(kind: type) -> tuple[str, ...]:
    """Return the fields of a node or expression class that may hold one. The result is cached, since a query of a
    millisecond needs it a thousand times.
    """
    return tuple(f.name for f in fields(kind) if f.name not in _NEVER)


def _same(value: Any) -> Any:
    return value


def map_inputs(node: NodeT, change: Callable[[Node], Node]) -> NodeT:
    """Replace each input of `node` (of a With: each cte's plan and the body) by `change(input)`."""
    rebuilt: NodeT = _replace_fields(node, change, _same)
    return rebuilt


def map_expressions(node: NodeT, change: Callable[[Expr], Expr]) -> NodeT:
    """Replace each of the node's own expressions (not its inputs') by `change(expression)`."""
    rebuilt: NodeT = _replace_fields(node, _same, change)
    return rebuilt


def map_operands(expr: Expr, change: Callable[[Expr], Expr], change_plan: Callable[[Node], Node] = _same) -> Expr:
    """Replace each direct operand of `expr` by `change(operand)`, and a subquery's plan by `change_plan(plan)`."""
    rebuilt: Expr = _replace_fields(expr, change_plan, change)
    return rebuilt


def rewrite_expr(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Apply `change` to every expression below and at `expr`, operands first; a subquery's plan is not entered."""
    return change(_replace_fields(expr, _same, lambda e: rewrite_expr(e, change)))


def rewrite_plan(node: Node, change: Callable[[Node], Node]) -> Node:
    """Apply `change` to every node of the plan, inputs first, the plans of subqueries in expressions included."""

    def in_expr(expr: Expr) -> Expr:
        if not isinstance(expr, Subquery):
            return expr
        plan = rewrite_plan(expr.plan, change)
        return expr if plan is expr.plan else replace(expr, plan=plan)

    below = map_inputs(node, lambda child: rewrite_plan(child, change))
    return change(map_expressions(below, lambda expr: rewrite_expr(expr, in_expr)))


def expressions(node: Node) -> Iterator[Expr]:
    """Yield the node's own expressions at the top level."""
    found: list[Expr] = []

    def note(expr: Expr) -> Expr:
        found.append(expr)
        return expr

    map_expressions(node, note)
    yield from found


def subplans(node: Node) -> Iterator[Node]:
    """Yield the plans of the subqueries in the node's own expressions."""
    for expr in expressions(node):
        for part in expr.walk():
            if isinstance(part, Subquery):
                yield part.plan


#: The characters or bytes of a constant that cost a function as much as a node costs the compiler: a function may read
#: its constant pattern or format when it is compiled.
_NODE_CHARACTERS: Final = 32
#: A subquery is written in several parts, that of ALL twice, and so is each subquery in it: of five levels, 32 times.
_SUBQUERY_NODES: Final = 30


def size(plan: Node) -> int:
    """Count nodes and expressions, those of subqueries included; a grouping set counts as its columns, a subquery and a
    long constant as so many nodes as they may cost to compile.
    """
    count = 0
    left: list[Any] = [plan]
    while left:
        check_for_interrupts()
        thing = left.pop()
        if isinstance(thing, (tuple, list)):
            left.extend(thing)
        elif isinstance(thing, (Constants, Parameters)):
            count += len(thing)
        elif isinstance(thing, ColumnarRows):
            left.extend(thing.columns)
        elif isinstance(thing, (Node, Expr, OrderItem, Cte, Frame, FrameBound)):
            count += 1
            if isinstance(thing, Const) and isinstance(thing.value, (str, bytes)):
                count += len(thing.value) // _NODE_CHARACTERS
            elif isinstance(thing, Subquery):
                count += _SUBQUERY_NODES
            kind: Any = thing.__class__
            left.extend(getattr(thing, name) for name in _child_fields(kind))
            if isinstance(thing, Aggregator) and thing.grouping_sets is not None:
                count += sum(map(len, thing.grouping_sets))
    return count


def walk_all(node: Node) -> Iterator[Node]:
    """Yield every node of the plan, parents first, those of subqueries in expressions included."""
    left = [node]
    while left:
        check_for_interrupts()
        node = left.pop()
        yield node
        left += reversed((*subplans(node), *node.inputs()))
