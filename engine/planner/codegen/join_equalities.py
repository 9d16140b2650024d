"""Equalities of a WHERE with subqueries, as ON of the joins that they are about.

DuckDB brings a condition of WHERE down to the join that it is about. It does not where a scalar subquery is correlated with both
sides, as one is that the condition guards (`condition_order`), and a mark join of an IN lies between: then every pair of rows is
formed first. `a, b WHERE a.x = b.x AND (SELECT ... a.y ...) AND a.z IN (SELECT ...)` took 4.4 s over two tables of 5,000 rows, and
0.004 s with ON a.x = b.x; information_schema.role_column_grants took 9 s, and 0.2 s.

An equality of two columns raises no error, so it may be looked at before whatever precedes it. Only inner joins are given one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from engine.plan_ir.expr import ColumnRef, Expr
from engine.plan_ir.predicates import has_subquery, is_equality
from engine.planner.codegen.block import Block, is_plain
from engine.planner.codegen.expressions import conjunct
from engine.sql.trees.build import conjunction


def take_equalities(block: Block, parts: Sequence[Expr]) -> Iterator[Expr]:
    """Give the joins of the block their equalities among the parts of its WHERE; the parts that are left."""
    joins = {join.this.alias: number for number, join in enumerate(block.joins)}
    if not joins or not _are_inner(block.joins) or not any(has_subquery(part) for part in parts):
        yield from parts
        return
    assert block.source is not None
    places = {block.source.alias: -1, **joins}
    for part in parts:
        tree = conjunct(part, block.scope) if _compares_columns(part) else None
        tables = _tables(tree) & places.keys()
        if tree is None or len(tables) < 2:
            yield part
        else:
            join = block.joins[max(places[table] for table in tables)]
            join.set("kind", None)
            join.set("on", conjunction([*([join.args["on"]] if join.args.get("on") else []), tree]))


def _tables(tree: exp.Expression | None) -> set[str]:
    """The tables of a comparison of columns; none of one that computes something, which may raise an error."""
    if not isinstance(tree, exp.EQ) or not (is_plain(tree.this) and is_plain(tree.expression)):
        return set()
    return {column.table for column in tree.find_all(exp.Column)}


def _are_inner(joins: Sequence[exp.Join]) -> bool:
    return all(not join.side and not isinstance(join.this, exp.Lateral) for join in joins)


def _compares_columns(part: Expr) -> bool:
    return is_equality(part) and all(isinstance(side, ColumnRef) for side in part.args)
