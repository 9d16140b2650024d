"""Conversion of integers to a wider integer type in Spark.

Spark's optimizer (UnwrapCastInBinaryComparison) answers `CAST(x AS INT) > 40000` for a SMALLINT x from the range of the
type. If x is `s + 1`, the addition is then never computed, and does not overflow where it does in PostgreSQL. The rule
matches nothing but a cast, so a computed operand becomes `CAST(x AS INT) | 0`, which no rule removes, as rules remove
`+ 0`. Columns stay bare casts: the rule lets filters reach files.

Rejected: leaving the rule out of the session. Filters that compare dates with timestamps would no longer reach files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.plan_ir.expr import Builder, Call, Expr
from engine.sql.functions.building import parse, place
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall

INTEGER_NAMES: Final = {t.INT2: "SMALLINT", t.INT4: "INTEGER", t.INT8: "BIGINT"}
_ORDER: Final = tuple(INTEGER_NAMES)


def widen(tree: exp.Expression, operand: Expr, target: t.PgType) -> exp.Expression:
    """Return Spark's tree of an integer cast to a wider type."""
    shape = f"CAST($1 AS {INTEGER_NAMES[target]})"
    return place(parse("spark", f"({shape} | 0)" if isinstance(operand, Call) else shape), [tree])


def compare_widened(symbol: str) -> Builder:
    """Return Spark's template of a comparison of integers of two types."""

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        wider = max((arg.type.pg for arg in call.args), key=_ORDER.index)
        sides = [
            widen(tree, operand, wider) if isinstance(operand, Call) and operand.type.pg is not wider else tree
            for tree, operand in zip(args, call.args, strict=True)
        ]
        return place(parse("spark", f"$1 {symbol} $2"), sides)

    return build


def cast_widened(target: t.PgType) -> Builder:
    """Return Spark's template of a cast to a wider integer type."""
    return lambda args, call: widen(args[0], call.args[0], target)
