"""EVALUATOR and PROJECT SET: both take each row by itself, so they run where their input is.

Columns that are passed on keep their properties: the partitioning of the rows, and their order. An order by a column
that is not passed on could not be restored after an exchange, so such an input is gathered in one place first.
"""

from __future__ import annotations

from dataclasses import replace

from engine.plan_ir.expr import ColumnRef
from engine.plan_ir.logical import Evaluator, ProjectSet
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.flow import Equals, Flow
from engine.planner.optimizer.ordering import ordering_of


def evaluator(node: Evaluator | ProjectSet, assembly: Assembly) -> Flow:
    below = assembly.for_output(assembly.flow(node.input), node)
    if below.order and len(ordering_of(replace(node, input=below.node))) < len(below.order):
        below = assembly.gather(below)
    spread = replace(node, input=below.node)
    order = ordering_of(spread) if below.order else ()
    before_sets = below.before_sets
    if isinstance(node, ProjectSet) and order and before_sets is None:
        before_sets = below
    return replace(
        below, node=spread, parted=_rename_partitioning(below.parted, node), order=order, before_sets=before_sets
    )


def _rename_partitioning(parted: tuple[Equals, ...] | None, node: Evaluator | ProjectSet) -> tuple[Equals, ...] | None:
    """Translate the partitioning into the columns that pass its keys on; None if a key is not passed on."""
    if parted is None:
        return None
    pairs = list(zip(node.columns, node.emit, strict=True))
    renamed = tuple(
        frozenset(column.id for column, expr in pairs if isinstance(expr, ColumnRef) and expr.column.id in equals)
        for equals in parted
    )
    return renamed if all(renamed) else None
