"""Bound expressions as trees of one engine.

`render` returns the expression itself, in the storage type of its type. `condition` returns a tree that is true exactly
when the expression is true, for places where false and null are equivalent (WHERE, ON, HAVING, FILTER, CASE WHEN). Such
a tree is often simpler, above all for subqueries.
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from engine.common.interrupts import check_for_interrupts
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import (
    And,
    ArrayOf,
    Call,
    Case,
    Coalesce,
    ColumnRef,
    Const,
    ContextRef,
    Expr,
    FieldRef,
    InList,
    IsDistinct,
    IsNull,
    Not,
    Or,
    ParamRef,
    Relabel,
    Row,
    Subquery,
    sized_parameter,
)
from engine.plan_ir.volatility import is_volatile
from engine.planner.codegen import long_conditions, subqueries, value_lists
from engine.planner.codegen.calls import apply, settle
from engine.planner.codegen.scope import Scope
from engine.planner.codegen.short_circuit import alternatives, junction
from engine.planner.codegen.task_functions import call_with_arguments, is_for_tasks, may_run_in_task, render_task_call
from engine.sql.functions.comparison_keys import equality_key
from engine.sql.functions.dimensions import rectangular
from engine.sql.functions.trees import compute_once
from engine.sql.trees.build import (
    call,
    case,
    cast,
    conjunction,
    disjunction,
    equals,
    is_null,
    negate,
    not_distinct,
    operand,
    string,
)
from engine.sql.trees.literals import fits, literal, struct
from engine.sql.trees.storage_types import storage_type
from engine.sql.trees.unsupported import Unsupported
from wire.types.numbers_input import apply_numeric_typmod


def render(expr: Expr, scope: Scope) -> exp.Expression:
    """Compile `expr`, in the storage type of its type."""
    check_for_interrupts()
    tree = _render(expr, scope)
    scope.compilation.made.append(tree)
    return tree


def _render(expr: Expr, scope: Scope) -> exp.Expression:
    match expr:
        case ColumnRef():
            return scope.column(expr.column)
        case Const():
            return literal(expr.value, expr.type, scope.engine)
        case ParamRef():
            return scope.compilation.parameter(expr.index, expr.type)
        case ContextRef():
            return literal(scope.compilation.bindings.context[expr.name], expr.type, scope.engine)
        case Call():
            stored = _stored_numeric(expr, scope)
            if stored is not None:
                return literal(stored, expr.type, scope.engine)
            if scope.engine == "spark":
                return _spark_call(expr, scope)
            args = [render(arg, scope) for arg in expr.args]
            return settle(apply(expr, args, scope.engine), expr.type, scope.engine)
        case Relabel():
            return render(expr.arg, scope)
        case And() | Or():
            return _junction(expr, scope)
        case Not():
            return negate(render(expr.arg, scope))
        case IsNull():
            return _is_null(expr, scope)
        case IsDistinct():
            return _is_distinct(expr, scope)
        case InList():
            return _in_list(expr, scope)
        case Case():
            return _case(expr, scope)
        case Coalesce():
            trees = [render_as(arg, expr.type, scope) for arg in expr.args]
            return alternatives(expr.args, trees) if scope.engine == "local" else call("COALESCE", *trees)
        case ArrayOf():
            return _array(expr, scope)
        case Row():
            return _row(expr, scope)
        case FieldRef():
            return _field(expr, scope)
        case Subquery():
            return subqueries.render(expr, scope)
        case _:
            raise AssertionError(f"{type(expr).__name__} does not stand here")


def _spark_call(expr: Call, scope: Scope) -> exp.Expression:
    """Compile a call by Spark's template, or by the local engine's in Spark's tasks."""
    if is_for_tasks(expr):
        return render_task_call(expr, scope)
    args = [render(arg, scope) for arg in expr.args]
    try:
        return settle(apply(expr, args, scope.engine), expr.type, scope.engine)
    except Unsupported:
        if not may_run_in_task(expr):
            raise
        return call_with_arguments(expr, args, scope)


def _junction(expr: And | Or, scope: Scope) -> exp.Expression:
    trees, every = [render(arg, scope) for arg in expr.args], isinstance(expr, And)
    if scope.engine == "local":
        return junction(expr.args, trees, every=every)
    return conjunction(trees) if every else disjunction(trees)


def _stored_numeric(expr: Call, scope: Scope) -> Decimal | None:
    """Return a numeric parameter as the value that it is cast to, if that has fewer digits; None if an engine has to
    cast. Clients send a float as its exact decimal value, with fifty digits, which is more than an engine can hold.
    """
    parameter = sized_parameter(expr)
    if parameter is None:
        return None
    value = scope.compilation.bindings.parameters[parameter.index]
    if value is None or not value.is_finite():
        return None
    stored = apply_numeric_typmod(value, expr.type.typmod)
    return stored if fits(stored, expr.type) else None


def condition(expr: Expr, scope: Scope) -> exp.Expression:
    """Compile a tree that is true exactly when `expr` is true, and false or null otherwise."""
    match expr:
        case And():
            return conjunction([condition(arg, scope) for arg in expr.args])
        case Or():
            trees = [condition(arg, scope) for arg in expr.args]
            return long_conditions.any_of(expr.args, trees) if scope.engine == "local" else disjunction(trees)
        case Subquery():
            return subqueries.condition(expr, scope)
        case _:
            return render(expr, scope)


def filter_condition(expr: Expr, scope: Scope) -> exp.Expression:
    """Compile the condition of an aggregate's FILTER, which DuckDB computes as a value; else as `condition`."""
    return render(expr, scope) if isinstance(expr, And | Or) and scope.engine == "local" else condition(expr, scope)


def conjunct(expr: Expr, scope: Scope) -> exp.Expression:
    """Compile a condition of WHERE or HAVING, where both engines can run NOT IN as such."""
    if isinstance(expr, And):
        trees = [conjunct(arg, scope) for arg in expr.args]
        return long_conditions.all_of(expr.args, trees) if scope.engine == "local" else conjunction(trees)
    if isinstance(expr, Not) and subqueries.is_membership(expr.arg):
        return negate(subqueries.membership(expr.arg, scope))
    within = expr.arg if isinstance(expr, Not) else expr
    if isinstance(within, InList) and (values := value_lists.rows(within, scope)) is not None:
        test = exp.In(this=operand(render(within.arg, scope)), query=values)
        return test if within is expr else negate(test)
    return condition(expr, scope)


def render_as(expr: Expr, typ: SqlType, scope: Scope) -> exp.Expression:
    """Compile `expr`, which has the same PostgreSQL type as `typ`, with the digits of `typ`."""
    tree = render(expr, scope)
    return with_digits(tree, expr.type, typ, scope)


def with_digits(tree: exp.Expression, given: SqlType, wanted: SqlType, scope: Scope) -> exp.Expression:
    """Cast a numeric, or an array of numerics, to the precision and scale of `wanted`."""
    if (given.precision, given.scale) == (wanted.precision, wanted.scale):
        return tree
    return cast(tree, storage_type(wanted, scope.engine))


def _is_null(expr: IsNull, scope: Scope) -> exp.Expression:
    if expr.arg.type.pg.is_row and not expr.whole:
        return _record_is_null(expr, scope)
    tree = is_null(render(expr.arg, scope))
    return exp.Not(this=tree) if expr.negated else tree


def _record_is_null(expr: IsNull, scope: Scope) -> exp.Expression:
    """Compile IS [NOT] NULL of a row: it is null when all its fields are, and not null when none is; it may be neither."""
    items = expr.arg.items if isinstance(expr.arg, Row) else _fields_of(expr.arg)
    tests = [is_null(render(item, scope)) for item in items]
    return conjunction([exp.Not(this=test) for test in tests] if expr.negated else tests)


def _fields_of(record: Expr) -> tuple[Expr, ...]:
    return tuple(FieldRef(typ, record, index) for index, (_, typ) in enumerate(record.type.fields))


def _is_distinct(expr: IsDistinct, scope: Scope) -> exp.Expression:
    left, right = (equality_key(render(side, scope), side.type, scope.engine) for side in (expr.left, expr.right))
    if expr.negated:
        return not_distinct(left, right)
    return exp.NullSafeNEQ(this=operand(left), expression=operand(right))


def _in_list(expr: InList, scope: Scope) -> exp.Expression:
    volatile = is_volatile(expr.arg)
    if expr.arg.type.pg.is_row:
        if volatile and len(expr.items) > 1:
            raise scope.compilation.unsupported_error("a volatile row IN a list")
        return disjunction([_rows_equal(expr.arg, item, scope) for item in expr.items])
    arg = equality_key(render(expr.arg, scope), expr.arg.type, scope.engine)
    items = [equality_key(render(item, scope), item.type, scope.engine) for item in expr.items]
    if volatile and scope.engine == "local":
        # DuckDB writes it as an OR of equalities, and computes the value for each.
        return compute_once("local", [arg, *items], lambda args: exp.In(this=args[0], expressions=list(args[1:])))
    return exp.In(this=operand(arg), expressions=items)


def _rows_equal(left: Expr, right: Expr, scope: Scope) -> exp.Expression:
    if not (isinstance(left, Row) and isinstance(right, Row)):
        raise scope.compilation.unsupported_error("IN over records that are not row constructors")
    pairs = zip(left.items, right.items, strict=True)
    return conjunction([equal(a, b, scope) for a, b in pairs])


def equal(left: Expr, right: Expr, scope: Scope) -> exp.Expression:
    """Compile left = right for operands of one type."""
    keys = [equality_key(render(side, scope), side.type, scope.engine) for side in (left, right)]
    return equals(*keys)


def _case(expr: Case, scope: Scope) -> exp.Expression:
    whens = [(condition(when, scope), render_as(then, expr.type, scope)) for when, then in expr.whens]
    return case(whens, None if expr.default is None else render_as(expr.default, expr.type, scope))


def _array(expr: ArrayOf, scope: Scope) -> exp.Expression:
    """Compile ARRAY[...], with a cast so that an empty one has a type too."""
    items: exp.Expression = exp.Array(expressions=[render(item, scope) for item in expr.items])
    if expr.type.dimensions > 1:
        items = rectangular(scope.engine, items, expr.type.dimensions)
    return cast(items, storage_type(expr.type, scope.engine))


def _row(expr: Row, scope: Scope) -> exp.Expression:
    if not expr.items:
        raise scope.compilation.unsupported_error("ROW() without fields")
    return struct(scope.engine, {expr.type.pg.field(i): render(item, scope) for i, item in enumerate(expr.items)})


def _field(expr: FieldRef, scope: Scope) -> exp.Expression:
    if isinstance(expr.arg, Row):
        return render(expr.arg.items[expr.index], scope)
    name = expr.arg.type.pg.field(expr.index)
    record = render(expr.arg, scope)
    if scope.engine == "local":
        return call("STRUCT_EXTRACT", record, string(name))
    return exp.Dot(this=operand(record), expression=exp.to_identifier(name))
