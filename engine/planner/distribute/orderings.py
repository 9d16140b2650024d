"""SORT and LIMIT: rows are sorted and cut where they are; they are merged, and cut again, on the initiator.

The rows that a LIMIT wants are among the first `count + offset` of each instance, ties included. The second stage is
left to the consumer (`Flow.limit`): FINAL passes the merged streams on and counts rows, and stops the producers when it
has enough.

Where a table's files can be dealt out so that each instance's rows precede the next one's, a LIMIT over that order
reads the instances in turn, most often only the first. So does a LIMIT over groups by that column, since no two
instances have a group in common. Without a LIMIT all instances work at once instead. Whether a SORT is needed at all is
decided once the splits of each instance are known (`engine.planner.optimizer.file_order`).

A Limit without a count only states that its rows have an order, which they keep.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.common import sql_type as st
from engine.plan_ir.expr import Const, Expr, ParamRef
from engine.plan_ir.logical import Limit, Sort
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.flow import Flow
from engine.planner.distribute.readers import in_order
from wire.types import pg_types as t


def sort(node: Sort, assembly: Assembly) -> Flow:
    below = assembly.flow(node.input)
    return replace(below, node=replace(node, input=below.node), order=node.keys, before_sets=None)


def limit(node: Limit, assembly: Assembly) -> Flow:
    if node.count is None and node.offset is None:
        return _same_order(node, assembly.flow(node.input), assembly)
    below = (_in_turn(node, assembly) if node.count is not None else None) or assembly.flow(node.input)
    first = (
        constant_count(node.count, assembly),
        constant_count(node.offset, assembly) if node.offset is not None else 0,
    )
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
    """Return the sorted input of a LIMIT whose instances are to be read one after the other; None if they cannot be."""
    if not isinstance(node.input, Sort) or node.with_ties or assembly.setting.engine != "local":
        return None
    first = node.input.keys[0]
    found = in_order(node.input.input, first, assembly, grouped=True)
    if found is None:
        return None
    flow = found.flow
    return replace(flow, node=replace(node.input, input=flow.node), order=node.input.keys, in_turn=True)


def _same_order(node: Limit, below: Flow, assembly: Assembly) -> Flow:
    if not {key.column for key in below.order} <= set(node.columns):
        below = assembly.gather(below)
        return replace(below, node=replace(node, input=below.node), order=())
    return replace(below, node=replace(node, input=below.node))


def constant_count(count: Expr | None, assembly: Assembly) -> int | None:
    """Return LIMIT's or OFFSET's number if it is known and valid; else None."""
    value: Any = None
    if isinstance(count, ParamRef):
        value = assembly.setting.parameters[count.index]
    elif isinstance(count, Const):
        value = count.value
    return value if isinstance(value, int) and value >= 0 else None
