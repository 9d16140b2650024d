"""Window calls: OVER (PARTITION BY ... ORDER BY ... frame) around the templates of the function table.

DuckDB supports all of PostgreSQL's windows. Spark has neither GROUPS nor EXCLUDE. Its FILTER is expressed by a CASE in
the argument, its ROWS offsets are int literals and its RANGE offsets are literals too. A ranking function must have an
ORDER BY there: without one PostgreSQL takes all rows as peers, and an ordering by a constant has the same effect.

A call whose result depends on the position of rows (row_number, lag, first_value ...) and that has no ORDER BY of its
own takes the rows in their input order: where a subquery below ordered them, that order becomes the call's, and the
frame remains the whole partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from engine.plan_ir.expr import (
    AggregateCall,
    ColumnRef,
    Const,
    Expr,
    Frame,
    FrameBound,
    FrameUnit,
    ParamRef,
    WindowCall,
)
from engine.planner.codegen.aggregates import guard_arguments, on_aggregates, order_items
from engine.planner.codegen.calls import apply, settle
from engine.planner.codegen.exact_variances import render_exact_variance
from engine.planner.codegen.expressions import filter_condition, render
from engine.planner.codegen.scope import Scope
from engine.sql.functions.comparison_keys import equality_key
from engine.sql.functions.trees import raises, sql
from engine.sql.trees.build import call, case, cast, integer, is_null, operand, ordered_term
from engine.sql.trees.storage_types import storage_type
from wire.errors import SqlError
from wire.types import pg_types as t

_INT4_MAX: Final = 2**31 - 1
#: Functions whose result depends on the order of the rows even without an ORDER BY of their own.
_BY_PLACE: Final = frozenset({"row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"})
#: Functions that use the whole partition, whatever the frame; Spark refuses any frame but its own for them.
_FRAMELESS: Final = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"})
#: Aggregates that ignore nulls, so that FILTER may be expressed by making the argument null.
_SKIPS_NULLS: Final = frozenset(
    {"count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every", "string_agg", "bit_and", "bit_or", "bit_xor"}
    | {"stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp", "corr", "covar_pop", "covar_samp"}
)


def render_window(window: WindowCall, scope: Scope, input_order: Sequence[exp.Ordered] = ()) -> exp.Expression:
    """Compile the window call, in the storage type of its result. `input_order`: the order of the SELECT's rows, from
    below.
    """
    inner = window.call
    if isinstance(inner, AggregateCall):
        tree = _aggregate(guard_arguments(inner, scope), scope)
    elif inner.function.name == "ntile" and _may_differ(inner.args[0], scope):
        return settle(_ntile_of_first(window, scope, input_order), window.type, scope.engine)
    else:
        tree = apply(inner, [render(arg, scope) for arg in inner.args], scope.engine)
    tree = on_aggregates(tree, scope.engine, lambda node: _over(node, window, scope, input_order))
    return settle(tree, window.type, scope.engine)


def _may_differ(expr: Expr, scope: Scope) -> bool:
    """Whether an expression has columns of its own query: those of outer ones are the same for all rows."""
    return any(isinstance(part, ColumnRef) and part.column.id in scope.columns for part in expr.walk())


def _ntile_of_first(window: WindowCall, scope: Scope, input_order: Sequence[exp.Ordered]) -> exp.Expression:
    """Compute ntile of a column by windowfuncs.c (window_ntile): the number of buckets is that of the partition's first
    row. If that is null, PostgreSQL takes the next one that is not, which is refused here.
    """
    engine = scope.engine
    argument = render(window.call.args[0], scope)
    whole = replace(window, order_by=())
    row, first = (
        _over(sql(engine, text, argument), window, scope, input_order) for text in ("row_number()", "first_value($1)")
    )
    rows, known = (_over(sql(engine, text, argument), whole, scope, ()) for text in ("count(*)", "count($1)"))
    div = "//" if engine == "local" else "div"
    # The first `extra` buckets have one row more than `size`; with fewer rows than buckets each row has its own.
    size, extra = f"($2 {div} $3)", "($2 % $3)"
    longer = f"($1 - 1 < {extra} * ({size} + 1))"
    bucket = (
        f"CASE WHEN {size} = 0 THEN $1 WHEN {longer} THEN ($1 - 1) {div} ({size} + 1) + 1"
        f" ELSE {extra} + ($1 - 1 - {extra} * ({size} + 1)) {div} {size} + 1 END"
    )
    return sql(
        engine,
        f"CASE WHEN $3 IS NULL THEN CASE WHEN $4 > 0 THEN $5 END WHEN $3 <= 0 THEN $6 ELSE {bucket} END",
        row, rows, first, known,
        raises(engine, "0A000", "not supported: ntile of a column that is null in the first row"),
        raises(engine, "22014", "argument of ntile must be greater than zero"),
    )  # fmt: skip


def _aggregate(aggregate: AggregateCall, scope: Scope) -> exp.Expression:
    if aggregate.function.kind == "ordered_set":
        raise scope.compilation.unsupported_error(f"OVER for ordered-set aggregate {aggregate.function.name}")
    args = [render(arg, scope) for arg in aggregate.args]
    if aggregate.filter is None or scope.engine == "local":
        return render_exact_variance(aggregate, args, scope) or apply(aggregate, args, scope.engine)
    if aggregate.function.name not in _SKIPS_NULLS:
        raise scope.compilation.unsupported_error(f"FILTER for {aggregate.function.name} over a window")
    test = filter_condition(aggregate.filter, scope)
    if not args:
        return call("COUNT", case([(test, integer(1))], None))
    args = [case([(test, args[0])], None), *args[1:]]
    return render_exact_variance(aggregate, args, scope) or apply(aggregate, args, scope.engine)


def _over(node: exp.Expression, window: WindowCall, scope: Scope, input_order: Sequence[exp.Ordered]) -> exp.Expression:
    inner = window.call
    if isinstance(inner, AggregateCall) and inner.filter is not None and scope.engine == "local":
        node = exp.Filter(this=node, expression=exp.Where(this=filter_condition(inner.filter, scope)))
    order = order_items(window.order_by, scope)
    spec = None if window.frame is None else _spec(window.frame, window, scope)
    if not order and input_order and inner.function.name in _BY_PLACE:
        order = [item.copy() for item in input_order]
        spec = spec or _whole_partition()
    if not order and scope.engine == "spark" and inner.function.kind == "window":
        order = [ordered_term(integer(1), descending=False, nulls_first=False)]
    return exp.Window(
        this=node,
        partition_by=[equality_key(render(e, scope), e.type, scope.engine) for e in window.partition_by],
        order=exp.Order(expressions=order) if order else None,
        spec=spec if inner.function.name not in _FRAMELESS else None,
    )


def _whole_partition() -> exp.WindowSpec:
    return exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="UNBOUNDED", end_side="FOLLOWING")


def _spec(frame: Frame, window: WindowCall, scope: Scope) -> exp.WindowSpec:
    if scope.engine == "spark" and frame.unit is FrameUnit.GROUPS:
        raise scope.compilation.unsupported_error("window frames by GROUPS")
    if scope.engine == "spark" and frame.exclude:
        raise scope.compilation.unsupported_error("window frames with EXCLUDE")
    start, start_side = _frame_bound(frame.start, "starting", frame, window, scope)
    end, end_side = _frame_bound(frame.end, "ending", frame, window, scope)
    return exp.WindowSpec(
        kind=frame.unit.value.upper(),
        start=start,
        start_side=start_side,
        end=end,
        end_side=end_side,
        exclude=frame.exclude.upper() or None,
    )


def _frame_bound(
    bound: FrameBound, which: str, frame: Frame, window: WindowCall, scope: Scope
) -> tuple[exp.Expression | str, str | None]:
    """Return sqlglot's (value, side) of a frame's bound."""
    if bound.offset is None:
        head, _, side = bound.kind.upper().partition(" ")
        return ("CURRENT ROW", None) if head == "CURRENT" else (head, side)
    _check_sign(bound.offset, which, frame.unit, scope)
    if _is_zero(bound.offset, scope):
        # These are the same rows, but DuckDB 2.0 may miss some with `0 PRECEDING`, since it begins at a position in
        # another row's frame.
        return "CURRENT ROW", None
    if scope.engine == "local":
        offset = _check_offset(bound.offset, which, frame.unit, scope)
        return (offset if frame.unit is FrameUnit.RANGE else exp.Paren(this=offset)), bound.kind.upper()
    return _spark_offset(bound.offset, frame, scope), bound.kind.upper()


def _constant(offset: Expr, scope: Scope) -> Any:
    """Return the value of a constant offset. Raises Unsupported for any other."""
    if isinstance(offset, Const):
        return offset.value
    if isinstance(offset, ParamRef):
        return scope.compilation.bindings.parameters[offset.index]
    raise scope.compilation.unsupported_error("window frame offsets that are not constants")


def _is_zero(offset: Expr, scope: Scope) -> bool:
    if not isinstance(offset, (Const, ParamRef)):
        return False
    value = _constant(offset, scope)
    return value == (0, 0, 0) if isinstance(value, tuple) else value == 0


def _check_sign(offset: Expr, which: str, unit: FrameUnit, scope: Scope) -> None:
    if not isinstance(offset, (Const, ParamRef)):
        return
    value = _constant(offset, scope)
    if value is None:
        raise _null_offset(which)
    if isinstance(value, (int, float)) and value < 0:
        raise _negative_offset(which, unit)


def _null_offset(which: str) -> SqlError:
    return SqlError(f"frame {which} offset must not be null", sqlstate="22004")


def _negative_offset(which: str, unit: FrameUnit) -> SqlError:
    if unit is FrameUnit.RANGE:
        return SqlError("invalid preceding or following size in window function", sqlstate="22013")
    return SqlError(f"frame {which} offset must not be negative", sqlstate="22013")


def _check_offset(offset: Expr, which: str, unit: FrameUnit, scope: Scope) -> exp.Expression:
    """Compile the offset for DuckDB. A computed offset, such as a subquery, raises the error of an invalid value when
    it is evaluated.
    """
    tree = render(offset, scope)
    if isinstance(offset, (Const, ParamRef)):
        return tree
    errors = [(is_null(tree.copy()), _null_offset(which))]
    if offset.type.pg.category == "N":
        below_zero = exp.LT(this=operand(tree.copy()), expression=integer(0))
        errors.append((below_zero, _negative_offset(which, unit)))
    storage = storage_type(offset.type, scope.engine)
    wrong = [(test, cast(raises(scope.engine, e.sqlstate, e.message), storage)) for test, e in errors]
    return case(wrong, tree)


def _spark_offset(offset: Expr, frame: Frame, scope: Scope) -> exp.Expression:
    value = _constant(offset, scope)
    if frame.unit is FrameUnit.ROWS:
        assert isinstance(value, int)
        return integer(min(value, _INT4_MAX))
    if offset.type.pg is t.INTERVAL:
        return _spark_interval(value, scope)
    return render(offset, scope)


def _spark_interval(value: Any, scope: Scope) -> exp.Expression:
    """Convert a RANGE offset to Spark's own interval type: months, or days and microseconds, but not both."""
    months, days, nanos = value
    if months and (days or nanos):
        raise scope.compilation.unsupported_error("window frame offsets of months and days together")
    if months:
        return cast(exp.Literal.string(str(months)), exp.DataType.build("INTERVAL MONTH", dialect="spark"))
    return call("MAKE_DT_INTERVAL", integer(days), integer(0), integer(0), _seconds(nanos))


def _seconds(nanos: int) -> exp.Expression:
    return exp.Literal.number(f"{nanos // 1_000_000_000}.{nanos // 1000 % 1_000_000:06}")
