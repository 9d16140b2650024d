"""Equality of expressions that contain subqueries (equalfuncs.c: equal).

Each subquery is bound separately, so the columns and common table expressions that it creates have ids of their own.
Two expressions that are written alike differ in nothing else. Before they are compared, these ids are replaced by
numbers in order of occurrence.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from typing import Any, Final

from engine.plan_ir.expr import Column, Expr, Frame, FrameBound, Node, OrderItem, Subquery
from engine.plan_ir.logical import Cte, CteReader, OrderKey
from engine.plan_ir.rewrite import walk_all

_PARTS: Final = (Node, Expr, OrderItem, OrderKey, Cte, Frame, FrameBound)


def comparable(expr: Expr) -> Expr:
    """Return an expression that equals that of another exactly if both are written alike; `expr` itself if it has no
    subquery.
    """
    plans = [part.plan for part in expr.walk() if isinstance(part, Subquery)]
    if not plans:
        return expr
    numbers: dict[int, int] = {}
    for node in (node for plan in plans for node in walk_all(plan)):
        for column in node.columns:
            numbers.setdefault(column.id, -1 - len(numbers))
    numbered: Expr = _renumber(expr, numbers, {})
    return numbered


def is_same(one: Expr, other: Expr) -> bool:
    return one == other or (one.__class__ is other.__class__ and comparable(one) == comparable(other))


def _renumber(thing: Any, columns: dict[int, int], ctes: dict[int, int]) -> Any:
    if isinstance(thing, Column):
        return replace(thing, id=columns.get(thing.id, thing.id))
    if isinstance(thing, tuple):
        return tuple(_renumber(item, columns, ctes) for item in thing)
    if not isinstance(thing, _PARTS):
        return thing
    kind: Any = thing.__class__
    number = ctes.setdefault(thing.id, -1 - len(ctes)) if isinstance(thing, Cte) else 0
    changed = {name: _renumber(getattr(thing, name), columns, ctes) for name in _names(kind)}
    if isinstance(thing, Cte):
        changed["id"] = number
    elif isinstance(thing, CteReader):
        changed["cte"] = ctes.get(thing.cte, thing.cte)
    return replace(thing, **changed)


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
