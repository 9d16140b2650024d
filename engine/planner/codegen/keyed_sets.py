"""INTERSECT and EXCEPT over values whose equals are stored differently: jsonb, character without a length, and others
(`engine.sql.functions.comparison_keys.needs_key`).

Engines compare the stored values of set operations. GROUP BY compares keys, and takes nulls for equal as set operations
do. So the rows of both sides, each with the number of its side, are grouped by all columns: an EXCEPT keeps the groups
without a row of the second side, an INTERSECT those with rows of both. With ALL, the copies of a row are numbered on
each side first, and the number is one more column: the third copy of a row stays in an EXCEPT if the second side has
only two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Final

from engine.common import sql_type as st
from engine.contracts.query_id import EngineName
from engine.plan_ir.conjuncts import conjunction
from engine.plan_ir.expr import (
    AggregateCall,
    Call,
    Column,
    ColumnRef,
    Const,
    Expr,
    Function,
    Node,
    WindowCall,
    references_to,
)
from engine.plan_ir.logical import Aggregator, Evaluator, SetOperation, Window
from engine.plan_ir.rewrite import rewrite_plan, walk_all
from engine.sql.functions.comparison_keys import needs_key
from engine.sql.functions.registry import registry
from wire.types import pg_types as t

_SIDE: Final = st.of(t.INT4)
_NUMBER: Final = st.of(t.INT8)


def with_keyed_sets(plan: Node, engine: EngineName) -> Node:
    """Return the plan with such operations as aggregations; the plan itself if it has none."""
    if not any(_needs(node, engine) for node in walk_all(plan)):
        return plan
    fresh = count(1 + max(column.id for node in walk_all(plan) for column in node.columns))
    return rewrite_plan(
        plan, lambda node: _group(node, fresh) if isinstance(node, SetOperation) and _needs(node, engine) else node
    )


def _needs(node: Node, engine: EngineName) -> bool:
    return (
        isinstance(node, SetOperation)
        and node.kind != "union"
        and any(needs_key(column.type, engine) for column in node.columns)
    )


def _group(node: SetOperation, fresh: Iterator[int]) -> Node:
    number = (Column(next(fresh), "number", _NUMBER),) if node.all else ()
    side, first, last = (Column(next(fresh), name, _SIDE) for name in ("side", "first", "last"))
    rows = (*_copy(node.columns, fresh), *number)
    sides = [_of_side(input_, place, fresh, numbered=node.all) for place, input_ in enumerate((node.left, node.right))]
    both = SetOperation((*rows, side), "union", True, *sides)
    bounds = [
        AggregateCall(_SIDE, _row("min", t.INT4), (_ref(side),)),
        AggregateCall(_SIDE, _row("max", t.INT4), (_ref(side),)),
    ]
    tests = (_equals(last, 0),) if node.kind == "except" else (_equals(first, 0), _equals(last, 1))
    counted = tuple(_copy(number, fresh))
    groups = Aggregator((*node.columns, *counted, first, last), both, rows, tuple(bounds), filter=conjunction(tests))
    return Evaluator(node.columns, groups, references_to(node.columns))


def _of_side(node: Node, place: int, fresh: Iterator[int], *, numbered: bool) -> Node:
    """Return the rows of one side with the number of the side, and before it, if `numbered`, that of the copy."""
    if numbered:
        call = Call(_NUMBER, _row("row_number"), ())
        copies = Column(next(fresh), "number", _NUMBER)
        node = Window(
            (*node.columns, copies), node, (WindowCall(_NUMBER, call, references_to(node.columns), (), None),)
        )
    columns = (*_copy(node.columns, fresh), Column(next(fresh), "side", _SIDE))
    return Evaluator(columns, node, (*references_to(node.columns), Const(_SIDE, place)))


def _row(name: str, *args: t.PgType) -> Function:
    return next(row for row in registry().functions(name) if row.args == args)


def _equals(column: Column, value: int) -> Expr:
    row = next(row for row in registry().operators("=", 2) if row.args == (t.INT4, t.INT4))
    return Call(st.of(t.BOOL), row, (_ref(column), Const(_SIDE, value)))


def _copy(columns: tuple[Column, ...], fresh: Iterator[int]) -> tuple[Column, ...]:
    return tuple(replace(column, id=next(fresh)) for column in columns)


def _ref(column: Column) -> ColumnRef:
    return ColumnRef(column.type, column)
