"""Short-circuit evaluation of AND, OR and COALESCE as values.

PostgreSQL evaluates operands from left to right until one decides, so an operand after that one may not raise an error.
DuckDB does the same where it selects rows (WHERE, ON, CASE WHEN). Elsewhere (select lists, FILTER, below NOT) it
computes all operands for all rows, and `b <> 0 AND 3 / b = 1` divides by zero. There a CASE computes an operand that
may raise an error only for rows that the operands before it leave undecided. The CASE repeats those earlier operands,
so subqueries and volatile functions among them are left out: they protect no later operand from raising an error.

Source: PostgreSQL 15, execExprInterp.c (EEOP_BOOL_AND_STEP, EEOP_BOOL_OR_STEP).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from engine.plan_ir.expr import Call, Expr, Function
from engine.plan_ir.predicates import has_subquery
from engine.plan_ir.volatility import is_volatile
from engine.sql.trees.build import call, case, conjunction, disjunction, is_null, negate

#: Operators that raise no errors whatever their operands are.
_SAFE: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "~~", "!~~", "~~*", "!~~*", "^@", "@>", "<@", "&&"})
#: The depth to which CASEs are nested. Longer lists of operands are generated, and rarely begin with operands that may
#: raise errors.
_DEPTH_MAX: Final = 8


def junction(exprs: Sequence[Expr], trees: Sequence[exp.Expression], *, every: bool, depth: int = 0) -> exp.Expression:
    """Compile the value of AND (`every`) or OR over operands, given as expressions and as trees."""
    join = conjunction if every else disjunction
    place = next((number for number in range(1, len(exprs)) if may_raise(exprs[number])), 0)
    if not place or depth == _DEPTH_MAX:
        return join(trees)
    rest = junction(exprs[place:], trees[place:], every=every, depth=depth + 1)
    repeated = [tree.copy() for arg, tree in zip(exprs[:place], trees, strict=False) if is_repeatable(arg)]
    whole = join([*trees[:place], rest])
    if not repeated:
        return whole
    decided = negate(join(repeated)) if every else join(repeated)
    return case([(decided, exp.Boolean(this=not every))], whole)


def alternatives(exprs: Sequence[Expr], trees: Sequence[exp.Expression]) -> exp.Expression:
    """Compile COALESCE. DuckDB extracts common subexpressions and computes them first, out of COALESCE too but not out
    of CASE.
    """
    place = next((number for number in range(1, len(exprs)) if may_raise(exprs[number])), 0)
    if not place or not all(map(is_repeatable, exprs[:place])):
        return call("COALESCE", *trees)
    none = conjunction([is_null(tree.copy()) for tree in trees[:place]])
    rest = alternatives(exprs[place:], trees[place:]) if len(trees) > place + 1 else trees[place]
    return call("COALESCE", *trees[:place], case([(none, rest)], None))


def may_raise(expr: Expr) -> bool:
    """Whether computing an expression may raise an error, judging by its functions."""
    calls = (part for part in expr.walk() if isinstance(part, Call))
    return not all(is_safe_operator(call.function) for call in calls)


def is_safe_operator(function: Function) -> bool:
    """Whether it is an operator that raises no errors."""
    return function.kind == "operator" and function.name in _SAFE


def is_repeatable(expr: Expr) -> bool:
    """Whether an expression may be written twice."""
    return not has_subquery(expr) and not is_volatile(expr)
