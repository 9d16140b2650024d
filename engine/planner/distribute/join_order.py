"""The order of inner joins, chosen so that few rows are left to move, and so that each exchange has an equality to
partition by.

An engine that receives a whole query orders its joins itself. Here fragments are cut between joins, and `FROM a, b, c
WHERE ...` begins as a product of a and b. So a group of inner and cross joins, with the filter above it, is taken apart
into relations and conjuncts and rebuilt left-deep: first the largest relation, since it is the one that should not
move, then always a relation that an equality connects with those before it. Among these

1. those that move nothing come first: relations that every instance reads whole (`replicated`), and those that are
   co-located with the largest one (`colocated_join`), unless they would multiply the rows;
2. then the one that leaves the fewest rows (`engine.planner.optimizer.cardinality`); of equals, the smallest;
3. relations that no equality connects come last.

Each conjunct goes to the first join at which all of its columns are present. An equality that every branch of an OR has
is extracted from it, besides staying in it, and so are the conditions of every branch on one relation: their OR goes to
the relation (PostgreSQL's orclauses.c). A condition with an uncorrelated subquery goes to the relation that it
concerns. A correlated one is expensive, as each instance evaluates it over a whole table: it waits for the joins that
move nothing, and runs before the first one that does.

Rejected: beginning with the smallest relation. TPC-H's query 5 then joins customers with suppliers of the same nation
before it looks at the orders, and has sixty rows for each of lineitem's. Within a fragment the order does not matter:
there the engine chooses again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from engine.common import sql_type as st
from engine.plan_ir.conjuncts import conjunction, conjuncts
from engine.plan_ir.expr import Call, Column, ColumnRef, Expr, Node, Or, Subquery, references_to
from engine.plan_ir.free_columns import free_columns, references
from engine.plan_ir.join_groups import is_inner_join, take_apart
from engine.plan_ir.logical import Evaluator, Join, JoinKind, TableReader
from engine.plan_ir.predicates import has_subquery, is_equality
from engine.plan_ir.rewrite import map_inputs
from engine.plan_ir.volatility import is_volatile
from engine.planner.distribute.assembly import Assembly
from engine.planner.distribute.colocated_join import find_keyed_reader, readings_of
from engine.planner.distribute.narrow import narrow
from engine.planner.distribute.replicated import is_read_whole
from engine.planner.distribute.splits_by_key import Keyed
from engine.planner.optimizer.join_estimates import Estimate, estimate_filter
from engine.planner.optimizer.join_estimates import estimate_join as estimated_join
from wire.dataclass import dataclass
from wire.types import pg_types as t


def order_joins(node: Node, assembly: Assembly) -> Node:
    """Order the groups of inner joins in a plan, and reduce their columns to those used above them. Joins inside of
    expressions are left to the engine.
    """
    return narrow(_order_joins(node, assembly))


def _order_joins(node: Node, assembly: Assembly) -> Node:
    if isinstance(node, Evaluator) and is_inner_join(node.input):
        relations, conditions = take_apart(node.input)
        joined, rest = _rebuilt(relations, [*conditions, *conjuncts(node.filter)], assembly)
        return replace(node, input=joined, filter=conjunction(rest))
    if is_inner_join(node):
        joined, rest = _rebuilt(*take_apart(node), assembly)
        return Evaluator(node.columns, joined, references_to(node.columns), conjunction(rest))
    return map_inputs(node, lambda child: _order_joins(child, assembly))


def _rebuilt(nodes: list[Node], parts: list[Expr], assembly: Assembly) -> tuple[Node, tuple[Expr, ...]]:
    """Return the relations joined, and the conditions that stay above them."""
    nodes = [_order_joins(node, assembly) for node in nodes]
    movable, rest = _split_conjuncts(parts)
    nodes = [_with_filter(node, _derive_conditions(movable, node)) for node in nodes]
    nodes, rest = _with_own_filters(nodes, rest)
    return _Group(nodes, movable, rest, assembly).join_all()


# -- conditions ------------------------------------------------------------------------------------------------------


def _split_conjuncts(parts: Iterable[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Split conjuncts into those that may stand in a join's condition, and those that stay above."""
    movable: list[Expr] = []
    rest: list[Expr] = []
    for part in parts:
        stays = is_volatile(part) or has_subquery(part) or not any(references(part))
        (rest if stays else movable).append(part)
        if not stays and isinstance(part, Or):
            movable += [common for common in _common(part) if common not in movable]
    return movable, rest


def _common(part: Or) -> Iterator[Expr]:
    """Yield the equalities that every branch of an OR has."""
    first, *others = (conjuncts(branch) for branch in part.args)
    for candidate in first:
        if is_equality(candidate) and all(candidate in other for other in others):
            yield candidate


def _derive_conditions(parts: Iterable[Expr], relation: Node) -> tuple[Expr, ...]:
    """Derive a relation's conditions from ORs that concern others too: the OR of each branch's conjuncts about this one."""
    implied: list[Expr] = []
    for part in parts:
        if isinstance(part, Or) and not _concerns(part, relation):
            branches = [conjunction(tuple(p for p in conjuncts(b) if _concerns(p, relation))) for b in part.args]
            known = tuple(branch for branch in branches if branch is not None)
            if len(known) == len(branches):
                implied.append(Or(st.of(t.BOOL), known))
    return tuple(implied)


def _with_own_filters(relations: Sequence[Node], parts: Sequence[Expr]) -> tuple[list[Node], list[Expr]]:
    """Apply conditions with uncorrelated subqueries to the relation that they concern. Returns the relations, and the
    other conditions.
    """
    filtered: list[Node] = []
    left = list(parts)
    for relation in relations:
        own = tuple(part for part in left if _concerns(part, relation) and not _is_correlated(part))
        left = [part for part in left if part not in own]
        filtered.append(_with_filter(relation, own))
    return filtered, left


def _with_filter(node: Node, own: tuple[Expr, ...]) -> Node:
    if not own:
        return node
    simple = not any(map(has_subquery, own))
    if isinstance(node, TableReader) and simple:
        return replace(node, filter=conjunction((*conjuncts(node.filter), *own)))
    return Evaluator(node.columns, node, references_to(node.columns), conjunction(own))


def _concerns(part: Expr, relation: Node) -> bool:
    named = set(references(part))
    return bool(named) and named <= set(relation.columns) and not is_volatile(part)


def _is_correlated(part: Expr) -> bool:
    return any(isinstance(p, Subquery) and free_columns(p.plan) for p in part.walk())


# -- the order -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Relation:
    """A relation, or the join of several. beside: while nothing has moved, the readers' columns by which files have
    been dealt out; None afterwards.
    """

    node: Node
    estimate: Estimate
    beside: tuple[Keyed, ...] | None = ()


@dataclass(frozen=True, slots=True)
class _Step:
    """A relation joined next. apart: whether no equality connects it. moves: whether rows move for it, or multiply."""

    relation: _Relation
    joined: _Relation
    apart: bool
    moves: bool

    @property
    def cost(self) -> tuple[bool, bool, float, float]:
        return self.apart, self.moves, self.joined.estimate.rows, self.relation.estimate.rows


class _Group:
    """The relations of a group, joined one after the other.

    conditions: those that may stand in a join's condition. rest: those that may not, and have no place yet.
    """

    def __init__(self, nodes: Sequence[Node], conditions: list[Expr], rest: list[Expr], assembly: Assembly) -> None:
        self._assembly = assembly
        self._left = [_Relation(node, assembly.rows(node)) for node in nodes]
        self._conditions = conditions
        self._rest = rest
        self._alike: dict[tuple[int, ...], bool] = {}

    def join_all(self) -> tuple[Node, tuple[Expr, ...]]:
        """Return all relations joined, and the conditions that stay above."""
        joined = max(self._left, key=lambda relation: relation.estimate.rows)
        self._left.remove(joined)
        while self._left:
            step = min((self._step(joined, relation) for relation in self._left), key=lambda step: step.cost)
            self._left.remove(step.relation)
            if step.moves:
                joined, relation = self._push_conditions(joined), self._push_conditions(step.relation)
                step = self._step(joined, relation)
            joined = step.joined
            self._conditions = [part for part in self._conditions if not _is_within(part, joined.node.columns)]
        # The remaining conditions refer to columns of an enclosing query.
        return _with_filter(joined.node, tuple(self._conditions)), tuple(self._rest)

    def _step(self, joined: _Relation, relation: _Relation) -> _Step:
        columns = (*joined.node.columns, *relation.node.columns)
        fitting = tuple(part for part in self._conditions if _is_within(part, columns))
        kind: JoinKind = "inner" if fitting else "cross"
        node = Join(columns, kind, joined.node, relation.node, conjunction(fitting))
        rows = estimated_join(joined.estimate, relation.estimate, fitting, self._assembly.setting.parameters)
        stays = is_read_whole(relation.node, self._assembly)
        beside = joined.beside if stays else self._beside(joined, relation, fitting)
        moves = not (stays or beside) or rows.rows > joined.estimate.rows
        apart = not any(is_equality(part) for part in fitting)
        return _Step(relation, _Relation(node, rows, beside), apart, moves)

    def _beside(self, joined: _Relation, relation: _Relation, fitting: Sequence[Expr]) -> tuple[Keyed, ...] | None:
        """Return the columns by which files are dealt out once the relation has been joined; None if rows move for it."""
        if joined.beside is None:
            return None
        found = (self._lying_alike(joined.beside, joined, relation, part) for part in fitting)
        return next((tables for tables in found if tables), None)

    def _lying_alike(
        self, beside: tuple[Keyed, ...], joined: _Relation, relation: _Relation, part: Expr
    ) -> tuple[Keyed, ...]:
        """Return the tables that an equality joins co-located; none if it does not."""
        if not (is_equality(part) and isinstance(part, Call)):
            return ()
        ends = [arg.column for arg in part.args if isinstance(arg, ColumnRef)]
        own = [
            found
            for c in ends
            if c in relation.node.columns and (found := find_keyed_reader(relation.node, c)) is not None
        ]
        others = [
            found for c in ends if c in joined.node.columns and (found := find_keyed_reader(joined.node, c)) is not None
        ]
        if not own or not others or (beside and others[0] not in beside):
            return ()
        tables = (*(beside or others[:1]), own[0])
        key = tuple(table.column.id for table in tables)
        if key not in self._alike:
            self._alike[key] = readings_of(tables, self._assembly) is not None
        return tables if self._alike[key] else ()

    def _push_conditions(self, relation: _Relation) -> _Relation:
        """Apply the conditions on a relation that would be more expensive after the join."""
        own = tuple(part for part in self._rest if _concerns(part, relation.node))
        if not own:
            return relation
        self._rest = [part for part in self._rest if part not in own]
        return replace(
            relation, node=_with_filter(relation.node, own), estimate=estimate_filter(relation.estimate, own)
        )


def _is_within(part: Expr, columns: Sequence[Column]) -> bool:
    return set(references(part)) <= set(columns)
