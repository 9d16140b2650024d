"""A statement's plan as a graph: fragments on members, with their operators, and the streams between them.

The graph is made from the plan that the initiator has compiled and from the members' counters
(`engine.runtime.stream_counts`). Counters may be missing: for a plan that does not run, and for members that do not
answer. All parts are named by numbers that every member knows: `fragment.instance`, and `edge.sender.receiver`; the
client's portal receives the last edge, `0.0.0`.

EXPLAIN's JSON is read back into the same form (`graph_of_json`), so that a plan that was only explained is drawn in the
same way.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from engine.contracts.activity import (
    EdgeCounters,
    EdgeReport,
    FragmentCounters,
    FragmentReport,
    Graph,
    InstanceState,
    OperatorReport,
)
from engine.pg_catalog.merged_edges import merge_edges
from engine.plan_ir.logical import Root
from engine.plan_ir.physical import Edge, HashRouter, MirrorRouter, Ordered, PhysicalPlan, RangeRouter, Sequential
from engine.planner.explain.logical import Described, describe_plan
from engine.planner.explain.physical import operators_of
from engine.statements.shared.distribution import CompiledQuery

#: The operators of fragment instances, by the instances' names.
Operators = dict[str, tuple[OperatorReport, ...]]
CLIENT: Final = "client"
#: The edge from the root to the client.
LAST_EDGE: Final = "0.0.0"
#: The maximum length of an operator's details.
_DETAIL_MAX: Final = 400
_STATES: Final[Mapping[str, InstanceState]] = {
    "planning": "waiting", "running": "running", "suspended": "running", "finished": "done", "failed": "failed",
    "cancelled": "failed",
}  # fmt: skip
_OVER: Final = ("finished", "failed", "cancelled")
_GOING_ON: Final = ("waiting", "running")
#: The only fragment of a query that runs on one member.
_WHOLE: Final = 1


def graph_of(
    plan: Root | None,
    query: CompiledQuery,
    member: str,
    state: str,
    rows: int,
    fragments: Iterable[FragmentCounters] = (),
    edges: Iterable[EdgeCounters] = (),
    operators: Operators | None = None,
) -> Graph:
    """Return the graph of a compiled query.

    plan: None if its operators are not shown. state, rows: the statement's. fragments, edges: the members' counters.
    operators: the operators of an earlier graph of the statement, empty at first. A viewer asks for a graph twice a
        second, and operators do not change.
    """
    operators = {} if operators is None else operators
    ran = {(counted.fragment, counted.instance): counted for counted in fragments}
    physical = query.physical
    if physical is None or len(physical.fragments) == 1:
        return _of_one(plan, query, member, state, rows, edges, operators)
    described = operators_of(physical) if plan is not None and not operators else {}
    streams = _merge_by_key(edges)
    told: list[FragmentReport] = []
    for fragment in physical.fragments:
        for number, instance in enumerate(fragment.instances):
            counted = ran.get((fragment.id, number))
            name = f"{fragment.id}.{number}"
            if name not in operators:
                operators[name] = _operators(name, described.get(fragment.id))
            told.append(
                FragmentReport(
                    name,
                    instance.member,
                    fragment.engine,
                    _STATES[state] if counted is None else counted.state,
                    operators[name],
                    None if counted is None else counted.rows,
                    None if counted is None else counted.seconds,
                )
            )
    between = [edge for one in physical.edges for edge in _edges(one, physical, streams)]
    root = f"{physical.root.id}.0"
    return Graph((*told, _client(physical.initiator, state)), (*between, _last(root, state, rows, None)))


def with_counters(graph: Graph, fragments: Iterable[FragmentCounters], edges: Iterable[EdgeCounters]) -> Graph:
    """Return the graph with the members' latest counters."""
    ran = {f"{counted.fragment}.{counted.instance}": counted for counted in fragments}
    sent = {f"{counted.edge}.{counted.sender}.{counted.receiver}": counted for counted in edges}
    return Graph(
        tuple(
            msgspec.structs.replace(told, state=counted.state, rows=counted.rows, seconds=counted.seconds)
            if (counted := ran.get(told.id)) is not None
            else told
            for told in graph.fragments
        ),
        tuple(
            _edge_report(told.id, told.source, told.target, told.kind, known)
            if (known := sent.get(told.id)) is not None
            else told
            for told in graph.edges
        ),
    )


def ended_graph(graph: Graph, state: str) -> Graph:
    """Return the graph of a statement that has ended in this state: no part of it runs or has credit left. Instances
    that were stopped because the client had enough rows have not failed.
    """
    fragments = tuple(
        msgspec.structs.replace(told, state=_STATES[state]) if told.state in _GOING_ON or state == "finished" else told
        for told in graph.fragments
    )
    edges = tuple(msgspec.structs.replace(told, state="done", credit=None, backlog_bytes=0) for told in graph.edges)
    return Graph(fragments, edges)


def _of_one(
    plan: Root | None,
    query: CompiledQuery,
    member: str,
    state: str,
    rows: int,
    edges: Iterable[EdgeCounters],
    operators: Operators,
) -> Graph:
    """Return the graph of a query that runs on its initiator alone. Its last edge has counters if Spark's tasks send
    the rows.
    """
    name = f"{_WHOLE}.0"
    if name not in operators:
        operators[name] = _operators(name, describe_plan(plan)) if plan is not None else ()
    whole = FragmentReport(name, member, query.choice.engine, _STATES[state], operators[name], rows)
    counted = _merge_by_key(edges).get((0, 0, 0))
    return Graph((whole, _client(member, state)), (_last(name, state, rows, counted),))


def _client(member: str, state: str) -> FragmentReport:
    return FragmentReport(CLIENT, member, "", _STATES[state])


def _last(root: str, state: str, rows: int, counted: EdgeCounters | None) -> EdgeReport:
    if counted is None:
        return EdgeReport(LAST_EDGE, root, CLIENT, streams=1, rows=rows, state="done" if state in _OVER else "open")
    return _edge_report(LAST_EDGE, root, CLIENT, "gather", counted)


def _edges(
    edge: Edge, plan: PhysicalPlan, streams: Mapping[tuple[int, int, int], EdgeCounters]
) -> Iterator[EdgeReport]:
    senders, receivers = (len(plan.fragment(number).instances) for number in (edge.source, edge.target))
    for sender, receiver in itertools.product(range(senders), range(receivers)):
        name, source, target = f"{edge.id}.{sender}.{receiver}", f"{edge.source}.{sender}", f"{edge.target}.{receiver}"
        counted = streams.get((edge.id, sender, receiver))
        if counted is None:
            yield EdgeReport(name, source, target, _kind(edge))
        else:
            yield _edge_report(name, source, target, _kind(edge), counted)


def _edge_report(name: str, source: str, target: str, kind: str, counted: EdgeCounters) -> EdgeReport:
    return EdgeReport(
        name, source, target, kind, counted.streams, counted.rows, counted.bytes, counted.credit, counted.window,
        counted.backlog_bytes, counted.stalls, counted.stalled_seconds, counted.spooled_bytes, counted.state,
    )  # fmt: skip


def _kind(edge: Edge) -> str:
    match edge.router:
        case HashRouter():
            return "hash"
        case RangeRouter():
            return "range"
        case MirrorRouter():
            return "broadcast"
    match edge.synchronizer:
        case Ordered():
            return "merge"
        case Sequential():
            return "sequential"
        case _:
            return "gather"


def _merge_by_key(edges: Iterable[EdgeCounters]) -> dict[tuple[int, int, int], EdgeCounters]:
    return {(one.edge, one.sender, one.receiver): one for one in merge_edges(edges)}


def _operators(fragment: str, described: Described | None) -> tuple[OperatorReport, ...]:
    found: list[OperatorReport] = []

    def note(node: Described) -> str:
        name = f"{fragment}.{len(found)}"
        found.append(OperatorReport(name, node.name, ""))
        at = len(found) - 1
        inputs = tuple(note(below) for _, below in node.below)
        found[at] = OperatorReport(name, node.name, _detail(node.properties), inputs, node.actual)
        return name

    if described is not None:
        note(described)
    return tuple(found)


def _detail(properties: Mapping[str, Any]) -> str:
    told = "; ".join(f"{name}: {value}" for name, value in properties.items())
    return told if len(told) <= _DETAIL_MAX else f"{told[:_DETAIL_MAX]} ..."


# -- EXPLAIN's JSON ------------------------------------------------------------------------------------------------------

#: Properties of an operator in EXPLAIN's JSON that the graph shows in another way.
_SAID: Final = ("Node Type", "Plans", "Fragment", "Actual Rows", "Actual Loops", "Parent Relationship", "Subplan Name")


def graph_of_json(document: Mapping[str, Any]) -> Graph:
    """Return the graph described by EXPLAIN (DISTSQL, FORMAT JSON)."""
    operators: dict[int, list[OperatorReport]] = {}

    def note(node: Mapping[str, Any], fragment: int) -> str | None:
        """Note an operator and those below it. Returns the operator's id; None if another fragment begins with it."""
        own = int(node.get("Fragment", fragment))
        listed = operators.setdefault(own, [])
        name, at = f"{own}.0.{len(listed)}", len(listed)
        listed.append(OperatorReport(name, str(node["Node Type"]), ""))
        inputs = tuple(found for below in node.get("Plans", ()) if (found := note(below, own)) is not None)
        properties = {key: value for key, value in node.items() if key not in _SAID}
        listed[at] = OperatorReport(name, str(node["Node Type"]), _detail(properties), inputs, node.get("Actual Rows"))
        return name if own == fragment else None

    root = int(document["Plan"]["Fragment"])
    note(document["Plan"], root)
    fragments = [
        FragmentReport(
            f"{fragment['Fragment']}.{instance['Instance']}", instance["Member"], fragment["Engine"], "waiting",
            tuple(operators.get(fragment["Fragment"], ())) if not instance["Instance"] else (), instance.get("Actual Rows"),
        )
        for fragment in document["Fragments"]
        for instance in fragment["Instances"]
    ]  # fmt: skip
    edges = [edge for told in document["Edges"] for edge in _edges_of_json(told)]
    last = EdgeReport(LAST_EDGE, f"{root}.0", CLIENT, streams=1)
    return Graph((*fragments, _client(document["Initiator"], "planning")), (*edges, last))


def _edges_of_json(told: Mapping[str, Any]) -> Iterator[EdgeReport]:
    router, synchronizer = told["Router"].split()[0], told["Synchronizer"].split()[0]
    merging = {"ordered": "merge", "sequential": "sequential"}.get(synchronizer, "gather")
    kind = {"hash": "hash", "range": "range", "mirror": "broadcast"}.get(router, merging)
    for sender, receiver in itertools.product(range(told["Senders"]), range(told["Receivers"])):
        names = f"{told['Edge']}.{sender}.{receiver}", f"{told['Source']}.{sender}", f"{told['Target']}.{receiver}"
        yield EdgeReport(*names, kind, 1)
