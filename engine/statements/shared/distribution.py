"""Decides whether and how a query is distributed over the members: from a session's logical plan to the specifications
for participants.

The rules, in order (`SET sluice.distribution = auto | off | always`):

- Tables that only other members hold are read there, whatever the setting. This member does not know their sizes, so
  `auto` leaves the query to those members' local engines, which need no start.
- If a topology's links or capacities do not permit the plan, operators are moved
  (`engine.planner.distribute.relocate`).
- Over shared storage, Spark distributes a query that runs on Spark itself: one fragment, here, or on the member whose
  Spark this one uses (`spark.member`, or the host of the application that members share). The exception is a change
  whose files can be divided: the Sparks of all members make it, if each has an embedded one.
- `auto`: a small query runs here, since it ends before its parts could be handed out. A query that is too large for
  this member's local engine, or slower there than on Spark, but not if each member takes a share of it, runs on the
  local engines of all.
- A query that cannot be divided runs here as a whole; the reason says so.

Before that, files that cannot hold a row for the query are left out of its plan (`engine.planner.optimizer.pruning`),
so that sizes mean the sizes of what is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Final

import pyarrow as pa

from engine.catalog.model.objects import Table
from engine.catalog.model.remote_file_ref import remote_file_ref
from engine.contracts.executor import OutputColumn
from engine.contracts.materialized_results import ConstantRows
from engine.contracts.mesh import Members
from engine.contracts.output_cast import carrier_schema
from engine.plan_ir import logical
from engine.plan_ir.logical import TableReader
from engine.plan_ir.physical import PhysicalPlan, StagedChange
from engine.plan_ir.rewrite import walk_all
from engine.plan_ir.spec import MemberSpec
from engine.plan_ir.topology import Topology
from engine.planner.codegen import Bindings
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.planner.distribute import Setting, distribute, should_distribute
from engine.planner.distribute.dispatch import specs
from engine.planner.distribute.hosted_spark import distribute_to_host
from engine.planner.distribute.relocate import relocate
from engine.planner.optimizer.file_order import in_split_order
from engine.planner.optimizer.pruning import prune_files
from engine.planner.planner import Choice, choose, compile_choice
from engine.sql.trees.unsupported import Unsupported
from engine.statements.shared.terms import Terms
from wire.dataclass import dataclass
from wire.errors import (
    ConfigurationLimitExceeded,
    DivisionByZero,
    FeatureNotSupported,
    ObjectNotInPrerequisiteState,
    SerializationFailure,
)

_TAKES_PART: Final = ("up", "suspect")


@dataclass(frozen=True, slots=True)
class DistributedQuery:
    """A query ready to be started on its members.

    shared, members: as `engine.planner.distribute.dispatch.specs` gives them. schema: of the root's batches, in
    carriers. area: the folder where its members stage files, if they write the rows; the root then receives their
    intents.
    """

    shared: bytes
    members: Mapping[str, MemberSpec]
    schema: pa.Schema
    area: str | None = None


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query ready to run: one fragment here, or fragments on several members.

    - physical: the distributed plan; None if it was clear without one that the query is not distributed
    - notice: what the client is told when the query is executed
    - values: of the fragment's parameters, if it is compiled for any values (`engine.sql.trees.parameters`)
    - constant: the rows, if each execution returns the same ones; None if not, or if that is unknown
    """

    choice: Choice
    runs: CompiledFragment | DistributedQuery
    physical: PhysicalPlan | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    constant: ConstantRows | None = field(default=None, compare=False)
    notice: str | None = None


def data_members(mesh: Members) -> tuple[str, ...]:
    """Return the members that may run fragments now. This member may do so even while it drains: for transactions that
    have begun.
    """
    return tuple(m.id for m in mesh.members() if m.role == "data" and (m.local or m.state in _TAKES_PART))


def compile_query(
    plan: logical.Root,
    terms: Terms,
    bindings: Bindings,
    mesh: Members,
    topology: Topology | None,
    *,
    analyze: bool = False,
    change: StagedChange | None = None,
) -> CompiledQuery:
    """Compile the query as it will run under these terms.

    Where members share an application and another one hosts it, a query that cannot run there runs on the local engine:
    a second application might wait for cores forever.

    Raises FeatureNotSupported; DivisionByZero of constants; SerializationFailure if a member that holds some of its
    tables is lost; ObjectNotInPrerequisiteState and ConfigurationLimitExceeded if the topology does not permit the
    query.

    analyze: members count what they do. change: the statement that writes the query's rows; participants write them if
    they can.
    """
    if plan.divides_by_zero:
        raise DivisionByZero("division by zero")
    plan = prune_files(plan, bindings.parameters)
    query = _compile(plan, terms, bindings, mesh, topology, analyze, change)
    if terms.spark_host is None or not isinstance(query.runs, CompiledFragment) or query.runs.engine != "spark":
        return query
    if topology is None and terms.spark_member in data_members(mesh):
        query = _compile_for_host(plan, query.choice, terms, bindings, mesh, analyze, change)
    return query if isinstance(query.runs, DistributedQuery) else _compile_local(plan, terms, bindings, mesh)


def _compile_local(plan: logical.Root, terms: Terms, bindings: Bindings, mesh: Members) -> CompiledQuery:
    """Compile a query that cannot run on the Spark of its host for this member's local engine. Raises
    FeatureNotSupported.
    """
    host = terms.spark_host
    choice = Choice("local", f'the Spark of member "{host}" cannot run it for this member')
    try:
        fragment, choice = compile_choice(plan, choice, "local", bindings)
    except FeatureNotSupported as lacking:
        raise FeatureNotSupported(lacking.message, hint=f'Connect to member "{host}", which hosts Spark.') from None
    physical = replace(_physical(plan, choice, terms.on_this_member(), bindings, mesh, None), reason=choice.reason)
    notice = (
        f'the query runs on this member\'s DuckDB, because the Spark of member "{host}" cannot run it for this member'
    )
    return CompiledQuery(choice, fragment, physical, notice=notice)


def _compile(
    plan: logical.Root,
    terms: Terms,
    bindings: Bindings,
    mesh: Members,
    topology: Topology | None,
    analyze: bool,
    change: StagedChange | None,
) -> CompiledQuery:
    choice = choose(plan, terms.wish, terms.local_limit, bindings.parameters, terms.model, writes=terms.writes)
    members = data_members(mesh)
    if topology is None and members == (mesh.member,):
        fragment, choice = compile_choice(plan, choice, terms.wish, bindings)
        return CompiledQuery(choice, fragment)
    choice = _shared_out(plan, choice, terms, bindings, members)
    is_hosted = topology is None and terms.spark_member in members and terms.spark_member != mesh.member
    if choice.engine == "spark" and is_hosted:
        return _compile_for_host(plan, choice, terms, bindings, mesh, analyze, change)
    physical = _physical(plan, choice, terms, bindings, mesh, topology, change)
    if len(physical.fragments) == 1:
        fragment, choice = compile_choice(plan, choice, terms.wish, bindings)
        return CompiledQuery(choice, fragment, physical)
    return CompiledQuery(choice, _build_change(physical, terms, bindings, analyze, change), physical)


def _compile_for_host(
    plan: logical.Root,
    choice: Choice,
    terms: Terms,
    bindings: Bindings,
    mesh: Members,
    analyze: bool,
    change: StagedChange | None,
) -> CompiledQuery:
    """Compile the query for another member's Spark; for this member if Spark lacks a function that it needs, or if its
    rows cannot be sent.
    """
    assert terms.spark_member is not None
    fragment, choice = compile_choice(plan, choice, terms.wish, bindings)
    if choice.engine == "local" or fragment.scans or fragment.functions:
        return CompiledQuery(choice, fragment)
    setting = Setting((terms.spark_member,), mesh.member, {}, bindings.parameters, engine="spark")
    reason = f'it runs on the Spark of member "{terms.spark_member}"'
    physical = distribute_to_host(plan, setting, terms.spark_member, reason, change)
    if physical is None:
        return CompiledQuery(choice, fragment)
    return CompiledQuery(choice, _build_change(physical, terms, bindings, analyze, change), physical)


def physical_plan(
    plan: logical.Root,
    query: CompiledQuery,
    terms: Terms,
    bindings: Bindings,
    mesh: Members,
    topology: Topology | None,
) -> PhysicalPlan:
    """Return the query's physical plan, even if it is not distributed."""
    return query.physical or _physical(plan, query.choice, terms, bindings, mesh, topology)


def _physical(
    plan: logical.Root,
    choice: Choice,
    terms: Terms,
    bindings: Bindings,
    mesh: Members,
    topology: Topology | None,
    change: StagedChange | None = None,
) -> PhysicalPlan:
    return in_split_order(_place_plan(plan, choice, terms, bindings, mesh, topology, change))


def _place_plan(
    plan: logical.Root,
    choice: Choice,
    terms: Terms,
    bindings: Bindings,
    mesh: Members,
    topology: Topology | None,
    change: StagedChange | None,
) -> PhysicalPlan:
    pinned = pinned_files(plan, mesh) if topology is not None else {}
    setting = Setting(_within(topology, mesh), mesh.member, pinned, bindings.parameters, engine=choice.engine)
    spread, why = should_distribute(plan, terms.distribution, setting)
    if not spread:
        setting, why = replace(setting, members=(mesh.member,)), f"not distributed: {why}"
    physical = distribute(plan, setting, why, change)
    if not spread:
        return replace(physical, reason=why)
    if topology is None or len(physical.fragments) == 1:
        return physical
    try:
        return _along_links(physical, topology)
    except (ConfigurationLimitExceeded, FeatureNotSupported, ObjectNotInPrerequisiteState) as obstacle:
        if any(member != mesh.member for member in pinned.values()):
            raise
        return distribute(plan, replace(setting, members=(mesh.member,)), f"not distributed: {obstacle.message}")


def _within(topology: Topology | None, mesh: Members) -> tuple[str, ...]:
    """Return the members that may run fragments now: if links restrict what may be sent, those that the topology names."""
    members = data_members(mesh)
    if topology is None or topology.is_open:
        return members
    return tuple(m for m in members if m in topology.members) if mesh.member in topology.members else (mesh.member,)


def _along_links(physical: PhysicalPlan, topology: Topology) -> PhysicalPlan:
    if not topology.is_open and physical.initiator not in topology.members:
        raise ObjectNotInPrerequisiteState(
            f'member "{physical.initiator}" is not in the topology, whose links say what may be sent to it',
            hint=f"Connect to one that is: {', '.join(topology.members)}.",
        )
    return relocate(physical, topology)


def pinned_files(plan: logical.Root, mesh: Members) -> dict[str, str]:
    """Return the member of each file, or `RemoteFileRef`, that only one member can read.

    Raises SerializationFailure if one of those members cannot run anything now.
    """
    pinned: dict[str, str] = {}
    able = data_members(mesh)
    for table in _declared_tables(plan):
        for part in table.parts:
            if part.member not in able and part.member != mesh.member:
                raise _holder_lost(table, part.member, mesh)
        for file in table.files:
            held = remote_file_ref(file)
            pinned[file] = held.member if held is not None else mesh.member
    return pinned


def _declared_tables(plan: logical.Root) -> Iterator[Table]:
    for node in walk_all(plan):
        if isinstance(node, TableReader) and isinstance(node.table, Table) and node.table.parts:
            yield node.table


def _holder_lost(table: Table, member: str, mesh: Members) -> SerializationFailure:
    known = next((info for info in mesh.members() if info.id == member), None)
    state: str = "not there" if known is None else known.state
    if known is not None and known.role == "lite":
        state = "a lite member, which reads no tables"
    return SerializationFailure(
        f'could not read table "{table.name}": member "{member}", which holds files of it, is {state}',
        hint="The statement may be repeated when that member is up.",
    )


def _build_change(
    physical: PhysicalPlan, terms: Terms, bindings: Bindings, analyze: bool, change: StagedChange | None
) -> DistributedQuery:
    query = _build_query(physical, terms, bindings, analyze)
    return replace(query, area=change.area) if change is not None and physical.mutates else query


def _build_query(physical: PhysicalPlan, terms: Terms, bindings: Bindings, analyze: bool) -> DistributedQuery:
    try:
        shared, members = specs(
            physical,
            bindings,
            bindings.time_zone,
            terms.page_bytes,
            analyze=analyze,
            memory=terms.memory,
            lasting=terms.lasting,
        )
    except Unsupported as lacking:
        raise FeatureNotSupported(f"not supported on {lacking.engine}: {lacking.what}") from None
    columns = [OutputColumn(c.label, c.type) for c in physical.root.root.columns]
    return DistributedQuery(shared, members, carrier_schema(columns))


def _shared_out(
    plan: logical.Root, choice: Choice, terms: Terms, bindings: Bindings, members: tuple[str, ...]
) -> Choice:
    """Choose the local engines of all members, if that of one is too small and the settings leave the choice to the
    planner.
    """
    if terms.wish != "auto" or choice.engine == "local":
        return choice
    if any(remote_file_ref(file) is not None for table in _declared_tables(plan) for file in table.files):
        return Choice("local", "how much the tables hold that other members read is not known here")
    if terms.distribution == "off" or len(members) < 2:
        return choice
    together = choose(
        plan, "auto", terms.local_limit * len(members), bindings.parameters, terms.model.over_members(len(members)),
        writes=terms.writes,
    )  # fmt: skip
    if together.engine == "spark":
        return choice
    return Choice("local", f"{together.reason} on {len(members)} members")
