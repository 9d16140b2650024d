"""Replaces the rows of the system relations in a kept plan by the current ones.

The rows are in the plan, in its readers, and nothing else in the plan depends on them. So the plan need not be bound
again whatever is created or changed; binding takes long for a view of information_schema. An engine knows the rows by
the relation's OID, so the compiled form of the plan stays valid too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine.catalog.model.objects import Relation, SystemTable
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Root, TableReader
from engine.plan_ir.rewrite import rewrite_plan


def with_rows_of_now(plan: Root, find: Callable[[SystemTable], Relation | None]) -> Root:
    """Return the plan with the current rows of its system relations; the same plan if no rows have changed. find:
    returns the current state of a relation, or the relation itself; its errors are raised.
    """
    found: dict[int, SystemTable] = {}

    def of_now(node: Node) -> Node:
        if not isinstance(node, TableReader) or not isinstance(node.table, SystemTable):
            return node
        if node.table.oid not in found:
            found[node.table.oid] = _as_planned(find(node.table))
        now = found[node.table.oid]
        # Relations have versions: reading the same rows under another version would be another statement for the
        # engine.
        return node if now is node.table or now.rows.equals(node.table.rows) else replace(node, table=now)

    rewritten = rewrite_plan(plan, of_now)
    assert isinstance(rewritten, Root), "the top stays what it is"
    return rewritten


def _as_planned(found: Relation | None) -> SystemTable:
    assert isinstance(found, SystemTable), "as it was when it was planned"
    return found
