"""Cardinality estimates of joins: of two relations, and of a group that conditions join in any order.

**Two relations.** By an equality: the product of the rows over the larger number of distinct values (Selinger et al.,
"Access path selection in a relational database management system"). By several equalities: over the product of these
numbers, but no more than the rows that one of the inputs has before its filters, since a key of two columns has no more
values than its table has rows.

**A group** (`engine.plan_ir.join_groups`), such as FROM a, b, c WHERE ..., is estimated as engines join it: beginning with
the largest relation, then always the relation that leaves the fewest rows among those that a condition connects. An
estimate in the written order, with a product of a and b first, gives numbers beyond all rows that there are, since the
bound on several equalities is then that of c alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from engine.common.interrupts import check_for_interrupts
from engine.plan_ir.conjuncts import conjunction
from engine.plan_ir.expr import Call, ColumnRef, Expr
from engine.plan_ir.free_columns import references
from engine.plan_ir.join_groups import order_by_links
from engine.planner.optimizer.selectivity import VALUES_UNKNOWN, Known, selectivity
from wire.dataclass import dataclass

#: The assumed bytes of a row of which nothing is known.
ROW_BYTES: Final = 32
#: The largest estimate of rows, so that products of estimates stay finite (PostgreSQL 15, costsize.c,
#: MAXIMUM_ROWCOUNT).
_ROWS_MAX: Final = 1e100
#: Up to this many relations of a group, all are candidates for the next join; with more, it is the next one that an
#: equality connects.
_ORDERED_MAX: Final = 16
#: An estimate, and the ids of the relation's columns.
Relation = tuple["Estimate", frozenset[int]]


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of a relation. rows: about how many. distinct: by column id, an upper bound of its distinct values.
    unfiltered: the rows without filters.
    """

    rows: float
    distinct: Mapping[int, float]
    unfiltered: float

    @property
    def size(self) -> float:
        """The size in bytes, if all rows are alike."""
        return self.rows * ROW_BYTES


def estimate_join(
    left: Estimate, right: Estimate, condition: tuple[Expr, ...], parameters: Mapping[int, Any]
) -> Estimate:
    """Estimate the rows of an inner join with these conjuncts."""
    distinct = {**left.distinct, **right.distinct}
    keys = [sides for part in condition if (sides := _equal_columns(part)) is not None]
    values = math.prod(max(distinct.get(column, 1) for column in sides) for sides in keys)
    if len(keys) > 1:
        values = min(values, left.unfiltered, right.unfiltered)
    rows = min(left.rows * right.rows, _ROWS_MAX) / max(values, 1)
    for part in condition:
        if _equal_columns(part) is None:
            rows *= selectivity(part, known_distinct(distinct), parameters)
    return Estimate(max(rows, 1), distinct, max(left.unfiltered, right.unfiltered))


def estimate_filter(below: Estimate, condition: tuple[Expr, ...]) -> Estimate:
    """Estimate the rows that conditions leave, by the distinct values alone."""
    part = selectivity(conjunction(condition), known_distinct(below.distinct), {})
    return Estimate(max(below.rows * part, 1), below.distinct, below.unfiltered)


def estimate_group(
    relations: Sequence[Relation], conditions: Sequence[Expr], parameters: Mapping[int, Any]
) -> Estimate:
    """Estimate the rows of relations that are joined by all of these conjuncts."""
    left = list(relations) if len(relations) <= _ORDERED_MAX else _order_by_equalities(relations, conditions)
    open_parts = [(part, frozenset(column.id for column in references(part))) for part in conditions]
    joined, columns = max(left, key=lambda relation: relation[0].rows) if len(left) <= _ORDERED_MAX else left[0]
    left.remove((joined, columns))
    while left:
        check_for_interrupts()
        candidates = left if len(left) < _ORDERED_MAX else left[:1]
        steps = []
        for relation, own in candidates:
            fitting = tuple(part for part, names in open_parts if names and names <= columns | own)
            after = estimate_join(joined, relation, fitting, parameters)
            apart = not any(_equal_columns(part) for part in fitting)
            steps.append(((apart, after.rows), after, (relation, own)))
        _, joined, (_, own) = chosen = min(steps, key=lambda step: step[0])
        left.remove(chosen[2])
        columns |= own
        open_parts = [(part, names) for part, names in open_parts if not names or not names <= columns]
    rest = conjunction(tuple(part for part, _ in open_parts))
    rows = max(joined.rows * selectivity(rest, known_distinct(joined.distinct), parameters), 1)
    return Estimate(rows, joined.distinct, joined.unfiltered)


def _order_by_equalities(relations: Sequence[Relation], conditions: Sequence[Expr]) -> list[Relation]:
    owner = {column: number for number, (_, columns) in enumerate(relations) for column in columns}
    sides = (pair for part in conditions if (pair := _equal_columns(part)) is not None)
    links = ({owner[column] for column in pair if column in owner} for pair in sides)
    return [relations[number] for number in order_by_links(len(relations), links)]


def known_distinct(distinct: Mapping[int, float]) -> dict[int, Known]:
    """Return statistics for selectivity estimates where only the distinct values of columns are known."""
    return {column: Known(min(values, VALUES_UNKNOWN)) for column, values in distinct.items()}


def _equal_columns(part: Expr) -> tuple[int, int] | None:
    if isinstance(part, Call) and part.function.name == "=" and len(part.args) == 2:
        a, b = part.args
        if isinstance(a, ColumnRef) and isinstance(b, ColumnRef):
            return a.column.id, b.column.id
    return None
