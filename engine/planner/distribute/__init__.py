"""From the optimised logical plan to a physical one: what runs where, and which rows move.

    plan = distribute(logical_plan, Setting(("a", "b"), initiator="a"))

A pure function (CockroachDB's RFC, "From logical to physical"). Each logical node becomes a *flow* (`flow`), bottom up.
A reader has an instance on every member that has a split of its table. Operators run where their input is. Where rows
must meet, an exchange cuts off a fragment, and its rows are hashed, mirrored or gathered (`assembly`). The root runs on
the initiator. Each operator family has one file: `readers`, `evaluators`, `joins` (after `join_order`, with `lookups`),
`aggregates` (with `partials`), `sets`, `windows`, `orderings`, `mutations`, `root`; nodes that are not distributed
belong to `undistributable`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from engine.catalog.model.objects import SystemTable, Table
from engine.plan_ir import logical
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import TableReader
from engine.plan_ir.physical import Fragment, Instance, PhysicalPlan, StagedChange
from engine.plan_ir.rewrite import walk_all
from engine.planner.codegen.scans import is_scanned
from engine.planner.distribute import operators
from engine.planner.distribute.assembly import Assembly, NotDistributable, Setting
from engine.planner.distribute.join_order import order_joins
from engine.planner.distribute.root import root
from engine.planner.optimizer.workload import workload
from engine.settings.session_settings import size_text
from wire.errors import FeatureNotSupported

__all__ = ["Decision", "Distribution", "NotDistributable", "Setting", "distribute", "should_distribute"]

Distribution = Literal["auto", "off", "always"]
#: Below this many bytes of column data (`engine.planner.optimizer.workload`) a query ends before its fragments could be
#: dispatched.
WORTHWHILE_BYTES: Final = 8 << 20
Decision = tuple[bool, str]


def should_distribute(plan: Node, wish: Distribution, setting: Setting) -> Decision:
    """Return whether a plan is to be distributed, and why. Data that only another member can read decides before
    `wish`.
    """
    tables = [node for node in walk_all(plan) if isinstance(node, TableReader) and isinstance(node.table, Table)]
    if _is_elsewhere(plan, setting):
        return True, "it reads tables that other members hold"
    if wish == "off":
        return False, "sluice.distribution is off"
    if not tables:
        systems = any(isinstance(node, TableReader) and isinstance(node.table, SystemTable) for node in walk_all(plan))
        return False, "the system catalog is the member's own" if systems else "it reads no table"
    if set(setting.members) <= {setting.initiator}:
        return False, "no other member reads data"
    if wish == "always":
        return True, "sluice.distribution is always"
    work = workload(plan, setting.parameters, WORTHWHILE_BYTES - 1)
    if work.size < WORTHWHILE_BYTES:
        return False, f"{work.text}, less than {size_text(WORTHWHILE_BYTES)}"
    return True, work.text


def distribute(
    plan: logical.Root, setting: Setting, reason: str = "", change: StagedChange | None = None
) -> PhysicalPlan:
    """Return the physical plan of a logical one.

    reason: why the plan is distributed, in words (`should_distribute`). change: the plan's rows are to be written; the
    instances that make them write them where that is possible (`PhysicalPlan.mutates`), else the rows arrive at the
    root.

    A plan that cannot be taken apart, or whose data one Spark can see, is one fragment on the initiator. Raises
    FeatureNotSupported where that is not possible, because only other members can read some of the data.
    """
    elsewhere = _is_elsewhere(plan, setting)
    if setting.engine == "spark" and not elsewhere:
        spread = _over_sparks(plan, setting, reason, change)
        return spread or _one_fragment(plan, setting, "one Spark sees all the tables, and parts the work itself")
    assembly = Assembly(setting, operators.plan, plan, None if change is None else change.rules.arrival)
    try:
        _check_tables(plan)
        ordered = order_joins(plan, assembly)
        assert isinstance(ordered, logical.Root)
        fragments, edges = assembly.finish(root(ordered, assembly, change))
    except NotDistributable as obstacle:
        if elsewhere:
            raise FeatureNotSupported(f"not supported: {obstacle} (it reads tables that other members hold)") from None
        return _one_fragment(plan, setting, str(obstacle))
    if len(fragments) == 1:
        reason = "nothing in it can be done in several places"
    return PhysicalPlan(setting.initiator, fragments, edges, reason)


def _over_sparks(plan: logical.Root, setting: Setting, reason: str, change: StagedChange | None) -> PhysicalPlan | None:
    """Return the plan of a change whose rows the members' Sparks make and write, each from its own files, without an
    exchange; None for any other change.
    """
    if change is None or not change.sparks or len(setting.members) < 2 or any(map(_is_scanned, walk_all(plan))):
        return None
    assembly = Assembly(setting, operators.plan, plan)
    try:
        _check_tables(plan)
        fragments, edges = assembly.finish(root(plan, assembly, change))
    except NotDistributable:
        return None
    physical = PhysicalPlan(setting.initiator, fragments, edges, reason)
    return physical if len(fragments) == 2 and physical.mutates else None


def _is_scanned(node: Node) -> bool:
    """Whether tasks of one Spark read it through DuckDB; that Spark's driver decides which task reads what."""
    return isinstance(node, TableReader) and isinstance(node.table, Table) and is_scanned(node)


def _one_fragment(plan: logical.Root, setting: Setting, reason: str) -> PhysicalPlan:
    fragment = Fragment(1, plan, (Instance(setting.initiator),), engine=setting.engine, reason=reason)
    return PhysicalPlan(setting.initiator, (fragment,), (), f"not distributed: {reason}")


def _check_tables(plan: Node) -> None:
    if any(isinstance(node, TableReader) and isinstance(node.table, SystemTable) for node in walk_all(plan)):
        raise NotDistributable("the system catalog is the member's own, and is read by plans that stay there")
    tables = (node.table for node in walk_all(plan) if isinstance(node, TableReader))
    if any(isinstance(table, Table) and table.lake == "spark" for table in tables):
        raise NotDistributable("a table of Spark's catalogs is read by one Spark")


def _files(reader: TableReader) -> Sequence[str]:
    return reader.table.files if isinstance(reader.table, Table) else ()


def _is_elsewhere(plan: Node, setting: Setting) -> bool:
    if not setting.pinned:
        return False
    readers = (node for node in walk_all(plan) if isinstance(node, TableReader))
    return any(setting.pinned.get(f, setting.initiator) != setting.initiator for r in readers for f in _files(r))
