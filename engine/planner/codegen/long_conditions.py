"""Long ANDs and ORs of conditions for DuckDB, written as groups of CASE expressions, which its optimizer does not
analyse.

DuckDB's optimizer compares each condition of a WHERE with all others: comparisons of one column with constants as it
pushes them down, and the branches of an OR of ANDs as it looks for common conditions. 2,000 conditions take it 3 to 7
seconds, during which it checks for no interrupt; as CASE WHEN ... THEN TRUE ELSE FALSE END they take a tenth of a
second. CASE gives false where a condition is null, so it is used only where false and null are equivalent, as in
`engine.planner.codegen.expressions.condition`. CASE evaluates the conditions in their order, as WHERE does, and only as
far as needed to decide.

These conditions stay visible to DuckDB: the first ones, by which readers of files skip row groups; all that concern two
columns, which may be join conditions; and subqueries, which DuckDB turns into joins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from sqlglot import exp

from engine.plan_ir.expr import And, ColumnRef, Expr, Subquery
from engine.plan_ir.predicates import has_subquery
from engine.sql.trees.build import case, conjunction, disjunction

#: The size of a group, and the number of conditions that are left as they are: DuckDB plans for some 20 ms with so
#: many.
_GROUP: Final = 64


def all_of(exprs: Sequence[Expr], trees: Sequence[exp.Expression]) -> exp.Expression:
    """Build an AND of conditions, given as expressions and as trees."""
    if len(exprs) <= _GROUP:
        return conjunction(list(trees))
    joined: list[exp.Expression] = []
    for of_one_column, run in groupby(zip(exprs, trees, strict=True), key=lambda pair: _is_of_one_column(pair[0])):
        found = [tree for _, tree in run]
        kept = _GROUP if of_one_column else len(found)
        joined += found[:kept]
        joined += [_hide(conjunction(group)) for group in _split(found[kept:])]
    return conjunction(joined)


def any_of(exprs: Sequence[Expr], trees: Sequence[exp.Expression]) -> exp.Expression:
    """Build an OR of conditions, given as expressions and as trees."""
    is_long = len(exprs) > _GROUP and any(isinstance(expr, And) for expr in exprs)
    if not is_long or any(map(has_subquery, exprs)):
        return disjunction(list(trees))
    return disjunction([_hide(disjunction(group)) for group in _split(trees)])


def _split(trees: Sequence[exp.Expression]) -> Iterator[list[exp.Expression]]:
    for start in range(0, len(trees), _GROUP):
        yield list(trees[start : start + _GROUP])


def _hide(test: exp.Expression) -> exp.Expression:
    """Wrap a condition so that DuckDB's optimizer does not look into it."""
    return case([(test, exp.true())], exp.false())


def _is_of_one_column(expr: Expr) -> bool:
    parts = list(expr.walk())
    columns = {part.column.id for part in parts if isinstance(part, ColumnRef)}
    return len(columns) == 1 and not any(isinstance(part, Subquery) for part in parts)
