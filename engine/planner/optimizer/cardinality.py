"""Cardinality estimates of a plan's nodes, for the order of joins between fragments, for the choice of exchanges, and
for EXPLAIN.

**Tables.** A Parquet footer says how many rows a row group has, and the least and greatest value of each column. A column
of integers or dates has at most as many distinct values as its range is wide, which tells a key (as many values as
rows) from a code (few). Where ANALYZE has run (`engine.planner.optimizer.column_statistics`), its statistics give the
number of distinct values, and conditions are estimated by its most common values and histograms. Footers still give the
current number of rows, and an upper bound of the rows in row groups that were not excluded.

**Joins** are estimated by `join_estimates`. An outer join keeps at least the rows of its preserved side. `selectivity`
estimates the rows that conditions keep.

**Groups**: the product of their keys' distinct values, and never more than there are rows.

Inputs of unknown size (other formats without statistics, files that this member does not see, functions that return
sets) count as one row for each `ROW_BYTES`, all of them distinct. A wrong estimate costs time and never rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from engine.catalog.model.objects import SystemTable, Table
from engine.catalog.model.statistics import TableStatistics
from engine.plan_ir.conjuncts import conjuncts
from engine.plan_ir.expr import Column, ColumnRef, Expr, Node
from engine.plan_ir.join_groups import is_inner_join, take_apart
from engine.plan_ir.logical import (
    Aggregator,
    CteReader,
    DistinctOn,
    Evaluator,
    Join,
    Limit,
    ProjectSet,
    Root,
    SetOperation,
    Sort,
    TableReader,
    Values,
    Window,
    With,
)
from engine.plan_ir.physical import Receive
from engine.plan_ir.rewrite import walk_all
from engine.planner.optimizer.column_bounds import Range, is_known, reader_test, value_of
from engine.planner.optimizer.column_statistics import known_statistics, statistics_by_column
from engine.planner.optimizer.footers import RowGroup
from engine.planner.optimizer.input_size import input_bytes, known_groups
from engine.planner.optimizer.join_estimates import ROW_BYTES, Estimate, estimate_group, estimate_join, known_distinct
from engine.planner.optimizer.selectivity import VALUES_UNKNOWN, Known, bits_as_values, selectivity


def estimate(node: Node, parameters: Mapping[int, Any]) -> Estimate:
    """Estimate the rows of a relation that is to be joined. parameters: canonical values by number."""
    return Estimator(parameters).of(node)


class Estimator:
    """Estimates of the nodes of one plan, each made once. below: in a physical plan, returns the node whose rows an
    edge carries. root: the whole plan, whose common table expressions the estimated nodes may read.
    """

    def __init__(
        self,
        parameters: Mapping[int, Any],
        below: Callable[[Receive], Node] | None = None,
        root: Node | None = None,
    ) -> None:
        self._parameters = parameters
        self._below = below
        nodes = walk_all(root) if root is not None else ()
        self._ctes = {cte.id: cte.plan for node in nodes if isinstance(node, With) for cte in node.ctes}
        #: The nodes are kept, so that no other node can get the same `id()`.
        self._made: dict[int, tuple[Node, Estimate]] = {}

    def of(self, node: Node) -> Estimate:
        if id(node) not in self._made:
            self._made[id(node)] = node, self._of(node)
        return self._made[id(node)][1]

    def _of(self, node: Node) -> Estimate:
        match node:
            case TableReader():
                return self._reader(node)
            case Evaluator():
                return self._evaluator(node)
            case Join():
                return self._join(node)
            case Aggregator():
                return self._groups(node)
            case DistinctOn():
                return _of_rows(node, self._combinations(node.keys, self.of(node.input)), self.of(node.input))
            case SetOperation():
                return self._set_operation(node)
            case Limit():
                return self._limit(node)
            case Sort(input=below) | Root(input=below) | Window(input=below) | ProjectSet(input=below):
                return _of_rows(node, self.of(below).rows, self.of(below))
            case _:
                return self._source(node)

    def _source(self, node: Node) -> Estimate:
        match node:
            case Values():
                return _without_statistics(node, len(node.rows))
            case With():
                return self._with(node)
            case CteReader() if node.cte in self._ctes:
                return self._rename_estimate(node, self._ctes[node.cte])
            case Receive() if self._below is not None:
                return self.of(self._below(node))
            case _:
                inputs = node.inputs()
                return self._by_size(node) if len(inputs) != 1 else _of_rows(node, self.of(inputs[0]).rows, None)

    def _rename_estimate(self, node: Node, plan: Node) -> Estimate:
        """Return the estimate of a plan, with its columns under the node's ids."""
        made = self.of(plan)
        pairs = zip(node.columns, plan.columns, strict=True)
        distinct = {column.id: made.distinct.get(own.id, made.rows) for column, own in pairs}
        return Estimate(made.rows, distinct, made.unfiltered)

    def _by_size(self, node: Node) -> Estimate:
        return _without_statistics(node, input_bytes(node, self._parameters) / ROW_BYTES)

    # -- tables --------------------------------------------------------------------------------------------------

    def _reader(self, node: TableReader) -> Estimate:
        match node.table:
            case SystemTable(rows=rows):
                return self._kept_of(node, float(rows.num_rows), float(rows.num_rows), [], None)
            case Table(format="parquet") as table:
                return self._of_parquet(node, table)
            case Table(statistics=TableStatistics(rows=rows)):
                return self._kept_of(node, rows, rows, [], node.table)
            case _:
                return self._by_size(node)

    def _of_parquet(self, node: TableReader, table: Table) -> Estimate:
        test = reader_test(node, self._parameters)
        known = known_groups(table, test)
        if known.unseen:
            return self._by_size(node)
        rows = sum(group.end - group.first for group in known.groups) * known.scale
        whole = rows
        if table.statistics is not None and (test is not None or node.of_files is not None):
            # The selectivity is that of all rows of the table, not of those that remain to be read.
            whole = max(rows, table.statistics.rows)
        return self._kept_of(node, rows, whole, known.groups, table)

    def _kept_of(
        self, node: TableReader, rows: float, whole: float, groups: list[RowGroup], table: Table | None
    ) -> Estimate:
        """Estimate the rows that a reader's filter keeps.

        rows: those that are read. whole: those to which the filter's selectivity applies.
        """
        rows, whole = max(rows, 1.0), max(whole, 1.0)
        found = statistics_by_column(table) if table is not None else {}
        distinct: dict[int, float] = {}
        columns: dict[int, Known] = {}
        for column, name in zip(node.columns, node.names, strict=True):
            if name in found:
                columns[column.id] = known_statistics(found[name], whole)
                distinct[column.id] = min(rows, columns[column.id].values)
            else:
                distinct[column.id], columns[column.id] = _by_footers(groups, name, rows)
        left = max(min(whole * selectivity(node.filter, columns, self._parameters), rows), 1)
        return Estimate(left, {column: min(values, left) for column, values in distinct.items()}, rows)

    # -- operators -----------------------------------------------------------------------------------------------

    def _evaluator(self, node: Evaluator) -> Estimate:
        if is_inner_join(node.input):
            # FROM a, b WHERE ...: the join's conditions stand above the product.
            relations, conditions = take_apart(node.input)
            found = [(self.of(relation), frozenset(c.id for c in relation.columns)) for relation in relations]
            below = estimate_group(found, (*conditions, *conjuncts(node.filter)), self._parameters)
            rows = below.rows
        else:
            below = self.of(node.input)
            rows = max(below.rows * selectivity(node.filter, known_distinct(below.distinct), self._parameters), 1)
        pairs = zip(node.columns, node.emit, strict=True)
        distinct = {c.id: below.distinct.get(e.column.id, rows) if isinstance(e, ColumnRef) else rows for c, e in pairs}
        return Estimate(rows, {column: min(values, rows) for column, values in distinct.items()}, below.unfiltered)

    def _join(self, node: Join) -> Estimate:
        left, right = self.of(node.left), self.of(node.right)
        inner = estimate_join(left, right, conjuncts(node.condition), self._parameters)
        at_least = {"left": left.rows, "right": right.rows, "full": max(left.rows, right.rows)}.get(node.kind, 1.0)
        rows = max(inner.rows, at_least)
        return Estimate(rows, {column: min(n, rows) for column, n in inner.distinct.items()}, inner.unfiltered)

    def _groups(self, node: Aggregator) -> Estimate:
        below = self.of(node.input)
        sets = node.grouping_sets if node.grouping_sets is not None else (tuple(range(len(node.group))),)
        rows = sum(self._combinations([node.group[at] for at in chosen], below) for chosen in sets)
        names = dict(zip((column.id for column in node.columns), node.group, strict=False))
        distinct = {
            column.id: min(below.distinct.get(names[column.id].id, rows), rows) if column.id in names else rows
            for column in node.columns
        }
        kept_part = selectivity(node.filter, known_distinct(distinct), self._parameters)
        return Estimate(max(rows * kept_part, 1), distinct, max(rows, 1))

    @staticmethod
    def _combinations(keys: tuple[Column, ...] | list[Column], below: Estimate) -> float:
        """Return an upper bound of the number of combinations of values that these columns have."""
        found = 1.0
        for key in keys:
            found = min(found * max(below.distinct.get(key.id, below.rows), 1), below.rows)
        return max(found, 1.0)

    def _set_operation(self, node: SetOperation) -> Estimate:
        left, right = self.of(node.left), self.of(node.right)
        rows = {"union": left.rows + right.rows, "intersect": min(left.rows, right.rows)}.get(node.kind, left.rows)
        return _of_rows(node, rows, None)

    def _limit(self, node: Limit) -> Estimate:
        below = self.of(node.input)
        count, offset = self._constant(node.count), self._constant(node.offset) or 0
        rows = max(below.rows - offset, 1)
        return _of_rows(node, rows if count is None else min(rows, count), below)

    def _constant(self, expr: Expr | None) -> int | None:
        if expr is None or not is_known(expr, self._parameters):
            return None
        value = value_of(expr, self._parameters)
        return value if isinstance(value, int) else None

    def _with(self, node: With) -> Estimate:
        for cte in node.ctes:
            self._ctes[cte.id] = cte.plan
        return self.of(node.body)


def _without_statistics(node: Node, rows: float) -> Estimate:
    rows = max(rows, 1)
    return Estimate(rows, {column.id: rows for column in node.columns}, rows)


def _of_rows(node: Node, rows: float, below: Estimate | None) -> Estimate:
    """Return an estimate of `rows` rows, whose columns pass through from below."""
    rows = max(rows, 1)
    values = below.distinct if below is not None else {}
    distinct = {column.id: min(values.get(column.id, rows), rows) for column in node.columns}
    return Estimate(rows, distinct, rows if below is None else below.unfiltered)


def _by_footers(groups: list[RowGroup], name: str, rows: float) -> tuple[float, Known]:
    """Return an upper bound of a column's distinct values, and the statistics by which its conditions are estimated."""
    between = _range(groups, name)
    width = _width(between)
    typical = min(VALUES_UNKNOWN, bits_as_values(sum(group.size((name,)) for group in groups), rows))
    return min(rows, width or rows), Known(min(rows, width or typical), between)


def _range(groups: list[RowGroup], name: str) -> Range | None:
    """Return the least and the greatest value of a column in these row groups; None if one of them does not record it."""
    ranges = [group.columns[name][1] for group in groups if name in group.columns]
    known = [r for r in ranges if r is not None]
    if not known or len(known) < len(groups):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _width(between: Range | None) -> float | None:
    """Return an upper bound of the number of values in a range; None if the type gives no bound."""
    if between is None:
        return None
    low, high = between
    if isinstance(low, int) and isinstance(high, int):
        return float(high - low + 1)
    if isinstance(low, dt.date) and isinstance(high, dt.date) and not isinstance(low, dt.datetime):
        return float((high - low).days + 1)
    return 1.0 if low == high else None
