"""Matches an engine's operators, and the rows that it counted for them, with a plan's operators.

An engine optimises: it pushes filters down, changes the order of joins, fuses LIMIT with SORT. So its tree differs from
ours, and the two share no names. But an operator can be recognised by its action (it groups, joins, sorts, limits,
reads) and by the tables that it works on. Both trees are divided into **segments**: an operator that makes rows of
another kind, with the filters and projections above it. A segment of ours and one of the engine's are the same if they
do the same thing over the same tables, and there are as many of that kind on both sides, one above the other. No count
is reported for the rest: a join of other sides than ours, the two readers of a table that is joined with itself, an
operator that evaluates a subquery for each row. The reported figures are the engine's, so that rows which it filtered
further down are missing above.

Within a segment, the rows after its filters are those that the uppermost operator gave; below a filter, those that the
segment's own operator gave. An EVALUATOR without a filter gives as many rows as it gets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Generic, TypeVar

from engine.contracts.profile import GIVEN, UNKNOWN, Operator, table_source
from engine.plan_ir import logical
from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Aggregator, Evaluator, Join, Limit, SetOperation, Sort, TableReader, Window
from engine.plan_ir.physical import Receive
from engine.plan_ir.rewrite import subplans
from wire.dataclass import dataclass

_PASSED: Final = ("FILTER", "PROJECTION", "RESULT_COLLECTOR", "FilterExec", "ProjectExec")
#: Actions by operators' names: DuckDB's, then Spark's.
_KINDS: Final[Mapping[str, str]] = {
    "HASH_GROUP_BY": "group",
    "PERFECT_HASH_GROUP_BY": "group",
    "PARTITIONED_AGGREGATE": "group",
    "UNGROUPED_AGGREGATE": "group",
    "HASH_JOIN": "join",
    "NESTED_LOOP_JOIN": "join",
    "BLOCKWISE_NL_JOIN": "join",
    "PIECEWISE_MERGE_JOIN": "join",
    "IE_JOIN": "join",
    "CROSS_PRODUCT": "join",
    "ORDER_BY": "sort",
    "LIMIT": "limit",
    "STREAMING_LIMIT": "limit",
    "WINDOW": "window",
    "STREAMING_WINDOW": "window",
    "UNION": "union",
    "HashAggregateExec": "group",
    "ObjectHashAggregateExec": "group",
    "SortAggregateExec": "group",
    "BroadcastHashJoinExec": "join",
    "ShuffledHashJoinExec": "join",
    "SortMergeJoinExec": "join",
    "BroadcastNestedLoopJoinExec": "join",
    "CartesianProductExec": "join",
    "SortExec": "sort",
    "WindowExec": "window",
    "UnionExec": "union",
}
T = TypeVar("T")
_Sources = frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class _Segment(Generic[T]):
    """A segment of a tree. parts: the operator, then the filters and projections above it, upwards. leaves: the numbers
    of the tree's readers below it. sources: the sources of these readers.
    """

    kind: str
    parts: Sequence[T]
    leaves: frozenset[int]
    sources: _Sources


def actual_rows(root: Node, counted: Operator) -> dict[int, int]:
    """Return how many rows nodes gave, by their `id()`, as far as they can be matched."""
    ours: dict[tuple[str, _Sources], list[_Segment[Node]]] = {}
    for segment in _Segments(_our_kind, _our_source, _our_parts).of(root):
        ours.setdefault((segment.kind, segment.sources), []).append(segment)
    theirs: dict[tuple[str, _Sources], list[_Segment[Operator]]] = {}
    for found in _Segments(_their_kind, lambda operator: operator.source, _their_parts).of(_split_top_n(counted)):
        theirs.setdefault((found.kind, found.sources), []).append(found)
    rows: dict[int, int] = {}
    for key, mine in ours.items():
        other = theirs.get(key, [])
        if len(mine) == len(other) and _one_above_the_other(mine) and _one_above_the_other(other):
            for segment, found in zip(mine, other, strict=True):
                rows |= {node: count for node, count in _rows(segment, found) if count != UNKNOWN}
    return rows


def _one_above_the_other(segments: Sequence[_Segment[T]]) -> bool:
    return len({segment.leaves for segment in segments}) == 1


def _rows(ours: _Segment[Node], theirs: _Segment[Operator]) -> Iterator[tuple[int, int]]:
    filters = [place for place, node in enumerate(ours.parts) if _filter(node)]
    given, passed = theirs.parts[0].rows, theirs.parts[-1].rows
    last = filters[-1] if filters else 1
    for place, node in enumerate(ours.parts):
        if place >= last:
            yield id(node), passed
        elif len(filters) < 2:
            yield id(node), given


def _filter(node: Node) -> bool:
    return isinstance(node, (Evaluator, TableReader, Aggregator)) and node.filter is not None


# -- the trees -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Segments(Generic[T]):
    """Divides a tree into segments. kind: returns an operator's action, "" if not known. source: returns what a reader
    reads, "" for other operators. parts: an operator and those below it, down to the first that makes rows of another
    kind.
    """

    kind: Callable[[T], str]
    source: Callable[[T], str]
    parts: Callable[[T], tuple[Sequence[T], Sequence[T]]]

    def of(self, root: T) -> list[_Segment[T]]:
        """Return the segments, upper ones before lower ones."""
        segments: list[_Segment[T]] = []
        self._add(root, segments, [])
        return segments

    def _add(self, top: T, segments: list[_Segment[T]], read: list[str]) -> None:
        """Add the segments of a subtree. read: the sources of the tree's readers so far."""
        downwards, below = self.parts(top)
        own, first = downwards[-1], len(read)
        place = len(segments)
        for child in below:
            self._add(child, segments, read)
        if not below:
            read.append(self.source(own))
        leaves = range(first, len(read))
        sources = frozenset(Counter(read[leaf] for leaf in leaves).items())
        if self.kind(own) and all(read[leaf] for leaf in leaves):
            segments.insert(place, _Segment(self.kind(own), downwards[::-1], frozenset(leaves), sources))


def _our_parts(node: Node) -> tuple[Sequence[Node], Sequence[Node]]:
    parts = [node]
    while isinstance(parts[-1], (Evaluator, logical.Root)) and not any(subplans(parts[-1])):
        parts += parts[-1].inputs()
    return parts, parts[-1].inputs()


def _our_kind(node: Node) -> str:
    if any(subplans(node)):
        return ""
    match node:
        case TableReader() | Receive():
            return "read"
        case Aggregator():
            return "group"
        case Join():
            return "join"
        case Sort():
            return "sort"
        case Limit(with_ties=False) if node.count is not None or node.offset is not None:
            return "limit"
        case Window():
            return "window"
        case SetOperation(kind="union", all=True):
            return "union"
        case _:
            return ""


def _our_source(node: Node) -> str:
    match node:
        case TableReader(table=logical_table):
            files = getattr(logical_table, "files", None)
            return GIVEN if files is None else table_source(logical_table.oid)
        case Receive():
            return GIVEN
        case _:
            return ""


def _their_parts(operator: Operator) -> tuple[Sequence[Operator], Sequence[Operator]]:
    parts = [operator]
    while parts[-1].kind in _PASSED and len(parts[-1].below) == 1:
        parts += parts[-1].below
    return [part for part in parts if part.kind != "RESULT_COLLECTOR"] or parts, parts[-1].below


def _their_kind(operator: Operator) -> str:
    return "read" if operator.source else _KINDS.get(operator.kind, "")


def _split_top_n(operator: Operator) -> Operator:
    """Return the tree with a LIMIT above a SORT where the engine has one operator for both."""
    below = tuple(map(_split_top_n, operator.below))
    if operator.kind != "TOP_N":
        return replace(operator, below=below)
    return Operator("LIMIT", operator.rows, "", (Operator("ORDER_BY", operator.rows, "", below),))
