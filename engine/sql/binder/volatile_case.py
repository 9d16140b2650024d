"""CASE x WHEN ... and NULLIF(x, y) whose x is volatile: x is evaluated once for each row (execExpr.c, CaseTestExpr).

Such an expression is a `Call` of a function made for it, whose template computes once what it uses more than once, as
those of the function table do (`engine.sql.functions.trees.on`). Where x is not volatile, the expression is a `Case`
that contains x several times: engines and passes know that form, and evaluate x as often as they like.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from sqlglot import exp

from engine.common.sql_type import SqlType
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import AggregateCall, Call, Expr, Function
from engine.sql.functions.textual import apply
from engine.sql.functions.trees import both
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
        **both(functools.partial(_build, compared)),
    )  # fmt: skip
    return Call(typ, function, tuple(parts), position=at)


def _build(
    equalities: Sequence[Call], engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall
) -> exp.Expression:
    """Build the tree from those of the subject, the values, the results and the default, if there is one."""
    subject, *rest = args
    count = len(equalities)
    conditions = [
        apply(engine, equality.function, [subject.copy(), value], equality)
        for equality, value in zip(equalities, rest[:count], strict=True)
    ]
    default = rest[2 * count] if len(rest) > 2 * count else subject.copy()
    return case(zip(conditions, rest[count : 2 * count], strict=True), default)
