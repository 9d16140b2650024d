"""Divisions of constants by zero, reported when the statement is planned, whether or not a row ever reaches them.

PostgreSQL evaluates constant expressions while it plans (clauses.c: eval_const_expressions), and their errors are the
statement's. As PostgreSQL does, this module stops at a constant that decides: it does not look behind `FALSE AND` or
`TRUE OR`, into the result of a WHEN that never holds, or beyond the first non-null constant of COALESCE. Only divisions
are checked, since people write them into statements to see whether these run; other errors of constant expressions
(`2147483647 + 1`) are raised when a row reaches them.

The check runs after `prune_columns`: a column that nobody reads is not evaluated, in PostgreSQL as here. The result is
stored in FINAL and becomes an error when the statement is executed: the statement may be prepared, and a view may be
made of it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

from engine.plan_ir.expr import And, Call, Case, Coalesce, Const, Expr, Node, Or, Subquery, SubqueryKind
from engine.plan_ir.logical import Evaluator
from engine.plan_ir.rewrite import expressions

_DIVISIONS: Final = frozenset(("/", "%", "div", "mod"))
_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def divides_by_zero(plan: Node) -> bool:
    """Whether the plan has such a division."""
    return any(_divides(expr) for expr in _evaluated_in(plan))


def _evaluated_in(node: Node) -> Iterator[Expr]:
    """Yield the top-level expressions of the plan. The columns of EXISTS are left out, since nobody evaluates them."""
    for expr in expressions(node):
        yield expr
        for part in expr.walk():
            if isinstance(part, Subquery):
                below = part.plan
                if part.kind is SubqueryKind.EXISTS and isinstance(below, Evaluator) and below.filter is None:
                    below = below.input
                yield from _evaluated_in(below)
    for below in node.inputs():
        yield from _evaluated_in(below)


def _divides(expr: Expr) -> bool:
    if any(_divides(part) for part in _evaluated_operands(expr)):
        return True
    if not (isinstance(expr, Call) and expr.function.name in _DIVISIONS and len(expr.args) == 2):
        return False
    dividend, divisor = map(_value, expr.args)
    return divisor == 0 and dividend is not None and not (isinstance(dividend, float) and math.isnan(dividend))


def _evaluated_operands(expr: Expr) -> Iterator[Expr]:
    """Yield the operands that are evaluated, as far as constants decide."""
    match expr:
        case And(args=args):
            yield from _until(args, decides=False)
        case Or(args=args):
            yield from _until(args, decides=True)
        case Case(whens=whens, default=default):
            for condition, result in whens:
                yield condition
                known, holds = _truth(condition)
                if known and not holds:
                    continue
                yield result
                if known:
                    return
            if default is not None:
                yield default
        case Coalesce(args=args):
            for arg in args:
                yield arg
                if isinstance(arg, Const) and arg.value is not None:
                    return
        case Subquery():
            yield from expr.tests
        case _:
            yield from expr.children()


def _until(args: tuple[Expr, ...], *, decides: bool) -> Iterator[Expr]:
    for arg in args:
        if _truth(arg) == (True, decides):
            return
        yield arg


def _truth(condition: Expr) -> tuple[bool, object]:
    """Return whether constants decide a condition, and its value: constants themselves, comparisons of two integers,
    AND and OR.
    """
    match condition:
        case Const(value=value):
            return True, value
        case And(args=args) | Or(args=args):
            decides, truths = isinstance(condition, Or), [_truth(arg) for arg in args]
            if (True, decides) in truths:
                return True, decides
            return all(known for known, _ in truths), None if (True, None) in truths else not decides
        case Call(function=function, args=args) if len(args) == 2 and function.name in _COMPARISONS:
            left, right = map(_value, args)
            if isinstance(left, int) and isinstance(right, int):
                return True, _COMPARISONS[function.name](left, right)
    return False, None


def _value(expr: Expr) -> object:
    return expr.value if isinstance(expr, Const) else None
