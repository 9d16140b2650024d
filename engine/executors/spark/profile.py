"""Spark's plan of a finished job, as operators with the rows that its SQL metrics counted
(`engine.contracts.profile`).

Operators that only say how Spark runs something are left out: code generation, adaptive stages, exchanges, row formats,
sorts within a partition, the partial stage of an aggregate. Projections, sorts and windows count nothing themselves:
they return as many rows as they read. An exchange counts the rows that pass through it, and its count takes precedence:
before a sort over all partitions Spark runs the sort's input an additional time, for a sample, and the operators of the
input count that run as well. So below a sampled sort, down to the next exchange, only the rows of the topmost operator
are known.

The rows of a reused exchange are unknown, and so are those of Expand, with which Spark turns several aggregates into
one. Both are shown without inputs.

Each step is a short call to the JVM, so this is for EXPLAIN ANALYZE, on the job's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from engine.contracts.profile import UNKNOWN, Operator
from wire.dataclass import dataclass

_PASSED_ON: Final = frozenset(("WholeStageCodegenExec", "InputAdapter", "ColumnarToRowExec", "AQEShuffleReadExec"))
_GIVES_WHAT_IT_GETS: Final = frozenset(("ProjectExec", "SortExec", "WindowExec"))
_AGGREGATES: Final = frozenset(("HashAggregateExec", "ObjectHashAggregateExec", "SortAggregateExec"))


@dataclass(frozen=True, slots=True)
class _Place:
    """An operator of Spark's plan. through: the number of rows that an exchange above it has counted. sampled: whether
    it also ran for a sample.
    """

    plan: Any
    through: int = UNKNOWN
    sampled: bool = False


def operators(frame: Any, *, sent: bool) -> Operator:
    """Return the operators of a Java DataFrame whose job has ended. sent: whether the topmost operator only handed
    rows to receivers; it is then left out.
    """
    place = _plain(_Place(frame.queryExecution().executedPlan()))
    if sent:
        [place] = _below(place)
    return _operator(place)


def _operator(place: _Place) -> Operator:
    name = _name(place.plan)
    if name == "FileSourceScanExec":
        return Operator(name, _rows(place), _first_file(place.plan))
    if name in ("ReusedExchangeExec", "ExpandExec"):
        return Operator(name, UNKNOWN)
    below = tuple(map(_operator, _inputs(place)))
    rows = _rows(place)
    gives_what_it_gets = name in _GIVES_WHAT_IT_GETS or name == "UnionExec"
    if rows == UNKNOWN and gives_what_it_gets and all(child.rows != UNKNOWN for child in below):
        rows = sum(child.rows for child in below)
    return Operator(name, rows, "", below)


def _rows(place: _Place) -> int:
    if place.through != UNKNOWN or place.sampled:
        return place.through
    return _metric(place.plan, "numOutputRows")


def _inputs(place: _Place) -> Sequence[_Place]:
    """Return the inputs of an operator. Spark splits an aggregate into several parts; its input is that of the lowest
    part.
    """
    inputs = _below(place)
    if _name(place.plan) not in _AGGREGATES:
        return inputs
    distinct = False
    while len(inputs) == 1 and _name(inputs[0].plan) in _AGGREGATES and (distinct or _is_part(inputs[0].plan)):
        [part] = inputs
        # Below the part for DISTINCT's values there is the complete aggregate that makes them distinct.
        distinct = _is_part(part.plan) and (distinct or _has_distinct(part.plan))
        inputs = _below(part)
    return inputs


def _is_part(aggregate: Any) -> bool:
    """Return whether an aggregate is partial: its groups are incomplete, and it requires no distribution of its input."""
    return bool(aggregate.requiredChildDistributionExpressions().isEmpty())


def _has_distinct(aggregate: Any) -> bool:
    calls = aggregate.aggregateExpressions()
    return any(calls.apply(number).isDistinct() for number in range(calls.size()))


def _below(place: _Place) -> Sequence[_Place]:
    return [_plain(_Place(child, sampled=place.sampled)) for child in _children(place.plan)]


def _plain(place: _Place) -> _Place:
    """Return the first operator below those that only say how Spark runs something."""
    plan, through, sampled = place.plan, place.through, place.sampled
    while True:
        name = _name(plan)
        if name == "AdaptiveSparkPlanExec":
            plan = plan.executedPlan()
        elif name.endswith("QueryStageExec"):
            plan = plan.plan()
        elif name == "ShuffleExchangeExec":
            through = _metric(plan, "shuffleRecordsWritten")
            sampled = _name(plan.outputPartitioning()) == "RangePartitioning"
            [plan] = _children(plan)
        elif name == "BroadcastExchangeExec":
            through, sampled = UNKNOWN, False
            [plan] = _children(plan)
        elif name in _PASSED_ON or (name == "SortExec" and not getattr(plan, "global")()):
            [plan] = _children(plan)
        else:
            return _Place(plan, through, sampled)


def _children(plan: Any) -> Sequence[Any]:
    children = plan.children()
    return [children.apply(number) for number in range(children.size())]


def _name(thing: Any) -> str:
    return str(thing.getClass().getSimpleName())


def _metric(plan: Any, name: str) -> int:
    metrics = plan.metrics()
    return int(metrics.apply(name).value()) if metrics.contains(name) else UNKNOWN


def _first_file(scan: Any) -> str:
    files = scan.relation().location().inputFiles()
    return unquote(urlsplit(files[0]).path) if len(files) else ""
