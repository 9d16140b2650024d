"""Aggregate calls: DISTINCT, ORDER BY, WITHIN GROUP and FILTER around the templates of the function table.

The order of the input matters only to aggregates that keep their input, such as array_agg and string_agg; for all
others ORDER BY is left out. DuckDB takes ORDER BY inside the call. Spark does not: there the call collects a list of
(keys, value) structs, sorts it by its keys, and takes the values out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from sqlglot import exp

from engine.common.sql_type import of
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import AggregateCall, Call, Case, ColumnRef, Const, Expr, OrderItem, ParamRef
from engine.plan_ir.volatility import is_volatile
from engine.planner.codegen.aggregate_names import AGGREGATES
from engine.planner.codegen.calls import apply, is_argument, settle
from engine.planner.codegen.exact_variances import render_exact_variance
from engine.planner.codegen.expressions import filter_condition, render
from engine.planner.codegen.scope import Scope
from engine.sql.functions.byte_strings import byte_text, text_bytes
from engine.sql.functions.comparison_keys import equality_key, needs_key, order_keys, sorts_as_stored
from engine.sql.trees.build import call, case, cast, conjunction, equals, integer, is_null, label, negate, ordered_term
from engine.sql.trees.literals import struct
from engine.sql.trees.storage_types import storage_type
from wire.types import pg_types as t

#: Aggregates whose result depends on the order of their input.
ORDER_SENSITIVE: Final = frozenset(
    {"array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg", "xmlagg"}
)

#: Those of them that list the values of one argument.
_LISTS: Final = frozenset({"array_agg", "json_agg", "jsonb_agg"})


def render_aggregate(aggregate: AggregateCall, scope: Scope, input_order: Sequence[exp.Ordered] = ()) -> exp.Expression:
    """Compile an aggregate over the rows of the SELECT whose scope this is, in the storage type of its result.

    input_order: the order of those rows, for an aggregate that depends on it and has no ORDER BY of its own.
    """
    aggregate = guard_arguments(aggregate, scope)
    if aggregate.function.kind == "ordered_set":
        tree = _ordered_set(aggregate, scope)
    else:
        sensitive = aggregate.function.name in ORDER_SENSITIVE
        aggregate = _sorted_to_be_distinct(aggregate, scope)
        order = (order_items(aggregate.order_by, scope) or list(input_order)) if sensitive else []
        tree = (
            _in_spark(aggregate, order, scope) if order and scope.engine == "spark" else _plain(aggregate, order, scope)
        )
    return settle(tree, aggregate.type, scope.engine)


def _sorted_to_be_distinct(aggregate: AggregateCall, scope: Scope) -> AggregateCall:
    """Add an ORDER BY to a DISTINCT aggregate that returns a list, if the engine sorts differently. PostgreSQL sorts
    values to find the distinct ones, and lists show that order. Templates sort as the engine does.
    """
    lists = aggregate.distinct and not aggregate.order_by and aggregate.function.name in _LISTS
    if not lists or sorts_as_stored(aggregate.args[0].type, scope.engine):
        return aggregate
    return replace(aggregate, order_by=(OrderItem(aggregate.args[0]),))


def guard_arguments(aggregate: AggregateCall, scope: Scope) -> AggregateCall:
    """Return the aggregate with arguments that are computed only for the rows that its FILTER takes. DuckDB computes
    the arguments of all rows first, such as the division in `sum(a / b) FILTER (WHERE b <> 0)`.
    """
    test = aggregate.filter
    if test is None or scope.engine == "spark" or is_volatile(test):
        return aggregate

    def where_taken(expr: Expr) -> Expr:
        computed = isinstance(expr, Call) and any(isinstance(part, ColumnRef) for part in expr.walk())
        return Case(expr.type, ((test, expr),), None) if computed else expr

    order = tuple(replace(item, expr=where_taken(item.expr)) for item in aggregate.order_by)
    return replace(aggregate, args=tuple(map(where_taken, aggregate.args)), order_by=order)


def order_items(items: Sequence[OrderItem], scope: Scope) -> list[exp.Ordered]:
    """Compile the items of ORDER BY, each with its direction and the place of its nulls. Constants are left out: they
    order nothing, and DuckDB refuses them, also those that the compilation makes of a call (`version()`).
    """
    return [
        ordered_term(key, item.descending, item.nulls_first)
        for item in items
        if not isinstance(item.expr, Const)
        for key in order_keys(render(item.expr, scope), item.expr.type, scope.engine)
        if not isinstance(key, exp.Literal)
    ]


def on_aggregates(
    tree: exp.Expression, engine: EngineName, change: Callable[[exp.Expression], exp.Expression]
) -> exp.Expression:
    """Replace each of the template's own aggregate (or window) calls in the tree by `change(call)`."""
    if is_argument(tree):
        return tree
    if isinstance(tree, exp.WithinGroup) or (isinstance(tree, exp.Func) and _name(tree) in AGGREGATES[engine]):
        return change(tree)
    for key, value in list(tree.args.items()):
        if isinstance(value, exp.Expression):
            tree.set(key, on_aggregates(value, engine, change))
        elif isinstance(value, list):
            tree.set(key, [on_aggregates(v, engine, change) if isinstance(v, exp.Expression) else v for v in value])
    return tree


def with_filter_clause(tree: exp.Expression, test: exp.Expression) -> exp.Expression:
    return exp.Filter(this=tree, expression=exp.Where(this=test))


def _name(tree: exp.Func) -> str:
    return (str(tree.this) if isinstance(tree, exp.Anonymous) else tree.sql_name()).lower()


def _plain(aggregate: AggregateCall, order: Sequence[exp.Ordered], scope: Scope) -> exp.Expression:
    args = [render(arg, scope) for arg in aggregate.args]
    if _counts_distinct(aggregate):
        types = (arg.type for arg in aggregate.args)
        args = [equality_key(arg, typ, scope.engine) for arg, typ in zip(args, types, strict=True)]
    tree = render_exact_variance(aggregate, args, scope) or apply(aggregate, args, scope.engine)
    return on_aggregates(tree, scope.engine, lambda node: _decorate(node, aggregate, order, scope))


def _counts_distinct(aggregate: AggregateCall) -> bool:
    """Whether the aggregate only counts distinct values, so that a key may stand for each value."""
    return aggregate.distinct and aggregate.function.name == "count"


def _decorate(
    node: exp.Expression, aggregate: AggregateCall, order: Sequence[exp.Ordered], scope: Scope
) -> exp.Expression:
    """Add DISTINCT, ORDER BY and FILTER to one aggregate call of the engine's."""
    tests = [] if aggregate.filter is None else [filter_condition(aggregate.filter, scope)]
    if scope.engine == "local" and _is_extreme_of_floats(aggregate):
        tests.append(exp.Not(this=is_null(render(aggregate.args[0], scope))))
    keyed = any(needs_key(arg.type, scope.engine) for arg in aggregate.args)
    if aggregate.distinct and keyed and not _counts_distinct(aggregate):
        raise scope.compilation.unsupported_error(
            f"{aggregate.function.name} of distinct {aggregate.args[0].type} values"
        )
    arguments = list(node.args.get("expressions") or ())
    if arguments and aggregate.distinct and aggregate.type.pg is t.BYTEA:
        # string_agg of bytes collects texts, and DISTINCT sorts by what it collects.
        order = [_sort_key(item, arguments[0]) for item in order[:1]]
    if arguments and order:
        arguments[-1] = exp.Order(this=arguments[-1], expressions=[item.copy() for item in order])
    if arguments and aggregate.distinct:
        arguments = [exp.Distinct(expressions=arguments)]
    if arguments:
        node.set("expressions", arguments)
    return with_filter_clause(node, conjunction(tests)) if tests else node


def _sort_key(item: exp.Ordered, key: exp.Expression) -> exp.Ordered:
    """Return a sort key with the directions of `item`."""
    item = item.copy()
    item.set("this", key.copy())
    return item


def _is_extreme_of_floats(aggregate: AggregateCall) -> bool:
    """Whether it is min or max of floats. Where nothing filters, DuckDB takes these from a file's statistics, which
    omit NaN or, with the option `can_have_nan`, claim that there is one, and which have -0 for 0.
    """
    return aggregate.function.name in ("min", "max") and aggregate.args[0].type.pg in (t.FLOAT4, t.FLOAT8)


def _ordered_set(aggregate: AggregateCall, scope: Scope) -> exp.Expression:
    """Compile WITHIN GROUP: its expressions follow the direct arguments, and its directions go where the template
    orders.
    """
    items = aggregate.order_by
    aggregate = replace(aggregate, args=tuple(_bind_parameter(arg, scope) for arg in aggregate.args))
    args = [render(arg, scope) for arg in (*aggregate.args, *(item.expr for item in items))]
    tree = apply(aggregate, args, scope.engine)

    def decorate(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.WithinGroup):
            _direct(node, items)
        return node if aggregate.filter is None else with_filter_clause(node, filter_condition(aggregate.filter, scope))

    return on_aggregates(tree, scope.engine, decorate)


def _bind_parameter(arg: Expr, scope: Scope) -> Expr:
    """Replace a parameter, also one that is cast to float8, by its value as a constant."""
    match arg:
        case ParamRef():
            return Const(arg.type, scope.compilation.bindings.parameters[arg.index])
        case Call(args=(ParamRef() as given,)) if arg.function.kind == "cast" and arg.type.pg is t.FLOAT8:
            value = scope.compilation.bindings.parameters[given.index]
            return Const(arg.type, float(value)) if isinstance(value, int | float | Decimal) else arg
        case _:
            return arg


def _direct(node: exp.WithinGroup, items: Sequence[OrderItem]) -> None:
    keys = [key for key in node.expression.expressions if isinstance(key, exp.Ordered)]
    for key, item in zip(keys, items, strict=True):
        key.set("desc", item.descending)
        key.set("nulls_first", item.nulls_first)


def _in_spark(aggregate: AggregateCall, keys: Sequence[exp.Ordered], scope: Scope) -> exp.Expression:
    """Compile array_agg and string_agg with ORDER BY for Spark, from a sorted list of (keys, value) structs; null for
    no rows.
    """
    if aggregate.function.name not in ("array_agg", "string_agg"):
        raise scope.compilation.unsupported_error(f"ORDER BY inside {aggregate.function.name}")
    value = render(aggregate.args[0], scope)
    of_bytes = aggregate.function.name == "string_agg" and aggregate.type.pg is t.BYTEA
    if of_bytes:
        value = byte_text("spark", value)
    fields = {f"k{i}": key.this.copy() for i, key in enumerate(keys)} | {"v": value}
    collected: exp.Expression = call("COLLECT_LIST", struct("spark", fields))
    tests = [] if aggregate.filter is None else [filter_condition(aggregate.filter, scope)]
    if aggregate.function.name == "string_agg":
        tests.append(exp.Not(this=is_null(value.copy())))
    if tests:
        collected = with_filter_clause(collected, conjunction(tests))
    in_order = call("ARRAY_SORT", collected, _comparator(keys))
    values: exp.Expression = call("TRANSFORM", in_order, _lambda(["s"], _member("s", "v")))
    if aggregate.distinct:
        values = call("ARRAY_DISTINCT", values)
    if aggregate.function.name == "string_agg":
        values = call("ARRAY_JOIN", values, _delimiter(aggregate, scope))
    if of_bytes:
        values = text_bytes("spark", values)
    return _null_when_empty(values, collected.copy(), aggregate, scope)


def _null_when_empty(
    values: exp.Expression, collected: exp.Expression, aggregate: AggregateCall, scope: Scope
) -> exp.Expression:
    empty = equals(call("SIZE", collected), integer(0))
    null = cast(exp.Null(), storage_type(aggregate.type, scope.engine))
    return case([(empty, null)], values)


def _delimiter(aggregate: AggregateCall, scope: Scope) -> exp.Expression:
    """Compile string_agg's delimiter. PostgreSQL evaluates it for every row, Spark's array_join once."""
    delimiter = aggregate.args[1]
    if not isinstance(delimiter, (Const, ParamRef)):
        raise scope.compilation.unsupported_error("string_agg with a delimiter that is not a constant and ORDER BY")
    if aggregate.type.pg is t.BYTEA:
        text = byte_text("spark", render(delimiter, scope))
    else:
        text = render(replace(delimiter, type=of(t.TEXT)), scope)
    return call("COALESCE", text, exp.Literal.string(""))


def _comparator(keys: Sequence[exp.Ordered]) -> exp.Expression:
    """Return the lambda (l, r) -> -1, 0 or 1 that compares by each key in turn, with nulls placed as the key's ORDER BY
    says.
    """
    whens: list[tuple[exp.Expression, exp.Expression]] = []
    for index, key in enumerate(keys):
        left, right = (_member(side, f"k{index}") for side in ("l", "r"))
        nulls = -1 if key.args.get("nulls_first") else 1
        first = 1 if key.args.get("desc") else -1
        one_null = conjunction([is_null(left.copy()), negate(is_null(right.copy()))])
        other_null = conjunction([negate(is_null(left.copy())), is_null(right.copy())])
        whens += [
            (one_null, integer(nulls)),
            (other_null, integer(-nulls)),
            (exp.LT(this=left.copy(), expression=right.copy()), integer(first)),
            (exp.GT(this=left, expression=right), integer(-first)),
        ]
    return _lambda(["l", "r"], case(whens, integer(0)))


def _lambda(names: Sequence[str], body: exp.Expression) -> exp.Expression:
    return exp.Lambda(this=body, expressions=[label(name) for name in names])


def _member(variable: str, field: str) -> exp.Expression:
    return exp.Dot(this=label(variable), expression=label(field))
