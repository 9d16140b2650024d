"""The work of a plan, in figures by which an engine's time for it is estimated (`engine.planner.engine_model`).

All figures follow from the planner's estimates (`cardinality`, `input_size`); none depends on the machine. They are
counted over the logical plan as it is, subqueries included, each once: both engines decorrelate subqueries, and both
order joins by themselves. So a group of joins, such as FROM a, b, c WHERE ..., counts as the rows of its relations and
the rows that the group gives.

**Memory** is the data that an engine holds at once and cannot stream: the smaller sides of joins, groups, rows that are
sorted or that a window function sees. All of a plan are added up, which is more than is held at any time in most plans.
The width of a row is that of its columns in memory, by their types and by ANALYZE's widths.

**Groups.** `cardinality` bounds the values of a column from above, and a footer gives no such bound for text: GROUP BY of a
flag would be estimated as a group for each few rows. Here the size of a text column in its files gives the number of
its values, multiplied by four to be safe.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from engine.catalog.model.objects import Table
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Column, ColumnRef, Node
from engine.plan_ir.join_groups import is_inner_join, joins_within, take_apart
from engine.plan_ir.logical import (
    Aggregator,
    DistinctOn,
    Evaluator,
    Join,
    Limit,
    Root,
    SetOperation,
    Sort,
    TableReader,
    Window,
)
from engine.plan_ir.rewrite import walk_all
from engine.planner.optimizer.cardinality import Estimator
from engine.planner.optimizer.column_statistics import statistics_by_column
from engine.planner.optimizer.input_size import input_bytes, reader_bytes
from engine.planner.optimizer.join_estimates import Estimate
from engine.planner.optimizer.selectivity import bits_as_values
from wire.dataclass import dataclass
from wire.types import pg_types as t

#: Assumed bytes of a value of variable length, including its pointer.
_VARIABLE_BYTES: Final = 32
_WIDTHS: Final[Mapping[t.PgType, int]] = {
    t.BOOL: 1, t.INT2: 2, t.INT4: 4, t.INT8: 8, t.FLOAT4: 4, t.FLOAT8: 8, t.DATE: 4, t.TIME: 8, t.TIMESTAMP: 8,
    t.TIMESTAMPTZ: 8, t.NUMERIC: 16, t.UUID: 16, t.INTERVAL: 16,
}  # fmt: skip
#: Bytes that a hash table or a sort needs for a row beside its values.
_ROW_BYTES: Final = 16
#: A text column has at most this many times the distinct values that its size in the files indicates.
_VALUES_SAFELY: Final = 4
#: For a longer plan only its input is counted: estimating the rest would take longer than many queries.
_NODES_MAX: Final = 500
#: The same holds for a plan that reads fewer bytes and joins nothing: its time is the fixed one.
_READ_MIN: Final = 1 << 20
#: Operators that bring rows together: each needs an exchange if an engine runs in several tasks.
_MEETINGS: Final = (Join, Aggregator, DistinctOn, Window, Sort)


@dataclass(frozen=True, slots=True)
class PlanWork:
    """The work of a plan.

    read: bytes of column data. rows: the rows that readers, joins, aggregates, sorts and windows take and give, all
    together. stages: how often rows have to meet. result_bytes: of the rows of the result, in memory. held: an upper
    bound of the bytes that are held at once. written: bytes of the result that are written into files; 0: it goes to a
    client.
    """

    read: int
    rows: int = 0
    stages: int = 0
    result_bytes: int = 0
    held: int = 0
    written: int = 0


def plan_work(plan: Node, parameters: Mapping[int, Any], *, writes: bool = False, read: int | None = None) -> PlanWork:
    """Count the work of a plan.

    parameters: canonical values by number. writes: whether its rows are written into files. read: its input in bytes,
    if known.
    """
    nodes = list(walk_all(plan))
    if read is None:
        read = input_bytes(plan, parameters)
    if len(nodes) > _NODES_MAX or (read <= _READ_MIN and not any(isinstance(node, Join) for node in nodes)):
        return PlanWork(read)
    count = _Count(_GroupEstimator(parameters, plan, nodes), nodes)
    top = plan.input if isinstance(plan, Root) else plan
    result_bytes = round(count.rows(top) * count.width(top.columns))
    return PlanWork(
        read,
        round(sum(count.rows_seen(node) for node in nodes)),
        sum(isinstance(node, _MEETINGS) for node in nodes),
        result_bytes,
        round(sum(count.bytes_held(node) for node in nodes)),
        result_bytes if writes else 0,
    )


class _GroupEstimator(Estimator):
    """Estimates the number of groups by text columns from the size of the text in the files; see the module's
    docstring.
    """

    def __init__(self, parameters: Mapping[int, Any], plan: Node, nodes: Sequence[Node]) -> None:
        super().__init__(parameters, root=plan)
        self._origins = dict(_origins(nodes))
        self._readers = {c.id: (node, c) for node in nodes if isinstance(node, TableReader) for c in node.columns}

    def _groups(self, node: Aggregator) -> Estimate:
        made = super()._groups(node)
        most = math.prod(self._values(key, made.rows) for key in node.group)
        if not node.group or node.grouping_sets is not None or most >= made.rows:
            return made
        distinct = {column: min(values, most) for column, values in made.distinct.items()}
        return Estimate(most, distinct, min(made.unfiltered, most))

    def _values(self, key: Column, otherwise: float) -> float:
        """Estimate how many values a column has. otherwise: the estimate if neither statistics nor sizes are known."""
        at = key.id
        while at not in self._readers and at in self._origins:
            at = self._origins[at]
        if at not in self._readers:
            return otherwise
        reader, column = self._readers[at]
        known = self.of(reader).distinct.get(at, otherwise)
        table = reader.table
        if not isinstance(table, Table) or table.format != "parquet" or table.statistics is not None:
            return known
        if _type_width(column.type) != _VARIABLE_BYTES:
            return known
        name = reader.names[reader.columns.index(column)]
        size = reader_bytes(replace(reader, columns=(column,), names=(name,)), self._parameters)
        return max(1.0, min(known, _VALUES_SAFELY * bits_as_values(size, self.of(reader).unfiltered)))


def _origins(nodes: Iterable[Node]) -> Iterator[tuple[int, int]]:
    """Yield pairs of a column and the column that it renames. Filters emit columns under the ids that they have."""
    for node in nodes:
        pairs: Iterable[tuple[Column, Column]] = ()
        if isinstance(node, Evaluator):
            emitted = zip(node.columns, node.emit, strict=True)
            pairs = [(column, expr.column) for column, expr in emitted if isinstance(expr, ColumnRef)]
        elif isinstance(node, Aggregator):
            pairs = zip(node.columns, node.group, strict=False)
        yield from ((column.id, origin.id) for column, origin in pairs if column.id != origin.id)


class _Count:
    """Rows and bytes of the nodes of one plan."""

    def __init__(self, estimator: Estimator, nodes: Iterable[Node]) -> None:
        self._estimator = estimator
        self._groups = {
            id(node.input): node for node in nodes if isinstance(node, Evaluator) and is_inner_join(node.input)
        }
        self._inner = {id(join) for node in self._groups.values() for join in joins_within(node.input)} - set(
            self._groups
        )
        self._limits = {id(node.input): node for node in nodes if isinstance(node, Limit)}
        self._known = dict(_known_widths(nodes))

    def rows(self, node: Node) -> float:
        return self._estimator.of(node).rows

    def width(self, columns: Iterable[Column]) -> int:
        """Return the bytes of a row in memory."""
        return _ROW_BYTES + sum(self._known.get(column.id, _type_width(column.type)) for column in columns)

    def rows_seen(self, node: Node) -> float:
        """Count the rows that an operator handles."""
        match node:
            case TableReader():
                return self._estimator.of(node).unfiltered
            case Join():
                return self._seen_by_join(node)
            case Aggregator(input=below) | DistinctOn(input=below) | Window(input=below) | Sort(input=below):
                return self.rows(below) + self.rows(node)
            case SetOperation(left=left, right=right):
                return 0.0 if node.all and node.kind == "union" else self.rows(left) + self.rows(right)
            case _:
                return 0.0

    def _seen_by_join(self, node: Join) -> float:
        if id(node) in self._inner:
            return 0.0
        return sum(map(self.rows, self._sides(node))) + self.rows(self._groups.get(id(node), node))

    def _sides(self, node: Join) -> Sequence[Node]:
        """Return the relations that are joined; for a join group, all of its relations."""
        return take_apart(node)[0] if id(node) in self._groups else (node.left, node.right)

    def _held_by_join(self, node: Join) -> float:
        """Count the bytes of all sides but the largest: engines build hash tables of the smaller ones."""
        if id(node) in self._inner:
            return 0.0
        sizes = [self.rows(side) * self.width(side.columns) for side in self._sides(node)]
        return sum(sizes) - max(sizes)

    def bytes_held(self, node: Node) -> float:
        """Count the bytes that an operator holds."""
        match node:
            case Join():
                return self._held_by_join(node)
            case Aggregator() | DistinctOn():
                return self.rows(node) * self.width(node.columns)
            case SetOperation() if not (node.all and node.kind == "union"):
                return self.rows(node) * self.width(node.columns)
            case Window(input=below):
                return self.rows(below) * self.width(below.columns)
            case Sort(input=below):
                # Below a LIMIT only the first rows in the order are held.
                return self.rows(self._limits.get(id(node), below)) * self.width(below.columns)
            case _:
                return 0.0


def _known_widths(nodes: Iterable[Node]) -> Iterator[tuple[int, int]]:
    """Yield the widths of columns that ANALYZE has measured, by the columns' ids."""
    for node in nodes:
        if isinstance(node, TableReader) and isinstance(node.table, Table):
            found = statistics_by_column(node.table)
            yield from (
                (column.id, found[name].width)
                for column, name in zip(node.columns, node.names, strict=True)
                if name in found
            )


def _type_width(typ: SqlType) -> int:
    return _WIDTHS.get(typ.pg.carried or typ.pg, _VARIABLE_BYTES)
