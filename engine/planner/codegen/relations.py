"""Plans as queries: each node of the logical plan folded into a `Block`, from the leaves up.

This module has the dispatch, and the nodes that filter, compute and order. `sources` has the nodes that rows come from,
`joins` those that combine, `grouping` aggregation, and `sets` set operations and common table expressions.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.common.interrupts import check_for_interrupts
from engine.plan_ir.expr import Column, ColumnRef, Const, Node, ParamRef
from engine.plan_ir.free_columns import references
from engine.plan_ir.logical import (
    Aggregator,
    CteReader,
    DistinctOn,
    Evaluator,
    FunctionScan,
    Join,
    Limit,
    ProjectSet,
    Root,
    SetOperation,
    Sort,
    TableReader,
    Values,
    Window,
    With,
)
from engine.plan_ir.physical import Receive
from engine.plan_ir.volatility import volatile_ids
from engine.planner.codegen import grouping, joins, limits, sets, sources, window_keys
from engine.planner.codegen.barrier import add_barrier
from engine.planner.codegen.block import Block, Stage
from engine.planner.codegen.expressions import render
from engine.planner.codegen.filters import add_filter
from engine.planner.codegen.interruptible import interruptible
from engine.planner.codegen.many_subqueries import make_room
from engine.planner.codegen.ordering import in_order, sorted_block
from engine.planner.codegen.scope import Scope
from engine.planner.codegen.windows import render_window
from engine.sql.trees.build import QueryTree


def query(node: Node, outer: Scope) -> QueryTree:
    """Compile `node` to a complete query inside `outer`, its columns labelled."""
    return relation(node, Scope(outer.compilation, {}, outer)).close(node.columns)


def relation(node: Node, scope: Scope) -> Block:
    """Compile `node` to a block. `scope`: its `outer` is the enclosing scope; the block has a scope of its own."""
    check_for_interrupts()
    block = _relation(node, Scope(scope.compilation, {}, scope.outer))
    return interruptible(block) if id(node) in scope.compilation.watched else block


def _relation(node: Node, scope: Scope) -> Block:
    match node:
        case TableReader():
            return _table_reader(node, scope)
        case Receive():
            return sources.receive(node, scope)
        case Values():
            return sources.values(node, scope)
        case FunctionScan():
            return sources.function_scan(node, scope)
        case CteReader():
            return sets.cte_reader(node, scope)
        case Evaluator():
            return _evaluator(node, scope)
        case ProjectSet():
            return sources.project_set(node, relation(node.input, scope))
        case Join():
            return joins.join(node, scope, relation)
        case Aggregator():
            block = grouping.aggregate(node, relation(node.input, scope))
            return block if node.filter is None else add_filter(block, node.filter)
        case DistinctOn():
            return limits.distinct_on(node, relation(node.input, scope))
        case Window():
            return _window(node, scope)
        case SetOperation():
            return sets.set_operation(node, scope, relation)
        case With():
            return sets.with_(node, scope, relation)
        case Sort():
            return sorted_block(relation(node.input, scope), node.keys)
        case Limit():
            return _only(limits.limit(node, relation(node.input, scope)), node.columns)
        case Root():
            return _only(in_order(node, relation(node.input, scope)), node.columns)
        case _:
            raise AssertionError(f"{type(node).__name__} is no node of the logical plan")


def _only(block: Block, columns: Sequence[Column]) -> Block:
    if block.whole is None:
        block.scope.columns = {c.id: block.scope.columns[c.id] for c in columns}
    return block


def _table_reader(node: TableReader, scope: Scope) -> Block:
    block = sources.table_reader(node, scope)
    return block if node.filter is None else add_filter(block, node.filter)


def _evaluator(node: Evaluator, scope: Scope) -> Block:
    block = relation(node.input, scope).flat()
    if node.filter is not None:
        block = add_filter(block, node.filter)
    if block.stage is Stage.LIMITED and not all(isinstance(e, (ColumnRef, Const, ParamRef)) for e in node.emit):
        block = block.as_derived_table(keep_order=True)
    block, emit = make_room(block, node.emit)
    block = block.ready_for(emit)
    computed = {c.id: render(expr, block.scope) for c, expr in zip(node.columns, emit, strict=True)}
    block.volatile = _volatile(node, block)
    block.scope.columns = computed
    return add_barrier(block) if node.barrier else block


def _volatile(node: Evaluator, block: Block) -> set[int]:
    """Return the columns that are volatile by themselves or by the columns that they refer to."""
    inherited = {
        column.id
        for column, expr in zip(node.columns, node.emit, strict=True)
        if block.volatile and any(c.id in block.volatile for c in references(expr))
    }
    return inherited | volatile_ids(node.columns, node.emit)


def _window(node: Window, scope: Scope) -> Block:
    block = relation(node.input, scope)
    if block.stage > Stage.FILTERED or block.whole is not None:
        block = block.as_derived_table(keep_order=True)
    block = block.ready_for(node.calls)
    block, calls = window_keys.below(block, node.calls)
    kept = len(node.columns) - len(node.calls)
    columns = {c.id: block.scope.columns[c.id] for c in node.columns[:kept]}
    named = zip(node.columns[kept:], calls, strict=True)
    columns.update({c.id: render_window(call, block.scope, block.order) for c, call in named})
    block.scope.columns = columns
    block.stage = Stage.PROJECTED
    return block
