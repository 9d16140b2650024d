"""CASE x WHEN ... and NULLIF(x, y) whose x is volatile: x is evaluated once for each row (execExpr.c, CaseTestExpr).

Such an expression is a `Call` of a function made for it, whose template binds x once (`let`), as the templates of the
function table bind what they use more than once. Where x is not volatile, the expression is a `Case` that contains x
several times: engines and passes know that form, and evaluate x as often as they like.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import repeat

from sqlglot import exp

from engine.common.sql_type import SqlType
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import AggregateCall, Call, Expr, Function
from engine.sql.functions.building import bind_once, snippet
from engine.sql.parser.lexical.positions import cursor
from engine.sql.trees.build import case
from wire.errors import FeatureNotSupported


def volatile_case(
    typ: SqlType, equalities: Sequence[Expr], results: Sequence[Expr], default: Expr | None, at: int
) -> Call:
    """Return a CASE with these branches, all of whose equalities compare the same volatile expression, their first
    argument. default: None if it is that expression. Raises FeatureNotSupported if it is compared as several types.
    """
    compared = [equality for equality in equalities if isinstance(equality, Call) and len(equality.args) == 2]
    subject = compared[0].args[0] if compared else None
    if subject is None or any(one.args[0] != subject for one in compared) or len(compared) < len(equalities):
        raise FeatureNotSupported(
            "not supported: CASE of a volatile expression that is compared as several types", position=cursor(at)
        )
    parts = [subject, *(equality.args[1] for equality in compared), *results, *([] if default is None else [default])]
    function = Function(
        "case", "function", tuple(part.type.pg for part in parts), typ.pg, strict=False, volatility="volatile",
        local=functools.partial(_build, "local", compared), spark=functools.partial(_build, "spark", compared),
    )  # fmt: skip
    return Call(typ, function, tuple(parts), position=at)


def _build(
    engine: EngineName, equalities: Sequence[Call], args: Sequence[exp.Expression], _call: Call | AggregateCall
) -> exp.Expression:
    """Build the tree from those of the subject, the values, the results and the default, if there is one."""

    def body(parts: Sequence[exp.Expression]) -> exp.Expression:
        subject, *rest = parts
        count = len(equalities)
        conditions = [_equal(engine, *both) for both in zip(equalities, repeat(subject), rest[:count])]
        default = rest[2 * count] if len(rest) > 2 * count else subject.copy()
        return case(zip(conditions, rest[count : 2 * count], strict=True), default)

    return bind_once(engine, args, body)


def _equal(engine: EngineName, equality: Call, left: exp.Expression, right: exp.Expression) -> exp.Expression:
    template = equality.function.local if engine == "local" else equality.function.spark
    if template is None:
        raise FeatureNotSupported(f"not supported: {equality.function.name} of {equality.args[0].type}")
    build = snippet(engine, template) if isinstance(template, str) else template
    return build([left.copy(), right], equality)
