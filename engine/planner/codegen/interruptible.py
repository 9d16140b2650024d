"""Places where a Spark task must check whether it has been cancelled, because Spark itself would not check in time.

A task checks when it asks its reader for a batch of rows. The cost of a batch is bounded unless each of its rows meets
every row of another input: in a join without an equality (Spark's nested loop), and in a correlated subquery without
one. There 4,096 rows times sixty thousand can take minutes, during which the slot runs nothing else. So the inputs of
such a node are filtered by an expression that is true for each row, and that raises InterruptedException in a thread
that has been interrupted, as the thread of a killed task has.

These inputs are filtered: all inputs of adjacent inner joins (which Spark reorders) if their equalities do not connect
them; both inputs of an outer join if its condition has no equality between them; and the inputs of a node that
evaluates a correlated subquery without an equality. An equality that every branch of an OR has counts, since Spark
extracts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlglot import exp

from engine.plan_ir.conjuncts import conjuncts
from engine.plan_ir.expr import Expr, IsDistinct, Node, Or, Subquery, SubqueryKind
from engine.plan_ir.free_columns import free_columns, references
from engine.plan_ir.logical import Aggregator, Evaluator, Join, TableReader
from engine.plan_ir.predicates import is_equality
from engine.plan_ir.rewrite import expressions, subplans, walk_all
from engine.planner.codegen.block import Block, Stage
from engine.sql.trees.build import call, cast, integer, string

_INNER = ("inner", "cross")


def watched_inputs(plan: Node) -> list[Node]:
    """Return the nodes of `plan` at each of whose rows the task must check for an interrupt."""
    return list(_nodes_to_watch(plan, ()))


def interruptible(block: Block) -> Block:
    """Return the rows of `block`, with a check for an interrupt at each row."""
    block = block.at_most(Stage.FILTERED)
    if block.source is None:
        return block
    slept = call(
        "JAVA_METHOD", string("java.lang.Thread"), string("sleep"), cast(integer(0), exp.DataType.build("BIGINT"))
    )
    # Thread.sleep returns nothing, which Spark may show as a word or as null; the test is true for either.
    block.where.append(exp.NEQ(this=call("COALESCE", slept, string("")), expression=string("interrupted")))
    block.stage = Stage.FILTERED
    return block.as_derived_table()


def _nodes_to_watch(node: Node, above: Sequence[Expr]) -> Iterator[Node]:
    """Yield the nodes to watch among `node` and below. `above`: conditions that the node's rows must meet."""
    if any(not _has_key(part) for expr in expressions(node) for part in expr.walk() if isinstance(part, Subquery)):
        yield from node.inputs()
    if isinstance(node, Join) and not node.lateral:
        yield from _of_join(node, above)
        return
    below = conjuncts(node.filter) if isinstance(node, Evaluator) else ()
    for part in (*subplans(node), *node.inputs()):
        yield from _nodes_to_watch(part, below)


def _of_join(node: Join, above: Sequence[Expr]) -> Iterator[Node]:
    if node.kind in _INNER:
        inputs, conditions = _flatten_joins(node)
    else:
        inputs, conditions, above = [node.left, node.right], list(conjuncts(node.condition)), ()
    if not _is_connected(inputs, [*conditions, *above]):
        yield from inputs
    for part in inputs:
        yield from _nodes_to_watch(part, ())
    for condition in conditions:
        for expr in condition.walk():
            if isinstance(expr, Subquery):
                yield from _nodes_to_watch(expr.plan, ())


def _flatten_joins(node: Node) -> tuple[list[Node], list[Expr]]:
    """Return the inputs of adjacent inner joins, and their conditions."""
    if not isinstance(node, Join) or node.kind not in _INNER or node.lateral:
        return [node], []
    (left, left_conditions), (right, right_conditions) = _flatten_joins(node.left), _flatten_joins(node.right)
    return left + right, left_conditions + right_conditions + list(conjuncts(node.condition))


def _is_connected(inputs: Sequence[Node], conditions: Iterable[Expr]) -> bool:
    """Whether equalities connect all inputs, directly or by way of others."""
    owner = {column.id: index for index, node in enumerate(inputs) for column in node.columns}
    group = list(range(len(inputs)))
    for left, right in _equalities(conditions):
        one, other = ({owner[c.id] for c in references(side) if c.id in owner} for side in (left, right))
        if one and other and one.isdisjoint(other):
            joined = {group[index] for index in one | other}
            group = [min(joined) if number in joined else number for number in group]
    return len(set(group)) == 1


def _equalities(conditions: Iterable[Expr]) -> Iterator[tuple[Expr, Expr]]:
    for condition in conditions:
        if is_equality(condition):
            yield condition.args[0], condition.args[1]
        elif isinstance(condition, IsDistinct) and condition.negated:
            yield condition.left, condition.right
        elif isinstance(condition, Or):
            first, *rest = (list(_equalities(conjuncts(branch))) for branch in condition.args)
            yield from (pair for pair in first if all(pair in others for others in rest))


def _has_key(subquery: Subquery) -> bool:
    """Whether Spark can look up the subquery's rows by an equality, or the subquery does not depend on the outer row at
    all.
    """
    if subquery.kind is SubqueryKind.IN:
        return subquery.operator is None and subquery.quantifier == "any"
    free = {column.id for column in free_columns(subquery.plan)}
    if not free:
        return True
    for left, right in _equalities(_conditions(subquery.plan)):
        one, other = ({c.id for c in references(side)} for side in (left, right))
        if (one <= free and other.isdisjoint(free)) or (other <= free and one.isdisjoint(free)):
            return True
    return False


def _conditions(plan: Node) -> Iterator[Expr]:
    for node in walk_all(plan):
        match node:
            case Evaluator(filter=test) | TableReader(filter=test) | Aggregator(filter=test) | Join(condition=test):
                yield from conjuncts(test)
            case _:
                pass
