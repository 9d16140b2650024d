"""Variances of bigint and numeric on Spark, whose decimals are too short for n * sum(x^2) - sum(x)^2.

Spark sums the terms of the squares in halves. A task then computes the rest from these few sums (`task_functions`) in
integers of any length, as the local engine does. Variances of the shorter integer types fit into decimals, and Spark
computes them by itself. Source: PostgreSQL 15, numeric.c (numeric_stddev_internal).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from engine.plan_ir.expr import AggregateCall, Call, Column, ColumnRef, Function
from engine.planner.codegen.scope import Scope
from engine.planner.codegen.task_functions import call_with_arguments
from engine.sql.functions.aggregates import VARIANCES, sums_for_variance, variance_from_halves
from wire.types import pg_types as t


def render_exact_variance(
    aggregate: AggregateCall, args: Sequence[exp.Expression], scope: Scope
) -> exp.Expression | None:
    """Compile the call over the rows of a Spark SELECT; return None if Spark computes it by its own template. args:
    compiled.
    """
    function = aggregate.function
    if scope.engine != "spark" or function.name not in VARIANCES or aggregate.distinct:
        return None
    given = aggregate.args[0].type
    if given.pg not in (t.INT8, t.NUMERIC):
        return None
    sample, root = VARIANCES[function.name][1], function.name.startswith("stddev")

    def compute(parts: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        return variance_from_halves(parts, (given, aggregate.type), sample=sample, root=root)

    trees, types = zip(*sums_for_variance(args[0], given), strict=True)
    columns = tuple(ColumnRef(typ, Column(-number, "", typ)) for number, typ in enumerate(types, 1))
    last = Function(function.name, "function", tuple(typ.pg for typ in types), t.NUMERIC, local=compute)
    return call_with_arguments(Call(aggregate.type, last, columns), trees, scope)
