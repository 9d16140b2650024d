"""The order of inner joins, so that each exchange between them has an equality to go by.

An engine that is given a whole query orders its joins itself; here fragments are cut between them, and `FROM a, b, c WHERE ...`
is at first a product of a and b. So a group of inner and cross joins, with the filter above it, is taken apart into relations and
conjuncts and built anew, left-deep: the largest relation first, since it is the one that should not move, then always the one
that an equality connects with what is there and that leaves the fewest rows (`engine.plan.cardinality`); one that nothing connects
comes last. Each conjunct goes to the first join where all that it names is there. An equality that every branch of an OR has is
taken out of it, besides staying in it. A condition with a subquery that concerns one relation goes to that, before it moves.

Taking the smallest relation instead was tried first: TPC-H's query 5 then joins customers with suppliers of the same nation
before it looks at the orders, and has sixty rows for each of lineitem's. Within a fragment the order does not matter: there the
engine chooses again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from engine.plan.cardinality import Estimate
from engine.plan.cardinality import joined as estimated_join
from engine.plan.compile.block import is_volatile
from engine.plan.conjuncts import conjunction, conjuncts
from engine.plan.distribute.assembly import references_to
from engine.plan.free_columns import references
from engine.plan.logical import Evaluator, Join, JoinKind, Node
from engine.plan.rewrite import map_inputs
from engine.sql.expr import Call, Column, Expr, Or, Subquery

#: About how many rows a relation has.
Estimator = Callable[[Node], Estimate]


def order_joins(node: Node, rows: Estimator) -> Node:
    """The plan with its groups of inner joins in order; those inside of expressions are left to the engine."""
    if isinstance(node, Evaluator) and _is_group(node.input):
        relations, conditions = _taken_apart(node.input)
        movable, rest = _parted([*conditions, *conjuncts(node.filter)])
        relations, rest = _with_own_filters(relations, rest)
        return replace(node, input=_joined(relations, movable, rows), filter=conjunction(tuple(rest)))
    if _is_group(node):
        relations, conditions = _taken_apart(node)
        movable, rest = _parted(conditions)
        relations, rest = _with_own_filters(relations, rest)
        joined = _joined(relations, movable, rows)
        return Evaluator(node.columns, joined, references_to(node.columns), conjunction(tuple(rest)))
    return map_inputs(node, lambda child: order_joins(child, rows))


def _is_group(node: Node) -> bool:
    return isinstance(node, Join) and node.kind in ("inner", "cross") and not node.lateral


def _taken_apart(node: Node) -> tuple[list[Node], list[Expr]]:
    """The relations that a group joins, and its conditions."""
    if not (isinstance(node, Join) and _is_group(node)):
        return [node], []
    left, right = _taken_apart(node.left), _taken_apart(node.right)
    return left[0] + right[0], [*left[1], *right[1], *conjuncts(node.condition)]


def _parted(parts: Iterable[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Conjuncts that may stand in a join's condition, and those that stay above."""
    movable: list[Expr] = []
    rest: list[Expr] = []
    for part in parts:
        stays = is_volatile(part) or any(isinstance(p, Subquery) for p in part.walk()) or not any(references(part))
        (rest if stays else movable).append(part)
        if not stays and isinstance(part, Or):
            movable += [common for common in _common(part) if common not in movable]
    return movable, rest


def _with_own_filters(relations: Sequence[Node], parts: Sequence[Expr]) -> tuple[list[Node], list[Expr]]:
    """Conditions with subqueries that concern one relation, applied to it before it is joined; and the others."""
    filtered: list[Node] = []
    left = list(parts)
    for relation in relations:
        own = tuple(part for part in left if _concerns(part, relation))
        left = [part for part in left if part not in own]
        columns = relation.columns
        filtered.append(Evaluator(columns, relation, references_to(columns), conjunction(own)) if own else relation)
    return filtered, left


def _concerns(part: Expr, relation: Node) -> bool:
    named = set(references(part))
    return bool(named) and named <= set(relation.columns) and not is_volatile(part)


def _common(part: Or) -> Iterator[Expr]:
    """The equalities that every branch has."""
    first, *others = (conjuncts(branch) for branch in part.args)
    for candidate in first:
        if _is_equality(candidate) and all(candidate in other for other in others):
            yield candidate


def _is_equality(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.function.kind == "operator" and expr.function.name == "="


@dataclass(frozen=True, slots=True)
class _Relation:
    """A relation, or what has been joined so far."""

    node: Node
    estimate: Estimate


def _joined(nodes: Sequence[Node], conditions: list[Expr], rows: Estimator) -> Node:
    left = [_Relation(order_joins(node, rows), rows(node)) for node in nodes]
    joined = max(left, key=lambda relation: relation.estimate.rows)
    left.remove(joined)
    while left:
        steps = [(_next(joined, relation, conditions), relation) for relation in left]
        (_, joined), chosen = min(steps, key=lambda step: (step[0][0], step[0][1].estimate.rows))
        left.remove(chosen)
        conditions = [part for part in conditions if not _is_within(part, joined.node.columns)]
    tree = joined.node
    if conditions:
        # They name columns of an enclosing query.
        tree = Evaluator(tree.columns, tree, references_to(tree.columns), conjunction(tuple(conditions)))
    return tree


def _next(joined: _Relation, relation: _Relation, conditions: Sequence[Expr]) -> tuple[bool, _Relation]:
    """(whether no equality connects the two, what they make)."""
    columns = (*joined.node.columns, *relation.node.columns)
    fitting = tuple(part for part in conditions if _is_within(part, columns))
    apart = not any(_is_equality(part) for part in fitting)
    kind: JoinKind = "inner" if fitting else "cross"
    node = Join(columns, kind, joined.node, relation.node, conjunction(fitting))
    return apart, _Relation(node, estimated_join(joined.estimate, relation.estimate, fitting))


def _is_within(part: Expr, columns: Sequence[Column]) -> bool:
    return set(references(part)) <= set(columns)
