"""Equalities of a join's condition by which its sides can be brought together, and their keys as columns for a router."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from engine.plan_ir.conjuncts import conjuncts
from engine.plan_ir.expr import Column, ColumnRef, Expr, IsDistinct, Node, references_to
from engine.plan_ir.free_columns import references
from engine.plan_ir.logical import Evaluator, Join
from engine.plan_ir.predicates import has_subquery, is_equality
from engine.plan_ir.volatility import is_volatile
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.flow import Flow
from engine.planner.distribute.hashing import hash_class
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Equality:
    """An equality of two expressions, one of each side. Under IS NOT DISTINCT FROM two nulls are equal, so a router
    sends them to one place.
    """

    left: Expr
    right: Expr


def equalities(node: Join) -> Iterator[Equality]:
    """Yield the equalities between the sides, whichever way round, over types that are hashed alike."""
    for part in conjuncts(node.condition):
        found = _equality(part, node)
        if found is not None:
            yield found


def _equality(part: Expr, node: Join) -> Equality | None:
    if isinstance(part, IsDistinct) and part.negated:
        sides = part.left, part.right
    elif is_equality(part):
        sides = part.args[0], part.args[1]
    else:
        return None
    for left, right in (sides, sides[::-1]):
        if _is_of(left, node.left) and _is_of(right, node.right):
            classes = {hash_class(left.type.pg), hash_class(right.type.pg)}
            return Equality(left, right) if len(classes) == 1 and None not in classes else None
    return None


def _is_of(expr: Expr, side: Node) -> bool:
    used = set(references(expr))
    simple = not is_volatile(expr) and not has_subquery(expr)
    return simple and bool(used) and used <= set(side.columns)


def with_keys(flow: Flow, keys: Sequence[Expr], assembly: Assembly) -> tuple[Flow, tuple[Column, ...]]:
    """Return the flow with a column for each key: keys that are not columns are computed, for the router only."""
    carried = flow.node.columns
    columns, computed = [], []
    for key in keys:
        if isinstance(key, ColumnRef):
            columns.append(key.column)
        else:
            column = assembly.column(key.type, "key")
            columns.append(column)
            computed.append((column, key))
    if computed:
        emit = (*references_to(carried), *(key for _, key in computed))
        flow = replace(flow, node=Evaluator((*carried, *(column for column, _ in computed)), flow.node, emit))
    return flow, tuple(columns)
