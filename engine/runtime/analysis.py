"""The counters that members send to the initiator for EXPLAIN ANALYZE, as names and numbers (`Counted`).

- edge.<id>.<rows | bytes | batches | stalls | spooled | micros>: at a sender or a receiver; all but micros are summed
- instance.<fragment>.<number>.<rows | micros | begun>; begun: it was not stopped before its turn came
- operator.<fragment>.<instance>.<...>: see `engine.contracts.profile`
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from engine.contracts.profile import Line, tree
from engine.planner.explain.physical import EdgeAnalysis, InstanceAnalysis, PhysicalAnalysis


def merge_counters(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Merge the counters of several members: times by their maximum, all others by their sum."""
    whole: defaultdict[str, int] = defaultdict(int)
    for part in parts:
        for name, value in part.items():
            whole[name] = max(whole[name], value) if name.endswith(".micros") else whole[name] + value
    return dict(whole)


def analysis_of(counters: Mapping[str, int], totals: Mapping[str, float | int | str]) -> PhysicalAnalysis:
    """Return the counters in the form that EXPLAIN prints. Names that this release does not know are left out."""
    edges: defaultdict[int, dict[str, int]] = defaultdict(dict)
    instances: defaultdict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    operators: defaultdict[tuple[int, int], list[Line]] = defaultdict(list)
    for name, value in counters.items():
        match name.split("."):
            case ["edge", edge, what]:
                edges[int(edge)][what] = value
            case ["instance", fragment, number, what]:
                instances[int(fragment), int(number)][what] = value
            case ["operator", fragment, instance, number, depth, kind, source]:
                line = Line(int(number), int(depth), kind, source, value)
                operators[int(fragment), int(instance)].append(line)
    trees = {key: tree(lines) for key, lines in operators.items()}
    return PhysicalAnalysis(
        {edge: _edge(counted) for edge, counted in edges.items()},
        {
            key: InstanceAnalysis(counted.get("rows", 0), counted.get("micros", 0) / 1e3, bool(counted.get("begun")))
            for key, counted in instances.items()
        },
        totals,
        {key: found for key, found in trees.items() if found is not None},
    )


def _edge(counted: Mapping[str, int]) -> EdgeAnalysis:
    return EdgeAnalysis(
        rows=counted.get("rows", 0),
        bytes=counted.get("bytes", 0),
        batches=counted.get("batches", 0),
        time_ms=counted.get("micros", 0) / 1e3,
        credit_stalls=counted.get("stalls", 0),
        spooled_bytes=counted.get("spooled", 0),
    )
