"""Equalities of a WHERE moved into the conditions of the joins that they concern, where DuckDB would not handle them
well.

**Beside subqueries.** DuckDB pushes a condition of WHERE down to the join that it concerns. It does not if a scalar
subquery is correlated with both sides, as a subquery is that the condition guards (`condition_order`), and the mark
join of an IN lies between: then it first forms every pair of rows. `a, b WHERE a.x = b.x AND (SELECT ... a.y ...) AND
a.z IN (SELECT ...)` took 4.4 s over two tables of 5,000 rows, and 0.004 s with ON a.x = b.x;
information_schema.role_column_grants took 9 s, and 0.2 s.

**Of many relations.** DuckDB forms all pairs of operands that are equal to each other, again for each join through
which it pushes them: 120 relations with two equalities each took 30 s and 2.4 GB, outside of its memory limit and
without a chance to interrupt it. So the equalities of a class of many operands are replaced by fewer equivalent ones:
those of the first operand with one operand of each relation, and those among the operands of one relation.

DuckDB also computes its join order from all equalities of each set of relations that it considers: 200 relations that
are joined with one took 18 s. So more than `_ORDERED_MAX` relations are divided into tables derived from one another,
with a barrier between them (`engine.planner.codegen.barrier`). Within a table DuckDB chooses the order. Between tables
the order is the written one, except that a relation that an equality connects with those before it precedes one that no
equality connects.

An equality of two columns raises no error, so it may be evaluated before whatever precedes it. Only inner joins receive
equalities.

An equality of computed operands belongs to no class. DuckDB forms no pairs from it if it is written as IS NOT DISTINCT
FROM and IS NOT NULL. Equalities that may raise an error stay where they are, except among so many relations that
derived tables are needed: above these they would join nothing.

Rejected: IS NOT DISTINCT FROM for all equalities; DuckDB then pushes the IS NOT NULL of each operand through all joins
instead. DuckDB's setting that disables join ordering; it applies to the whole process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from engine.common.sql_type import SqlType
from engine.plan_ir.conjuncts import conjunction, conjuncts
from engine.plan_ir.expr import Call, ColumnRef, Expr, IsDistinct, IsNull, Node, Relabel, Subquery, references_to
from engine.plan_ir.free_columns import references
from engine.plan_ir.join_groups import is_inner_join, order_by_links, take_apart
from engine.plan_ir.logical import Evaluator, Join
from engine.plan_ir.predicates import has_subquery, is_equality
from engine.plan_ir.rewrite import map_expressions, map_inputs, rewrite_expr, walk_all
from engine.plan_ir.volatility import is_volatile
from engine.planner.codegen.short_circuit import may_raise
from wire.dataclass import dataclass
from wire.types import pg_types as t

#: Groups of up to this many relations are left as they are: DuckDB considers all join orders of these.
_FEW_RELATIONS: Final = 12
#: Classes of up to this many equal operands are left as they are.
_FEW_OPERANDS: Final = 8
#: Up to this many relations are ordered by DuckDB at once, which takes half a second if all are joined with one.
_ORDERED_MAX: Final = 64
#: The number of relations in each derived table, if there are more.
_TABLE_MAX: Final = 16
#: Casts among these from left to right raise no error, and equal values stay equal.
_WIDER: Final = (t.INT2, t.INT4, t.INT8, t.NUMERIC)


@dataclass(frozen=True, slots=True)
class PlacedEqualities:
    """A plan whose joins have their equalities. derived: ids of the joins that are to be derived tables."""

    plan: Node
    derived: frozenset[int]


def place_equalities(plan: Node) -> PlacedEqualities:
    """Give the joins of a plan for DuckDB their equalities; see the module's docstring."""
    if not any(is_inner_join(node) for node in walk_all(plan)):
        return PlacedEqualities(plan, frozenset())
    placement = _Placement()
    return PlacedEqualities(placement.place(plan), frozenset(id(join) for join in placement.derived))


class _Placement:
    """Places the equalities of a plan. derived: ids of the joins that are to be derived tables."""

    def __init__(self) -> None:
        self.derived: list[Join] = []

    def place(self, node: Node) -> Node:
        """Return the node with the equalities of its join groups in place, and of those below it and in its
        expressions.
        """
        root = node.input if isinstance(node, Evaluator) and not node.barrier else node
        if not is_inner_join(root):
            return self._place_below(node)
        relations, conditions = take_apart(root)
        above = conjuncts(node.filter) if isinstance(node, Evaluator) else ()
        many = len(relations) > _FEW_RELATIONS
        if not many and not any(map(has_subquery, above)):
            return self._place_below(node)
        group = _Group(tuple(map(self.place, relations)), many=many)
        group.take(conditions, every=True)
        # DuckDB would not push conditions from above into the derived tables.
        left = group.take(above, every=len(relations) > _ORDERED_MAX)
        joined = group.join_all(self.derived)
        if isinstance(node, Evaluator):
            return self._place_inside(replace(node, input=joined, filter=conjunction((*left, *group.rest))))
        if not group.rest and joined.columns == node.columns:
            return joined
        emit = references_to(node.columns)
        return self._place_inside(Evaluator(node.columns, joined, emit, conjunction(tuple(group.rest))))

    def _place_below(self, node: Node) -> Node:
        if isinstance(node, Join) and is_inner_join(node):
            # The group is left as it is, so its joins are not groups of their own.
            return self._place_inside(map_inputs(node, self._place_within))
        if isinstance(node, Evaluator) and is_inner_join(node.input) and not node.barrier:
            return self._place_inside(map_inputs(node, self._place_within))
        return self._place_inside(map_inputs(node, self.place))

    def _place_within(self, node: Node) -> Node:
        return self._place_below(node) if is_inner_join(node) else self.place(node)

    def _place_inside(self, node: Node) -> Node:
        """Return the node with equalities placed in the subqueries of its expressions."""

        def in_expr(expr: Expr) -> Expr:
            if not isinstance(expr, Subquery):
                return expr
            plan = self.place(expr.plan)
            return expr if plan is expr.plan else replace(expr, plan=plan)

        return map_expressions(node, lambda expr: rewrite_expr(expr, in_expr))


class _Group:
    """Relations that are joined, with the conditions on them.

    rest: conditions that cannot be a join's.
    """

    def __init__(self, relations: Sequence[Node], *, many: bool) -> None:
        self.rest: list[Expr] = []
        self._relations = relations
        self._many = many
        self._conditions: list[Expr] = []
        self._owner = {column.id: number for number, node in enumerate(relations) for column in node.columns}
        self._computed = {id_ for node in relations for id_ in _computed_columns(node)}

    def take(self, parts: Iterable[Expr], *, every: bool) -> tuple[Expr, ...]:
        """Take conditions for the joins: of ON all that may stand there, of WHERE the equalities. Return the rest of
        WHERE.
        """
        left: list[Expr] = []
        for part in parts:
            if self._connects(part) or (every and not is_volatile(part) and not has_subquery(part)):
                self._conditions.append(part)
            else:
                (self.rest if every else left).append(part)
        return tuple(self._without_pairs(left) if self._many else left)

    def join_all(self, derived: list[Join]) -> Node:
        """Join the relations. derived: receives the joins that are to be derived tables."""
        order = list(range(len(self._relations)))
        if len(order) > _ORDERED_MAX:
            order = order_by_links(len(order), (self._owners(part) for part in self._conditions if is_equality(part)))
        conditions = self._span_classes(order) if self._many else self._conditions
        place = {number: index for index, number in enumerate(order)}
        by_place: dict[int, list[Expr]] = {}
        for part in conditions:
            at = max((place[number] for number in self._owners(part)), default=0)
            by_place.setdefault(max(at, 1), []).append(part)
        joined = self._relations[order[0]]
        for index, number in enumerate(order[1:], 1):
            right = self._relations[number]
            test = conjunction(tuple(by_place.get(index, ())))
            joined = Join((*joined.columns, *right.columns), "inner" if test else "cross", joined, right, test)
            if len(order) > _ORDERED_MAX and index % _TABLE_MAX == 0 and index < len(order) - 1:
                derived.append(joined)
        return joined

    def _owners(self, part: Expr) -> set[int]:
        return {self._owner[column.id] for column in references(part) if column.id in self._owner}

    def _connects(self, part: Expr) -> bool:
        """Whether it is an equality of columns of two relations, which cannot raise an error."""
        return is_equality(part) and all(map(self._is_plain, part.args)) and len(self._owners(part)) == 2

    def _is_plain(self, operand: Expr) -> bool:
        """Whether it is a relation's column, or a cast of one that raises no error."""
        match operand:
            case ColumnRef(column=column):
                return column.id in self._owner and column.id not in self._computed
            case Relabel(arg=arg):
                return self._is_plain(arg)
            case Call(function=function, args=(arg,)) if function.kind == "cast":
                return _widens(arg.type, operand.type) and self._is_plain(arg)
        return False

    def _span_classes(self, order: Sequence[int]) -> list[Expr]:
        """Return the conditions, with each large class of equal operands reduced to a few equalities that imply the
        others.
        """
        place = {number: index for index, number in enumerate(order)}
        families = [(self._family(part), part) for part in self._conditions]
        kept = self._without_pairs([part for family, part in families if family is None])
        for equalities in _classes(families):
            operands = {arg: min(map(place.__getitem__, self._owners(arg))) for part in equalities for arg in part.args}
            if len(operands) <= _FEW_OPERANDS:
                kept += equalities
                continue
            by_place: dict[int, list[Expr]] = {}
            for operand, at in operands.items():
                by_place.setdefault(at, []).append(operand)
            first = by_place[min(by_place)][0]
            for own in (by_place[at] for at in sorted(by_place)):
                among = own if own[0] is first else [first, own[0], *own[1:]]
                kept += (replace(equalities[0], args=(one, other)) for one, other in pairwise(among))
        return kept

    def _without_pairs(self, parts: Sequence[Expr]) -> list[Expr]:
        """Rewrite equalities that belong to no class, so that DuckDB does not combine them into pairs."""
        if sum(map(self._is_computed, parts)) <= _FEW_OPERANDS:
            return list(parts)
        found: list[Expr] = []
        for part in parts:
            if self._is_computed(part) and isinstance(part, Call):
                one, other = part.args
                found += (IsDistinct(part.type, one, other, negated=True), IsNull(part.type, one, negated=True))
            else:
                found.append(part)
        return found

    def _is_computed(self, part: Expr) -> bool:
        """Whether it is an equality of operands of one type that refers to several relations."""
        if not is_equality(part) or has_subquery(part) or is_volatile(part) or len(self._owners(part)) < 2:
            return False
        one, other = (arg.type for arg in part.args)
        return one == other and not one.pg.is_row and not one.pg.is_array

    def _family(self, part: Expr) -> object:
        """Return the types among whose values equality is transitive, for an equality that connects relations; None for
        any other condition.
        """
        if not self._connects(part) or not isinstance(part, Call):
            return None
        types = {arg.type for arg in part.args}
        if all(typ.pg in t.WHOLE_NUMBERS for typ in types):
            return t.WHOLE_NUMBERS
        return types.pop() if len(types) == 1 else None


def _widens(source: SqlType, target: SqlType) -> bool:
    """Whether a cast raises no error and keeps equal values equal."""
    known = source.pg in _WIDER and target.pg in _WIDER and target.typmod < 0
    return known and _WIDER.index(source.pg) < _WIDER.index(target.pg)


def _classes(parts: Iterable[tuple[object, Expr]]) -> Iterator[list[Call]]:
    """Yield the equalities grouped into classes of operands that they make equal. parts: each with its family; a part
    whose family is None is in no class.
    """
    parents: dict[tuple[object, Expr], tuple[object, Expr]] = {}

    def root(key: tuple[object, Expr]) -> tuple[object, Expr]:
        while (parent := parents.setdefault(key, key)) != key:
            parents[key] = parents[parent]
            key = parents[key]
        return key

    equalities: list[tuple[tuple[object, Expr], Call]] = []
    for family, part in parts:
        if family is not None and isinstance(part, Call):
            one, other = ((family, arg) for arg in part.args)
            parents[root(other)] = root(one)
            equalities.append((one, part))
    found: dict[tuple[object, Expr], list[Call]] = {}
    for key, part in equalities:
        found.setdefault(root(key), []).append(part)
    yield from found.values()


def _computed_columns(node: Node) -> Iterator[int]:
    """Yield the columns of a relation whose computation may raise an error."""
    while isinstance(node, Evaluator):
        for column, expr in zip(node.columns, node.emit, strict=True):
            if may_raise(expr) or has_subquery(expr) or is_volatile(expr):
                yield column.id
        node = node.input
