"""Whether and how a query is spread over the members: the session's way from a logical plan to what participants are told.

The rule, in order (`SET sluice.distribution = auto | off | always`):

- tables that only other members hold are read there, whatever was wished;
- over shared storage a query for Spark is Spark's to spread: one fragment, here;
- `auto`: what is small is done here before its parts would have been handed out; what is too large for this member's local
  engine, but not for a share of it on each, runs on the local engines of all;
- what cannot be taken apart runs here, whole; the reason says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

import pyarrow as pa

from engine.carry import carrier_schema
from engine.executor import CompiledFragment, OutputColumn
from engine.plan import logical
from engine.plan.compile import Bindings
from engine.plan.compile.unsupported import Unsupported
from engine.plan.dispatch import specs
from engine.plan.distribute import Distribution, Setting, distribute, should_distribute
from engine.plan.input_size import input_bytes
from engine.plan.physical import PhysicalPlan
from engine.plan.planner import Choice, Wish, choose, compile_choice
from engine.plan.spec import MemberSpec
from engine.runtime.mesh import Mesh
from engine.settings import SessionSettings, size_text
from wire.errors import FeatureNotSupported

_TAKES_PART: Final = ("up", "suspect")


@dataclass(frozen=True, slots=True)
class DistributedQuery:
    """A query ready to be started on its members.

    shared, members: as `engine.plan.dispatch.specs` gives them. schema: of the root's batches, in carriers.
    """

    plan: PhysicalPlan
    shared: bytes
    members: Mapping[str, MemberSpec]
    schema: pa.Schema


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query ready to run: one fragment here, or fragments on several members.

    physical: the plan as it is spread; None: it was clear without one that there is nothing to spread.
    """

    choice: Choice
    runs: CompiledFragment | DistributedQuery
    physical: PhysicalPlan | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """What a session's settings say of it. local_limit, page_bytes: bytes."""

    wish: Wish
    distribution: Distribution
    local_limit: int
    page_bytes: int

    @classmethod
    def of(cls, settings: SessionSettings) -> Terms:
        return cls(
            cast("Wish", settings.get("sluice.engine")),
            cast("Distribution", settings.get("sluice.distribution")),
            settings.size_bytes("sluice.local_limit"),
            settings.size_bytes("cursor_buffer_size"),
        )


def data_members(mesh: Mesh) -> tuple[str, ...]:
    """The members that may run fragments now."""
    return tuple(m.id for m in mesh.members() if m.role == "data" and m.state in _TAKES_PART)


def compile_query(
    plan: logical.Final,
    terms: Terms,
    bindings: Bindings,
    mesh: Mesh,
    pinned: Mapping[str, str],
    *,
    analyze: bool = False,
) -> CompiledQuery:
    """The query as it will run under these terms. Raises FeatureNotSupported.

    pinned: the member of each file that only it can read. analyze: members are to count what they do.
    """
    choice = choose(plan, terms.wish, terms.local_limit, bindings.parameters)
    members = data_members(mesh)
    if not pinned and members == (mesh.member,):
        fragment, choice = compile_choice(plan, choice, terms.wish, bindings)
        return CompiledQuery(choice, fragment)
    choice = _shared_out(plan, choice, terms, bindings, members)
    physical = _physical(plan, choice, terms, bindings, mesh, pinned)
    if len(physical.fragments) == 1:
        fragment, choice = compile_choice(plan, choice, terms.wish, bindings)
        return CompiledQuery(choice, fragment, physical)
    return CompiledQuery(choice, _told(physical, terms, bindings, analyze), physical)


def physical_plan(
    plan: logical.Final, query: CompiledQuery, terms: Terms, bindings: Bindings, mesh: Mesh, pinned: Mapping[str, str]
) -> PhysicalPlan:
    """The query's plan as it is spread, also where nothing is."""
    return query.physical or _physical(plan, query.choice, terms, bindings, mesh, pinned)


def _physical(
    plan: logical.Final, choice: Choice, terms: Terms, bindings: Bindings, mesh: Mesh, pinned: Mapping[str, str]
) -> PhysicalPlan:
    setting = Setting(data_members(mesh), mesh.member, pinned, bindings.parameters, engine=choice.engine)
    spread, why = should_distribute(plan, terms.distribution, setting)
    if not spread:
        setting, why = replace(setting, members=(mesh.member,)), f"not distributed: {why}"
    physical = distribute(plan, setting, why)
    return physical if spread else replace(physical, reason=why)


def _told(physical: PhysicalPlan, terms: Terms, bindings: Bindings, analyze: bool) -> DistributedQuery:
    try:
        shared, members = specs(physical, bindings, bindings.time_zone, terms.page_bytes, analyze=analyze)
    except Unsupported as lacking:
        raise FeatureNotSupported(f"not supported on {lacking.engine}: {lacking.what}") from None
    columns = [OutputColumn(c.label, c.type) for c in physical.root.root.columns]
    return DistributedQuery(physical, shared, members, carrier_schema(columns))


def _shared_out(
    plan: logical.Final, choice: Choice, terms: Terms, bindings: Bindings, members: tuple[str, ...]
) -> Choice:
    """The local engines of all members, where one would be too small and the choice is ours."""
    if terms.wish != "auto" or terms.distribution == "off" or choice.engine == "local" or len(members) < 2:
        return choice
    size = input_bytes(plan, bindings.parameters)
    if size > terms.local_limit * len(members):
        return choice
    limit = size_text(terms.local_limit)
    return Choice(
        "local", f"it reads {size_text(size)} of column data, within sluice.local_limit {limit} on each member"
    )
