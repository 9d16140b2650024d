"""The workload of a plan: bytes of column data, and a description of them. It decides on the plan's engine and its
distribution.

Without statistics the workload is the input of the readers: bytes of files, after pruning. Where ANALYZE has run on all
tables of the plan, estimates are better, both ways, and the largest of three measures counts:

- the rows that its tables give after their filters, since all other rows go no further than the scan;
- the most rows that one of its joins gives: a join of small tables may be large;
- a fraction of the scanned bytes, since rows that are discarded have to be found too. They cost no memory and no exchange, so
  the fraction is small.

All measures are in bytes as stored, so that they compare with `sluice.local_limit` and with each other. A row is as
wide as the columns that its readers read, and a join's row as both sides' together, each taken to have at least a few
bytes: equal values that lie together in a file take next to nothing, and do not stay together. Considered and rejected:
widths in memory (ANALYZE's), which are several times those of compressed files and would have moved every query with
statistics to Spark at a fraction of the limit; the sum over all operators, which counts rows that an engine passes on
without ever holding them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from engine.catalog.model.objects import Table
from engine.plan_ir.expr import Node
from engine.plan_ir.join_groups import is_inner_join, joins_within
from engine.plan_ir.logical import Evaluator, Join, SetOperation, TableReader
from engine.plan_ir.rewrite import walk_all
from engine.planner.optimizer.cardinality import Estimator
from engine.planner.optimizer.input_size import input_bytes, reader_bytes
from engine.settings.session_settings import size_text
from wire.dataclass import dataclass

#: One scanned byte in this many counts.
_SCANNED_PART: Final = 4
#: The least bytes of a table's row in a join.
_LEAST_WIDTH: Final = 4.0


@dataclass(frozen=True, slots=True)
class Workload:
    """The workload of a plan. size: bytes. text: a description of them, as a sentence without its end. read: bytes that
    the plan reads, whichever measure counts.
    """

    size: int
    text: str
    read: int = 0


def workload(plan: Node, parameters: Mapping[int, Any], enough: int) -> Workload:
    """Estimate the workload of a plan. parameters: canonical values by number. enough: bytes up to which the input
    alone decides: without joins, the workload is at most the input.
    """
    read = input_bytes(plan, parameters)
    by_size = Workload(read, f"it reads {size_text(read)} of column data", read)
    nodes = list(walk_all(plan))
    if not _is_analysed(nodes) or (read <= enough and not any(isinstance(node, Join) for node in nodes)):
        return by_size
    return replace(max(_by_statistics(plan, nodes, parameters, read), key=lambda found: found.size), read=read)


def _is_analysed(nodes: list[Node]) -> bool:
    tables = [node.table for node in nodes if isinstance(node, TableReader) and isinstance(node.table, Table)]
    return bool(tables) and all(table.statistics is not None for table in tables)


def _by_statistics(plan: Node, nodes: list[Node], parameters: Mapping[int, Any], read: int) -> Iterator[Workload]:
    """Yield the three measures."""
    measure = _Measure(plan, parameters)
    readers = [node for node in nodes if isinstance(node, TableReader)]
    rows = sum(measure.rows(reader) for reader in readers)
    size = sum(measure.size(reader) for reader in readers)
    yield Workload(size, f"by statistics its tables give {rows} rows, {size_text(size)} of column data")
    scanned = read // _SCANNED_PART
    yield Workload(
        scanned,
        f"by statistics {rows} rows are kept of {size_text(read)} of column data, of which a scan counts {size_text(scanned)}",
    )
    for join in _joins(nodes):
        size = measure.size(join)
        yield Workload(size, f"by statistics a JOIN gives {measure.rows(join)} rows, {size_text(size)} of column data")


def _joins(nodes: list[Node]) -> Iterator[Node]:
    """Yield the joins of the plan, each with its condition: FROM a, b WHERE ... has it above the product. A group,
    whose joins may be made in any order, is yielded once, so that only its output counts.
    """
    groups = [node for node in nodes if isinstance(node, Evaluator) and is_inner_join(node.input)]
    inner = {id(join) for node in groups for join in joins_within(node.input)}
    yield from groups
    yield from (node for node in nodes if isinstance(node, Join) and id(node) not in inner)


class _Measure:
    """Rows and bytes of the nodes of one plan."""

    def __init__(self, plan: Node, parameters: Mapping[int, Any]) -> None:
        self._parameters = parameters
        self._estimator = Estimator(parameters, root=plan)

    def rows(self, node: Node) -> int:
        return round(self._estimator.of(node).rows)

    def size(self, node: Node) -> int:
        return round(self._estimator.of(node).rows * self._width(node))

    def _width(self, node: Node) -> float:
        """Return the bytes of a row, as its readers read it."""
        if isinstance(node, TableReader):
            return reader_bytes(node, self._parameters) / max(self._estimator.of(node).unfiltered, 1)
        widths = [max(self._width(below), _LEAST_WIDTH) for below in node.inputs()]
        return max(widths, default=0) if isinstance(node, SetOperation) else sum(widths)
