"""AGGREGATOR: GROUP BY with grouping sets, GROUPING(), aggregates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import Final

from sqlglot import exp

from engine.common.sql_type import of
from engine.plan_ir.expr import AggregateCall, Column, ColumnRef, Const, Expr, ParamRef, Subquery
from engine.plan_ir.free_columns import references
from engine.plan_ir.logical import Aggregator
from engine.plan_ir.predicates import has_subquery
from engine.plan_ir.volatility import is_volatile, volatile_ids
from engine.planner.codegen.aggregates import ORDER_SENSITIVE, guard_arguments, render_aggregate
from engine.planner.codegen.block import Block, Stage, mark_aggregate
from engine.planner.codegen.computed_below import computed_below
from engine.planner.codegen.expressions import render
from engine.planner.codegen.scope import Scope
from engine.sql.functions.comparison_keys import equality_key, needs_key
from engine.sql.trees.build import call, case, cast, equals, integer
from engine.sql.trees.storage_types import storage_type
from wire.types import pg_types as t

_ALL_ROWS: Final = 2**63 - 1


def aggregate(node: Aggregator, block: Block) -> Block:
    """Group a block's rows and compute the aggregates, without the output filter."""
    if block.stage > Stage.FILTERED or block.whole is not None:
        block = block.as_derived_table(keep_order=True)
    block = block.ready_for([*node.aggregates, *(ColumnRef(c.type, c) for c in node.group)])
    # An aggregate whose columns all belong to an outer query would be the outer query's aggregate.
    if (
        block.passes_on()
        or any(_reads_outer_only(a, block) for a in node.aggregates)
        or not all(_may_be_key(block.scope.column(c), node) for c in node.group)
    ):
        block = block.as_derived_table(keep_order=True)
    if any(map(_listens, node.aggregates)) and not block.order:
        block = _one_after_another(block)
    block, aggregates = _with_plain_arguments(node.aggregates, block)
    block, aggregates = _with_plain_subqueries(aggregates, block)
    order, block.order = block.order, []
    scope = block.scope
    keys = [_key(c, scope) for c in node.group]
    emitted = [
        *(_value(c, key, node, scope) for c, key in zip(node.group, keys, strict=True)),
        *(render_aggregate(a, scope, order if _listens(a) else ()) for a in aggregates),
        *(_grouping(indexes, keys, node, scope) for indexes in node.groupings),
    ]
    block.group = _group_by(keys, node)
    block.is_total = block.group is None
    if block.is_total:
        for tree in emitted:
            mark_aggregate(tree)
    scope.columns = {c.id: tree for c, tree in zip(node.columns, emitted, strict=True)}
    aggregated = node.columns[len(node.group) :][: len(node.aggregates)]
    block.volatile = volatile_ids(aggregated, node.aggregates)
    block.stage = Stage.GROUPED
    return block


def _reads_outer_only(call_: AggregateCall, block: Block) -> bool:
    """Return whether an aggregate reads columns of an outer query, and of its own query only constants."""
    columns = block.scope.columns
    own = [columns[c.id] for c in references(call_) if c.id in columns]
    outer = any(c.id not in columns for c in references(call_))
    return outer and bool(own) and not any(tree.find(exp.Column) for tree in own)


def _listens(call_: AggregateCall) -> bool:
    return call_.function.name in ORDER_SENSITIVE and not call_.order_by and not is_volatile(call_)


def _one_after_another(block: Block) -> Block:
    """Return the rows of one relation in the order in which they are stored. DuckDB's threads would each take some of
    them, and array_agg would show that.

    A limit that lets all of them pass is a stream, and keeps the order of what it reads.
    """
    if block.scope.engine != "local" or block.scope.is_inside or block.source is None or block.joins:
        return block
    block.limit, block.stage = integer(_ALL_ROWS), Stage.LIMITED
    return block.as_derived_table()


def _with_plain_arguments(calls: Sequence[AggregateCall], block: Block) -> tuple[Block, Sequence[AggregateCall]]:
    """Return a block that has arguments of DISTINCT aggregates as columns, and the calls that refer to them. DuckDB
    does not recognise an argument of lambdas in the call's own ORDER BY, nor does it take one that is a subquery.
    """
    hard = [_has_hard_arguments(call_) for call_ in calls]
    if block.scope.engine == "spark" or not any(hard):
        return block, calls
    calls = [
        guard_arguments(call_, block.scope) if is_hard else call_ for call_, is_hard in zip(calls, hard, strict=True)
    ]
    args: list[Expr] = []
    for arg in (arg for call_ in compress(calls, hard) for arg in call_.args if _is_computed(arg)):
        if arg not in args:  # array constants have no hash
            args.append(arg)
    block, plain = computed_below(block, "arg", [(arg, render(arg, block.scope)) for arg in args])

    def with_plain(call_: AggregateCall) -> AggregateCall:
        order = tuple(replace(item, expr=plain(item.expr)) for item in call_.order_by)
        return replace(call_, args=tuple(map(plain, call_.args)), order_by=order)

    return block, [with_plain(call_) if is_hard else call_ for call_, is_hard in zip(calls, hard, strict=True)]


def _with_plain_subqueries(calls: Sequence[AggregateCall], block: Block) -> tuple[Block, Sequence[AggregateCall]]:
    """Return a block that has the parts of aggregates with a subquery as columns, and the calls that refer to them.
    Spark takes a subquery with a collecting aggregate or a window, such as those of set operations, for one that differs
    at each evaluation, and refuses it in an aggregate.
    """
    found: list[Expr] = []
    for part in (part for call_ in calls for part in _parts(call_)):
        if has_subquery(part) and part not in found:
            found.append(part)
    if block.scope.engine != "spark" or not found:
        return block, calls
    block, plain = computed_below(block, "part", [(part, render(part, block.scope)) for part in found])
    return block, [
        replace(
            call_,
            args=tuple(map(plain, call_.args)),
            order_by=tuple(replace(item, expr=plain(item.expr)) for item in call_.order_by),
            filter=call_.filter and plain(call_.filter),
        )
        for call_ in calls
    ]


def _parts(call_: AggregateCall) -> Iterator[Expr]:
    yield from call_.args
    yield from (item.expr for item in call_.order_by)
    if call_.filter is not None:
        yield call_.filter


def _has_hard_arguments(call_: AggregateCall) -> bool:
    if not call_.distinct:
        return False
    return any(
        isinstance(part, Subquery) or (call_.order_by and _is_computed(arg))
        for arg in call_.args
        for part in arg.walk()
    )


def _is_computed(expr: Expr) -> bool:
    return not isinstance(expr, (ColumnRef, Const, ParamRef))


def _may_be_key(tree: exp.Expression, node: Aggregator) -> bool:
    """Whether GROUP BY may hold the expression. It takes a literal for a column's number. Grouping sets, whose columns
    become null, need columns.
    """
    if node.grouping_sets is not None:
        return isinstance(tree, exp.Column)
    return tree.find(exp.Column) is not None and tree.find(exp.Query) is None


def _key(column: Column, scope: Scope) -> exp.Expression:
    tree = scope.column(column)
    return equality_key(tree, column.type, scope.engine) if needs_key(column.type, scope.engine) else tree


def _value(column: Column, key: exp.Expression, node: Aggregator, scope: Scope) -> exp.Expression:
    """Return the group's value of a key column. Where equal values may be stored differently, it is the value of any
    row.
    """
    if not needs_key(column.type, scope.engine):
        return scope.copy(key)
    value = call("ANY_VALUE", scope.column(column))
    if node.grouping_sets is None:
        return value
    return case([(equals(call("GROUPING", key.copy()), integer(0)), value)], None)


def _group_by(keys: list[exp.Expression], node: Aggregator) -> exp.Group | None:
    sets = node.grouping_sets
    if sets is None:
        return exp.Group(expressions=keys) if keys else None
    if sets == ((),):
        return None
    tuples = [exp.Tuple(expressions=[keys[i].copy() for i in indexes]) for indexes in sets]
    return exp.Group(grouping_sets=[exp.GroupingSets(expressions=tuples)])


def _grouping(indexes: tuple[int, ...], keys: list[exp.Expression], node: Aggregator, scope: Scope) -> exp.Expression:
    """Compile GROUPING(a, b): one bit a column, the last the lowest; Spark has it for one column only."""
    integer_type = storage_type(of(t.INT4), scope.engine)
    if node.grouping_sets is None:
        return integer(0)
    if node.grouping_sets == ((),):
        return integer(2 ** len(indexes) - 1)
    bits: exp.Expression | None = None
    for place, index in enumerate(reversed(indexes)):
        bit: exp.Expression = cast(call("GROUPING", keys[index].copy()), integer_type.copy())
        bit = exp.Mul(this=bit, expression=integer(2**place)) if place else bit
        bits = bit if bits is None else exp.Add(this=bits, expression=bit)
    assert bits is not None
    return bits
