"""SORT and LIMIT: sorted, and cut, where the rows are; merged, and cut again, on the initiator.

The rows that a LIMIT wants are among the first `count + offset` of each instance, ties included. The second stage is left to
the consumer (`Flow.limit`): FINAL passes the merged streams on and counts, which stops the producers when it has enough.

Where a table's files can be dealt out so that each instance's rows precede the next one's, a LIMIT over that order reads the
instances in turn, most often the first alone. Without a LIMIT it does not: all instances had better sort at once.

A Limit without a count only states that its rows have an order, which they keep.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.plan.distribute.assembly import Assembly, is_carriable
from engine.plan.distribute.flow import Flow
from engine.plan.distribute.readers import reader_in_order
from engine.plan.distribute.whole import may_be_spread
from engine.plan.logical import Evaluator, Limit, Node, OrderKey, Sort, TableReader
from engine.sql import types as st
from engine.sql.expr import ColumnRef, Const, Expr, ParamRef
from wire import types as t


def sort(node: Sort, assembly: Assembly) -> Flow:
    below = assembly.flow(node.input)
    return replace(below, node=replace(node, input=below.node), order=node.keys)


def limit(node: Limit, assembly: Assembly) -> Flow:
    if node.count is None and node.offset is None:
        return _same_order(node, assembly.flow(node.input), assembly)
    below = (_in_turn(node, assembly) if node.count is not None else None) or assembly.flow(node.input)
    first = bound(node.count, assembly), bound(node.offset, assembly) if node.offset is not None else 0
    if below.is_single or (node.requirement and below.order[: len(node.requirement)] != node.requirement):
        below = assembly.gather(below)
        return replace(below, node=replace(node, input=below.node), order=())
    count, offset = first
    stage = below.node
    if count is not None and offset is not None:
        stage = Limit(
            stage.columns, stage, Const(st.of(t.INT8), count + offset), None, node.requirement, node.with_ties
        )
    return replace(below, node=stage, limit=node)


def _in_turn(node: Limit, assembly: Assembly) -> Flow | None:
    """The sorted input of a LIMIT whose instances are to be read one after the other; None where they cannot."""
    if not isinstance(node.input, Sort) or node.with_ties or assembly.setting.engine != "local":
        return None
    first = node.input.keys[0]
    found = _reader_by(node.input.input, first, assembly)
    if found is None:
        return None
    return replace(found, node=replace(node.input, input=found.node), order=node.input.keys, in_turn=True)


def _reader_by(node: Node, key: OrderKey, assembly: Assembly) -> Flow | None:
    """A table's reader below evaluators that pass its column on as the key."""
    if isinstance(node, TableReader):
        return reader_in_order(node, key, assembly)
    if not isinstance(node, Evaluator) or not may_be_spread(node, assembly) or key.column not in node.columns:
        return None
    passed = node.emit[node.columns.index(key.column)]
    if not isinstance(passed, ColumnRef) or not all(map(is_carriable, node.columns)):
        return None
    below = _reader_by(node.input, replace(key, column=passed.column), assembly)
    return None if below is None else replace(below, node=replace(node, input=below.node))


def _same_order(node: Limit, below: Flow, assembly: Assembly) -> Flow:
    if not {key.column for key in below.order} <= set(node.columns):
        below = assembly.gather(below)
        return replace(below, node=replace(node, input=below.node), order=())
    return replace(below, node=replace(node, input=below.node))


def bound(count: Expr | None, assembly: Assembly) -> int | None:
    """LIMIT's or OFFSET's number as far as it is known and lawful; None otherwise."""
    value: Any = None
    if isinstance(count, ParamRef):
        value = assembly.setting.parameters[count.index]
    elif isinstance(count, Const):
        value = count.value
    return value if isinstance(value, int) and value >= 0 else None
