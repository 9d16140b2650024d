"""JOIN: two inputs in one FROM clause.

An input whose SELECT is no more than a table and filters stays as it is; any other becomes a derived table. The
null-supplying side of an outer join must return plain columns of its own: an expression computed above the join, or a
column of an outer query that it passes on, would not become null.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from engine.plan_ir.expr import Const, Expr, Node
from engine.plan_ir.free_columns import free_columns, references
from engine.plan_ir.logical import Join
from engine.plan_ir.predicates import has_subquery
from engine.planner.codegen.barrier import add_barrier
from engine.planner.codegen.block import Block, Stage, is_plain
from engine.planner.codegen.condition_order import keep_order
from engine.planner.codegen.expressions import condition, conjunct
from engine.planner.codegen.filters import add_filter
from engine.planner.codegen.many_subqueries import note_lateral
from engine.planner.codegen.scope import Scope
from engine.sql.trees.build import conjunction

Relation = Callable[[Node, Scope], Block]


def join(node: Join, scope: Scope, relation: Relation) -> Block:
    """Join both inputs. `relation` compiles an input."""
    left = relation(node.left, scope)
    if node.lateral:
        left = note_lateral(left, node.right)
    left = _left_side(left, node)
    if node.lateral:
        return _lateral(node, left, relation)
    right = _right_side(relation(node.right, Scope(scope.compilation, {}, scope.outer)), node)
    assert right.source is not None
    left.scope.columns = {**left.scope.columns, **right.scope.columns}
    left.subqueries += right.subqueries
    tests = list(right.where)
    if node.condition is not None:
        left, test = _condition(node, node.condition, left)
        tests += test
    if node.kind in ("inner", "cross"):
        left.where += right.where
        tests = tests[len(right.where) :]
    left.joins.append(_clause(node, right.source, tests))
    if left.where:
        left.stage = Stage.FILTERED
    if id(node) in left.compilation.derived:
        return add_barrier(left)
    return left.as_derived_table() if _is_fragile(node, left) else left


def _is_fragile(node: Join, block: Block) -> bool:
    """Return whether the join needs to be a table of its own. DuckDB 2.0 confuses the columns of an outer join on a
    subquery ("Vector::Reference used on vector of different type", which ends the database) if a later join of the same
    FROM clause compares them by <> or IS DISTINCT FROM.
    """
    return block.scope.engine == "local" and node.kind in ("left", "right", "full") and _has_subquery(node.condition)


def _has_subquery(test: Expr | None) -> bool:
    return test is not None and has_subquery(test)


def _lateral(node: Join, left: Block, relation: Relation) -> Block:
    """Compile a lateral join. Its condition goes inside the right side, which sees the left's columns: DuckDB wants ON
    TRUE.
    """
    right = relation(node.right, Scope(left.compilation, {}, left.scope))
    if node.condition is not None and node.condition != Const(node.condition.type, True):
        right = add_filter(right.at_most(Stage.FILTERED), node.condition)
    right = _lateral_side(right)
    assert right.source is not None
    left.scope.columns = {**left.scope.columns, **right.scope.columns}
    side = "LEFT" if node.kind == "left" else None
    left.joins.append(
        exp.Join(this=right.source, side=side, kind=None if side else "CROSS", on=exp.true() if side else None)
    )
    return left


def _condition(node: Join, test: Expr, left: Block) -> tuple[Block, list[exp.Expression]]:
    """Compile ON's conditions; an inner join's subqueries go to WHERE, where every engine takes them."""
    with_subquery = has_subquery(test)
    if with_subquery and node.kind == "inner":
        left.where.append(conjunct(test, left.scope))
        return left, []
    if with_subquery and left.scope.engine == "spark":
        raise left.compilation.unsupported_error(f"a subquery in the condition of a {node.kind} join")
    if left.scope.engine == "local" and node.kind != "inner":
        test = keep_order(test, lambda guard, part: _sides(node, guard) <= _sides(node, part))
    return left, [condition(test, left.scope)]


def _sides(node: Join, test: Expr) -> frozenset[str]:
    used = {column.id for column in references(test)}
    sides = (("left", node.left), ("right", node.right))
    return frozenset(name for name, side in sides if used & {column.id for column in side.columns})


def _clause(node: Join, item: exp.Expression, tests: list[exp.Expression]) -> exp.Join:
    if node.kind in ("inner", "cross") and not tests:
        return exp.Join(this=item, kind="CROSS")
    side = None if node.kind in ("inner", "cross") else node.kind.upper()
    return exp.Join(this=item, side=side, on=conjunction(tests))


def _left_side(block: Block, node: Join) -> Block:
    """Return the left input as the beginning of a FROM clause."""
    block = block.at_most(Stage.FILTERED)
    block.order = []
    nullable = node.kind in ("right", "full")
    fits = block.source is not None and not block.volatile and (not nullable or _is_bare(block))
    if block.where and node.kind != "inner" and _has_subquery(node.condition):
        # DuckDB does not push a WHERE below such a join: it would test the condition for rows that the filter excludes.
        fits = False
    if node.lateral and fits:
        tested = () if node.condition is None else references(node.condition)
        outer = {c.id for c in (*free_columns(node.right), *tested)}
        fits = all(is_plain(tree) for id_, tree in block.scope.columns.items() if id_ in outer)
    return block if fits else block.as_derived_table()


def _right_side(block: Block, node: Join) -> Block:
    """Return the right input as one item of a FROM clause, with filters only if they may go to WHERE or ON."""
    block = block.at_most(Stage.FILTERED)
    block.order = []
    inner = node.kind in ("inner", "cross")
    fits = block.source is not None and not block.joins and not block.volatile
    if not inner:
        fits = fits and _gives_its_own(block)
        fits = fits and (not block.where or (node.kind == "left" and not any(w.find(exp.Query) for w in block.where)))
    return block if fits else block.as_derived_table()


def _lateral_side(block: Block) -> Block:
    """Return the right input of a lateral join: a table function or a derived table, under LATERAL."""
    if not (_is_bare(block) and block.whole is None and not block.joins and _may_be_lateral(block)):
        block = block.as_derived_table()
    source = block.source
    assert isinstance(source, (exp.Subquery, exp.Table))
    alias = source.args["alias"]
    source.set("alias", None)
    block.source = exp.Lateral(this=source if isinstance(source, exp.Subquery) else source.this, alias=alias)
    return block


def _may_be_lateral(block: Block) -> bool:
    source = block.source
    if isinstance(source, exp.Table):
        return block.scope.engine == "spark" and isinstance(source.this, exp.Anonymous)
    return isinstance(source, exp.Subquery)


def _is_bare(block: Block) -> bool:
    """Whether the block is a FROM clause with columns of it, and nothing else."""
    return block.stage is Stage.SOURCE and _gives_its_own(block)


def _gives_its_own(block: Block) -> bool:
    """Whether the block's columns are plain columns of its own FROM clause."""
    return all(is_plain(tree) for tree in block.scope.columns.values()) and not block.passes_on()
