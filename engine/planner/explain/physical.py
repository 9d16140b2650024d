"""EXPLAIN (DISTSQL): a physical plan as text or JSON. It shows what runs where, which rows move, and why.

Text: the root fragment first, as PostgreSQL prints a plan's consumers first; each fragment with its engine and the
reason for it, its instances with what they read, the edge it feeds with the router, and its operators
(`engine.planner.explain.logical`). An edge's synchronizer stands with the RECEIVE that reads it, since it belongs to
the consumer.

JSON: `Plan` is the whole plan as one tree, with the producing fragment below each RECEIVE, so that viewers of
PostgreSQL plans draw it; `Fragments` and `Edges` hold the rest. Names of analysis values begin with "Actual", as
PostgreSQL's do.

Considered for text: the same single tree. It hides which operators belong to a fragment, and readers of this output
look for that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any

import msgspec

from engine.catalog.model.remote_file_ref import remote_file_ref
from engine.contracts.profile import Operator
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Aggregator, Join, Root, TableReader
from engine.plan_ir.physical import (
    Edge,
    Fragment,
    HashRouter,
    Instance,
    KeyRange,
    MirrorRouter,
    Ordered,
    PhysicalPlan,
    RangeRouter,
    Receive,
    Router,
    Sequential,
    SingleRouter,
    Split,
    Synchronizer,
    Unsynchronized,
)
from engine.planner.explain import describe
from engine.planner.explain.logical import (
    Annotate,
    Described,
    as_it_is,
    as_json,
    describe_plan,
    format_counter,
    lines_of,
)
from engine.planner.explain.stages import stages
from engine.settings.session_settings import size_text
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class EdgeAnalysis:
    """Counters of an edge, summed over its streams.

    time_ms: the longest time that a receiver's stream was open. credit_stalls: how often a sender had to wait for
    credits. spooled_bytes: written to disk at the receivers.
    """

    rows: int = 0
    bytes: int = 0
    batches: int = 0
    time_ms: float = 0.0
    credit_stalls: int = 0
    spooled_bytes: int = 0


@dataclass(frozen=True, slots=True)
class InstanceAnalysis:
    """Counters of an instance. rows: given out. time_ms: from its start to its end. executed: whether its turn came
    before the plan had enough rows.
    """

    rows: int = 0
    time_ms: float = 0.0
    executed: bool = True


@dataclass(frozen=True, slots=True)
class PhysicalAnalysis:
    """Counters of EXPLAIN ANALYZE. edges: by id. instances: by (fragment, number of the instance).

    totals: of the whole statement, by the names under which they are shown, times in milliseconds. operators: counters of the
        engines' own operators, from instances that ran to their end. timing: whether times of instances and edges are shown.
    """

    edges: Mapping[int, EdgeAnalysis] = field(default_factory=dict)
    instances: Mapping[tuple[int, int], InstanceAnalysis] = field(default_factory=dict)
    totals: Mapping[str, float | int | str] = field(default_factory=dict)
    operators: Mapping[tuple[int, int], Operator] = field(default_factory=dict)
    timing: bool = True


def text_lines(
    plan: PhysicalPlan,
    analysis: PhysicalAnalysis | None = None,
    statements: Mapping[int, str] | None = None,
    told: Annotate = as_it_is,
) -> list[str]:
    """Return the lines of the text format, each of which is a row of the result. statements: the SQL given to the
    engines, by fragment (VERBOSE). told: adds details to nodes.
    """
    return list(_Listing(plan, analysis or PhysicalAnalysis(), statements or {}, told).lines())


def json_text(
    plan: PhysicalPlan,
    analysis: PhysicalAnalysis | None = None,
    statements: Mapping[int, str] | None = None,
    told: Annotate = as_it_is,
) -> str:
    """Return one value, shaped as PostgreSQL's (a list of one object with a Plan); see the module's docstring."""
    whole = _Document(plan, analysis or PhysicalAnalysis(), statements or {}, told).whole()
    return msgspec.json.format(msgspec.json.encode([whole]), indent=2).decode()


def operators_of(plan: PhysicalPlan, told: Annotate = as_it_is) -> Mapping[int, Described]:
    """Return the operators of each fragment, by its number."""
    listing = _Listing(plan, PhysicalAnalysis(), {}, told)
    return {fragment.id: listing.operators(fragment) for fragment in plan.fragments}


class _Told(ABC):
    """Base of both formats: describes the fragments' operators with the details that only the physical plan has."""

    def __init__(
        self, plan: PhysicalPlan, analysis: PhysicalAnalysis, statements: Mapping[int, str], told: Annotate
    ) -> None:
        self._plan = plan
        self._told = told
        self._analysis = analysis
        self._statements = statements
        self._stages = stages(plan)
        self._edges = {edge.id: edge for edge in plan.edges}
        self._fragments = {fragment.id: fragment for fragment in plan.fragments}

    def operators(self, fragment: Fragment) -> Described:
        """Describe the plan as one tree."""
        return describe_plan(fragment.root, self._annotate)

    def _annotate(self, node: Node, described: Described) -> Described:
        described = self._told(node, described)
        match node:
            case Root() if self._plan.mutates:
                return replace(described, name="INTENT-COLLECTOR")
            case Aggregator() if id(node) in self._stages:
                return replace(described, name=f"{described.name} ({self._stages[id(node)]})")
            case Join() if self._is_lookup(node):
                return replace(described, name="JOIN READER")
            case TableReader() if node.reader:
                return replace(described, properties={**described.properties, "Reader": node.reader})
            case Receive():
                return self._describe_receive(node, described)
            case _:
                return described

    def _is_lookup(self, node: Join) -> bool:
        """Whether the rows of one side were sent to the instances that have their keys on the other side."""
        sent = (side for side in node.inputs() if isinstance(side, Receive))
        return any(isinstance(self._edges[side.edge].router, RangeRouter) for side in sent)

    @abstractmethod
    def _describe_receive(self, node: Receive, described: Described) -> Described:
        """Describe RECEIVE in this format."""

    def _streams(self, edge: Edge) -> tuple[int, int]:
        """Return how many instances send, and how many receive."""
        return len(self._fragments[edge.source].instances), len(self._fragments[edge.target].instances)


class _Listing(_Told):
    """The text format."""

    def lines(self) -> Iterator[str]:
        yield f"Distribution: {self._plan.reason}"
        yield f"Initiator: {self._plan.initiator}"
        for fragment in reversed(self._plan.fragments):
            yield from self._fragment(fragment)
        yield from (f"{name}: {format_counter(value)}" for name, value in self._analysis.totals.items())

    def _fragment(self, fragment: Fragment) -> Iterator[str]:
        yield f"Fragment {fragment.id}" + (" (root)" if fragment is self._plan.root else "")
        yield f"  Engine: {fragment.engine}" + (f" ({fragment.reason})" if fragment.reason else "")
        for number, instance in enumerate(fragment.instances):
            yield f"  Instance {number}: {', '.join(self._instance(fragment, number, instance))}"
        if fragment.output is not None:
            edge = self._edges[fragment.output]
            yield f"  Output: edge {edge.id} to fragment {edge.target}"
            yield f"  Router: {_router(edge.router, self._streams(edge)[1])}"
        yield from lines_of(self.operators(fragment), "  ", "->  ")
        if fragment.id in self._statements:
            yield "  Statement:"
            yield from (f"    {line}" for line in self._statements[fragment.id].splitlines())

    def _instance(self, fragment: Fragment, number: int, instance: Instance) -> Iterator[str]:
        yield instance.member
        for reader, splits in sorted(instance.splits.items()):
            size = _size(splits)
            told = size_text(size) if size is not None else "of a size not known here"
            yield f"reader {reader}: {_pluralize(len(splits), 'split')}, {told}{_keys(instance.within.get(reader))}"
        counted = self._analysis.instances.get((fragment.id, number))
        if counted is not None and not counted.executed:
            yield "never executed"
        elif counted is not None:
            yield f"actual rows={counted.rows}" + (
                f" time={format_counter(counted.time_ms)}" if self._analysis.timing else ""
            )

    def _describe_receive(self, node: Receive, described: Described) -> Described:
        edge = self._edges[node.edge]
        more = {
            "Edge": f"{edge.id} from fragment {edge.source}",
            "Synchronizer": _synchronizer(edge.synchronizer),
            "Streams": self._stream_words(edge),
        }
        counted = self._analysis.edges.get(edge.id)
        if counted is not None:
            more["Actual"] = _edge_counters(counted, timing=self._analysis.timing)
        return replace(described, properties={**described.properties, **more})

    def _stream_words(self, edge: Edge) -> str:
        senders, receivers = self._streams(edge)
        parties = f"{_pluralize(senders, 'sender')} to {_pluralize(receivers, 'receiver')}"
        if self._fragments[edge.source].sent_by_tasks:
            return f"one for each of Spark's partitions, {parties}"
        return f"{senders * receivers}, {parties}"


class _Document(_Told):
    """The JSON format."""

    def whole(self) -> dict[str, Any]:
        plan = self._plan
        return {
            "Plan": as_json(self.operators(plan.root)),
            "Distribution": plan.reason,
            "Initiator": plan.initiator,
            "Participants": list(plan.participants),
            "Fragments": [self._fragment(fragment) for fragment in reversed(plan.fragments)],
            "Edges": [self._edge(edge) for edge in plan.edges],
            **self._analysis.totals,
        }

    def operators(self, fragment: Fragment) -> Described:
        described = super().operators(fragment)
        return replace(described, properties={"Fragment": fragment.id, **described.properties})

    def _describe_receive(self, node: Receive, described: Described) -> Described:
        """Describe RECEIVE with the producing fragment below it."""
        producer = self._fragments[self._edges[node.edge].source]
        return replace(described, below=(("", self.operators(producer)),))

    def _fragment(self, fragment: Fragment) -> dict[str, Any]:
        told: dict[str, Any] = {
            "Fragment": fragment.id,
            "Engine": fragment.engine,
            "Reason": fragment.reason,
            "Instances": [self._instance(fragment, n, instance) for n, instance in enumerate(fragment.instances)],
            "Inputs": list(fragment.inputs),
        }
        if fragment.output is not None:
            told["Output"] = fragment.output
        if fragment.id in self._statements:
            told["Statement"] = self._statements[fragment.id]
        return told

    def _instance(self, fragment: Fragment, number: int, instance: Instance) -> dict[str, Any]:
        told: dict[str, Any] = {"Instance": number, "Member": instance.member}
        if instance.splits:
            told["Readers"] = [
                {
                    "Reader": reader,
                    "Splits": len(splits),
                    "Bytes": _size(splits),
                    **({"Keys": list(instance.within[reader])} if reader in instance.within else {}),
                }
                for reader, splits in sorted(instance.splits.items())
            ]
        counted = self._analysis.instances.get((fragment.id, number))
        if counted is not None:
            told |= {"Actual Rows": counted.rows, "Actual Loops": int(counted.executed)}
            told |= {"Actual Total Time": counted.time_ms} if self._analysis.timing else {}
        return told

    def _edge(self, edge: Edge) -> dict[str, Any]:
        senders, receivers = self._streams(edge)
        told: dict[str, Any] = {
            "Edge": edge.id,
            "Source": edge.source,
            "Target": edge.target,
            "Columns": [describe.column(column) for column in edge.columns],
            "Router": _router(edge.router, receivers),
            "Synchronizer": _synchronizer(edge.synchronizer),
            "Senders": senders,
            "Receivers": receivers,
        }
        counted = self._analysis.edges.get(edge.id)
        if counted is not None:
            told |= {
                "Actual Rows": counted.rows,
                "Actual Bytes": counted.bytes,
                "Actual Batches": counted.batches,
                "Credit Stalls": counted.credit_stalls,
                "Spooled Bytes": counted.spooled_bytes,
            }
            told |= {"Actual Total Time": counted.time_ms} if self._analysis.timing else {}
        return told


def _router(router: Router, receivers: int) -> str:
    over = f"over {_pluralize(receivers, 'instance')}"
    match router:
        case SingleRouter():
            return "single"
        case MirrorRouter():
            return f"mirror {over}"
        case HashRouter():
            return f"hash of {', '.join(map(describe.column, router.keys))} {over}"
        case RangeRouter():
            typ = router.ordering[0].column.type
            bounds = ", ".join(describe.constant(bound, typ) for bound in router.bounds)
            ranges = _pluralize(len(router.bounds) + 1, "instance")
            return f"range of {describe.ordering(router.ordering)} over {ranges}, parted at {bounds}"


def _synchronizer(synchronizer: Synchronizer) -> str:
    match synchronizer:
        case Unsynchronized():
            return "unsynchronized"
        case Ordered():
            return f"ordered by {describe.ordering(synchronizer.keys)}"
        case Sequential():
            return "sequential"


def _edge_counters(counted: EdgeAnalysis, *, timing: bool) -> str:
    time = f" time={format_counter(counted.time_ms)}" if timing else ""
    return (
        f"rows={counted.rows} bytes={size_text(counted.bytes)} batches={counted.batches}{time}"
        f" credit stalls={counted.credit_stalls} spooled={size_text(counted.spooled_bytes)}"
    )


def _keys(keys: KeyRange | None) -> str:
    if keys is None:
        return ""
    low, high = keys
    return ", keys" + (f" from {low}" if low is not None else "") + (f" to before {high}" if high is not None else "")


def _size(splits: tuple[Split, ...]) -> int | None:
    """Return the bytes of splits; None if one of them stands for files that this member does not see."""
    if any(remote_file_ref(split.file) is not None for split in splits):
        return None
    return sum(split.size for split in splits)


def _pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
