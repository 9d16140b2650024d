"""GROUPING SETS, ROLLUP and CUBE on Spark: the empty grouping set returns a row even if its input has none.

Spark expands each input row into one row for each set, so an empty input gives no rows at all. This pass adds one row
of nulls to the input, with a mark that distinguishes it from the others. No aggregate takes that row. Every set but the
empty one also groups by the mark, so that a filter can drop the groups which the added row makes there. In the empty
set the mark is null, as is every column that is not in a set.

Source: PostgreSQL 15, 7.2.4 (a grouping set without columns is a group of all input rows, "even if no input rows were
present").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from engine.common import sql_type as st
from engine.plan_ir.conjuncts import conjunction
from engine.plan_ir.expr import AggregateCall, Column, ColumnRef, Const, Expr, IsNull, Node, Or
from engine.plan_ir.logical import Aggregator, Evaluator, SetOperation, Values
from engine.plan_ir.rewrite import rewrite_plan, walk_all
from wire.types import pg_types as t

_BOOL = st.of(t.BOOL)


def with_grand_totals(plan: Node) -> Node:
    """Return the plan with the rows of empty grouping sets over empty inputs; the plan itself if nothing needs them."""
    if not any(_needs(node) for node in walk_all(plan)):
        return plan
    fresh = count(1 + max(column.id for node in walk_all(plan) for column in node.columns))
    return rewrite_plan(plan, lambda node: _add_totals(node, fresh) if isinstance(node, Aggregator) else node)


def _needs(node: Node) -> bool:
    sets = node.grouping_sets if isinstance(node, Aggregator) else None
    # A single empty set is compiled without GROUP BY.
    return sets is not None and sets != ((),) and () in sets


def _add_totals(node: Aggregator, fresh: Iterator[int]) -> Node:
    if not _needs(node):
        return node
    assert node.grouping_sets is not None, "it needs a total"
    # A grouped column is null outside of its sets; in Spark also in the aggregates that HAVING names. So there are two
    # marks.
    mark, other, key = (Column(next(fresh), "mark", _BOOL) for _ in range(3))
    grouped = any(node.grouping_sets)
    keys, place = len(node.group), len(node.group)
    kept = Or(_BOOL, (IsNull(_BOOL, _ref(key)), _ref(key)))
    aggregator = Aggregator(
        (*node.columns[:keys], *((key,) if grouped else ()), *node.columns[keys:]),
        _with_row(node.input, (mark, other), fresh),
        (*node.group, other) if grouped else node.group,
        tuple(_filter_by_mark(aggregate, mark) for aggregate in node.aggregates),
        tuple((*indexes, place) if indexes else () for indexes in node.grouping_sets),
        node.groupings,
        kept if grouped else None,
    )
    refs = _refs(node.columns)
    if node.filter is None:
        return Evaluator(node.columns, aggregator, refs)
    # Spark does not resolve the columns of a combined HAVING, and the query's HAVING must not fail for groups that do
    # not exist.
    return Evaluator(node.columns, Evaluator(node.columns, aggregator, refs, barrier=True), refs, node.filter)


def _with_row(node: Node, marks: tuple[Column, ...], fresh: Iterator[int]) -> Node:
    """Return the rows, marked as true, and one row of nulls, marked as false."""
    columns = (*node.columns, *marks)

    def copies() -> tuple[Column, ...]:
        return tuple(replace(column, id=next(fresh)) for column in columns)

    rows = Evaluator(copies(), node, (*_refs(node.columns), *(Const(_BOOL, True) for _ in marks)))
    nulls = tuple(Const(column.type, None) for column in node.columns)
    row = (*nulls, *(Const(_BOOL, False) for _ in marks))
    return SetOperation(columns, "union", True, rows, Values(copies(), (row,)))


def _filter_by_mark(aggregate: AggregateCall, mark: Column) -> AggregateCall:
    tests = (_ref(mark),) if aggregate.filter is None else (_ref(mark), aggregate.filter)
    return replace(aggregate, filter=conjunction(tests))


def _ref(column: Column) -> ColumnRef:
    return ColumnRef(column.type, column)


def _refs(columns: tuple[Column, ...]) -> tuple[Expr, ...]:
    return tuple(map(_ref, columns))
