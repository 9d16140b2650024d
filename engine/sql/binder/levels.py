"""The query level that an aggregate belongs to; and replacing parts of bound trees, subqueries' plans included.

PostgreSQL gives an aggregate to the innermost query level among the columns it reads, or to the level it is written in
when it reads none (parse_agg.c: check_agg_arguments). A subquery may thus hold an aggregate of an outer query. The
expression binder leaves every aggregate where it was written; when a level has bound its clauses, it extracts its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engine.common.interrupts import check_for_interrupts
from engine.plan_ir.expr import (
    AggregateCall,
    Call,
    ColumnRef,
    Const,
    Expr,
    GroupingCall,
    Node,
    ParamRef,
    Subquery,
    WindowCall,
)
from engine.plan_ir.free_columns import references
from engine.plan_ir.rewrite import expressions, map_expressions, map_inputs, map_operands
from engine.sql.binder.scope import Scope
from engine.sql.parser.lexical.positions import cursor
from wire.errors import FeatureNotSupported, GroupingError, WindowingError

#: Returns the replacement of an expression, or None to descend into its operands. `depth`: nested plans entered so far.
Change = Callable[[Expr, int], Expr | None]


def replace_parts(expr: Expr, change: Change, depth: int = 0) -> Expr:
    """Return `expr` with replacements for its outermost parts for which `change` returns one, also inside subqueries'
    plans.
    """
    replaced = change(expr, depth)
    if replaced is not None:
        return replaced
    return map_operands(
        expr,
        lambda operand: replace_parts(operand, change, depth),
        lambda plan: _replace_in_plan(plan, change, depth + 1),
    )


def _replace_in_plan(node: Node, change: Change, depth: int) -> Node:
    below = map_inputs(node, lambda child: _replace_in_plan(child, change, depth))
    return map_expressions(below, lambda expr: replace_parts(expr, change, depth))


def walk_deep(expr: Expr | Node, depth: int = 0) -> Iterator[tuple[Expr, int]]:
    """Yield every part of an expression or a plan with its depth, parents first, also inside subqueries' plans."""
    left: list[tuple[Expr | Node, int]] = [(expr, depth)]
    while left:
        check_for_interrupts()
        part, depth = left.pop()
        below: list[Expr | Node]
        if isinstance(part, Node):
            below = [*expressions(part), *part.inputs()]
        else:
            yield part, depth
            below = list(part.children())
            if isinstance(part, Subquery):
                left.append((part.plan, depth + 1))
        left += ((one, depth) for one in reversed(below))


def belongs_to(call: AggregateCall | GroupingCall, scope: Scope, depth: int) -> bool:
    """Return whether an aggregate, found `depth` plans below an expression of `scope`, belongs to that level."""
    owners = scope.context.owners
    read = {id(owners[c.id]) for c in references(call) if c.id in owners}
    nearest = next((level for level in scope.levels() if id(level) in read), None)
    if nearest is None:
        return depth == 0 and not read
    return nearest is scope and not _reads_inside(call, scope, read)


def _reads_inside(call: AggregateCall | GroupingCall, scope: Scope, read: set[int]) -> bool:
    """Whether the aggregate also reads columns of a level nested in `scope`: it then belongs to that level."""
    around = {id(level) for level in scope.levels()}
    return not read <= around


def is_set_returning(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.function.returns_set


def own_aggregates(expr: Expr | Node, scope: Scope, start: int = 0) -> Iterator[AggregateCall | GroupingCall]:
    """Yield the aggregates of `scope`'s level in an expression or a plan, except the calls that windows run over.

    start: the depth of `expr`: 0 for an expression of `scope`, 1 for the plan of a subquery in its FROM clause.
    """
    windowed = {id(part.call) for part, _ in walk_deep(expr) if isinstance(part, WindowCall)}
    for part, depth in walk_deep(expr, start):
        if (
            isinstance(part, AggregateCall | GroupingCall)
            and id(part) not in windowed
            and belongs_to(part, scope, depth)
        ):
            yield part


def check_plain(expr: Expr, clause: str, scope: Scope) -> None:
    """Raise for an aggregate, window function or set-returning function where the clause allows none.

    clause: as PostgreSQL names it in these messages: `WHERE`, `JOIN conditions`, `functions in FROM`.
    """
    if isinstance(expr, Const | ParamRef):
        return
    _check_no_aggregates(expr, clause, scope)
    check_no_windows(expr, clause)
    check_no_sets(expr, clause)


def check_lateral(plan: Node, scope: Scope) -> None:
    """Raise for an aggregate of `scope`'s level in a LATERAL subquery of its FROM clause."""
    _check_no_aggregates(plan, "FROM clause of their own query level", scope, start=1)


def _check_no_aggregates(expr: Expr | Node, clause: str, scope: Scope, start: int = 0) -> None:
    for aggregate in own_aggregates(expr, scope, start):
        what = "grouping operations" if isinstance(aggregate, GroupingCall) else "aggregate functions"
        raise GroupingError(f"{what} are not allowed in {clause}", position=cursor(aggregate.position))


def check_no_windows(expr: Expr, clause: str) -> None:
    for part in expr.walk():
        if isinstance(part, WindowCall):
            raise WindowingError(f"window functions are not allowed in {clause}", position=cursor(part.position))


def check_no_sets(expr: Expr, clause: str) -> None:
    for part in expr.walk():
        if is_set_returning(part):
            message = f"set-returning functions are not allowed in {clause}"
            raise FeatureNotSupported(message, position=cursor(part.position))


def check_aggregate(call: AggregateCall, scope: Scope) -> None:
    """Refuse constructs that an aggregate's arguments may not contain (parse_agg.c: check_agg_arguments_walker)."""
    parts = [found for child in call.children() for found in walk_deep(child)]
    windowed = {id(part.call) for part, _ in parts if isinstance(part, WindowCall)}
    for part, depth in parts:
        if (
            isinstance(part, AggregateCall | GroupingCall)
            and id(part) not in windowed
            and belongs_to(part, scope, depth)
        ):
            raise GroupingError("aggregate function calls cannot be nested", position=cursor(part.position))
        if depth:
            continue
        if isinstance(part, WindowCall):
            message = "aggregate function calls cannot contain window function calls"
            raise GroupingError(message, position=cursor(part.position))
        if is_set_returning(part):
            raise FeatureNotSupported(
                "aggregate function calls cannot contain set-returning function calls",
                hint="You might be able to move the set-returning function into a LATERAL FROM item.",
                position=cursor(part.position),
            )


def own_columns(expr: Expr, scope: Scope) -> Iterator[tuple[ColumnRef, int]]:
    """Yield the references to columns of `scope`'s own FROM items, with their depth."""
    for part, depth in walk_deep(expr):
        if isinstance(part, ColumnRef) and scope.context.owners.get(part.column.id) is scope:
            yield part, depth
